// Lets the keyboard scroll what is wider than the screen: such a box gets a place in the order of
// Tab, and a name for screen readers.
"use strict";

(() => {
  const heading = box => {
    const before = [...document.querySelectorAll("h1, h2, h3")].filter(h => h.compareDocumentPosition(box) & Node.DOCUMENT_POSITION_FOLLOWING);
    return before.at(-1)?.textContent.trim() ?? document.title;
  };
  function reach(box) {
    const wide = box.scrollWidth > box.clientWidth;
    box.tabIndex = wide ? 0 : -1;
    if (wide) box.setAttribute("role", "group"), box.setAttribute("aria-label", `${heading(box)}, scrolls sideways`);
    else for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
  }
  const watch = new ResizeObserver(seen => seen.forEach(one => reach(one.target.closest(".scroll, .cellfigure"))));
  for (const box of document.querySelectorAll(".scroll, .cellfigure")) {
    reach(box);
    watch.observe(box);
    for (const child of box.children) watch.observe(child);
  }
})();
