// Of a search: the family tree of its candidates, and the edits of the chosen one.

/** The candidates as a tree: each below the one it was made from; a name chooses its row. */
function familyTree(search, choice, choose) {
  if (!search.family) return [];
  const member = (one) => make(
    "li", { class: "plw-member", "data-member": one.id, style: `--depth: ${Math.min(one.depth, 6)}` },
    make("div", { class: "plw-member-head" },
      make("button", { type: "button", class: "plw-choose plw-foreign", "aria-pressed": String(one.id === choice), onclick: () => choose(one.id) }, one.name),
      one.generation && make("span", { class: "plw-soft" }, one.generation),
      ...one.badges.map(([words, tone]) => badge(words, tone))),
    one.pieces.length > 0 && intervalBar(one.pieces, one.measured),
    make("div", { class: "plw-member-words" },
      one.measured && make("div", { class: "plw-soft" }, one.measured),
      one.from_words && make("div", { class: "plw-foreign plw-soft" }, one.from_words),
      ...one.news.map((words) => make("div", { class: "plw-foreign" }, make("b", { class: "plw-good" }, "+ "), words)),
      ...one.gone.map((words) => make("div", { class: "plw-foreign" }, make("b", { class: "plw-bad" }, "− "), words)),
      one.reason && make("div", { class: "plw-foreign plw-soft" }, one.reason)),
  );
  return [
    make("div", { class: "plw-heading" }, "Family tree of the candidates"),
    make("p", { class: "plw-soft" }, search.about),
    search.spending && make("p", { class: "plw-soft" }, search.spending),
    search.headroom && make("p", { class: "plw-foreign" }, search.headroom),
    make("ul", { class: "plw-family" }, ...search.family.map(member)),
  ].filter(Boolean);
}

/** The edits of a candidate, each with its reason; those of its text can be switched off and on. */
function editList(one, made, search, send) {
  if (!one.edits.length) return null;
  const switched = made.switched || [];
  const switchOf = (edit) => {
    const field = make("input", { type: "checkbox", class: "plw-switch", onchange: () => send("switch", one.id, edit.id) });
    field.checked = edit.on !== switched.includes(edit.id);
    return labelledField(field.checked ? "switched on" : "switched off", field, "plw-switch-of");
  };
  const shown = (edit) => make(
    "article", { class: `plw-edit${edit.on !== switched.includes(edit.id) ? "" : " plw-off"}`, "data-edit": edit.id },
    make("div", { class: "plw-edit-head" }, make("b", { class: "plw-foreign" }, edit.symptom), badge(...edit.badge), edit.switch && switchOf(edit)),
    edit.cause && make("p", { class: "plw-foreign" }, make("span", { class: "plw-soft" }, "Why: "), edit.cause),
    make("div", { class: "plw-change" }, make("span", { class: "plw-soft" }, edit.operation),
      edit.before && make("del", { class: "plw-foreign" }, edit.before), edit.after && make("ins", { class: "plw-foreign" }, edit.after)),
    ...edit.evidence.map(([where, words]) => make("blockquote", {}, words && make("span", { class: "plw-foreign" }, `“${words}” `),
      make("span", { class: "plw-soft plw-foreign" }, where))),
    make("div", { class: "plw-words" }, edit.measured),
    edit.reason && make("p", { class: "plw-foreign plw-soft" }, edit.reason),
  );
  const byHand = switched.length > 0 && make(
    "div", { class: "plw-made" },
    make("p", { class: "plw-warning plw-foreign" }, made.same ? `This is the text of ${made.same}.` : search.untested),
    make("p", { class: "plw-soft" }, made.difference), made.diff.length > 0 && diffBlock(made.diff),
    !made.same && make("div", { class: "plw-buttons" },
      pushButton("Test this text …", () => send("test", one.id), { class: "plw-test" }),
      pushButton("Apply untested …", () => send("apply made", one.id), { class: "plw-apply-made" })),
  );
  return make(
    "div", { class: "plw-edits" },
    make("div", { class: "plw-heading" }, "Edits, and why they were made"),
    byHand,
    ...one.edits.map(shown),
    !one.edits.some((edit) => edit.switch) && make("p", { class: "plw-soft" }, "This text cannot be put together again from its edits, so none can be switched off."),
  );
}
