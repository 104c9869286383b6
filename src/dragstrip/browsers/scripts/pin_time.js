// Runs before a document's own scripts: the page's clock starts when its recording began and runs at
// the usual pace, so that what depends on the date (campaigns, expiry, cache keys by the hour) is
// as it was. Durations, timers and performance.now are untouched.
{
  const Real = Date, realNow = Date.now;
  const shift = RECORDED_MS - (performance.timeOrigin || performance.timing.navigationStart);
  const now = () => Math.floor(realNow() + shift);
  Real.now = now;
  self.Date = new Proxy(Real, {
    apply: () => new Real(now()).toString(),  // without new, Date gives the time as text
    construct: (target, given, caller) =>
      Reflect.construct(target, given.length ? given : [now()], caller),
  });
  Real.prototype.constructor = self.Date;
}
