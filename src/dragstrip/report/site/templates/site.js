// Figures that follow the reader's choice of metric, and files of what is shown. Everything works
// from a disk: data stand in the page or come by script tags, nothing is fetched.
"use strict";

const WATERFALL = `svg { font: 10px Inter, "Helvetica Neue", Arial, sans-serif; background: #fff; }
text { fill: #5c626e; } text.host { fill: #1d2129; font-weight: 600; font-size: 11px; } .small text { font-size: 7.5px; }
text.tick { text-anchor: middle; } text.fault { fill: #b3261e; } text.back, text.loadlabel { text-anchor: end; }
line.grid { stroke: #e6e8ec; } line.load { stroke: #1d2129; stroke-dasharray: 4 3; } text.loadlabel { fill: #1d2129; font-weight: 600; }`;

function save(name, url) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, "-");
  link.click();
}

function saveText(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], {type}));
  save(name, url);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function csv(rows) {
  const field = value => /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  return rows.map(row => row.map(value => field(String(value ?? ""))).join(",")).join("\r\n") + "\r\n";
}

/** Buttons before or after an element; each is [text, what a click does]. */
function exports(place, where, what, buttons) {
  const box = document.createElement("div");
  box.className = "exports";
  for (const [text, act] of buttons) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-label", `${text} of ${what}`);
    button.addEventListener("click", act);
    box.append(button);
  }
  place[where](box);
}

function standalone(svg, size = {}) {
  const copy = svg.cloneNode(true);
  for (const [name, value] of Object.entries(size)) copy.setAttribute(name, value);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  if (!svg.closest(".vega")) {
    const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = WATERFALL;
    copy.prepend(style);
  }
  return new XMLSerializer().serializeToString(copy);
}

function savePng(name, svg) {
  const box = svg.viewBox.baseVal, image = new Image(), scale = 2;
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [box.width * scale, box.height * scale];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    save(`${name}.png`, canvas.toDataURL("image/png"));
  };
  const sized = standalone(svg, {width: box.width, height: box.height});
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(sized)}`;
}

for (const figure of document.querySelectorAll("figure.drawn")) {
  const svg = () => figure.querySelector("svg"), name = figure.dataset.name;
  exports(figure, "prepend", name, [
    ["SVG", () => saveText(`${name}.svg`, "image/svg+xml", standalone(svg()))],
    ["PNG", () => savePng(name, svg())],
  ]);
}

for (const table of document.querySelectorAll("table.data")) {
  const read = row => [...row.cells].map(cell => cell.innerText.replace(/\s+/g, " ").trim());
  const rows = () => csv([...table.rows].map(read));
  const name = table.dataset.name;
  exports(table.parentElement, "after", name, [["CSV", () => saveText(`${name}.csv`, "text/csv", rows())]]);
}

/** A steady place across the strip, by the golden ratio, so that neighbours stay apart. */
const spread = i => ((i * 0.618034) % 1 - 0.5) * 1.2;

function datasets(stacks) {
  const every = Object.values(stacks).flatMap(found => [found.x[0], found.x.at(-1)]);
  const [low, high] = [Math.min(...every), Math.max(...every)];
  const margin = (high - low) * 0.04 || Math.abs(high) * 0.05 || 1;
  const curves = [], points = [], middles = [];
  for (const [stack, found] of Object.entries(stacks)) {
    // Every curve runs over the whole axis, so that none seems to begin or end at a visit.
    curves.push({stack, x: low - margin, y: 0});
    found.x.forEach((x, i) => {
      curves.push({stack, x, y: found.y[i]});
      points.push({stack, x, spread: spread(i)});
    });
    curves.push({stack, x: high + margin, y: found.y.at(-1)});
    if (found.mid !== null) middles.push({stack, x: found.mid});
  }
  return {curves, points, middles};
}

async function draw(figure) {
  const {spec, metrics} = window.dragstripFigure;
  const choice = figure.querySelector("select"), box = figure.querySelector(".vega");
  const known = JSON.parse(figure.querySelector("script").textContent);
  let view, shown;
  async function show() {
    const metric = choice.value, {title, unit} = metrics[metric];
    const axis = `${title}${unit === "count" || unit === "ratio" ? "" : `, ${unit === "s" ? "seconds" : unit}`}`;
    shown = datasets(known[metric]);
    const drawn = JSON.parse(JSON.stringify(spec).replaceAll("AXIS", JSON.stringify(axis).slice(1, -1)));
    drawn.datasets = shown;
    ({view} = await window.vegaEmbed(box, drawn, {renderer: "svg", actions: false}));
    const lost = Object.entries(known[metric]).filter(([, found]) => found.lost);
    figure.querySelector(".lost").textContent = lost.map(([s, f]) => `${s}: ${f.lost} not loaded`).join(", ");
    box.dataset.metric = metric;
  }
  const name = () => `${figure.dataset.name} ${choice.value}`;
  const rows = () => csv([["stack", choice.value, "share"], ...shown.curves.map(r => [r.stack, r.x, r.y])]);
  exports(figure, "prepend", "the distribution", [
    ["SVG", async () => saveText(`${name()}.svg`, "image/svg+xml", await view.toSVG())],
    ["PNG", async () => save(`${name()}.png`, await view.toImageURL("png", 2))],
    ["CSV", () => saveText(`${name()}.csv`, "text/csv", rows())],
  ]);
  choice.addEventListener("change", show);
  await show();
}

// The figures' library comes after this script.
window.addEventListener("DOMContentLoaded", () => {
  for (const spec of document.querySelectorAll(".vega > script")) {
    window.vegaEmbed(spec.parentElement, JSON.parse(spec.textContent), {renderer: "svg", actions: false});
  }
  for (const figure of document.querySelectorAll(".cellfigure")) draw(figure);
});
