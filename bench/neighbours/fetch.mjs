// Round trip and rate of Node's fetch: node fetch.mjs http://ADDRESS:PORT [BYTES]
const [url, bytes = "3000000"] = process.argv.slice(2);
const trips = [];
for (let i = 0; i < 6; i++) {
  const began = performance.now();
  await (await fetch(`${url}/1`)).arrayBuffer();
  if (i > 0) trips.push(performance.now() - began); // the first opens the connection
}
let got = 0;
let first = 0;
let firstAt = 0;
for await (const chunk of (await fetch(`${url}/${bytes}`)).body) {
  got += chunk.length;
  if (!first && got >= bytes / 3) [first, firstAt] = [got, performance.now()]; // past slow start
}
const mbps = ((got - first) * 8) / (performance.now() - firstAt) / 1000;
console.log(JSON.stringify({ round_trip_ms: Math.min(...trips), mbps }));
