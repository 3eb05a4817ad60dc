// Shared by the front ends with commands: numbered commands, confirmation dialogs, interval bars and diffs.

const ANSWER_TIMEOUT = 4000;
// The second click of a double click must not hit a button that has just appeared.
const CLICK_GUARD = 700;

/** Send commands. Each is numbered by its view, so that Python runs it once however messages are bundled. */
function commandSender(model, onTimeout) {
  const client = Math.random().toString(36).slice(2) + Date.now().toString(36);
  let number = 0;
  let waiting = 0;
  const pending = () => model.get("_commands").filter((one) => one.number > (model.get("_acknowledged")[one.client] || 0));
  const settle = () => {
    clearTimeout(waiting);
    const mine = pending().filter((one) => one.client === client);
    if (!mine.length) { onTimeout(""); return; }
    waiting = setTimeout(() => onTimeout("The kernel has not answered yet; it is busy or has stopped."), ANSWER_TIMEOUT);
  };
  const send = (kind, target, text) => {
    number += 1;
    model.set("_commands", [...pending(), { client, number, kind, target: target || "", text: text || "" }]);
    model.save_changes();
    settle();
  };
  return { send, settle, busy: () => pending().some((one) => one.client === client) };
}

/** A button that a double click presses once. */
function pushButton(words, act, attributes) {
  return make("button", { type: "button", ...attributes, onclick: (event) => { if (event.detail < 2) act(event); } }, words);
}

/** A row of boxes that shows an interval or a confidence. */
function intervalBar(pieces, words) {
  if (!pieces.length) return null;
  return make("span", { class: "plw-interval", role: "img", "aria-label": words, title: words }, ...pieces.map(([kind, width]) => {
    const box = make("span", { class: `plw-piece plw-piece-${kind}` });
    if (width) box.style.width = `${width}%`;
    return box;
  }));
}

/** A diff: a sign before every line, removed words struck through, added words underlined. */
function diffBlock(lines) {
  const signs = { "-": "−", "+": "+", "…": "…" };
  return make("div", { class: "plw-diff plw-foreign" }, ...lines.map(([sign, parts]) => make(
    "div", { class: `plw-line plw-line-${{ "-": "removed", "+": "added" }[sign] || "same"}` },
    make("code", { class: "plw-sign" }, signs[sign] || " "),
    make("span", {}, ...parts.map(([kind, text]) =>
      kind === "same" ? text : make(kind === "removed" ? "del" : "ins", {}, text))),
  )));
}

/** Show the dialog that Python asks for, over the widget. */
function dialogs(model, root, send) {
  const layer = make("div", { class: "plw-layer", hidden: true });
  root.append(layer);
  let token = null;
  const cancel = () => send("cancel");
  function show() {
    const asked = model.get("_dialog");
    layer.hidden = !asked.title;
    if (!asked.title) { layer.replaceChildren(); token = null; return; }
    if (token === asked.token && token) return;
    token = asked.token;
    const field = asked.field ? make("textarea", { rows: 2, maxlength: 10000, "aria-label": asked.field, placeholder: asked.field }) : null;
    if (field) field.value = asked.value || "";
    const opened = Date.now();
    const confirm = asked.token ? pushButton(asked.button, () => {
      if (Date.now() - opened < CLICK_GUARD || confirm.disabled) return;
      confirm.disabled = true;
      send("confirm", asked.token, field ? field.value : "");
    }, { class: "plw-confirm" }) : null;
    const away = pushButton(asked.token ? "Cancel" : "Close", cancel, { class: "plw-cancel" });
    const box = make(
      "div", { class: "plw-dialog", role: "dialog", "aria-modal": "true", "aria-label": asked.title },
      make("div", { class: "plw-dialog-title plw-foreign" }, asked.title),
      ...(asked.lines || []).map((line) => make("p", { class: "plw-foreign" }, line)),
      ...(asked.warnings || []).map((line) => make("p", { class: "plw-warning plw-foreign" }, "⚠ ", line)),
      asked.difference && make("p", { class: "plw-soft" }, asked.difference),
      (asked.diff || []).length > 0 && diffBlock(asked.diff),
      ...(asked.texts || []).map(([name, text]) => make("details", { class: "plw-text", open: asked.refresh },
        make("summary", {}, name), make("div", { class: "plw-foreign plw-whole" }, text))),
      field,
      make("div", { class: "plw-buttons" }, away, asked.refresh && pushButton("Refresh", () => send("refresh"), { class: "plw-refresh-now" }), confirm),
    );
    layer.replaceChildren(box);
    // A review is taller than the window: place the dialog in the visible part.
    const visibleTop = Math.max(0, -root.getBoundingClientRect().top) + 12;
    box.style.marginTop = `${Math.max(0, Math.min(visibleTop, root.offsetHeight - box.offsetHeight - 24))}px`;
    away.focus({ preventScroll: true });
    box.scrollIntoView({ block: "nearest" });
  }
  layer.addEventListener("keydown", (event) => { if (event.key === "Escape") cancel(); });
  return show;
}

/** The notice line: messages from Python, with a button where one can be undone, or that the kernel does not answer. */
function notices(model, undo) {
  const place = make("div", { class: "plw-notice", role: "alert", hidden: true });
  let timeout = "";
  function show() {
    const notice = model.get("_notice");
    place.textContent = timeout || notice.words || "";
    place.hidden = !place.textContent;
    place.classList.toggle("plw-success", !timeout && notice.tone === "good");
    if (!timeout && notice.undo) {
      place.append(" ", pushButton("Undo …", () => undo(notice.undo), { class: "plw-undo" }));
      // Whoever has just applied a variant sees what was done, and the way back.
      place.scrollIntoView({ block: "nearest" });
    }
  }
  return { place, show, onTimeout: (words) => { timeout = words; show(); } };
}
