// The place of a review while conversations of both arms are labelled blind: the browser of the draw, and the way back.

function blindLabelling(model, host, send) {
  const place = make("div", { class: "plw-drawn", hidden: true });
  let shown = null;
  let close = () => {};

  /** Show the browser of the draw, if there is one, in place of what was shown. Returns whether one had the focus. */
  function show(focus) {
    const reference = model.get("_drawn");
    if (reference === shown) return false;
    const focused = place.contains(document.activeElement);
    shown = reference;
    close();
    place.replaceChildren();
    place.hidden = !reference;
    if (reference) open(reference, focus);
    return focused;
  }

  async function open(reference, focus) {
    const closed = new AbortController();
    close = () => closed.abort();
    let leave = () => send("leave");
    const back = pushButton("Back to the review", () => leave(), { class: "plw-leave" });
    const box = make("div", {});
    place.append(
      make("div", { class: "plw-top" }, make("b", {}, "Conversations of both arms, blind"),
        make("span", { class: "plw-soft" }, "Prompt, variant and the judge's verdict stay hidden until you go back."),
        make("span", { class: "plw-buttons" }, back)),
      box,
    );
    try {
      const drawn = await host.getModel(reference);
      const browser = await host.getWidget(reference);
      if (closed.signal.aborted) return;
      const unsaved = () => drawn.get("_commands").some(({ client, number }) => number > (drawn.get("_acknowledged")[client] || 0));
      // unspecified: when a draw is done. Its last label can still be changed, so a person says so.
      const progress = () => {
        const done = drawn.get("_label_state").labelled >= drawn.get("_about").plan.total;
        back.textContent = done ? "All labelled: see what the labels say" : "Back to the review";
        back.classList.toggle("plw-confirm", done);
      };
      let leaving = false;
      const settle = () => { if (leaving && !unsaved()) { leaving = false; send("leave"); } };
      // The last label reaches the kernel before the way back does.
      leave = () => { leaving = true; settle(); };
      const stop = observe(drawn, { _label_state: progress, _acknowledged: settle });
      closed.signal.addEventListener("abort", stop);
      progress();
      await browser.render({ el: box, signal: closed.signal });
      if (focus) box.querySelector(".plw-list")?.focus();
      place.scrollIntoView({ block: "nearest" });
    } catch {
      box.replaceChildren(make("p", { class: "plw-warning" },
        "This notebook cannot show the conversations here. Go back, and run review.label_draw() in a cell of its own."));
    }
  }

  return { place, show, close: () => close() };
}
