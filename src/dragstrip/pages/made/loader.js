// Asks for what the recording asked for, once what caused it has arrived. A node is
// [kind, url, detail, nodes to ask for afterwards].
(() => {
  const d = document, more = d.createElement("section");
  let held = 0, gate;
  d.documentElement.append(more);
  // The load event waits for elements but not for fetch and fonts. An open document in a frame
  // holds it back until they have ended too.
  const hold = (promise, then) => {
    if (!held++) {
      gate = d.createElement("iframe");
      gate.hidden = true;
      d.documentElement.append(gate);
      gate.contentDocument.open();
    }
    promise.catch(() => {}).then(() => {
      ask(then);
      if (!--held) gate.contentDocument.close();
    });
  };
  const add = (tag, fields, then, place = more) => {
    const e = Object.assign(d.createElement(tag), fields);
    e.onload = e.onerror = () => ask(then);
    place.append(e);
  };
  const boxed = (box) => ({ width: box[0], height: box[1], className: box[0] > 1 ? "" : "dot" });
  const kinds = {
    s: (src, _, then) => add("script", { src }, then, d.head),
    c: (href, _, then) => add("link", { rel: "stylesheet", href }, then, d.head),
    i: (src, box, then) => add("img", { src, ...boxed(box) }, then),
    d: (src, box, then) => add("iframe", { src, ...boxed(box) }, then),
    f: (url, n, then) => {
      const face = new FontFace("F" + n, `url("${url}")`);
      d.fonts.add(face);
      hold(face.load(), then);
    },
    x: (url, [method, size, headers], then) => hold(
      fetch(url, {
        method, headers, credentials: "omit", cache: "no-store",
        body: size ? new Blob(["x".repeat(size)]) : undefined,
      }).then((r) => r.arrayBuffer()), then),
  };
  const ask = self.ask = (nodes) => {
    for (const [kind, url, detail, then = []] of nodes) kinds[kind](url, detail, then);
  };
  for (const name of ["load", "error"])
    d.addEventListener(name, (e) => {
      const then = e.target.dataset?.then;
      if (then) ask(JSON.parse(then));
    }, true);
})();
