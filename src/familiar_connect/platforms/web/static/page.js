// Entry of every page: keys that work everywhere, the menu on small screens, and the module of each part that names one.
const keys = document.getElementById("keys");
const menu = document.querySelector(".menu");
if (menu && window.matchMedia("(max-width: 700px)").matches) menu.open = false;

const places = new Map();
document.querySelectorAll("[data-key]").forEach((link) => places.set(link.dataset.key, link.href));
document.querySelector("[data-keys]")?.addEventListener("click", () => keys.showModal());

let waitsForPlace = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (waitsForPlace) {
    waitsForPlace = false;
    event.stopImmediatePropagation();
    if (places.has(event.key)) { event.preventDefault(); location.assign(places.get(event.key)); }
    return;
  }
  if (event.key === "?") { event.preventDefault(); keys.showModal(); }
  if (event.key === "g") waitsForPlace = true;
  if (event.key === "/") {
    const field = document.querySelector("#words, #query");
    if (field) { event.preventDefault(); field.focus(); }
  }
}, true);

// A part of a page says which module brings it to life: <section data-module="/static/chat.js?v=…">.
for (const part of document.querySelectorAll("[data-module]")) {
  import(part.dataset.module).then((module) => module.start(part));
}

// A menu closes when one turns elsewhere.
function closeMenus(except) {
  for (const each of document.querySelectorAll("details.pop[open]")) if (!each.contains(except)) each.open = false;
}
document.addEventListener("click", (event) => closeMenus(event.target));
document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeMenus(null); });

// A file that is dropped anywhere is brought in; a word over the page says so, and that it is under way.
const drop = document.getElementById("drop");
const veil = document.getElementById("drop-veil");
const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
const say = (words) => { veil.textContent = words; veil.hidden = !words; };
document.addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  say(event.target.closest?.(".composer") ? "" : veil.dataset.over);
});
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) say(""); });
document.addEventListener("drop", (event) => {
  say("");
  if (!hasFiles(event) || !drop) return;
  event.preventDefault();
  drop.querySelector("input").files = event.dataTransfer.files;
  say(veil.dataset.under.replace("…", ` ${event.dataTransfer.files[0]?.name ?? ""}…`));
  drop.submit();
});
window.addEventListener("pageshow", () => say(""));
