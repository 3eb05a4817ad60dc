// The interactive view of an InteractivePlot: the picture, its marks over it, and below it the browser of the mark that is open.

// A pointer this near to a mark, in pixels, is on it.
const REACH = 14;

function render({ model, el, host }) {
  const root = createRoot(el, "plw-plot");
  const { width, height, marks } = model.get("_about");
  let number = Math.max(0, model.get("_query").number || 0, model.get("_opened").number || 0);
  let current = 0;
  let waiting = 0;
  let view = null;

  const buttons = marks.map(([x, y, words], at) => {
    const button = make("button", {
      type: "button", class: "plw-mark", tabindex: at ? -1 : 0, "aria-label": words,
      onclick: () => open(at), onfocus: () => say(at), onblur: () => say(null),
    });
    button.style.left = `${x}%`;
    button.style.top = `${y}%`;
    return button;
  });
  const tip = make("div", { class: "plw-tip plw-foreign", role: "status", hidden: true });
  const alt = `A plot with ${counted(marks.length)} marks that open conversations`;
  const images = [["_picture", "plw-on-light"], ["_dark_picture", "plw-on-dark"]].filter(([name]) => model.get(name))
    .map(([name, page]) => make("img", { class: page, src: model.get(name), width, height, alt, draggable: "false" }));
  const picture = make("div", {
    class: "plw-picture", role: "group", "aria-label": "Plot. Arrow keys go from mark to mark, Enter opens the conversations.",
    onpointermove: (event) => { const at = nearest(event); picture.classList.toggle("plw-near", at !== null); say(at); },
    onpointerleave: () => { picture.classList.remove("plw-near"); say(null); },
    onclick: (event) => {
      const at = event.target.closest(".plw-mark") ? null : nearest(event);
      if (at !== null) { go(at); open(at); }
    },
  }, ...images, ...buttons, tip);
  picture.style.maxWidth = `${width}px`;
  const notice = make("div", { class: "plw-notice", role: "alert", hidden: true });
  const below = make("div", { class: "plw-below", hidden: true });
  root.append(picture, make("p", { class: "plw-soft plw-hint" }, "Click a mark to read its conversations."), notice, below);

  /** The mark nearest to the pointer, null when none is in reach. */
  function nearest(event) {
    const box = picture.getBoundingClientRect();
    let found = null;
    let least = REACH;
    marks.forEach(([x, y], at) => {
      const away = Math.hypot(event.clientX - box.left - (x * box.width) / 100, event.clientY - box.top - (y * box.height) / 100);
      if (away <= least) { found = at; least = away; }
    });
    return found;
  }
  function say(at) {
    tip.hidden = at === null;
    for (const button of picture.querySelectorAll(".plw-pointed")) button.classList.remove("plw-pointed");
    if (at === null) return;
    const [x, y, words] = marks[at];
    tip.textContent = words;
    // Beside the mark, on the side with more room.
    tip.style.left = x < 50 ? `${x}%` : "auto";
    tip.style.right = x < 50 ? "auto" : `${100 - x}%`;
    tip.style.top = y < 50 ? `${y}%` : "auto";
    tip.style.bottom = y < 50 ? "auto" : `${100 - y}%`;
    buttons[at].classList.add("plw-pointed");
  }
  /** Only one mark is in the order of Tab: the one that was used last. */
  function go(at) {
    buttons[current].tabIndex = -1;
    current = at;
    buttons[at].tabIndex = 0;
    buttons[at].focus({ preventScroll: true });
  }
  function ask(mark) {
    number += 1;
    model.set("_query", { number, mark });
    model.save_changes();
    clearTimeout(waiting);
    waiting = setTimeout(() => notify("The kernel has not answered yet; it is busy or has stopped."), 4000);
  }
  function open(at) { current = at; ask(at); }
  function notify(words) { notice.textContent = words; notice.hidden = !words; }

  async function show() {
    const opened = model.get("_opened");
    if ((opened.number || 0) < number) return;
    clearTimeout(waiting);
    notify(opened.problem || "");
    if (view) view.abort();
    view = null;
    buttons.forEach((button, at) => button.setAttribute("aria-expanded", String(at === opened.mark && Boolean(opened.browser))));
    below.hidden = !opened.browser;
    below.replaceChildren();
    if (!opened.browser) return;
    view = new AbortController();
    const { signal } = view;
    const slot = make("div", {});
    below.append(make("div", { class: "plw-opened" }, make("b", { class: "plw-foreign" }, opened.words), " ",
      make("button", { type: "button", class: "plw-close", onclick: close }, "Close")), slot);
    try {
      const browser = await host.getWidget(opened.browser);
      if (!signal.aborted) await browser.render({ el: slot, signal });
    } catch {
      if (!signal.aborted) slot.append(make("p", { class: "plw-soft plw-hint" }, "This page cannot show it here. In a cell, plot.browser is the same."));
    }
  }
  function close() {
    ask(null);
    if (buttons.length) buttons[current].focus({ preventScroll: true });
  }

  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !buttons.length) return;
    const last = buttons.length - 1;
    const to = { ArrowRight: current + 1, ArrowDown: current + 1, ArrowLeft: current - 1, ArrowUp: current - 1, Home: 0, End: last };
    if (event.key === "Escape") { if (!below.hidden) close(); say(null); }
    else if (Object.hasOwn(to, event.key)) go(Math.min(last, Math.max(0, to[event.key])));
    else return;
    event.preventDefault();
  });

  show();
  const end = observe(model, { _opened: show });
  return () => { clearTimeout(waiting); if (view) view.abort(); end(); };
}

export default { render };
