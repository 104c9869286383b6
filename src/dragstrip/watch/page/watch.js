"use strict";
// Draws what the server says of a study: once in whole, then what changed. Text is never markup.

const $ = (id) => document.getElementById(id);
const MOST_LAST = 12, FAMILIES = ["h1", "h2", "h3", "gquic", "spdy"];
const REASON_SHADES = ["#b3261e", "#c05a00", "#8a5a00", "#6b4a8a", "#8b8f98"];
let study = null, cells = [], last = [], chosen = null, following = true;

function el(tag, props = {}, ...children) {
  const made = Object.assign(document.createElement(tag), props);
  made.append(...children);
  return made;
}
const colour = (stack) => {
  const found = study.stacks.find((s) => s.name === stack);
  return found && FAMILIES.includes(found.protocol) ? `var(--${found.protocol})` : "var(--soft)";
};
const duration = (ms) => ms == null ? "–" : ms >= 1000 ? `${(ms / 1000).toFixed(3)} s` : `${ms.toFixed(0)} ms`;
const percent = (ratio) => `${Math.abs((ratio - 1) * 100).toFixed(1)} %`;
function span(s) {
  if (s == null) return "–";
  if (s < 90) return `${Math.round(s)} s`;
  return s < 5400 ? `${Math.round(s / 60)} min` : s < 172800 ? `${(s / 3600).toFixed(1)} h` : `${(s / 86400).toFixed(1)} days`;
}
const column = (cell) => cell.connection === "first" ? cell.network : `${cell.network}, ${cell.connection}`;
const named = (cell) => `${cell.page} over ${column(cell)}`;
const chip = (stack) => { const c = el("i", { className: "chip" }); c.style.background = colour(stack); return c; };

function drawStudy(said) {
  study = said; cells = said.cells.map(() => null); last = []; chosen = null; following = true;
  document.title = `${study.name} – dragstrip`;
  $("name").textContent = study.name;
  $("clock").textContent = study.clock;
  $("first").replaceChildren(chip(study.first), study.first);
  $("legend").replaceChildren("A cell fills as its blocks come in, in the colour of the stack that is faster beyond doubt so far; grey while none is. ",
    ...study.stacks.flatMap((s) => [chip(s.name), `${s.name}\u2003`]));
  const columns = [...new Set(study.cells.map(column))], pages = [...new Set(study.cells.map((c) => c.page))];
  const head = el("tr", {}, el("td"), ...columns.map((c) => el("th", { scope: "col", textContent: c })));
  $("grid").tHead.replaceChildren(head);
  const places = new Map(study.cells.map((c, n) => [JSON.stringify([c.page, column(c)]), n]));
  $("grid").tBodies[0].replaceChildren(...pages.map((page) => el("tr", {}, el("th", { scope: "row", textContent: page, title: page }),
    ...columns.map((c) => {
      const n = places.get(JSON.stringify([page, c]));
      if (n === undefined) return el("td", { className: "none" });
      const td = el("td", { id: `cell-${n}` }, el("i"), el("span", {}, el("b"), el("small")));
      drawCell(td, { counted: 0, given_up: 0, comparisons: [] });
      return td;
    }))));
  $("ratios").tBodies[0].replaceChildren(); $("last").replaceChildren();
  $("shown").lastElementChild.replaceChildren();
}

// Who is faster than the first beyond doubt; the first itself if it beats all others.
function leader(cell) {
  const sure = cell.comparisons.filter((c) => c.high != null && c.high < 1).sort((a, b) => a.ratio - b.ratio);
  if (sure.length) return { stack: sure[0].stack, ratio: sure[0].ratio };
  const all = cell.comparisons;
  if (all.length && all.every((c) => c.low != null && c.low > 1)) return { stack: study.first, ratio: Math.min(...all.map((c) => c.ratio)) };
  return null;
}
function drawCell(td, cell) {
  const [bar, text] = td.children, lead = leader(cell);
  bar.style.width = `${Math.min(100, (cell.counted + cell.given_up) / study.runs * 100)}%`;
  td.style.setProperty("--fill", lead ? colour(lead.stack) : "var(--soft)");
  td.className = cell.running ? "running" : "";
  text.firstElementChild.textContent = lead ? `${lead.stack} ${percent(lead.ratio)}` : "";
  text.lastElementChild.textContent = `${cell.counted}/${study.runs}` + (cell.given_up ? ` (${cell.given_up} lost)` : "");
}

const W = 250, H = 20;
function plot(c, reach) {
  const x = (v) => W / 2 + Math.max(-1, Math.min(1, Math.log(v) / reach)) * (W / 2 - 6);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const part = (tag, attributes) => { const made = document.createElementNS(svg.namespaceURI, tag); for (const [k, v] of Object.entries(attributes)) made.setAttribute(k, v); svg.append(made); };
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`); svg.setAttribute("width", W); svg.setAttribute("height", H); svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", words(c));
  part("line", { class: "one", x1: W / 2, x2: W / 2, y1: 0, y2: H });
  if (c.low != null && c.high != null) part("line", { x1: x(c.low), x2: x(c.high), y1: H / 2, y2: H / 2, "stroke-width": 3, style: `stroke:${colour(c.stack)}` });
  if (c.ratio != null) part("circle", { cx: x(c.ratio), cy: H / 2, r: 4.5, style: `fill:${colour(c.stack)}` });
  return svg;
}
const words = (c) => c.ratio == null ? "most loads failed" : c.low == null || c.high == null ? `${c.ratio.toFixed(3)} (no interval yet)` : `${c.ratio.toFixed(3)} (${c.low.toFixed(3)} to ${c.high.toFixed(3)})`;
function drawRatios() {
  const rows = cells.flatMap((cell, n) => cell ? cell.comparisons.map((c) => ({ c, n, cell })) : []);
  const ends = rows.flatMap(({ c }) => [c.low, c.high, c.ratio]).filter((v) => v > 0).map((v) => Math.abs(Math.log(v)));
  const reach = Math.min(Math.max(Math.log(1.1), ...ends), Math.log(8));
  $("ratios").tBodies[0].replaceChildren(...rows.slice(0, 400).map(({ c, n, cell }) => el("tr", {},
    el("td", { className: "cell", textContent: named(study.cells[n]) }), el("td", { className: "stack" }, chip(c.stack), c.stack),
    el("td", { className: "plot" }, plot(c, reach)), el("td", { className: "n", textContent: words(c) }), el("td", { className: "n blocks", textContent: cell.counted }))));
}

function drawVerdicts({ visits, reasons, machines }) {
  const invalid = Object.values(reasons).reduce((a, b) => a + b, 0);
  $("invalid").textContent = visits ? `${invalid} (${(invalid / visits * 100).toFixed(1)} %)` : "–";
  const parts = [["valid", visits - invalid, "var(--h3)"], ...Object.entries(reasons).map(([code, n], i) => [code, n, REASON_SHADES[Math.min(i, REASON_SHADES.length - 1)]])];
  const bar = ([, n, c]) => { const i = el("i"); i.style.flex = n; i.style.background = c; return i; };
  $("tally").replaceChildren(...parts.filter((p) => p[1]).map(bar));
  $("tallied").replaceChildren(...parts.map(([name, n, c]) => { const i = el("i"); i.style.background = c; return el("li", {}, i, `${name} ${n}`); }));
  $("machines").tBodies[0].replaceChildren(...Object.entries(machines).map(([name, m]) => el("tr", {}, el("th", { scope: "row", textContent: name || "any: all give the same" }),
    el("td", { className: "n", textContent: m.visits }), el("td", { className: "n" }, el("span", { className: m.invalid / m.visits > .2 ? "bad" : "", textContent: `${m.invalid} (${(m.invalid / m.visits * 100).toFixed(0)} %)` })))));
}

function drawLast() {
  $("last").replaceChildren(...last.map((v) => {
    const bad = v.verdict !== "valid";
    const button = el("button", { type: "button", onclick: () => { following = v === last[0]; show(v); } },
      el("b", {}, chip(v.stack), v.stack), el("span", { className: bad ? "bad" : "", textContent: v.outcome === "loaded" ? duration(v.plt_ms) : v.outcome }),
      el("small", { textContent: `${v.page} over ${column(v)}${v.machine ? ` on ${v.machine}` : ""}` }));
    if (bad) button.append(el("small", { className: "bad", textContent: v.said ? `${v.verdict}: ${v.said}` : v.verdict }));
    button.setAttribute("aria-pressed", String(chosen === v.number));
    button.dataset.visit = v.number;
    return el("li", {}, button);
  }));
}
async function show(v) {
  chosen = v.number;
  for (const b of $("last").querySelectorAll("button")) b.setAttribute("aria-pressed", String(+b.dataset.visit === chosen));
  const answer = await fetch(`visits/${v.number}/waterfall`);
  if (!answer.ok || chosen !== v.number) return;
  const room = $("shown").lastElementChild;
  room.innerHTML = await answer.text(); // drawn by the server, which escapes the page's words
  if (v.picture) room.append(el("img", { src: `visits/${v.number}/picture.png`, alt: "The final picture, small", width: 240 }));
}

let waits = 0;
function drawChange(said) {
  const { standing } = said, total = standing.visits + standing.left;
  const share = total ? standing.visits / total * 100 : 0;
  const doing = { running: "running", stopped: "stopped early; the same command resumes", finished: "finished" }[said.state];
  $("state").className = `state ${said.state}`;
  $("state").replaceChildren(el("b", { textContent: doing }), said.state === "finished" && said.took_s ? ` after ${span(said.took_s)}` : "");
  $("track").firstElementChild.style.width = `${share}%`; $("track").setAttribute("aria-valuenow", share.toFixed(0));
  $("visits").textContent = standing.visits; $("left").textContent = said.state === "finished" && study.ends_early ? "ended early" : standing.left;
  $("pace").textContent = said.per_hour ?? "–";
  $("time").textContent = said.state === "running" ? standing.left ? span(said.left_s) : "nearly done" : "–";
  for (const cell of said.cells) { cells[cell.number] = cell; drawCell($(`cell-${cell.number}`), cell); }
  drawVerdicts(standing);
  if (said.cells.length && !waits) waits = setTimeout(() => { waits = 0; drawRatios(); }, 200);
  if (said.last.length) {
    last = [...said.last.reverse(), ...last].slice(0, MOST_LAST);
    drawLast();
    if (following) show(last[0]);
  }
}

const source = new EventSource("events");
source.addEventListener("study", (e) => drawStudy(JSON.parse(e.data)));
source.addEventListener("change", (e) => drawChange(JSON.parse(e.data)));
source.onerror = () => { $("state").className = "state lost"; $("state").replaceChildren(el("b", { textContent: "not connected" }), ": the command that showed this has ended. dragstrip watch DIR shows it again."); };
