// Entry of every page: keys that work everywhere, the menu on small screens, and the chat where there is one.
import { startChat } from "./chat.js";
import { startGlass } from "./glass.js";

const keys = document.getElementById("keys");
const menu = document.querySelector(".menu");
if (menu && window.matchMedia("(max-width: 700px)").matches) menu.open = false;

const places = new Map();
document.querySelectorAll("[data-key]").forEach((link) => places.set(link.dataset.key, link.href));

let waitsForPlace = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.matches("input, textarea, select");
  if (isTyping) return;
  if (waitsForPlace) {
    waitsForPlace = false;
    if (places.has(event.key)) { event.preventDefault(); location.assign(places.get(event.key)); }
    return;
  }
  if (event.key === "?") { event.preventDefault(); keys.showModal(); }
  if (event.key === "g") waitsForPlace = true;
  if (event.key === "/") {
    const field = document.querySelector("#words, #query");
    if (field) { event.preventDefault(); field.focus(); }
  }
});

const chat = document.querySelector("[data-chat]");
if (chat) {
  startChat(chat);
  startGlass(chat, document.getElementById("glass"));
}
