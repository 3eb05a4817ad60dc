// The front end of every widget. It makes elements of the tree that Python sends, keeps them up to date, and sends back
// what a person does: the action that an element names, with its data attributes and the named fields of its form.
// Text is only ever inserted as text: nothing here parses HTML.

const LATE = 3000;
// The second click of a double click must not hit a button that has just appeared.
const GUARD = 700;
const FIELDS = "input, select, textarea";

function render({ model, el, host }) {
  const view = Math.random().toString(36).slice(2);
  const pending = new Map();
  let sent = 0;
  let late = 0;
  let typing = 0;
  let poll = 0;

  const root = document.createElement("div");
  root.className = "plw tex2jax_ignore mathjax_ignore";
  root.setAttribute("data-lm-suppress-shortcuts", "true");
  root.setAttribute("data-jp-suppress-context-menu", "");
  el.append(root);
  const mine = (event) => event.target.closest(".plw") === root;

  // The tree.

  function make(node) {
    if (!Array.isArray(node)) return document.createTextNode(node);
    const made = document.createElement(node[0].split(".")[0]);
    made.born = Date.now();
    // In command mode a notebook handles keys itself ("x" cuts the cell), wherever the focus is. It leaves them to the
    // focused element when that element says so; an element around it is not enough.
    if (made.matches(`button, summary, ${FIELDS}`) || "tabindex" in node[1]) made.setAttribute("data-lm-suppress-shortcuts", "true");
    return made;
  }
  function fits(old, node) {
    if (!Array.isArray(node)) return old.nodeType === Node.TEXT_NODE;
    return old.localName === node[0].split(".")[0] && (old.dataset.key || "") === (node[1]["data-key"] || "");
  }
  /** Make the children of an element those of the tree: what fits stays and keeps the focus, the rest is made or dropped. */
  function patch(place, nodes) {
    const old = [...place.childNodes].filter((one) => !one.own);
    const children = nodes.map((node) => {
      const at = old.findIndex((one) => fits(one, node));
      return at < 0 ? make(node) : old.splice(0, at + 1).reduce((skipped, one) => { drop(skipped); return one; });
    });
    old.forEach(drop);
    children.forEach((child, at) => {
      if (place.childNodes[at] !== child) place.insertBefore(child, place.childNodes[at] || null);
      if (Array.isArray(nodes[at])) update(child, nodes[at]);
      else if (child.data !== nodes[at]) child.data = nodes[at];
    });
  }
  function update(element, [tag, attributes, children]) {
    const fresh = !element.known;
    const wanted = { ...attributes, class: tag.split(".").slice(1).join(" ") };
    for (const name of ["id", "for"]) if (name in wanted) wanted[name] = `${view}-${wanted[name]}`;
    for (const name of element.known || []) if (!(name in wanted)) element.removeAttribute(name);
    for (const [name, value] of Object.entries(wanted)) {
      // What a person folded stays so.
      if (element.getAttribute(name) !== value && (fresh || name !== "open")) element.setAttribute(name, value);
    }
    element.known = Object.keys(wanted);
    if ("widget" in element.dataset) { if (fresh) open(element); return; }
    patch(element, "part" in element.dataset ? model.get(element.dataset.part) : children);
    // Do not overwrite what somebody is typing.
    if (element.matches(FIELDS) && !element.typed && (fresh || !element.matches(":focus"))) {
      if (element.value !== (wanted.value || "")) element.value = wanted.value || "";
    }
    if (element.type === "checkbox") element.checked = "checked" in wanted;
    if (!fresh) return;
    if (element.matches(".plw-dialog")) {
      // A widget is taller than the window: place the dialog in the visible part.
      const top = Math.max(0, -root.getBoundingClientRect().top) + 12;
      element.style.marginTop = `${Math.max(0, Math.min(top, root.offsetHeight - element.offsetHeight - 24))}px`;
    }
    if ("focus" in element.dataset) element.focus({ preventScroll: true });
    if ("reveal" in element.dataset) element.scrollIntoView({ block: "nearest" });
  }
  function drop(old) {
    for (const one of old.querySelectorAll ? [old, ...old.querySelectorAll("*")] : []) {
      if (one.typed && one.closest(".plw") === root) send(one);
      if (one.close) one.close();
    }
    old.remove();
  }
  /** Show another widget in an element. */
  async function open(place) {
    const closed = new AbortController();
    place.close = () => closed.abort();
    try {
      const inner = await host.getWidget(place.dataset.widget);
      if (closed.signal.aborted) return;
      await inner.render({ el: place, signal: closed.signal });
      if ("into" in place.dataset) place.querySelector(place.dataset.into)?.focus();
    } catch {
      place.textContent = place.dataset.otherwise;
    }
  }

  // What a person does.

  function send(from) {
    const form = from.closest("[data-form]");
    const message = { ...from.dataset };
    for (const one of form ? form.querySelectorAll("[name]") : [from]) {
      if (one.name) message[one.name] = one.type === "checkbox" ? String(one.checked) : one.value;
      one.typed = false;
    }
    clearTimeout(typing);
    sent += 1;
    pending.set(`${view}-${sent}`, from.dataset);
    model.send({ ...message, id: `${view}-${sent}` });
    root.toggleAttribute("data-busy", true);
    more.sent?.(from);
    wait();
  }
  /** Say so when a busy or stopped kernel does not answer. */
  function wait() {
    clearTimeout(late);
    late = setTimeout(() => {
      if (!pending.size) return;
      const unsaved = [...pending.values()].filter((one) => "unsaved" in one).length;
      tell("The kernel has not answered yet; it is busy or has stopped."
        + (unsaved ? ` ${unsaved} label${unsaved === 1 ? " is" : "s are"} not saved yet.` : ""));
    }, LATE);
  }
  function tell(words) {
    root.querySelector(":scope > .plw-late")?.remove();
    if (!words) return;
    const notice = make(["div", {}]);
    notice.own = true;
    notice.className = "plw-notice plw-late";
    notice.setAttribute("role", "alert");
    notice.textContent = words;
    root.append(notice);
  }
  function press(from) {
    if (from.disabled || more.refuses?.(from)) return;
    if (from.matches("input")) { from.focus(); from.select(); return; }
    if (from.matches("summary")) { from.click(); return; }
    if ("action" in from.dataset) send(from);
    const folded = from.closest("details:not([open])");
    if (folded && "follow" in from.dataset) folded.open = true;
    if ("follow" in from.dataset) from.focus();
    const next = from.closest("[data-then]");
    if (next) root.querySelector(next.dataset.then)?.focus();
  }
  root.addEventListener("click", (event) => {
    const from = event.target.closest("[data-action]");
    if (!from || !mine(event) || from.matches(FIELDS)) return;
    // A double click presses a button once.
    if ("once" in from.dataset && event.detail > 1) return;
    if ("guard" in from.dataset && Date.now() - from.born < GUARD) return;
    press(from);
  });
  root.addEventListener("input", (event) => {
    const from = event.target;
    if (!mine(event) || !("delay" in from.dataset)) return;
    from.typed = true;
    clearTimeout(typing);
    typing = setTimeout(() => send(from), Number(from.dataset.delay));
  });
  root.addEventListener("change", (event) => {
    const from = event.target;
    if (mine(event) && "action" in from.dataset && (from.typed || !("delay" in from.dataset))) send(from);
  });
  root.addEventListener("keydown", (event) => {
    const from = event.target;
    if (!mine(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (from.matches(FIELDS) && event.key !== "Escape" && !(event.key === "Enter" && from.type === "search")) return;
    if (from.matches("button, summary") && ["Enter", " "].includes(event.key)) return;
    if ("scrolls" in from.dataset && /^(Arrow|Page|Home|End)/.test(event.key)) return;
    if (from.type === "search" && event.key === "Enter") send(from);
    for (let scope = from.closest("[data-keyboard]"); scope; scope = scope.parentElement.closest("[data-keyboard]")) {
      const key = from.type === "search" ? "Escape" : event.key;
      const found = [...scope.querySelectorAll("[data-keys]")].find((one) => one.dataset.keys.split(" ").includes(key));
      if (!found) continue;
      event.preventDefault();
      // A key that is held down repeats a move, and nothing else.
      if (!event.repeat || "repeats" in found.dataset) press(found);
      return;
    }
  });
  // Keys typed in a widget stay in it, so that they trigger no notebook shortcut.
  for (const kind of ["keydown", "keypress", "keyup", "paste", "copy"]) root.addEventListener(kind, (event) => event.stopPropagation());

  // Fields that outlive the kernel: the tab remembers them for the next widget of this page with the same choices.

  const place = (form) => `promptlift ${location.pathname} ${form.dataset.memory}`;
  function remember() {
    const form = root.querySelector("[data-memory]:not([data-fresh])");
    if (!form) return;
    const values = [...form.querySelectorAll("[name]")].map((one) => one.value);
    try { sessionStorage.setItem(place(form), JSON.stringify(values)); } catch { /* no storage here */ }
  }
  function recall(form) {
    let kept = null;
    try { kept = JSON.parse(sessionStorage.getItem(place(form))); } catch { /* no storage here */ }
    const fields = [...form.querySelectorAll("[name]")];
    if (!Array.isArray(kept) || kept.length !== fields.length || fields.every((one, at) => one.value === kept[at])) return;
    fields.forEach((one, at) => { one.value = kept[at]; });
    send(fields[0]);
  }

  // Drawing.

  function show() {
    patch(root, model.get("_tree"));
    more.shown?.();
    schedule();
  }
  /** The next poll waits for the answer to the last one, and for the page to be visible. */
  function schedule() {
    clearTimeout(poll);
    const asking = root.querySelector(":scope > [data-poll]");
    if (!asking) return;
    poll = setTimeout(() => {
      if (document.hidden || pending.size || !root.isConnected) schedule();
      else send(asking);
    }, 1000 * asking.dataset.poll);
  }
  function answered({ done }) {
    if (!pending.delete(done)) return;
    if (!pending.size) { clearTimeout(late); tell(""); root.removeAttribute("data-busy"); }
    remember();
    more.shown?.();
    schedule();
  }

  const more = typeof extend === "function" ? extend({ root, model, pending, tell, press }) : {};
  root.className += ` ${model.get("_name")}`;
  const names = ["_tree", ...model.get("_parts")].map((name) => `change:${name}`);
  for (const name of names) model.on(name, show);
  model.on("msg:custom", answered);
  show();
  const form = root.querySelector("[data-memory][data-fresh]");
  if (form) recall(form);
  return () => {
    for (const name of names) model.off(name, show);
    model.off("msg:custom", answered);
    for (const timer of [late, typing, poll]) clearTimeout(timer);
    for (const one of root.querySelectorAll("[data-widget]")) one.close?.();
  };
}

export default { render };
