// Asks for a style sheet while images arrive: browsers give it a high priority, and the load event
// waits for it.
(() => {
  let left = AFTER;
  document.addEventListener("load", (e) => {
    if (e.target.tagName !== "IMG" || --left) return;
    const late = document.createElement("link");
    late.rel = "stylesheet";
    late.href = "URL";
    document.head.append(late);
  }, true);
})();
