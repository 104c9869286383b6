// Draws the tide tables. The import makes the load event wait for the data.
import tides from "https://www.demo.test/data/tides.json" with { type: "json" };

const WIDTH = 314;
const HEIGHT = 170;
const FOOT = 20;
const SVG = "http://www.w3.org/2000/svg";

function node(parent, name, attributes, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  parent.append(element);
  return element;
}

function draw(figure) {
  const svg = node(figure, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  const count = tides.harbours[0].height_cm.length;
  const top = Math.max(...tides.harbours.flatMap((harbour) => harbour.height_cm));
  const x = (index) => (index / (count - 1)) * WIDTH;
  const y = (height) => (HEIGHT - FOOT) * (1 - height / (top * 1.08));
  for (const [from, to] of tides.nights) {
    node(svg, "rect", { x: x(from), y: 0, width: x(to) - x(from), height: HEIGHT - FOOT });
  }
  for (const { name, height_cm } of tides.harbours) {
    const d = height_cm.map((h, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(h).toFixed(1)}`);
    node(svg, "path", { d: d.join(""), class: name === figure.dataset.harbour ? "main" : "" });
  }
  for (let hour = 6; hour < 48; hour += 12) {
    const label = `${String(hour % 24).padStart(2, "0")}.00`;
    const middle = x((hour * 60) / tides.step_minutes);
    node(svg, "text", { x: middle, y: HEIGHT - 5, "text-anchor": "middle" }, label);
  }
}

draw(document.getElementById("tides"));
