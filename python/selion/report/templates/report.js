"use strict";
// What makes the drawn plots answer: words at the nearest mark, curves that can be hidden, and
// zooming. On every kind of scale a zoom moves pixels by a scale and an offset, so drawn places are
// moved, and only the marks of the axes are made anew.
(() => {
  const tip = document.getElementById("tip");
  const letters = ["", "Ki", "Mi", "Gi", "Ti"];

  function short(value, binary) {
    if (binary && value >= 1024 && Number.isInteger(value)) {
      for (let power = 4; power > 0; power--) {
        const size = 1024 ** power;
        if (value >= size && (value * 8) % size === 0) return `${+(value / size).toPrecision(4)} ${letters[power]}`;
      }
    }
    for (const [word, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
      if (Math.abs(value) >= Math.max(size, 1e4)) return `${+(value / size).toPrecision(4)} ${word}`;
    }
    return (+value.toPrecision(5)).toLocaleString("en", { maximumFractionDigits: 8 });
  }

  function evenTicks(low, high, most, whole) {
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    let step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough * (1 - 1e-9));
    if (whole) step = Math.max(1, Math.ceil(step));
    const ticks = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-12) + 1e-12; n++) ticks.push(n * step);
    return ticks;
  }

  function logTicks(low, high, most, base) {
    const first = Math.ceil(Math.log(low) / Math.log(base) - 1e-9);
    const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
    if (last - first < 2) return evenTicks(low, high, most, false);
    const every = Math.max(1, Math.ceil((last - first + 1) / most));
    const ticks = [];
    for (let p = first; p <= last; p++) if (p % every === 0) ticks.push(base ** p);
    return ticks;
  }

  // One axis: `from` and `to` are pixels of `low` and `high`.
  class Axis {
    constructor(told) {
      Object.assign(this, told);
      this.isLog = this.kind.startsWith("log");
      this.reset();
    }
    reset() { this.scale = 1; this.offset = 0; }
    // Where a place of the whole plot is now.
    moved(pixel) { return pixel * this.scale + this.offset; }
    original(pixel) { return (pixel - this.offset) / this.scale; }
    value(pixel) {
      const share = (this.original(pixel) - this.from) / (this.to - this.from);
      if (!this.isLog) return this.low + share * (this.high - this.low);
      return this.low * (this.high / this.low) ** share;
    }
    pixel(value) {
      if (value === 0 && this.zero) value = this.zero;
      const share = this.isLog ? Math.log(value / this.low) / Math.log(this.high / this.low)
        : (value - this.low) / (this.high - this.low);
      return this.moved(this.from + share * (this.to - this.from));
    }
    // Shows what lies between two pixels of now in the whole width.
    zoom(a, b) {
      const [first, second] = [this.original(a), this.original(b)];
      const ends = (this.to - this.from > 0) === (second - first > 0) ? [first, second] : [second, first];
      this.scale = (this.to - this.from) / (ends[1] - ends[0]);
      this.offset = this.from - ends[0] * this.scale;
    }
    ticks(most) {
      const [low, high] = [this.value(this.from), this.value(this.to)];
      if (!this.isLog) return evenTicks(low, high, most, this.whole);
      const isBinary = this.kind === "log2";
      const base = isBinary ? 2 : 10;
      if (!this.zero || low > this.zero) return logTicks(low, high, most, base);
      const least = this.zero * (isBinary ? 4 : 10) * (1 - 1e-9);  // as scale.py has it
      return [0, ...(high > least ? logTicks(least, high, most - 1, base) : [])];
    }
  }

  function setUp(figure) {
    const svg = figure.querySelector("svg.chart");
    if (!svg) return;
    const x = new Axis(JSON.parse(svg.dataset.x));
    const y = new Axis(JSON.parse(svg.dataset.y));
    const axes = svg.querySelector(".axes");
    const drawnAxes = axes.innerHTML;
    const reset = figure.querySelector(".reset");
    const marks = [];
    for (const mark of svg.querySelectorAll(".mark,.published,.bar")) {
      const title = mark.querySelector("title");
      const at = /translate\(([-\d.]+) ([-\d.]+)\)/.exec(mark.getAttribute("transform") || "");
      marks.push({ mark, words: title ? title.textContent : "", at: at && [+at[1], +at[2]] });
      if (title) title.remove();
    }
    const lines = [...svg.querySelectorAll(".line[points]")].map((line) => ({
      line, points: line.getAttribute("points").split(" ").map((each) => each.split(",").map(Number)),
    }));
    const spreads = [...svg.querySelectorAll(".spread")].map((spread) => {
      const across = +/translate\(([-\d.]+)/.exec(spread.getAttribute("transform"))[1];
      const [low, high] = /M0 ([-\d.]+)V([-\d.]+)/.exec(spread.getAttribute("d")).slice(1).map(Number);
      return { spread, across, low, high };
    });
    const canZoom = x.kind !== "words";

    function element(name, attributes, words) {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (words !== undefined) made.textContent = words;
      return made;
    }

    function drawAxes() {
      axes.replaceChildren();
      for (const value of x.ticks(7)) {
        const at = x.pixel(value).toFixed(2);
        axes.append(element("path", { class: "grid gx", d: `M${at} ${y.to}V${y.from}` }),
          element("text", { class: "tick", x: at, y: y.from + 17, "text-anchor": "middle" }, short(value, x.binary)));
      }
      for (const value of y.ticks(6)) {
        const at = y.pixel(value).toFixed(2);
        axes.append(element("path", { class: "grid gy", d: `M${x.from} ${at}H${x.to}` }),
          element("text", { class: "tick", x: x.from - 7, y: +at + 4, "text-anchor": "end" }, short(value, y.binary)));
      }
    }

    function draw() {
      for (const { mark, at } of marks) {
        if (at) mark.setAttribute("transform", `translate(${x.moved(at[0]).toFixed(2)} ${y.moved(at[1]).toFixed(2)})`);
      }
      for (const { line, points } of lines) {
        line.setAttribute("points", points.map(([a, b]) => `${x.moved(a).toFixed(2)},${y.moved(b).toFixed(2)}`).join(" "));
      }
      for (const { spread, across, low, high } of spreads) {
        spread.setAttribute("transform", `translate(${x.moved(across).toFixed(2)} 0)`);
        spread.setAttribute("d", `M0 ${y.moved(low).toFixed(2)}V${y.moved(high).toFixed(2)}`);
      }
      const isWhole = x.scale === 1 && y.scale === 1;
      if (isWhole) axes.innerHTML = drawnAxes; else drawAxes();
      reset.hidden = isWhole;
    }

    function place(event) {
      const point = new DOMPoint(event.clientX, event.clientY);
      return point.matrixTransform(svg.getScreenCTM().inverse());
    }

    let lit = null;
    function unlight() {
      if (lit) lit.classList.remove("lit");
      lit = null;
      tip.hidden = true;
    }
    function light(event) {
      const here = place(event);
      let best = null;
      let near = 24;
      for (const each of marks) {
        if (!each.words || each.mark.closest(".off")) continue;
        const box = each.mark.getBBox();
        const at = each.at ? [x.moved(each.at[0]), y.moved(each.at[1])] : [
          Math.min(Math.max(here.x, box.x), box.x + box.width), Math.min(Math.max(here.y, box.y), box.y + box.height)];
        const far = Math.hypot(at[0] - here.x, at[1] - here.y);
        if (far < near) { near = far; best = each; }
      }
      unlight();
      if (!best) return;
      lit = best.mark;
      lit.classList.add("lit");
      tip.textContent = best.words;
      tip.hidden = false;
      const wide = tip.offsetWidth;
      tip.style.left = `${Math.min(event.clientX + 14, innerWidth - wide - 8)}px`;
      tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 12)}px`;
    }

    let start = null;
    let rectangle = null;
    function inside(at) {
      return [Math.min(Math.max(at.x, x.from), x.to), Math.min(Math.max(at.y, y.to), y.from)];
    }
    svg.addEventListener("pointerdown", (event) => {
      if (!canZoom || event.pointerType === "touch" || event.button !== 0) return;
      start = inside(place(event));
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    svg.addEventListener("pointermove", (event) => {
      if (!start) { light(event); return; }
      const end = inside(place(event));
      if (!rectangle) { rectangle = element("rect", { class: "zoom" }); svg.append(rectangle); unlight(); }
      rectangle.setAttribute("x", Math.min(start[0], end[0]));
      rectangle.setAttribute("y", Math.min(start[1], end[1]));
      rectangle.setAttribute("width", Math.abs(end[0] - start[0]));
      rectangle.setAttribute("height", Math.abs(end[1] - start[1]));
    });
    svg.addEventListener("pointerup", (event) => {
      if (!start) { light(event); return; }
      const end = inside(place(event));
      const from = start;
      start = null;
      if (rectangle) rectangle.remove();
      rectangle = null;
      if (Math.abs(end[0] - from[0]) < 8 || Math.abs(end[1] - from[1]) < 8) return;
      x.zoom(from[0], end[0]);
      y.zoom(from[1], end[1]);
      draw();
    });
    svg.addEventListener("pointerleave", unlight);
    const whole = () => { x.reset(); y.reset(); draw(); };
    svg.addEventListener("dblclick", whole);
    reset.addEventListener("click", whole);
    for (const button of figure.querySelectorAll(".legend button")) {
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", on);
        for (const curve of svg.querySelectorAll(`.curve.c${button.dataset.curve}`)) curve.classList.toggle("off", !on);
      });
    }
  }

  for (const figure of document.querySelectorAll("figure.plot")) setUp(figure);
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
  addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
})();
