// The interactive view of a VariantReview: a row a variant, the card of the chosen one, its conversations, and buttons that ask for confirmation.

function render({ model, el, host }) {
  const root = createRoot(el, "plw-review");
  let send = () => {};
  const notice = notices(model, (id) => send("undo", id));
  const sender = commandSender(model, notice.onTimeout);
  const { settle, busy } = sender;
  send = sender.send;
  const head = make("div", { class: "plw-top" });
  const about = make("div", { class: "plw-about" });
  const variants = make("table", { class: "plw-variants" });
  const chosen = make("div", { class: "plw-chosen" });
  const search = make("div", { class: "plw-search" });
  const examples = make("div", { class: "plw-examples" });
  const done = make("div", { class: "plw-done" });
  const parts = [head, about, variants, chosen, search, examples, done];
  const labelling = blindLabelling(model, host, (kind) => send(kind));
  root.append(head, notice.place, about, variants, chosen, search, examples, done, labelling.place);
  const showDialog = dialogs(model, root, send);
  let choice = null;
  let saveNote = () => {};
  let note = null;

  // None while conversations are labelled blind: then the state has nothing that could give an arm away.
  const cards = () => model.get("_view").cards || [];
  const card = () => cards().find((one) => one.id === choice);

  // One row a variant, all on the same lift axis.

  function row(one) {
    const lines = one.interval.map((words) => make("small", {}, words));
    return make(
      "tr", { class: `plw-variant${one.winner ? " plw-won" : ""}${one.stage === "screen" ? " plw-screened" : ""}`, "data-variant": one.id,
        onclick: (event) => { if (!event.target.closest("button")) choose(one.id); } },
      make("th", { scope: "row" },
        make("button", { type: "button", class: "plw-choose plw-foreign", "aria-pressed": "false", onclick: () => choose(one.id) }, one.name)),
      make("td", { class: "plw-on-axis" }, one.original ? intervalBar([["gap", model.get("_view").axis.zero], ["zero", 0]], "the original, at 0 %")
        : intervalBar(one.effect_pieces, one.effect)),
      make("td", { class: "plw-figures" }, make("b", {}, one.lift || (one.original ? "" : "not measured")), ...lines),
      make("td", { class: "plw-figures" }, one.expected),
      make("td", { class: "plw-verified" }, one.in_production || make("span", { class: "plw-soft" }, one.original ? "" : "–")),
      make("td", { class: "plw-verdict" }, one.outcome, " ", make("span", { class: "plw-own" })),
      make("td", { class: "plw-figures" }, one.n),
    );
  }
  function group({ key, title, about: words, ids }) {
    const rows = cards().filter((one) => ids.includes(one.id)).map(row);
    const heading = title && make("tr", { class: "plw-stage" }, make("th", { colspan: 7, scope: "rowgroup" },
      make("b", {}, title), words && make("span", { class: "plw-soft" }, ` ${words}`)));
    return make("tbody", { "data-stage": key }, heading, ...rows);
  }
  function axis() {
    const { low, high, zero } = model.get("_view").axis;
    const end = make("span", { class: "plw-zero" }, "0");
    end.style.left = `${zero}%`;
    return make("div", { class: "plw-scale plw-soft" }, make("span", {}, low), zero > 30 && zero < 70 && end, make("span", {}, high));
  }
  function listVariants() {
    const now = model.get("_view");
    variants.hidden = !now.cards.length;
    variants.classList.toggle("plw-none-deployed", !now.cards.some((one) => one.in_production));
    variants.replaceChildren(
      make("thead", {}, make("tr", {}, ...["Variant", axis(), "Lift over the original", "Expected", "Verified", "Verdict", "Pairs"].map(
        (words, at) => make("th", { scope: "col", class: { 2: "plw-figures", 3: "plw-figures", 4: "plw-verified", 6: "plw-figures" }[at] }, words)))),
      make("tbody", {}, ...now.cards.filter((one) => one.original).map(row)), ...now.groups.map(group));
  }

  // The card of the chosen row.

  function choose(id, focus) {
    if (id === choice) return;
    saveNote();
    choice = id;
    showCard();
    if (focus) variants.querySelector(`[data-variant="${CSS.escape(id)}"] .plw-choose`).focus();
    if (!card().original && model.get("_examples").available) send("examples", id, "{}");
  }
  variants.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    const ids = [...variants.querySelectorAll("[data-variant]")].map((one) => one.dataset.variant);
    choose(ids[Math.min(Math.max(0, ids.indexOf(choice) + step), ids.length - 1)], true);
    event.preventDefault();
  });
  function showCard() {
    for (const one of variants.querySelectorAll("[data-variant]")) {
      const here = one.dataset.variant === choice;
      one.classList.toggle("plw-here", here);
      one.querySelector(".plw-choose").setAttribute("aria-pressed", String(here));
    }
    const one = card();
    if (!one) { chosen.replaceChildren(make("p", { class: "plw-soft" }, "There are no variants yet. Press Refresh to check again.")); note = null; return; }
    const stage = model.get("_view").groups.find(({ ids }) => ids.includes(one.id));
    chosen.replaceChildren(make(
      "section", { class: `plw-card${one.winner ? " plw-won" : ""}`, "data-variant": one.id },
      make("div", { class: "plw-numbers" },
        make("div", { class: "plw-name plw-foreign" }, one.name),
        make("div", { class: "plw-badges" }, ...one.badges.map(([words, tone]) => badge(words, tone))),
        ...one.labels.map((words, at) => make("p", { class: at === 0 && one.labels_warn ? "plw-warning" : "plw-said" }, words)),
        one.label_button && make("div", { class: "plw-buttons" }, pushButton(one.label_button, () => send("label"), { class: "plw-label" })),
        one.effect && make("div", { class: "plw-words" }, one.effect),
        one.stage === "screen" && make("p", { class: "plw-warning" }, stage.about),
        one.confidence && intervalBar(one.confidence_pieces, one.confidence),
        one.confidence && make("div", { class: "plw-words" }, one.confidence),
        make("dl", {}, ...one.facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
        one.warnings && make("p", { class: "plw-warning" }, one.warnings),
        decision(one)),
      one.difference && make("div", { class: "plw-texts" },
        make("div", { class: "plw-heading" }, "Text compared with the original"),
        make("p", { class: "plw-soft" }, one.difference), one.diff.length > 0 && diffBlock(one.diff)),
      make("div", { class: "plw-edits-place" }),
    ));
    listEdits();
    for (const member of search.querySelectorAll("[data-member]")) {
      member.querySelector(".plw-choose").setAttribute("aria-pressed", String(member.dataset.member === choice));
    }
    reviews();
  }
  function listEdits() {
    const place = chosen.querySelector(".plw-edits, .plw-edits-place");
    if (!place || !card()) return;
    const focused = place.contains(document.activeElement) ? document.activeElement.closest("[data-edit]") : null;
    place.replaceWith(editList(card(), model.get("_made")[choice] || {}, model.get("_view").search, send) || make("div", { class: "plw-edits-place", hidden: true }));
    // The list is made anew: the switch that was used keeps the focus.
    if (focused) chosen.querySelector(`[data-edit="${CSS.escape(focused.dataset.edit)}"] .plw-switch`)?.focus({ preventScroll: true });
  }
  function decision(one) {
    const verdict = ([value, words]) => pushButton(words, () => {
      const now = (model.get("_reviews")[one.id] || ["", ""])[0];
      send("verdict", one.id, now === value ? "" : value);
    }, { "data-verdict": value, "aria-pressed": "false" });
    const field = make("textarea", { rows: 2, maxlength: 10000 });
    let typing = 0;
    saveNote = () => { clearTimeout(typing); if (field.dataset.dirty) { delete field.dataset.dirty; send("note", one.id, field.value); } };
    field.addEventListener("input", () => { field.dataset.dirty = "yes"; clearTimeout(typing); typing = setTimeout(saveNote, 900); });
    field.addEventListener("blur", saveNote);
    note = field;
    return make("div", { class: "plw-review-of" },
      make("div", { class: "plw-buttons", role: "group", "aria-label": `Verdict on ${one.name}` },
        ...[["keep", "✓ Keep"], ["reject", "✗ Reject"]].map(verdict)),
      labelledField("Note", field, "plw-note"),
      make("div", { class: "plw-buttons" },
        pushButton(`Apply ${one.name} …`, () => send("apply", one.id), { class: "plw-apply plw-foreign", disabled: !one.can_apply })),
      one.why_not && make("p", { class: "plw-soft" }, one.why_not));
  }

  function empty() {
    choice = note = null;
    saveNote = () => {};
    for (const part of parts) { part.replaceChildren(); part.hidden = true; }
  }
  function view(changed) {
    const now = model.get("_view");
    const returned = labelling.show(Boolean(changed));
    if (!now.cards) { empty(); return; }
    for (const part of parts) part.hidden = false;
    head.replaceChildren(
      ...now.head.map(([name, value]) => make("span", { class: "plw-fact" }, make("small", {}, name), make("b", { class: "plw-foreign" }, value))),
      make("span", { class: "plw-buttons" },
        now.can_stop && pushButton("Stop …", () => send("stop"), { class: "plw-stop" }),
        pushButton("Refresh", () => send("refresh"), { class: "plw-refresh" })),
    );
    about.replaceChildren(...[now.rehearsal && make("p", { class: "plw-warning" }, now.rehearsal),
      now.explanation && make("p", { class: "plw-foreign" }, now.explanation)].filter(Boolean));
    saveNote();
    listVariants();
    search.replaceChildren(...familyTree(now.search, choice, (id) => choose(id)));
    if (!card()) choice = (now.cards.find((one) => one.winner) || now.cards.find((one) => !one.original) || now.cards[0] || { id: null }).id;
    showCard();
    if (returned) variants.querySelector(".plw-choose[aria-pressed=true]")?.focus();
    done.replaceChildren(...[now.actions.length > 0 && make("div", { class: "plw-heading" }, "Actions"),
      ...now.actions.map((row) => make("div", { class: "plw-action", "data-action": row.id },
        make("span", { class: "plw-soft" }, row.when), " ", make("b", {}, row.kind), " ", make("span", { class: "plw-foreign" }, row.name),
        row.undone && badge("undone", "plain"), row.note && make("span", { class: "plw-foreign plw-soft" }, ` “${row.note}”`), " ",
        row.undo && pushButton("Undo …", () => send("undo", row.id), { class: "plw-undo" }))),
      make("div", { class: "plw-soft plw-kept" }, now.keeps_notes ? "Notes, verdicts and actions are kept by the service." : "This service keeps no notes, verdicts and actions.")].filter(Boolean));
  }

  function reviews() {
    const all = model.get("_reviews");
    for (const one of variants.querySelectorAll("[data-variant]")) {
      const verdict = (all[one.dataset.variant] || [""])[0];
      one.querySelector(".plw-own").replaceChildren(...[verdict && badge(verdict === "keep" ? "✓ you: keep" : "✗ you: reject", verdict === "keep" ? "good" : "bad")].filter(Boolean));
    }
    const [verdict, words] = all[choice] || ["", ""];
    for (const button of chosen.querySelectorAll("[data-verdict]")) button.setAttribute("aria-pressed", String(button.dataset.verdict === verdict));
    // Do not overwrite what somebody is typing.
    if (note && !note.dataset.dirty && note !== document.activeElement) note.value = words;
  }

  function list() {
    const now = model.get("_examples");
    if (!model.get("_view").cards) return;
    if (!now.available) { examples.replaceChildren(make("p", { class: "plw-soft" }, "This service has no simulated conversations.")); return; }
    if (!now.variant) { examples.replaceChildren(); return; }
    const pick = (label, value, choices, all) => {
      const field = make("select", { onchange: () => applyFilters() }, all && make("option", { value: "" }, all),
        ...choices.map(([one, words, count]) => make("option", { value: one }, count === undefined ? words : `${words} (${counted(count)})`)));
      field.value = value;
      return { field, labelled: labelledField(label, field) };
    };
    const stage = pick("Stage", now.stage, now.stages);
    const outcome = pick("Outcome", now.outcome, now.outcomes, "all outcomes");
    const persona = pick("Persona", now.persona, now.personas.map(([name, count]) => [name, name, count]), "all personas");
    const scenario = pick("Scenario", now.scenario, now.scenarios.map(([name, count]) => [name, name, count]), "all scenarios");
    const applyFilters = () => send("examples", now.variant, JSON.stringify({
      stage: stage.field.value, outcome: outcome.field.value, persona: persona.field.value, scenario: scenario.field.value }));
    const rows = now.pairs.map((pair) => pushButton(
      [`${pair.persona} · ${pair.scenario}`].join(""), () => send("pair", `${pair.stage}:${pair.cell}`),
      { class: "plw-pair", "aria-pressed": String(!!now.opened && now.opened.cell === pair.cell && now.opened.stage === pair.stage) }));
    rows.forEach((row, at) => row.append(make("span", { class: "plw-soft" }, ` ${now.pairs[at].outcome}`)));
    examples.replaceChildren(
      make("div", { class: "plw-heading" }, "Simulated conversations of ", make("span", { class: "plw-foreign" }, now.name)),
      make("div", { class: "plw-bar" }, stage.labelled, outcome.labelled, persona.labelled, scenario.labelled,
        make("span", { class: "plw-soft", role: "status" }, `${counted(now.found)} of ${counted(now.total)} pairs`)),
      make("div", { class: "plw-pairs" }, ...rows, now.found > rows.length && make("span", { class: "plw-soft" }, `Showing the first ${rows.length}.`)),
      opened(now.opened, now) || "",
    );
  }
  function opened(pair, now) {
    if (!pair) return null;
    const { name } = now;
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
  const stop = observe(model, {
    _view: view, _reviews: reviews, _made: listEdits, _examples: list, _notice: notice.show, _dialog: showDialog, _acknowledged: acknowledged,
  });
  return () => { stop(); labelling.close(); };
}

export default { render };
