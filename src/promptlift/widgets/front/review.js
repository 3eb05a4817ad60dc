// The live view of a VariantReview: cards side by side, examples, notes, and buttons that ask before they act.

function render({ model, el }) {
  const root = rooted(el, "plw-review");
  const notice = notices(model);
  const { wish, settle, busy } = wishing(model, notice.silent);
  const head = make("div", { class: "plw-top" });
  const about = make("div", { class: "plw-about" });
  const cards = make("div", { class: "plw-cards" });
  const texts = make("div", { class: "plw-texts" });
  const examples = make("div", { class: "plw-examples" });
  const done = make("div", { class: "plw-done" });
  root.append(head, notice.place, about, cards, texts, examples, done);
  const showDialog = dialogs(model, root, wish);
  const notes = new Map();

  function card(one) {
    const verdict = ([value, words]) => pressed(words, () => {
      const now = (model.get("_said")[one.id] || ["", ""])[0];
      wish("verdict", one.id, now === value ? "" : value);
    }, { "data-verdict": value, "aria-pressed": "false" });
    const field = make("textarea", { rows: 2, maxlength: 10000, placeholder: "Note …", "aria-label": `Note on ${one.name}` });
    let typing = 0;
    const keep = () => { clearTimeout(typing); if (field.dataset.dirty) { delete field.dataset.dirty; wish("note", one.id, field.value); } };
    field.addEventListener("input", () => { field.dataset.dirty = "yes"; clearTimeout(typing); typing = setTimeout(keep, 900); });
    field.addEventListener("blur", keep);
    notes.set(one.id, field);
    const winner = one.marks.some(([words]) => words.includes("winner"));
    return make(
      "section", { class: `plw-card${winner ? " plw-won" : ""}`, "data-variant": one.id },
      make("div", { class: "plw-name plw-said" }, one.name),
      make("div", { class: "plw-marks" }, ...one.marks.map(([words, tone]) => mark(words, tone))),
      ...(one.effect ? [drawing(one.effect_pieces, one.effect),
        one.effect_pieces.length > 0 && make("div", { class: "plw-scale plw-soft" }, make("span", {}, one.scale[0]), make("span", {}, one.scale[1])),
        make("div", { class: "plw-words" }, one.effect), drawing(one.confidence_pieces, one.confidence),
        make("div", { class: "plw-words" }, one.confidence)] : []),
      make("dl", {}, ...one.facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
      one.warnings && make("p", { class: "plw-warning" }, one.warnings),
      make("div", { class: "plw-said-of" },
        make("div", { class: "plw-buttons", role: "group", "aria-label": `Verdict on ${one.name}` },
          ...[["keep", "✓ Keep"], ["reject", "✗ Reject"]].map(verdict)), field),
      make("div", { class: "plw-buttons" },
        pressed(winner ? "Apply the winner …" : "Apply …", () => wish("apply", one.id),
          { class: "plw-apply", disabled: !one.can_apply, title: one.why_not || `Make ${one.name} the live text`, "aria-label": `Apply ${one.name}` })),
    );
  }

  function text(one) {
    const winner = one.marks.some(([words]) => words.includes("winner"));
    return make("details", { open: winner, "data-text": one.id },
      make("summary", {}, "Text of ", make("b", { class: "plw-said" }, one.name), " against the original"),
      make("p", { class: "plw-soft" }, one.differs), one.diff.length > 0 && diffed(one.diff));
  }

  function view() {
    const now = model.get("_view");
    head.replaceChildren(
      ...now.head.map(([name, value]) => make("span", { class: "plw-fact" }, make("small", {}, name), make("b", { class: "plw-said" }, value))),
      make("span", { class: "plw-buttons" },
        now.can_stop && pressed("Stop …", () => wish("stop"), { class: "plw-stop" }),
        pressed("Refresh", () => wish("refresh"), { class: "plw-refresh" })),
    );
    about.replaceChildren(...[now.rehearsal && make("p", { class: "plw-warning" }, now.rehearsal),
      now.explanation && make("p", { class: "plw-said" }, now.explanation)].filter(Boolean));
    notes.clear();
    cards.replaceChildren(...now.cards.map(card));
    const open = new Set([...texts.querySelectorAll("[open]")].map((one) => one.dataset.text));
    texts.replaceChildren(...now.cards.filter((one) => one.differs).map(text));
    for (const one of texts.children) if (open.has(one.dataset.text)) one.open = true;
    if (!now.cards.length) cards.append(make("p", { class: "plw-soft" }, "There are no variants yet. Refresh looks again."));
    done.replaceChildren(...[now.actions.length > 0 && make("div", { class: "plw-heading" }, "What was done"),
      ...now.actions.map((row) => make("div", { class: "plw-action", "data-action": row.id },
        make("span", { class: "plw-soft" }, row.when), " ", make("b", {}, row.kind), " ", make("span", { class: "plw-said" }, row.name),
        row.undone && mark("undone", "plain"), row.note && make("span", { class: "plw-said plw-soft" }, ` “${row.note}”`), " ",
        row.undo && pressed("Undo …", () => wish("undo", row.id), { class: "plw-undo" }))),
      make("div", { class: "plw-soft plw-kept" }, now.kept ? `Notes, verdicts and actions are kept in ${now.kept}.` : "Notes, verdicts and actions are kept by the service.")].filter(Boolean));
    said();
  }

  function said() {
    for (const [id, [verdict, note]] of Object.entries(model.get("_said"))) {
      const box = [...cards.querySelectorAll("[data-variant]")].find((one) => one.dataset.variant === id);
      if (!box) continue;
      for (const button of box.querySelectorAll("[data-verdict]")) button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
      const field = notes.get(id);
      // What somebody is typing is not written over.
      if (!field.dataset.dirty && field !== document.activeElement) field.value = note;
    }
  }

  function list() {
    const now = model.get("_examples");
    if (!now.offered) { examples.replaceChildren(make("p", { class: "plw-soft" }, "This service gives no simulated conversations.")); return; }
    if (!now.variant) { examples.replaceChildren(); return; }
    const pick = (label, value, choices, all) => {
      const made = make("select", { "aria-label": label, onchange: () => look() }, ...(all ? [make("option", { value: "" }, all)] : []),
        ...choices.map(([one, words, count]) => make("option", { value: one }, count === undefined ? words : `${words} (${counted(count)})`)));
      made.value = value;
      return made;
    };
    const variant = pick("Variant of the examples", now.variant, now.variants);
    const outcome = pick("Outcome", now.outcome, now.outcomes, "all situations");
    const persona = pick("Persona", now.persona, now.personas.map(([name, count]) => [name, name, count]), "every persona");
    const scenario = pick("Scenario", now.scenario, now.scenarios.map(([name, count]) => [name, name, count]), "every scenario");
    const look = () => wish("examples", variant.value, JSON.stringify({ outcome: outcome.value, persona: persona.value, scenario: scenario.value }));
    const rows = now.pairs.map((pair) => pressed(
      [`${pair.persona} · ${pair.scenario}`].join(""), () => wish("pair", `${pair.stage}:${pair.cell}`),
      { class: "plw-pair", "aria-pressed": String(!!now.opened && now.opened.cell === pair.cell && now.opened.stage === pair.stage), title: pair.outcome }));
    rows.forEach((row, at) => row.append(make("span", { class: "plw-soft" }, ` ${now.pairs[at].outcome}`)));
    examples.replaceChildren(
      make("div", { class: "plw-heading" }, "Simulated conversations"),
      make("div", { class: "plw-bar" }, variant, outcome, persona, scenario,
        make("span", { class: "plw-soft", role: "status" }, `${counted(now.found)} of ${counted(now.total)} situations`)),
      make("div", { class: "plw-pairs" }, ...rows, now.found > rows.length && make("span", { class: "plw-soft" }, `The first ${rows.length}.`)),
      opened(now.opened, now) || "",
    );
  }
  function opened(pair, now) {
    if (!pair) return null;
    const name = (now.variants.find(([id]) => id === now.variant) || ["", ""])[1];
    return make("div", { class: "plw-opened" },
      make("p", { class: "plw-said" }, make("b", {}, pair.persona), " · ", pair.scenario, pair.goal ? ` · Goal: ${pair.goal}` : ""),
      make("div", { class: "plw-sides" }, ...pair.sides.map((side) => make("div", { class: "plw-side" },
        make("div", { class: "plw-said" }, make("b", {}, side.who === "original" ? "Original" : name), " ",
          mark(side.completed, { completed: "good", "not completed": "bad" }[side.completed] || "plain")),
        ...side.turns.map((turn) => make("div", { class: "plw-turn", "data-role": turn.role },
          make("div", { class: "plw-soft plw-who" }, make("b", {}, turn.role)), make("div", { class: "plw-said" }, turn.content || "(empty message)"),
          turn.cut > 0 && make("div", { class: "plw-bad" }, `${counted(turn.cut)} characters left out`))),
        side.problem && make("p", { class: "plw-soft plw-said" }, side.problem)))));
  }

  const answered = () => { settle(); root.toggleAttribute("data-busy", busy()); };
  view();
  list();
  notice.show();
  showDialog();
  return listening(model, { _view: view, _said: said, _examples: list, _notice: notice.show, _dialog: showDialog, _answered: answered });
}

export default { render };
