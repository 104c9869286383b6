// Builds the archive's cards from data, so their pictures are found only after two more requests.
import archive from "https://www.demo.test/data/archive.json" with { type: "json" };

function element(name, className, text) {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function card({ image, kicker, title, dek, author, minutes }) {
  const made = element("article", "card", "");
  const picture = new Image(640, 427);
  picture.alt = "";
  picture.src = image;
  const byline = element("p", "byline", `${author} · ${minutes} min`);
  made.append(picture, element("p", "kicker", kicker), element("h3", "", title));
  made.append(element("p", "dek", dek), byline);
  return made;
}

document.querySelector(".cards.archive").append(...archive.cards.map(card));
