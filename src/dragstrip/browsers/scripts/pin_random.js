// Runs before a document's own scripts: Math.random and crypto.getRandomValues give every visit the
// same numbers. Each calling script draws from a stream of its own (xorshift32, Marsaglia 2003,
// seeded by the script's URL), so it does not matter which of two scripts happens to run first.
// Like its neighbours it is written for the oldest browser here, Chromium 53.
{
  const streams = new Map();
  let lookups = 5000;  // reading the stack costs microseconds; who draws this often is no experiment

  const caller = () => {
    if (lookups-- <= 0) return "";
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 4;
    const stack = new Error().stack;
    Error.stackTraceLimit = limit;
    const frames = typeof stack === "string" ? stack.split("\n") : [];
    const own = frames[0].includes("@") ? 3 : 4;  // Chromium begins with the error's name, Firefox not
    const found = (frames[own] || "").match(/https?:[^\s)?#]*/);
    return found ? found[0].replace(/(:\d+)+$/, "") : "";
  };

  const draw = () => {
    const script = caller();
    let state = streams.get(script);
    if (state === undefined) {
      state = 0x811c9dc5;  // FNV-1a
      for (const letter of script) state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193);
      state = state || 1;
    }
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
    streams.set(script, state);
    return state >>> 0;
  };

  Math.random = function random() { return draw() / 4294967296; };
  Crypto.prototype.getRandomValues = function getRandomValues(array) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = draw() >>> 24;
    return array;
  };
}
