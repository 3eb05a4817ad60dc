// Of an InteractivePlot: the pointer finds the nearest mark, and the arrow keys go from mark to mark.

// A pointer this near to a mark, in pixels, is on it.
const REACH = 14;

function extend({ root, press }) {
  let current = 0;
  const tip = document.createElement("div");
  tip.own = true;
  tip.className = "plw-tip plw-foreign";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  const picture = () => root.querySelector(".plw-picture");
  const marks = () => [...root.querySelectorAll(".plw-mark")];

  /** The mark nearest to the pointer, undefined when none is in reach. */
  function nearest(event) {
    const box = picture().getBoundingClientRect();
    const away = (one) => Math.hypot(event.clientX - box.left - (parseFloat(one.style.left) * box.width) / 100,
      event.clientY - box.top - (parseFloat(one.style.top) * box.height) / 100);
    const [first] = marks().map((one) => [away(one), one]).sort(([one], [other]) => one - other);
    return first && first[0] <= REACH ? first[1] : undefined;
  }
  function point(mark) {
    root.querySelector(".plw-pointed")?.classList.remove("plw-pointed");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.getAttribute("aria-label");
    mark.classList.add("plw-pointed");
    // Beside the mark, on the side with more room.
    for (const [side, other, at] of [["left", "right", mark.style.left], ["top", "bottom", mark.style.top]]) {
      const before = parseFloat(at) < 50;
      tip.style[side] = before ? at : "auto";
      tip.style[other] = before ? "auto" : `${100 - parseFloat(at)}%`;
    }
  }
  /** Only one mark is in the order of Tab: the one that was used last. */
  function go(at, focus) {
    const all = marks();
    current = Math.min(Math.max(0, at), all.length - 1);
    all.forEach((one, place) => { one.tabIndex = place === current ? 0 : -1; });
    if (focus) all[current]?.focus({ preventScroll: true });
  }
  const over = (event) => event.target.closest(".plw-picture") === picture();
  root.addEventListener("pointermove", (event) => {
    const mark = over(event) ? nearest(event) : undefined;
    picture().classList.toggle("plw-near", Boolean(mark));
    point(mark);
  });
  root.addEventListener("pointerleave", () => point());
  root.addEventListener("focusin", ({ target }) => { if (target.matches(".plw-mark")) point(target); });
  root.addEventListener("focusout", ({ target }) => { if (target.matches(".plw-mark")) point(); });
  root.addEventListener("click", (event) => {
    const mark = over(event) && (event.target.closest(".plw-mark") || nearest(event));
    if (!mark) return;
    go(marks().indexOf(mark), true);
    if (!event.target.closest(".plw-mark")) press(mark);
  });
  root.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (!over(event) || !move || event.ctrlKey || event.metaKey || event.altKey) return;
    go(current + move, true);
    event.preventDefault();
  });
  return {
    shown: () => { picture().append(tip); go(current); },
    sent: ({ dataset }) => { if (dataset.action === "close") go(current, true); },
  };
}
