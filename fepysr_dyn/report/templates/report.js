"use strict";
// The formula of a candidate is shown while it is pointed at or focused, and stays after a click.
for (const view of document.querySelectorAll(".front-view")) {
  const points = Array.from(view.querySelectorAll(".point"));
  const order = (point) => Number(point.dataset.row.split("-")[2]);
  points.sort((a, b) => order(a) - order(b));
  const picked = view.querySelector(".picked");
  let pinned = points.find((point) => point.classList.contains("chosen")) || points[0];

  function show(point) {
    const row = document.getElementById(point.dataset.row);
    const part = (name) => row.querySelector("." + name).cloneNode(true).childNodes;
    picked.querySelector(".formula").replaceChildren(...part("formula"));
    picked.querySelector(".about").textContent = row.dataset.about;
    for (const other of points) {
      other.classList.toggle("shown", other === point);
    }
  }

  function pin(point) {
    pinned = point;
    for (const other of points) {
      other.setAttribute("aria-pressed", String(other === point));
      other.setAttribute("tabindex", other === point ? "0" : "-1");
    }
    show(point);
  }

  points.forEach((point, index) => {
    point.addEventListener("pointerenter", () => show(point));
    point.addEventListener("pointerleave", () => show(pinned));
    point.addEventListener("focus", () => show(point));
    point.addEventListener("blur", () => show(pinned));
    point.addEventListener("click", () => pin(point));
    point.addEventListener("keydown", (event) => {
      const last = points.length - 1;
      const to = {
        ArrowRight: Math.min(index + 1, last),
        ArrowDown: Math.min(index + 1, last),
        ArrowLeft: Math.max(index - 1, 0),
        ArrowUp: Math.max(index - 1, 0),
        Home: 0,
        End: last,
        Enter: index,
        " ": index,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      pin(points[to]);
      points[to].focus();
    });
  });
  if (pinned) pin(pinned);
}
// Paper cannot be clicked: everything that is folded is printed open.
const folded = [];
window.addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details.print:not([open])")) {
    folded.push(part);
    part.open = true;
  }
});
window.addEventListener("afterprint", () => {
  for (const part of folded.splice(0)) part.open = false;
});
