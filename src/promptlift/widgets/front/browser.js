// The interactive view of a ConversationBrowser: a list, a transcript, and keys to label with.

const KEYS = [
  ["↑ ↓", "move"], ["PgUp PgDn", "change the page"], ["Home End", "first, last"], ["/", "search"],
  ["y n", "completed: yes, no"], ["1 2 3", "negative, neutral, positive"], ["⌫", "remove the labels"],
  ["Enter", "next unlabelled"], ["?", "show or hide this help"],
];
const SENTIMENTS = ["negative", "neutral", "positive"];
const TONES = { positive: "good", neutral: "plain", negative: "bad", yes: "good", no: "bad", unknown: "plain" };
const COMPLETED = { yes: "completed", no: "not completed", unknown: "not judged" };

function render({ model, el }) {
  const about = model.get("_about");
  const plan = about.plan;
  // Commands are numbered by view: Python runs each of them once, in order, however they are bundled.
  const client = Math.random().toString(36).slice(2) + Date.now().toString(36);
  let sent = 0;
  let asked = model.get("_opened").number || 0;
  let place = null;
  let typing = 0;
  let waiting = 0;

  const root = createRoot(el, "plw-browser");
  const text = make("input", {
    type: "search", placeholder: "Search …", "aria-label": "Text in the conversation", maxlength: 500, size: 24,
    oninput: () => { clearTimeout(typing); typing = setTimeout(() => search(), 200); },
  });
  const pick = (label, choices) => make(
    "select", { "aria-label": label, onchange: () => search() },
    make("option", { value: "" }, label), ...choices.map(([value, words]) => make("option", { value }, words)),
  );
  const named = (pairs, names) =>
    pairs.map(([name, count]) => [name, `${(names || {})[name] || name} (${counted(count)})`]);
  const sentiment = pick("Any sentiment", named(about.choices.sentiment, { none: "not judged" }));
  const completion = pick("Any completion", named(about.choices.completion, COMPLETED));
  const issue = pick("Any issue", about.choices.issues.map(([title, count], at) => [at, `${title} (${counted(count)})`]));
  const labelled = pick("Labelled or not", [
    ["no", "Not labelled"], ["yes", "Labelled"], ...(about.judged ? [["differs", "Label differs from the judge"]] : []),
  ]);
  // Filters that a table may or may not offer: by prompt, model, topic, metadata and date.
  const facets = about.choices.facets.map(([key, label, choices]) => {
    const field = make("select", { onchange: () => search() }, make("option", { value: "" }, "any"),
      ...choices.map(([words, count], at) => make("option", { value: at }, `${words} (${counted(count)})`)));
    return { key, field, shown: labelledField(label, field) };
  });
  const [first, last] = about.choices.dates;
  const day = () => make("input", { type: "date", min: first, max: last, onchange: () => search() });
  const since = day();
  const until = day();
  const order = make("select", { onchange: () => search() },
    ...about.choices.orders.map((words, at) => make("option", { value: at }, words)));
  const more = make("div", { class: "plw-bar plw-more" }, about.choices.orders.length > 1 && labelledField("Sort", order),
    ...facets.map(({ shown }) => shown), first && first !== last && labelledField("From", since), first && first !== last && labelledField("until", until));
  const clear = make("button", { type: "button", onclick: () => { unfilter(); search(); list.focus(); } }, "Clear");
  const found = make("span", { class: "plw-found", role: "status" });
  const judged = about.judged ? [completion, about.choices.sentiment.some(([name]) => name !== "none") && sentiment, issue] : [];
  const list = make("div", {
    class: "plw-list", role: "listbox", tabindex: 0, "aria-label": "Conversations",
    onclick: (event) => {
      const row = event.target.closest("[data-place]");
      if (row) { go(Number(row.dataset.place)); list.focus(); }
    },
  });
  const pages = make("div", { class: "plw-pages" });
  const shown = make("div", { class: "plw-shown", tabindex: 0, "aria-label": "Transcript" });
  const turnPage = (by) => { ask("page", place, model.get("_view").page + by); };
  const back = make("button", { type: "button", onclick: () => turnPage(-1) }, "‹ Previous page");
  const next = make("button", { type: "button", onclick: () => turnPage(1) }, "Next page ›");
  const where = make("span", { class: "plw-soft" });
  pages.append(back, where, next);

  // A plan asks one question; a table can be labelled with any.
  const asks = (field) => !plan || plan.question === field;
  const choice = (words, key, field, value) => make("button", {
    type: "button", "aria-pressed": "false", "data-field": field, "data-value": String(value),
    onclick: () => { toggle(field, value); list.focus(); },
  }, words, ...(key === null ? [] : [" ", make("kbd", {}, key)]));
  const labelling = make(
    "div", { class: "plw-labelling", role: "group", "aria-label": "Your label" },
    ...(asks("task_completed") ? [make("span", { class: "plw-soft" }, plan ? "Was the task completed?" : "Completed"),
      choice("Yes", "y", "task_completed", true), choice("No", "n", "task_completed", false)] : []),
    ...(asks("sentiment") ? [make("span", { class: "plw-soft" }, "Sentiment"),
      ...SENTIMENTS.map((name, at) => choice(name, at + 1, "sentiment", name))] : []),
    ...about.label_sets.flatMap(([name, values]) => [make("span", { class: "plw-soft plw-foreign" }, name),
      ...values.map((value) => choice(value, null, name, value))]),
    make("button", { type: "button", onclick: () => { ask("unlabelled", place); list.focus(); } },
      "Next unlabelled ", make("kbd", {}, "Enter")),
  );
  const progress = make("span", { class: "plw-soft plw-progress", role: "status" });
  const learn = make("button", { type: "button", hidden: true, onclick: () => { command(place ?? 0, "learn", null); list.focus(); } },
    "Learn from these labels");
  const learned = make("p", { class: "plw-learned plw-soft plw-foreign", role: "status", hidden: true });
  labelling.append(progress, learn);
  const note = make("textarea", { rows: 1, maxlength: 10000 });
  let typingNote = 0;
  const saveNote = () => {
    clearTimeout(typingNote);
    if (!("at" in note.dataset)) return;
    const at = Number(note.dataset.at);
    delete note.dataset.at;
    command(at, "note", note.value);
  };
  note.addEventListener("input", () => { note.dataset.at ??= String(place); clearTimeout(typingNote); typingNote = setTimeout(saveNote, 900); });
  note.addEventListener("blur", saveNote);
  const noting = labelledField("Note", note, "plw-noting");
  const notice = make("div", { class: "plw-notice", role: "alert", hidden: true });
  const help = make("div", { class: "plw-help", hidden: true }, ...KEYS.map(([key, words]) =>
    make("span", {}, make("kbd", {}, key), " ", words)));
  root.append(...[
    make("div", { class: "plw-bar" }, ...(plan ? [] : [text]), ...judged, labelled, clear, found,
      make("button", { type: "button", onclick: () => { help.hidden = !help.hidden; } }, "Keys ", make("kbd", {}, "?"))),
    more.children.length > 0 && more, help, notice, make("div", { class: "plw-panes" }, make("div", { class: "plw-left" }, list, pages), shown), labelling, learned, noting,
  ].filter(Boolean));
  if (about.note) root.append(make("div", { class: "plw-foot plw-soft" }, about.note));

  // Queries.

  const filters = [text, sentiment, completion, issue, labelled, since, until, ...facets.map(({ field }) => field)];
  const controls = [...filters, order];
  // Filters and sorting outlive the kernel: the tab remembers them for the next widget of this page over the same choices.
  const memory = `promptlift ${location.pathname} ${about.kept} ${about.blind} ${JSON.stringify(about.choices)}`;
  function remember() {
    try { sessionStorage.setItem(memory, JSON.stringify(controls.map((field) => field.value))); } catch { /* no storage here */ }
  }
  function recall() {
    let kept = null;
    try { kept = JSON.parse(sessionStorage.getItem(memory)); } catch { /* no storage here */ }
    if (!Array.isArray(kept) || kept.length !== controls.length) return false;
    controls.forEach((field, at) => { field.value = kept[at]; });
    return filters.some((field) => field.value) || order.value !== "0";
  }

  function ask(move, at, page) {
    asked += 1;
    model.set("_query", {
      number: asked, client, move, place: at ?? 0, page: page ?? 0, text: text.value,
      sentiment: sentiment.value ? [sentiment.value] : [], completion: completion.value ? [completion.value] : [],
      issue: issue.value === "" ? null : Number(issue.value), labelled: labelled.value, order: Number(order.value),
      facets: Object.fromEntries(facets.filter(({ field }) => field.value !== "").map(({ key, field }) => [key, Number(field.value)])),
      since: since.value, until: until.value,
    });
    remember();
    model.save_changes();
    expectAnswer();
  }
  function search() { clearTimeout(typing); ask("first"); }
  function unfilter() { for (const field of filters) field.value = ""; }
  function go(to) {
    if (to === place) return;
    place = to;
    highlight();
    ask("to", to);
  }
  function move(by) {
    const rows = model.get("_view").rows;
    const at = rows.findIndex((row) => row.place === place);
    const to = rows[at + by];
    if (at >= 0 && to) go(to.place);
    else ask("by", place, by);
  }

  // Commands.

  function pending() { return model.get("_commands").filter((one) => one.number > (model.get("_acknowledged")[one.client] || 0)); }
  function labelOf(at) {
    const [completed, sentiment, own, words] = model.get("_label_state").shown[String(at)] || [null, null];
    let found = { ...own, task_completed: completed, sentiment, note: words || "" };
    for (const command of pending()) {
      if (command.place !== at) continue;
      if (command.field === "both") found = { task_completed: null, sentiment: null, note: found.note };
      else found[command.field] = command.value;
    }
    return found;
  }
  function label(field, value) {
    if (place === null) return;
    // A label applies to the conversation that is shown, not to one that is still loading.
    if (model.get("_opened").place !== place) { notify("Not labelled: this conversation is still loading. Try again when it is shown."); return; }
    command(place, field, value);
  }
  function command(at, field, value) {
    sent += 1;
    model.set("_commands", [...pending(), { client, number: sent, place: at, field, value }]);
    model.save_changes();
    labels();
    expectAnswer();
  }
  function answer(yes) {
    if (asks("task_completed")) toggle("task_completed", yes);
    else if (!asks("sentiment")) toggle(plan.question, yes ? "yes" : "no");
  }
  function feel(at) { if (asks("sentiment")) toggle("sentiment", SENTIMENTS[at]); }
  function toggle(field, value) { label(field, labelOf(place)[field] === value ? null : value); }

  // Say so when a busy or stopped kernel does not answer.
  function expectAnswer() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const waitingLabels = pending().filter((one) => one.client === client).length;
      if (!waitingLabels && (model.get("_opened").number || 0) >= asked) return;
      const unsaved = waitingLabels === 1 ? " 1 label is not saved yet." : ` ${waitingLabels} labels are not saved yet.`;
      notify(`The kernel has not answered yet; it is busy or has stopped.${waitingLabels ? unsaved : ""}`);
    }, 3000);
  }
  function notify(words) { notice.textContent = words; notice.hidden = !words; }

  // What is shown.

  function rows() {
    const view = model.get("_view");
    list.replaceChildren(...view.rows.map((row) => make(
      "div", { class: "plw-row", role: "option", id: `plw-${client}-${row.place}`, "data-place": row.place },
      make("div", { class: "plw-title" }, ...withMarks(row.title, row.parts)),
      make("div", { class: "plw-small" },
        make("span", { class: "plw-soft" }, row.when),
        row.prompt && make("span", { class: "plw-soft plw-foreign" }, row.prompt),
        row.completed && badge(COMPLETED[row.completed], TONES[row.completed]),
        row.sentiment && badge(row.sentiment, TONES[row.sentiment]),
        row.issue_count > 0 && make("span", { class: "plw-soft" }, row.issue_count === 1 ? "1 issue" : `${row.issue_count} issues`),
        make("span", { class: "plw-own" })),
    )));
    if (!view.rows.length) list.append(make("p", { class: "plw-soft plw-none" }, "No conversations match. Clear the filters to see all."));
    found.textContent = view.found === about.rows ? `${counted(about.rows)} conversations`
      : `${counted(view.found)} of ${counted(about.rows)} conversations`;
    where.textContent = view.found
      ? `${counted(view.first + 1)} to ${counted(view.first + view.rows.length)} of ${counted(view.found)}` : "";
    back.disabled = view.page <= 0;
    next.disabled = view.page + 1 >= view.pages;
    list.scrollTop = 0;
    highlight();
    labels();
  }
  function highlight() {
    shown.classList.toggle("plw-stale", place !== null && model.get("_opened").place !== place);
    for (const row of list.querySelectorAll(".plw-row")) {
      const here = Number(row.dataset.place) === place;
      row.setAttribute("aria-selected", String(here));
      if (!here) continue;
      list.setAttribute("aria-activedescendant", row.id);
      const over = row.offsetTop - list.scrollTop;
      if (over < 0) list.scrollTop = row.offsetTop;
      else if (over + row.offsetHeight > list.clientHeight) list.scrollTop = row.offsetTop + row.offsetHeight - list.clientHeight;
    }
  }
  function labels() {
    for (const row of list.querySelectorAll(".plw-row")) {
      const own = labelOf(Number(row.dataset.place));
      const badges = [
        own.task_completed !== null && badge(own.task_completed ? "✓ you: completed" : "✗ you: not completed", own.task_completed ? "good plw-human" : "bad plw-human"),
        own.sentiment !== null && badge(`you: ${own.sentiment}`, `${TONES[own.sentiment]} plw-human`),
        ...about.label_sets.map(([name]) => own[name] && badge(`${name}: ${own[name]}`, "accent plw-human")),
        own.note && badge("note", "plain plw-human"),
      ].filter(Boolean);
      row.querySelector(".plw-own").replaceChildren(...badges);
    }
    const own = labelOf(place);
    for (const button of labelling.querySelectorAll("[data-field]")) {
      button.setAttribute("aria-pressed", String(String(own[button.dataset.field]) === button.dataset.value));
      button.disabled = place === null;
    }
    note.disabled = place === null;
    // Do not overwrite what somebody is typing.
    if (!("at" in note.dataset) && note.value !== own.note) note.value = own.note;
    const { labelled: done, notice: problem } = model.get("_label_state");
    const { width, learned: taught } = model.get("_label_state");
    learn.hidden = !about.learns || done < about.learns;
    learn.disabled = pending().some((one) => one.field === "learn");
    learned.textContent = taught || "";
    learned.hidden = !taught;
    progress.textContent = `${counted(done)}${plan ? ` of ${counted(plan.total)}` : ""} labelled`
      + (about.kept ? `, saved in ${about.kept}` : "") + (width ? `: ${width}` : "");
    if (!pending().length) notify(problem);
  }
  function transcript() {
    const opened = model.get("_opened");
    if ((opened.number || 0) < asked && opened.place !== place && place !== null) { highlight(); return; }
    place = opened.place;
    if (!pending().length) clearTimeout(waiting);
    if (place === null) { shown.replaceChildren(); highlight(); labels(); return; }
    const facts = make("dl", {}, ...opened.facts.map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", { class: "plw-foreign" }, value))));
    shown.replaceChildren(facts, ...messageList(opened.turns));
    if (opened.problem) shown.append(make("p", { class: "plw-soft" }, opened.problem));
    shown.scrollTop = 0;
    const mark = shown.querySelector(".plw-turn mark");
    if (mark) shown.scrollTop = Math.max(0, mark.getBoundingClientRect().top - shown.getBoundingClientRect().top - 60);
    highlight();
    labels();
  }

  // Keys.

  const actions = {
    ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1),
    PageDown: () => { if (!next.disabled) turnPage(1); }, PageUp: () => { if (!back.disabled) turnPage(-1); },
    Home: () => ask("first"), End: () => ask("last"),
    "/": () => { if (plan) return; text.focus(); text.select(); }, Enter: () => ask("unlabelled", place),
    y: () => answer(true), n: () => answer(false), 1: () => feel(0), 2: () => feel(1), 3: () => feel(2),
    Backspace: () => label("both", null), Delete: () => label("both", null), "?": () => { help.hidden = !help.hidden; },
  };
  root.addEventListener("keydown", (event) => {
    const into = event.target;
    if (into.matches("input, select, textarea")) {
      if (event.key === "Escape") { list.focus(); event.preventDefault(); }
      if (event.key === "Enter" && into === text) { search(); list.focus(); event.preventDefault(); }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (into.matches("button") && (event.key === "Enter" || event.key === " ")) return;
    if (into === shown && ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"].includes(event.key)) return;
    const labelKey = ["y", "n", "1", "2", "3", "Backspace", "Delete"].includes(event.key);
    const act = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!act) return;
    event.preventDefault();
    // A key that is held down repeats a move, but labels only once.
    if (!(event.repeat && labelKey)) act();
  });

  // A view that is created again, after a reload or in a second place, shows the same as the first one.
  const before = model.get("_query");
  text.value = before.text || "";
  sentiment.value = (before.sentiment || [""])[0] || "";
  completion.value = (before.completion || [""])[0] || "";
  issue.value = before.issue ?? "";
  labelled.value = before.labelled || "";
  since.value = before.since || "";
  until.value = before.until || "";
  order.value = before.order || 0;
  for (const { key, field } of facets) field.value = (before.facets || {})[key] ?? "";
  const recalled = !("number" in before) && recall();
  rows();
  transcript();
  if (recalled) search();
  return observe(model, {
    _view: rows, _opened: transcript, _label_state: labels, _acknowledged: () => { clearTimeout(waiting); labels(); },
  });
}

export default { render };
