// The live view of an OptimizationMonitor. It asks for news by itself, at the pace that Python says, until the end.

function render({ model, el }) {
  const root = rooted(el, "plw-monitor");
  const notice = notices(model);
  const { wish, settle, busy } = wishing(model, notice.silent);
  const head = make("div", { class: "plw-top" });
  const bar = make("div", { class: "plw-progress-bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, make("div", {}));
  const body = make("div", { class: "plw-about" });
  root.append(head, bar, notice.place, body);
  const showDialog = dialogs(model, root, wish);
  let timer = 0;

  function view() {
    const now = model.get("_view");
    head.replaceChildren(
      ...now.facts.map(([name, value]) => make("span", { class: "plw-fact" }, make("small", {}, name), make("b", { class: "plw-said" }, value))),
      make("span", { class: "plw-buttons" }, !now.ended && pressed("Stop …", () => wish("stop"), { class: "plw-stop" }),
        pressed("Refresh", () => wish("refresh"), { class: "plw-refresh", disabled: now.ended })));
    bar.hidden = now.fraction === null;
    bar.setAttribute("aria-valuenow", String(Math.round(100 * (now.fraction || 0))));
    bar.firstChild.style.width = `${100 * (now.fraction || 0)}%`;
    body.replaceChildren(...[now.rehearsal && make("p", { class: "plw-warning" }, now.rehearsal),
      now.effect && make("div", { class: "plw-measure" }, drawing(now.effect_pieces, now.effect) || "", make("span", {}, now.effect)),
      now.confidence && make("div", { class: "plw-measure" }, drawing(now.confidence_pieces, now.confidence) || "", make("span", {}, now.confidence)),
      now.words && make("p", { class: "plw-said plw-end" }, now.words)].filter(Boolean));
    plan();
  }
  // The next question only goes out when the last one was answered, and not while nobody can see it.
  function plan() {
    clearTimeout(timer);
    const now = model.get("_view");
    if (now.ended) return;
    timer = setTimeout(() => {
      if (document.hidden || busy() || !root.isConnected) plan();
      else wish("look");
    }, 1000 * now.pause);
  }

  view();
  notice.show();
  showDialog();
  const end = listening(model, { _view: view, _notice: notice.show, _dialog: showDialog, _answered: settle });
  return () => { clearTimeout(timer); end(); };
}

export default { render };
