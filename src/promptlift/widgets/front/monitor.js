// The interactive view of an OptimizationMonitor. It polls at the pace that Python sets, until the optimization ends.

/** One bar a pass; the words beside it say the same. */
function sparkline(bars, words) {
  return make("span", { class: "plw-spark", role: "img", "aria-label": words }, ...bars.map(([bottom, height]) => {
    const bar = make("span", {});
    bar.style.height = `${height}%`;
    bar.style.bottom = `${bottom}%`;
    return bar;
  }));
}

function render({ model, el }) {
  const root = createRoot(el, "plw-monitor");
  const notice = notices(model);
  const { send, settle, busy } = commandSender(model, notice.onTimeout);
  const head = make("div", { class: "plw-top" });
  const bar = make("div", { class: "plw-progress-bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, make("div", {}));
  const body = make("div", { class: "plw-about" });
  root.append(head, bar, notice.place, body);
  const showDialog = dialogs(model, root, send);
  let timer = 0;

  function view() {
    const now = model.get("_view");
    head.replaceChildren(
      ...now.facts.map(([name, value]) => make("span", { class: "plw-fact" }, make("small", {}, name), make("b", { class: "plw-foreign" }, value))),
      make("span", { class: "plw-buttons" }, !now.ended && pushButton("Stop …", () => send("stop"), { class: "plw-stop" }),
        pushButton("Refresh", () => send("refresh"), { class: "plw-refresh", disabled: now.ended })));
    bar.hidden = now.fraction === null;
    bar.setAttribute("aria-valuenow", String(Math.round(100 * (now.fraction || 0))));
    bar.firstChild.style.width = `${100 * (now.fraction || 0)}%`;
    body.replaceChildren(...[now.rehearsal && make("p", { class: "plw-warning" }, now.rehearsal),
      now.effect && make("div", { class: "plw-measure" }, intervalBar(now.effect_pieces, now.effect) || "", make("span", {}, now.effect)),
      now.confidence && make("div", { class: "plw-measure" }, intervalBar(now.confidence_pieces, now.confidence) || "", make("span", {}, now.confidence)),
      ...now.sparklines.map(([bars, words]) => make("div", { class: "plw-measure plw-by-pass" }, sparkline(bars, words), make("span", {}, words))),
      now.words && make("p", { class: "plw-foreign plw-end" }, now.words)].filter(Boolean));
    schedule();
  }
  // The next poll waits for the answer to the last one, and for the page to be visible.
  function schedule() {
    clearTimeout(timer);
    const now = model.get("_view");
    if (now.ended) return;
    timer = setTimeout(() => {
      if (document.hidden || busy() || !root.isConnected) schedule();
      else send("poll");
    }, 1000 * now.pause);
  }

  view();
  notice.show();
  showDialog();
  const end = observe(model, { _view: view, _notice: notice.show, _dialog: showDialog, _acknowledged: settle });
  return () => { clearTimeout(timer); end(); };
}

export default { render };
