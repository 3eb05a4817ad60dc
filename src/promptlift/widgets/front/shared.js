// What every front end uses. Text is only ever set as text: nothing here reads HTML.

const FOCUSABLE = ["button", "input", "select", "summary", "textarea"];

/** Make an element: attributes and event handlers by name, then children (elements, or text). */
function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  // In command mode a notebook takes keys for its own ("x" cuts the cell) wherever something in it has the focus. It
  // leaves them alone when the element with the focus says so; that an element around it says so is not enough.
  if (FOCUSABLE.includes(tag) || "tabindex" in (attributes || {})) made.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** A short mark, told by its words first and its colour second. */
function mark(words, tone) {
  return make("span", { class: `plw-mark plw-${tone}` }, words);
}

/** A number with separators, the same in every language of the browser. */
function counted(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Listen to a model until the view is gone. Gives the function that ends it. */
function listening(model, handlers) {
  for (const [name, handler] of Object.entries(handlers)) model.on(`change:${name}`, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) model.off(`change:${name}`, handler);
  };
}

/** Make the root of a widget: keys typed in it stay in it, so that no notebook shortcut is set off by them. */
function rooted(el, name) {
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
