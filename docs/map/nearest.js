// The k nearest cells' vote: the same sums as dragstrip_papers.stats.nearest.
"use strict";

window.dragstripNearest = (map) => {
  const { factors, ranges, weights, cells, neighbours, margin, stacks } = map;
  const loss = factors.indexOf("loss");

  /** Values of the factors as weighted places: 0 and the weight are the ends of a range. */
  function place(values) {
    return values.map((value, i) => {
      const [low, high] = ranges[i];
      let at = value > 0 ? Math.log(value / low) / Math.log(high / low) : 0;
      if (i === loss && value > 0) at = map.lossless + (1 - map.lossless) * at;
      return at * weights[i];
    });
  }

  const width = factors.length;
  const where = Float64Array.from(cells.flatMap((cell) => place(cell.slice(0, width))));

  /** Indices of the nearest cells, nearest first; of two as near, the earlier one. */
  function nearest(here) {
    const found = [], far = [];
    for (let i = 0; i < cells.length; i++) {
      let sum = 0;
      for (let f = 0; f < width; f++) sum += (where[i * width + f] - here[f]) ** 2;
      if (found.length === neighbours && sum >= far[neighbours - 1]) continue;
      let at = found.length;
      while (at > 0 && far[at - 1] > sum) at--;
      found.splice(at, 0, i);
      far.splice(at, 0, sum);
      found.length = far.length = Math.min(found.length, neighbours);
    }
    return found;
  }

  /** Load time of the second stack over that of the first; NaN where neither ended. */
  function ratio(cell, [a, b]) {
    const [of_a, of_b] = [a, b].map((s) => cell[width + stacks.indexOf(s)]);
    if (of_a === null) return of_b === null ? NaN : 0;
    return of_b === null ? Infinity : of_b / of_a;
  }

  function quantile(sorted, share) {
    const at = share * (sorted.length - 1), below = Math.floor(at), rest = at - below;
    return rest ? sorted[below] * (1 - rest) + sorted[below + 1] * rest : sorted[below];
  }

  /** What the nearest cells say of a place: shares of each answer, and how the ratios spread. */
  function ask(values, pair) {
    const near = nearest(place(values)).map((i) => ({ cell: cells[i], ratio: ratio(cells[i], pair) }));
    const share = (test) => near.filter(({ ratio }) => test(ratio)).length / near.length;
    const h3 = share((r) => r < 1 / (1 + margin)), h2 = share((r) => r > 1 + margin);
    const sorted = near.map(({ ratio }) => ratio).filter((r) => !Number.isNaN(r)).sort((x, y) => x - y);
    const [low, middle, high] = [0.25, 0.5, 0.75].map((q) => (sorted.length ? quantile(sorted, q) : NaN));
    return { h3, h2, neither: 1 - h3 - h2, low, middle, high, near };
  }

  return { ask, ratio };
};
