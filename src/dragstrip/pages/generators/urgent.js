// Asks for a style sheet while images arrive: browsers give it a high priority, and the load event
// waits for it.
document.addEventListener("DOMContentLoaded", () => setTimeout(() => {
  const late = document.createElement("link");
  late.rel = "stylesheet";
  late.href = "URL";
  document.head.append(late);
}, AFTER));
