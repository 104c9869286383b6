// Menu, keyboard and a reading-time total. Nothing here fetches, and nothing waits for a timer.
(() => {
  "use strict";
  const byTag = (name, scope = document) => [...scope.getElementsByTagName(name)];

  const menu = document.querySelector("[data-menu]");
  menu?.addEventListener("click", () => document.querySelector("nav").toggleAttribute("hidden"));

  document.addEventListener("keydown", (event) => {
    if (event.key === "t") document.documentElement.classList.toggle("dark");
    if (event.key !== "j" && event.key !== "k") return;
    const cards = byTag("article").filter((card) => card.classList.contains("card"));
    const middle = cards.findIndex((card) => card.getBoundingClientRect().top > 10);
    cards[middle + (event.key === "j" ? 3 : -3)]?.scrollIntoView({ block: "start" });
  });

  const minutes = [...document.querySelectorAll("[data-minutes]")]
    .map((element) => Number(element.dataset.minutes))
    .reduce((sum, value) => sum + value, 0);
  const total = document.createElement("span");
  total.textContent = `${minutes} minutes of reading`;
  document.querySelector(".strip")?.insertBefore(total, document.querySelector(".strip-right"));
})();
