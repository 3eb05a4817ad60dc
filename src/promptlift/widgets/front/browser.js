// Of a ConversationBrowser: the row of the conversation that is shown, and what can be seen before the kernel has answered.

const MOVES = ["open", "move", "page", "first", "last", "unlabelled", "search", "clear"];

function extend({ root, pending, tell }) {
  let here = "";
  let drawn = "";
  const rows = () => [...root.querySelectorAll(".plw-row")];
  const moving = () => [...pending.values()].some(({ action }) => MOVES.includes(action));

  function highlight() {
    root.querySelector(".plw-shown").classList.toggle("plw-stale", moving());
    const list = root.querySelector(".plw-list");
    for (const row of rows()) {
      const chosen = row.dataset.place === here;
      row.setAttribute("aria-selected", String(chosen));
      if (!chosen) continue;
      row.id ||= `plw-${Math.random().toString(36).slice(2)}`;
      list.setAttribute("aria-activedescendant", row.id);
      const over = row.offsetTop - list.scrollTop;
      if (over < 0) list.scrollTop = row.offsetTop;
      else if (over + row.offsetHeight > list.clientHeight) list.scrollTop = row.offsetTop + row.offsetHeight - list.clientHeight;
    }
  }
  function shown() {
    const conversation = root.querySelector(".plw-conversation");
    if (!moving()) here = conversation?.dataset.place || "";
    const pane = root.querySelector(".plw-shown");
    const words = `${conversation?.dataset.place} ${[...pane.querySelectorAll("mark")].map((one) => one.textContent)}`;
    if (words !== drawn) {
      drawn = words;
      pane.scrollTop = 0;
      const mark = pane.querySelector(".plw-turn mark");
      if (mark) pane.scrollTop = Math.max(0, mark.getBoundingClientRect().top - pane.getBoundingClientRect().top - 60);
    }
    highlight();
  }
  /** Show at once what a click or key means; what Python answers replaces it. */
  function sent({ dataset }) {
    if (dataset.action === "open") here = dataset.place;
    const all = rows();
    const next = all[all.findIndex((one) => one.dataset.place === here) + Number(dataset.by)];
    if (dataset.action === "move" && next) here = next.dataset.place;
    highlight();
  }
  function label(button) {
    const { field, badge, tone } = button.dataset;
    const pressed = button.getAttribute("aria-pressed") !== "true";
    for (const one of root.querySelectorAll("[data-field]")) if (one.dataset.field === field) one.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", String(pressed));
    const own = rows().find((one) => one.dataset.place === button.dataset.place)?.querySelector(".plw-own");
    [...own?.children || []].find((one) => one.dataset.key === field)?.remove();
    if (!own || !pressed) return;
    const said = document.createElement("b");
    said.className = `plw-badge plw-${tone} plw-human`;
    said.dataset.key = field;
    said.textContent = badge;
    own.append(said);
  }
  return {
    shown,
    sent: (from) => { sent(from); if (from.dataset.action === "label") label(from); },
    // A label applies to the conversation that is shown, not to one that is still loading.
    refuses: ({ dataset }) => {
      const loading = ["label", "remove"].includes(dataset.action) && moving();
      if (loading) tell("Not labelled: this conversation is still loading. Try again when it is shown.");
      return loading;
    },
  };
}
