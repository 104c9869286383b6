// Runs before a document's own scripts: the page's clock starts when its recording began and runs at
// the usual pace, so that what depends on the date (campaigns, expiry, cache keys by the hour) is
// as it was. Durations, timers and performance.now are untouched.
{
  const Real = Date;
  const shift = RECORDED_MS - performance.timeOrigin;
  const now = () => Math.floor(Real.now() + shift);
  class Pinned extends Real {
    constructor(...given) { given.length ? super(...given) : super(now()); }
    static now() { return now(); }
  }
  // Called without new, Date gives the time as text.
  globalThis.Date = new Proxy(Pinned, { apply: () => new Pinned().toString() });
  Real.prototype.constructor = globalThis.Date;
}
