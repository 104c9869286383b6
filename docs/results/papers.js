// Filters for the table of claims on papers.html. Without this script the table stands as it is.
"use strict";
(() => {
  const table = document.querySelector("#claims table");
  if (!table) return;
  const heads = [...table.querySelectorAll("th")].map((th) => th.textContent.trim());
  const lines = [...table.tBodies[0].rows].map((row) => {
    const text = (head) => row.cells[heads.indexOf(head)].textContent;
    return {
      row,
      paper: text("claim").split("-")[0],
      answer: row.cells[heads.indexOf("answer")].querySelector("strong").textContent,
      near: text("how near").replace(/, n = \d+$/, ""),
      words: row.textContent.toLowerCase(),
    };
  });

  const form = document.createElement("form");
  form.className = "claims-filter";
  const asked = new URLSearchParams(location.hash.slice(1));
  const fields = ["paper", "answer", "near"].map((name) => {
    const select = document.createElement("select");
    select.name = name;
    select.append(new Option("all", ""));
    for (const value of new Set(lines.map((line) => line[name]))) select.append(new Option(value, value));
    select.value = asked.get(name) ?? "";
    if (select.selectedIndex < 0) select.value = "";
    return labelled(name === "near" ? "how near" : name, select);
  });
  const search = document.createElement("input");
  search.type = "search";
  search.name = "words";
  search.value = asked.get("words") ?? "";
  const shown = document.createElement("output");
  form.append(...fields, labelled("words", search), shown);
  table.closest("#claims").prepend(form);

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();

  function labelled(text, field) {
    const label = document.createElement("label");
    label.append(text, " ", field);
    return label;
  }

  function filter(event) {
    const wanted = Object.fromEntries(new FormData(form));
    const words = wanted.words.toLowerCase().split(/\s+/);
    let count = 0;
    for (const line of lines) {
      const fits = ["paper", "answer", "near"].every((name) => !wanted[name] || line[name] === wanted[name]);
      line.row.hidden = !(fits && words.every((word) => line.words.includes(word)));
      count += !line.row.hidden;
    }
    shown.textContent = `${count} of ${lines.length} claims`;
    if (!event) return; // a link to a claim's row stays as it is
    const set = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
    history.replaceState(null, "", set.size ? `#${set}` : location.pathname + location.search);
  }
})();
