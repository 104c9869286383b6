// The page "which protocol?": sliders in, answer and map out. Nothing is sent anywhere.
"use strict";

(() => {
  const root = document.getElementById("which-protocol");
  const map = window.dragstripMap;
  if (!root || !map) return;
  const { ask } = window.dragstripNearest(map);
  const STEPS = 200;
  const TILES = 9;
  const FACTORS = {
    down_mbps: ["Rate down", "Mbit/s"],
    rtt_ms: ["Round trip", "ms"],
    loss: ["Loss, each way", "%"],
    queue_ms: ["Queue", "ms"],
    page_bytes: ["Page weight", "kB"],
    objects: ["Objects", ""],
  };
  const UNITS = { loss: 100, page_bytes: 1e-3 };
  // Rate down, round trip, loss, queue: as `dragstrip list networks` has them.
  const NETWORKS = {
    DSL: [25, 24, 0, 12],
    LTE: [10.5, 74, 0, 200],
    "LTE, 1 % loss": [10.5, 74, 0.01, 200],
    "Cable, 100 Mbit/s": [100, 20, 0, 100],
    "Slow 3G": [1.6, 300, 0, 400],
    Satellite: [50, 600, 0.003, 200],
  };
  const PAGES = { small: [50e3, 8], middling: [600e3, 32], heavy: [2.3e6, 70] };
  const state = { values: [10.5, 74, 0, 200, 600e3, 32], pair: "stock" };

  const by = (name) => root.querySelector(`[data-part="${name}"]`);
  const percent = (share) => `${Math.round(share * 100)} %`;
  const short = (value) => String(Number(value.toPrecision(3)));
  const lossy = (i) => map.factors[i] === "loss";

  function toSlider(value, i) {
    const [low, high] = map.ranges[i];
    if (lossy(i) && value <= 0) return 0;
    const at = Math.log(value / low) / Math.log(high / low);
    return Math.round(Math.min(1, Math.max(0, at)) * STEPS) + (lossy(i) ? 1 : 0);
  }

  function fromSlider(at, i) {
    const [low, high] = map.ranges[i];
    if (lossy(i) && at === 0) return 0;
    const value = low * (high / low) ** ((at - (lossy(i) ? 1 : 0)) / STEPS);
    return map.factors[i] === "objects" ? Math.round(value) : value;
  }

  function told(value, i) {
    const name = map.factors[i], [, unit] = FACTORS[name];
    return `${short(value * (UNITS[name] ?? 1))} ${unit}`.trim();
  }

  /** By how much h3 is faster, as a share of the slower one's time; below zero h2 is. */
  const gain = (ratio) => (ratio <= 1 ? 1 - ratio : 1 / ratio - 1);

  function lead(ratio) {
    if (Number.isNaN(ratio)) return "neither ended in time";
    const by = gain(ratio);
    return Math.abs(by) < 0.005 ? "no difference" : `${by > 0 ? "h3" : "h2"} ${percent(Math.abs(by))} faster`;
  }

  function sureness(share) {
    if (share >= 0.95) return "almost sure";
    if (share >= 0.8) return "fairly sure";
    return share >= 0.6 ? "likely" : "open";
  }

  function headline(found, share, best) {
    const [h2, h3] = map.pairs[state.pair];
    if (share < 0.6) return "It depends: cells like yours disagree.";
    if (best === "neither") return `No difference worth having between ${h2} and ${h3}.`;
    return `${best === "h3" ? h3 : h2} loads this page faster, by ${percent(Math.abs(gain(found.middle)))}.`;
  }

  function answer() {
    const found = ask(state.values, map.pairs[state.pair]);
    const best = ["h3", "neither", "h2"].reduce((x, y) => (found[y] > found[x] ? y : x));
    const share = found[best];
    by("headline").textContent = headline(found, share, best);
    const held = (state.values[3] * state.values[0] * 1000) / 8 / map.packet_bytes;
    const few = held < map.short_queue;
    by("doubt").textContent = few
      ? `Less sure than it looks: the queue holds ${short(held)} packets. Below ${map.short_queue} every dropped packet counts.`
      : "";
    by("sure").textContent = `How sure: ${sureness(share)}. Of the ${found.near.length} nearest cells h3 ` +
      `wins ${percent(found.h3)}, h2 ${percent(found.h2)}, and ${percent(found.neither)} are within ${percent(map.margin)}.`;
    by("spread").textContent = `In the middle half of them: ${lead(found.low)} to ${lead(found.high)}.`;
    const group = map.standing[state.pair].trust.filter((t) => share >= t.low).at(-1);
    by("trust").textContent = group
      ? `Tried on cells that were left out: where neighbours agreed about as much, they were right in ` +
        `${percent(group.right)} of ${group.cells} cells.`
      : "";
    const seen = map.checked[state.pair]?.[few ? "short" : "longer"];
    by("checked").textContent = seen
      ? `Chromium visited ${seen.cells} cells with ${few ? "such queues" : `queues of ${map.short_queue} packets or more`}, drawn at random: ` +
        `it gives the same answer in ${percent(seen.same / seen.cells)}.`
      : "";
    by("made").textContent = `Computed from ${map.cells.length} of ${map.planned} planned cells.`;
    for (const one of ["h3", "neither", "h2"]) {
      const bar = by(`bar-${one}`);
      bar.style.flexGrow = found[one];
      bar.textContent = found[one] >= 0.12 ? `${one} ${percent(found[one])}` : "";
    }
    root.dataset.answer = best;
    root.dataset.shares = [found.h3, found.neither, found.h2].map((s) => s.toFixed(4)).join(" ");
  }

  /** How strong a tile's colour is, from 0 to 1. */
  function strength(ratio) {
    return Number.isNaN(ratio) ? 0 : Math.min(1, Math.abs(Math.log(ratio)) / Math.log(1.4));
  }

  /** Rate and round trip of a tile's middle. */
  function middle(column, line) {
    return [column, TILES - 1 - line].map((n, i) => {
      const [low, high] = map.ranges[i];
      return low * (high / low) ** ((n + 0.5) / TILES);
    });
  }

  function mine(value, i) {
    const [low, high] = map.ranges[i];
    const at = Math.floor((Math.log(value / low) / Math.log(high / low)) * TILES);
    return Math.min(TILES - 1, Math.max(0, at));
  }

  function tiles() {
    const own = [mine(state.values[0], 0), TILES - 1 - mine(state.values[1], 1)];
    by("tiles").querySelectorAll("button").forEach((tile, n) => {
      const place = [n % TILES, Math.floor(n / TILES)];
      const [rate, rtt] = middle(...place);
      const found = ask([rate, rtt, ...state.values.slice(2)], map.pairs[state.pair]);
      tile.style.setProperty("--strength", strength(found.middle).toFixed(2));
      tile.dataset.faster = Number.isNaN(found.middle) ? "" : found.middle < 1 ? "h3" : "h2";
      tile.textContent = Number.isNaN(found.middle) ? "" : String(Math.round(gain(found.middle) * 100) + 0);
      tile.title = `${short(rate)} Mbit/s, ${short(rtt)} ms: ${lead(found.middle)}`;
      tile.setAttribute("aria-label", tile.title);
      tile.classList.toggle("own", place.every((at, i) => at === own[i]));
    });
  }

  function show() {
    state.values.forEach((value, i) => {
      const slider = root.querySelector(`#map-${map.factors[i]}`);
      slider.value = toSlider(value, i);
      slider.setAttribute("aria-valuetext", told(value, i));
      root.querySelector(`output[for="map-${map.factors[i]}"]`).textContent = told(value, i);
    });
    answer();
    tiles();
  }

  function build() {
    const sliders = map.factors.map((name, i) =>
      `<label for="map-${name}">${FACTORS[name][0]}</label>` +
      `<input type="range" id="map-${name}" min="0" max="${STEPS + (lossy(i) ? 1 : 0)}">` +
      `<output for="map-${name}"></output>`).join("");
    const choices = (from, kind) => Object.keys(from)
      .map((name) => `<button type="button" data-${kind}="${name}">${name}</button>`).join("");
    root.innerHTML =
      `<p class="choices">Your network: ${choices(NETWORKS, "network")}</p>` +
      `<p class="choices">Your page: ${choices(PAGES, "page")}</p>` +
      `<p class="choices">Your servers: ` +
      `<label><input type="radio" name="map-pair" value="stock" checked> stock (h2, h3)</label> ` +
      `<label><input type="radio" name="map-pair" value="tuned"> tuned (h2+, h3+)</label></p>` +
      `<div class="sliders">${sliders}</div>` +
      `<div class="answer" aria-live="polite"><p data-part="headline"></p><div class="bar">` +
      `<span data-part="bar-h3"></span><span data-part="bar-neither"></span><span data-part="bar-h2"></span></div>` +
      `<p data-part="doubt"></p><p data-part="sure"></p><p data-part="spread"></p><p data-part="trust"></p><p data-part="checked"></p><p data-part="made"></p></div>` +
      `<p class="legend">The same page, loss and queue on other networks: percent by which <b class="h3">h3</b> is faster ` +
      `(below zero: <b class="h2">h2</b>), in the median of the nearest cells. The frame is yours; choose a tile to go there.</p>` +
      `<div class="chart"><span class="y">round trip →</span><div class="tiles" data-part="tiles">` +
      `${"<button type=\"button\"></button>".repeat(TILES * TILES)}</div><span class="x">rate →</span></div>`;
  }

  function listen() {
    root.addEventListener("input", ({ target }) => {
      const i = map.factors.indexOf(target.id.replace("map-", ""));
      if (i >= 0) state.values[i] = fromSlider(Number(target.value), i);
      if (target.name === "map-pair") state.pair = target.value;
      show();
    });
    root.addEventListener("click", ({ target }) => {
      const { network, page } = target.dataset;
      if (network) state.values.splice(0, 4, ...NETWORKS[network]);
      else if (page) state.values.splice(4, 2, ...PAGES[page]);
      else if (target.parentElement === by("tiles")) {
        const n = Array.from(by("tiles").children).indexOf(target);
        state.values.splice(0, 2, ...middle(n % TILES, Math.floor(n / TILES)));
      } else return;
      show();
    });
  }

  build();
  listen();
  show();
})();
