// What the front ends of widgets that act share: wishes with numbers, dialogs that ask first, drawings and diffs.

const PATIENCE = 4000;
// A second click of a double click must not hit a button that has just appeared.
const DEAD_TIME = 700;

/** Send wishes. Each has a number of its own view, so that Python carries it out once however it is bundled. */
function wishing(model, onSilence) {
  const client = Math.random().toString(36).slice(2) + Date.now().toString(36);
  let number = 0;
  let waiting = 0;
  const pending = () => model.get("_wishes").filter((wish) => wish.number > (model.get("_answered")[wish.client] || 0));
  const settle = () => {
    clearTimeout(waiting);
    const mine = pending().filter((wish) => wish.client === client);
    if (!mine.length) { onSilence(""); return; }
    waiting = setTimeout(() => onSilence("The kernel has not answered yet; it is busy or has ended."), PATIENCE);
  };
  const wish = (kind, target, text) => {
    number += 1;
    model.set("_wishes", [...pending(), { client, number, kind, target: target || "", text: text || "" }]);
    model.save_changes();
    settle();
  };
  return { wish, settle, busy: () => pending().some((one) => one.client === client) };
}

/** A button that a double click presses once. */
function pressed(words, act, attributes) {
  return make("button", { type: "button", ...attributes, onclick: (event) => { if (event.detail < 2) act(event); } }, words);
}

/** Boxes in a row that draw an interval or a confidence. */
function drawing(pieces, words) {
  if (!pieces.length) return null;
  return make("span", { class: "plw-drawing", role: "img", "aria-label": words, title: words }, ...pieces.map(([kind, width]) => {
    const box = make("span", { class: `plw-piece plw-piece-${kind}` });
    if (width) box.style.width = `${width}%`;
    return box;
  }));
}

/** A diff: a sign before every line, struck out what went, underlined what came. */
function diffed(lines) {
  const signs = { "-": "−", "+": "+", "…": "…" };
  return make("div", { class: "plw-diff plw-said" }, ...lines.map(([sign, parts]) => make(
    "div", { class: `plw-line plw-line-${{ "-": "gone", "+": "came" }[sign] || "same"}` },
    make("code", { class: "plw-sign" }, signs[sign] || " "),
    make("span", {}, ...parts.map(([kind, text]) =>
      kind === "same" ? text : make(kind === "removed" ? "del" : "ins", {}, text))),
  )));
}

/** Show the dialog that Python asks for, over the widget. */
function dialogs(model, root, wish) {
  const layer = make("div", { class: "plw-layer", hidden: true });
  root.append(layer);
  let token = null;
  const cancel = () => wish("cancel");
  function show() {
    const asked = model.get("_dialog");
    layer.hidden = !asked.title;
    if (!asked.title) { layer.replaceChildren(); token = null; return; }
    if (token === asked.token && token) return;
    token = asked.token;
    const field = asked.field ? make("textarea", { rows: 2, maxlength: 10000, "aria-label": asked.field, placeholder: asked.field }) : null;
    if (field) field.value = asked.value || "";
    const opened = Date.now();
    const confirm = asked.token ? pressed(asked.button, () => {
      if (Date.now() - opened < DEAD_TIME || confirm.disabled) return;
      confirm.disabled = true;
      wish("confirm", asked.token, field ? field.value : "");
    }, { class: "plw-confirm" }) : null;
    const away = pressed(asked.token ? "Cancel" : "Close", cancel, { class: "plw-cancel" });
    const box = make(
      "div", { class: "plw-dialog", role: "dialog", "aria-modal": "true", "aria-label": asked.title },
      make("div", { class: "plw-dialog-title plw-said" }, asked.title),
      ...(asked.lines || []).map((line) => make("p", { class: "plw-said" }, line)),
      ...(asked.warnings || []).map((line) => make("p", { class: "plw-warning plw-said" }, "⚠ ", line)),
      asked.differs && make("p", { class: "plw-soft" }, asked.differs),
      (asked.diff || []).length > 0 && diffed(asked.diff),
      ...(asked.texts || []).map(([name, text]) => make("details", { class: "plw-text", open: asked.refresh },
        make("summary", {}, name), make("div", { class: "plw-said plw-whole" }, text))),
      field,
      make("div", { class: "plw-buttons" }, away, asked.refresh && pressed("Refresh", () => wish("refresh"), { class: "plw-refresh-now" }), confirm),
    );
    layer.replaceChildren(box);
    // A review is taller than the window: the dialog stands where the person looks.
    const seen = Math.max(0, -root.getBoundingClientRect().top) + 12;
    box.style.marginTop = `${Math.max(0, Math.min(seen, root.offsetHeight - box.offsetHeight - 24))}px`;
    away.focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest" });
  }
  layer.addEventListener("keydown", (event) => { if (event.key === "Escape") cancel(); });
  return show;
}

/** A place for what has to be said: what Python says, and that the kernel is silent. */
function notices(model) {
  const place = make("div", { class: "plw-notice", role: "alert", hidden: true });
  let silence = "";
  function show() {
    const said = model.get("_notice");
    place.textContent = silence || said.words || "";
    place.hidden = !place.textContent;
    place.classList.toggle("plw-well", !silence && said.tone === "good");
  }
  return { place, show, silent: (words) => { silence = words; show(); } };
}
