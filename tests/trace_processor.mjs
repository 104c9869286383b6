// Runs Perfetto's trace processor: node trace_processor.mjs FOLDER <requests >answers
//
// FOLDER has the processor as WebAssembly, and the script that loads it in a worker of Perfetto's
// UI. Requests and answers are streams of TraceProcessorRpc. What the processor logs is on stderr.
import { readFileSync, writeSync } from "node:fs";
import { runInThisContext } from "node:vm";

const folder = process.argv[2];
console.log = console.warn = console.info = console.error;

// What the script finds in a browser's worker.
const place = { value: { href: `file://${folder}/` }, configurable: true };
Object.defineProperty(globalThis, "location", place);
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.file = `${folder}/${url.split("/").pop()}`;
  }
  send() {
    this.response = readFileSync(this.file);
  }
};
// The script first tries a module whose only section is a memory of 64 bits. FOLDER has nothing for
// such memories.
const { Module } = WebAssembly;
WebAssembly.Module = class extends Module {
  constructor(bytes) {
    if (bytes[8] === 5 && bytes[11] === 4) throw new WebAssembly.CompileError("64 bits");
    super(bytes);
  }
};

runInThisContext(readFileSync(`${folder}/engine_bundle.node.js`, "utf8"));
const answers = [];
const port = { postMessage: (bytes) => answers.push(bytes) };
self.onmessage({ data: port });
await new Promise((ready) => setTimeout(ready)); // it is ready after what waits already
port.onmessage({ data: new Uint8Array(readFileSync(0)) });
for (const bytes of answers) for (let done = 0; done < bytes.length; ) done += writeSync(1, bytes, done);
