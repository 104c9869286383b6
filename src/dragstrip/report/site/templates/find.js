// Finds cells: hides the rows of the list, and the fields of the table, that do not match. The
// words stand in the address, so they survive a change of metric and can be passed on.
"use strict";

(() => {
  const box = document.getElementById("query");
  if (!box) return;
  const rows = [...document.querySelectorAll("table.cells tbody tr")];
  const fields = new Map([...document.querySelectorAll(".matrix td[data-cell]")].map(td => [+td.dataset.cell, td]));
  const status = document.getElementById("found"), all = status.textContent;
  const known = ["page", "network", "stack", "client", "answer"];
  const texts = rows.map(row => {
    const own = Object.fromEntries(known.map(name => [name, row.dataset[name].toLowerCase()]));
    return {...own, "": `${row.textContent} ${Object.values(own).join(" ")}`.toLowerCase()};
  });

  // A stack's name is whole: h3 is not h3-firefox.
  const has = (text, name, word) => name === "stack" ? text.stack.split(" ").includes(word) : text[name].includes(word);

  function terms(query) {
    return query.toLowerCase().split(/\s+/).map(word => {
      const not = word.startsWith("-"), bare = not ? word.slice(1) : word;
      const [, name, text] = bare.match(/^(page|network|stack|client|answer):(.*)$/) ?? [null, "", bare];
      return {not, name, text};
    }).filter(term => term.text);
  }

  function apply() {
    const wanted = terms(box.value);
    let count = 0;
    texts.forEach((text, i) => {
      const match = wanted.every(({not, name, text: word}) => has(text, name, word) !== not);
      rows[i].hidden = !match;
      fields.get(i)?.classList.toggle("off", !match);
      count += match;
    });
    for (const row of document.querySelectorAll(".matrix tbody tr")) {
      row.hidden = wanted.length > 0 && !row.querySelector("td[data-cell]:not(.off)");
    }
    status.textContent = wanted.length ? `${count} of ${all}` : all;
    const hash = box.value.trim() ? `#find=${encodeURIComponent(box.value.trim())}` : "";
    history.replaceState(null, "", hash || location.pathname + location.search);
    for (const link of document.querySelectorAll("nav.choose a")) link.hash = hash;
  }

  const links = () => rows.filter(row => !row.hidden).map(row => row.querySelector("a"));

  function move(step) {
    const shown = links(), at = shown.indexOf(document.activeElement) + step;
    if (at < 0) box.focus();
    else shown[Math.min(at, shown.length - 1)]?.focus();
  }

  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input, select, textarea"), listed = event.target.closest("table.cells");
    if (event.key === "/" && !typing) box.focus(), box.select();
    else if (event.key === "Escape" && (event.target === box || listed)) box.value = "", apply(), box.focus();
    else if (event.key === "ArrowDown" && (event.target === box || listed)) move(1);
    else if (event.key === "ArrowUp" && listed) move(-1);
    else return;
    event.preventDefault();
  });
  box.form.addEventListener("submit", event => { event.preventDefault(); if (box.value.trim()) links()[0]?.click(); });
  box.addEventListener("input", apply);

  function read() {
    const said = location.hash.match(/^#find=(.*)$/);
    if (said) box.value = decodeURIComponent(said[1]);
    if (box.value) apply();
  }
  window.addEventListener("hashchange", read);
  read();
})();
