// Runs before a document's own scripts: a promise of the moment at which an element that matches is on
// the page and has a size; an image has arrived as well.
if (self === top) self[Symbol.for("dragstrip.done")] = new Promise(function (reached) {
  let found = false;
  function shown(element) {
    const box = element.getBoundingClientRect();
    const arrived = !(element instanceof HTMLImageElement)
      || (element.complete && element.naturalWidth > 0);
    return arrived && box.width > 0 && box.height > 0;
  }
  function look() {
    if (found || !Array.from(document.querySelectorAll(WHAT)).some(shown)) return;
    found = true;
    changes.disconnect();
    removeEventListener("load", look, true);
    reached(performance.now());
  }
  const changes = new MutationObserver(look);
  changes.observe(document, { attributes: true, childList: true, subtree: true });
  addEventListener("load", look, true);  // of images and style sheets, too
  (function eachFrame() {
    look();
    if (!found) requestAnimationFrame(eachFrame);
  })();
});
