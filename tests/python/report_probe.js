// What a test of the page does with it: looks at every plot, points at a mark, zooms, hides a curve.
// The answers stand in an element of their own, as JSON.
"use strict";
(() => {
  const plots = [...document.querySelectorAll("figure.plot")].filter((each) => each.querySelector("svg.chart"));
  const figure = plots.find((each) => each.querySelectorAll(".canvas .line[points]").length > 1);
  figure.scrollIntoView();
  const svg = figure.querySelector("svg.chart");
  svg.setPointerCapture = () => {};  // these events have no pointer
  const area = svg.getBoundingClientRect();
  const at = (x, y) => [area.x + area.width * x, area.y + area.height * y];
  const fire = (type, [x, y]) => svg.dispatchEvent(new PointerEvent(type, {
    clientX: x, clientY: y, button: 0, pointerId: 1, pointerType: "mouse", bubbles: true }));
  const points = () => figure.querySelector(".canvas .line").getAttribute("points");
  const marks = () => [...figure.querySelectorAll(".axes text")].map((each) => each.textContent);
  const hidden = () => figure.querySelectorAll(".canvas .curve.off").length;

  const told = { errors: window.errorsOfPage, plots: plots.length };
  told.drawn = plots.filter((each) => {
    const box = each.querySelector("svg.chart").getBoundingClientRect();
    return box.width > 100 && box.height > 100 && each.querySelector(".canvas .mark, .canvas .bar");
  }).length;
  const mark = figure.querySelector(".canvas .mark").getBoundingClientRect();
  fire("pointermove", [mark.x + mark.width / 2, mark.y + mark.height / 2]);
  told.tip = document.getElementById("tip").textContent;
  const whole = { points: points(), marks: marks() };
  fire("pointerdown", at(0.3, 0.2));
  fire("pointermove", at(0.7, 0.7));
  fire("pointerup", at(0.7, 0.7));
  told.zoomMovesCurves = points() !== whole.points;
  told.zoomMakesMarks = marks().length > 1 && marks().join() !== whole.marks.join();
  figure.querySelector(".reset").click();
  told.resetRestores = marks().join() === whole.marks.join();
  const button = figure.querySelector(".legend button");
  button.click();
  told.hides = hidden();
  button.click();
  told.shows = hidden() === 0;
  document.getElementById("theme").click();
  told.theme = document.documentElement.dataset.theme;
  told.sideways = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  document.body.append(Object.assign(document.createElement("pre"),
    { id: "told", textContent: JSON.stringify(told) }));
})();
