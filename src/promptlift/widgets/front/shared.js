// Shared by every front end. Text is only ever inserted as text: nothing here parses HTML.

const FOCUSABLE = ["button", "input", "select", "summary", "textarea"];

/** Create an element: attributes and event handlers by name, then children (elements or text). */
function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  // In command mode a notebook handles keys itself ("x" cuts the cell), wherever the focus is. It leaves them to the
  // focused element when that element says so; an element around it is not enough.
  if (FOCUSABLE.includes(tag) || "tabindex" in (attributes || {})) made.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A short label; its colour only repeats what its words say. */
function badge(words, tone) {
  return make("span", { class: `plw-badge plw-${tone}` }, words);
}

/** A text, with the parts marked that a search found. */
function withMarks(text, parts) {
  return parts && parts.length ? parts.map(([words, found]) => (found ? make("mark", {}, words) : words)) : [text];
}

/** The messages of a conversation, each with its role; the same as the static fallback shows. */
function messageList(turns) {
  return turns.map((turn) => make(
    "div", { class: "plw-turn", "data-role": turn.role },
    make("div", { class: "plw-soft plw-who" }, make("b", {}, turn.role), turn.detail ? ` · ${turn.detail}` : null),
    make("div", { class: "plw-foreign" }, ...withMarks(turn.content || "(empty message)", turn.parts)),
    turn.cut > 0 && make("div", { class: "plw-bad" }, `${counted(turn.cut)} characters omitted`),
  ));
}

/** A field with its label before it. The label is not around the field, so that its text is the label's alone. */
function labelledField(label, field, name) {
  field.id = `plw-field-${Math.random().toString(36).slice(2)}`;
  return make("span", { class: name }, make("label", { class: "plw-soft plw-foreign", for: field.id }, label), " ", field);
}

/** Format a number with separators, the same in every locale. */
function counted(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Observe a model until the view is removed. Returns the function that stops observing. */
function observe(model, handlers) {
  for (const [name, handler] of Object.entries(handlers)) model.on(`change:${name}`, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) model.off(`change:${name}`, handler);
  };
}

/** Create the root of a widget. Keys typed in it stay in it, so that they trigger no notebook shortcut. */
function createRoot(el, name) {
  const root = make("div", {
    class: `plw ${name} tex2jax_ignore mathjax_ignore`,
    "data-lm-suppress-shortcuts": "true",
    "data-jp-suppress-context-menu": "",
  });
  for (const kind of ["keydown", "keypress", "keyup", "paste", "copy"]) {
    root.addEventListener(kind, (event) => event.stopPropagation());
  }
  el.append(root);
  return root;
}
