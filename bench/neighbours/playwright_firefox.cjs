// Round trip and rate of fetch and of a WebSocket in Firefox, driven by Playwright from Node:
//
//   node playwright_firefox.cjs http://ADDRESS:PORT ws://ADDRESS:PORT [BYTES]
//
// FIREFOX names the browser. Playwright's own build of Firefox is in no package registry; over
// WebDriver BiDi (`moz-firefox`) it drives any.
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { firefox } = require("playwright-core");

const [web, sockets, bytes = "3000000"] = process.argv.slice(2);
const measure = readFileSync(join(__dirname, "measure_page.js"), "utf8");

async function main() {
  const executablePath = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
  const browser = await firefox.launch({ channel: "moz-firefox", executablePath });
  const page = await browser.newPage();
  await page.goto(web);
  const found = await page.evaluate(([code, given]) => eval(code)(given), [measure, [web, sockets, +bytes]]);
  console.log(JSON.stringify(found));
  await browser.close();
}

main();
