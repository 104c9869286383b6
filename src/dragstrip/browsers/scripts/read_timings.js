// In words that every browser since Chromium 53 understands; what it has no measure of is null.
JSON.stringify({
  timeOrigin: performance.timeOrigin || performance.timing.navigationStart,
  url: location.href,
  navigation: performance.getEntriesByType("navigation")[0],
  fcp: (function () {
    const entry = performance.getEntriesByName("first-contentful-paint")[0];
    return entry ? entry.startTime : null;
  })(),
  lcp: (function () {
    const types = window.PerformanceObserver && PerformanceObserver.supportedEntryTypes;
    if (!types || !types.includes("largest-contentful-paint")) return null;
    const seen = new PerformanceObserver(function () {});
    seen.observe({ type: "largest-contentful-paint", buffered: true });
    const last = seen.takeRecords().pop();
    return last ? last.startTime : null;
  })(),
})
