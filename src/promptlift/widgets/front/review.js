// The interactive view of a VariantReview: cards side by side, examples, notes, and buttons that ask for confirmation.

function render({ model, el }) {
  const root = createRoot(el, "plw-review");
  const notice = notices(model);
  const { send, settle, busy } = commandSender(model, notice.onTimeout);
  const head = make("div", { class: "plw-top" });
  const about = make("div", { class: "plw-about" });
  const cards = make("div", { class: "plw-cards" });
  const texts = make("div", { class: "plw-texts" });
  const examples = make("div", { class: "plw-examples" });
  const done = make("div", { class: "plw-done" });
  root.append(head, notice.place, about, cards, texts, examples, done);
  const showDialog = dialogs(model, root, send);
  const notes = new Map();

  function card(one) {
    const verdict = ([value, words]) => pushButton(words, () => {
      const now = (model.get("_reviews")[one.id] || ["", ""])[0];
      send("verdict", one.id, now === value ? "" : value);
    }, { "data-verdict": value, "aria-pressed": "false" });
    const field = make("textarea", { rows: 2, maxlength: 10000, placeholder: "Note …", "aria-label": `Note on ${one.name}` });
    let typing = 0;
    const keep = () => { clearTimeout(typing); if (field.dataset.dirty) { delete field.dataset.dirty; send("note", one.id, field.value); } };
    field.addEventListener("input", () => { field.dataset.dirty = "yes"; clearTimeout(typing); typing = setTimeout(keep, 900); });
    field.addEventListener("blur", keep);
    notes.set(one.id, field);
    return make(
      "section", { class: `plw-card${one.winner ? " plw-won" : ""}`, "data-variant": one.id },
      make("div", { class: "plw-name plw-foreign" }, one.name),
      make("div", { class: "plw-badges" }, ...one.badges.map(([words, tone]) => badge(words, tone))),
      ...(one.effect ? [intervalBar(one.effect_pieces, one.effect),
        one.effect_pieces.length > 0 && make("div", { class: "plw-scale plw-soft" }, make("span", {}, one.scale[0]), make("span", {}, one.scale[1])),
        make("div", { class: "plw-words" }, one.effect), intervalBar(one.confidence_pieces, one.confidence),
        make("div", { class: "plw-words" }, one.confidence)] : []),
      make("dl", {}, ...one.facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
      one.warnings && make("p", { class: "plw-warning" }, one.warnings),
      make("div", { class: "plw-review-of" },
        make("div", { class: "plw-buttons", role: "group", "aria-label": `Verdict on ${one.name}` },
          ...[["keep", "✓ Keep"], ["reject", "✗ Reject"]].map(verdict)), field),
      make("div", { class: "plw-buttons" },
        pushButton(one.winner ? "Apply the winner …" : "Apply …", () => send("apply", one.id),
          { class: "plw-apply", disabled: !one.can_apply, title: one.why_not || `Make ${one.name} the current version`, "aria-label": `Apply ${one.name}` })),
    );
  }

  function text(one) {
    return make("details", { open: one.winner, "data-text": one.id },
      make("summary", {}, "Text of ", make("b", { class: "plw-foreign" }, one.name), " compared with the original"),
      make("p", { class: "plw-soft" }, one.difference), one.diff.length > 0 && diffBlock(one.diff));
  }

  function view() {
    const now = model.get("_view");
    head.replaceChildren(
      ...now.head.map(([name, value]) => make("span", { class: "plw-fact" }, make("small", {}, name), make("b", { class: "plw-foreign" }, value))),
      make("span", { class: "plw-buttons" },
        now.can_stop && pushButton("Stop …", () => send("stop"), { class: "plw-stop" }),
        pushButton("Refresh", () => send("refresh"), { class: "plw-refresh" })),
    );
    about.replaceChildren(...[now.rehearsal && make("p", { class: "plw-warning" }, now.rehearsal),
      now.explanation && make("p", { class: "plw-foreign" }, now.explanation)].filter(Boolean));
    notes.clear();
    cards.replaceChildren(...now.cards.map(card));
    const open = new Set([...texts.querySelectorAll("[open]")].map((one) => one.dataset.text));
    texts.replaceChildren(...now.cards.filter((one) => one.difference).map(text));
    for (const one of texts.children) if (open.has(one.dataset.text)) one.open = true;
    if (!now.cards.length) cards.append(make("p", { class: "plw-soft" }, "There are no variants yet. Press Refresh to check again."));
    done.replaceChildren(...[now.actions.length > 0 && make("div", { class: "plw-heading" }, "Actions"),
      ...now.actions.map((row) => make("div", { class: "plw-action", "data-action": row.id },
        make("span", { class: "plw-soft" }, row.when), " ", make("b", {}, row.kind), " ", make("span", { class: "plw-foreign" }, row.name),
        row.undone && badge("undone", "plain"), row.note && make("span", { class: "plw-foreign plw-soft" }, ` “${row.note}”`), " ",
        row.undo && pushButton("Undo …", () => send("undo", row.id), { class: "plw-undo" }))),
      make("div", { class: "plw-soft plw-kept" }, now.kept ? `Notes, verdicts and actions are kept in ${now.kept}.` : "Notes, verdicts and actions are kept by the service.")].filter(Boolean));
    reviews();
  }

  function reviews() {
    for (const [id, [verdict, note]] of Object.entries(model.get("_reviews"))) {
      const box = [...cards.querySelectorAll("[data-variant]")].find((one) => one.dataset.variant === id);
      if (!box) continue;
      for (const button of box.querySelectorAll("[data-verdict]")) button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
      const field = notes.get(id);
      // Do not overwrite what somebody is typing.
      if (!field.dataset.dirty && field !== document.activeElement) field.value = note;
    }
  }

  function list() {
    const now = model.get("_examples");
    if (!now.available) { examples.replaceChildren(make("p", { class: "plw-soft" }, "This service has no simulated conversations.")); return; }
    if (!now.variant) { examples.replaceChildren(); return; }
    const pick = (label, value, choices, all) => {
      const made = make("select", { "aria-label": label, onchange: () => applyFilters() }, ...(all ? [make("option", { value: "" }, all)] : []),
        ...choices.map(([one, words, count]) => make("option", { value: one }, count === undefined ? words : `${words} (${counted(count)})`)));
      made.value = value;
      return made;
    };
    const variant = pick("Variant of the examples", now.variant, now.variants);
    const outcome = pick("Outcome", now.outcome, now.outcomes, "all outcomes");
    const persona = pick("Persona", now.persona, now.personas.map(([name, count]) => [name, name, count]), "all personas");
    const scenario = pick("Scenario", now.scenario, now.scenarios.map(([name, count]) => [name, name, count]), "all scenarios");
    const applyFilters = () => send("examples", variant.value, JSON.stringify({ outcome: outcome.value, persona: persona.value, scenario: scenario.value }));
    const rows = now.pairs.map((pair) => pushButton(
      [`${pair.persona} · ${pair.scenario}`].join(""), () => send("pair", `${pair.stage}:${pair.cell}`),
      { class: "plw-pair", "aria-pressed": String(!!now.opened && now.opened.cell === pair.cell && now.opened.stage === pair.stage), title: pair.outcome }));
    rows.forEach((row, at) => row.append(make("span", { class: "plw-soft" }, ` ${now.pairs[at].outcome}`)));
    examples.replaceChildren(
      make("div", { class: "plw-heading" }, "Simulated conversations"),
      make("div", { class: "plw-bar" }, variant, outcome, persona, scenario,
        make("span", { class: "plw-soft", role: "status" }, `${counted(now.found)} of ${counted(now.total)} pairs`)),
      make("div", { class: "plw-pairs" }, ...rows, now.found > rows.length && make("span", { class: "plw-soft" }, `Showing the first ${rows.length}.`)),
      opened(now.opened, now) || "",
    );
  }
  function opened(pair, now) {
    if (!pair) return null;
    const name = (now.variants.find(([id]) => id === now.variant) || ["", ""])[1];
    return make("div", { class: "plw-opened" },
      make("p", { class: "plw-foreign" }, make("b", {}, pair.persona), " · ", pair.scenario, pair.goal ? ` · Goal: ${pair.goal}` : ""),
      make("div", { class: "plw-sides" }, ...pair.sides.map((side) => make("div", { class: "plw-side" },
        make("div", { class: "plw-foreign" }, make("b", {}, side.who === "original" ? "Original" : name), " ",
          badge(side.completed, { completed: "good", "not completed": "bad" }[side.completed] || "plain")),
        ...messageList(side.turns),
        side.problem && make("p", { class: "plw-soft plw-foreign" }, side.problem)))));
  }

  const acknowledged = () => { settle(); root.toggleAttribute("data-busy", busy()); };
  view();
  list();
  notice.show();
  showDialog();
  return observe(model, { _view: view, _reviews: reviews, _examples: list, _notice: notice.show, _dialog: showDialog, _acknowledged: acknowledged });
}

export default { render };
