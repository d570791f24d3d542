// The glass box beside a chat: shows the turn of the message in view, can be pinned, closed and walked with [ and ].
const WIDE = "(min-width: 1101px)";

export function startGlass(chat, glass) {
  const body = glass.querySelector(".glass-body");
  const title = glass.querySelector(".glass-title");
  const opener = document.querySelector("[data-glass-open]");
  let shown = null;

  const turns = () => [...chat.querySelectorAll("[data-turn]")];
  const isOpen = () => glass.classList.contains("open");
  function setOpen(open) {
    glass.classList.toggle("open", open);
    document.querySelector(".frame").classList.toggle("no-glass", !open);
    opener?.setAttribute("aria-expanded", String(open));
  }

  async function show(id) {
    if (!id || id === shown) return;
    shown = id;
    const answer = await fetch(`/turns/${encodeURIComponent(id)}/panel`).catch(() => null);
    if (shown !== id) return;
    body.innerHTML = answer && answer.ok ? await answer.text() : "<p class='empty'>This turn is not kept any more.</p>";
    for (const each of turns()) each.classList.toggle("chosen", each.dataset.turn === id);
    const at = turns().findIndex((each) => each.dataset.turn === id);
    title.textContent = at >= 0 && at === turns().length - 1 ? "What it saw · latest" : "What it saw";
    const url = new URL(location.href);
    url.searchParams.set("turn", id);
    history.replaceState(null, "", url);
  }

  function step(by) {
    const all = turns();
    const at = all.findIndex((each) => each.dataset.turn === shown);
    const next = all[Math.min(all.length - 1, Math.max(0, (at < 0 ? all.length - 1 : at) + by))];
    if (!next) return;
    show(next.dataset.turn);
    next.scrollIntoView({ block: "nearest" });
  }

  chat.addEventListener("click", (event) => {
    const link = event.target.closest("[data-see]");
    if (!link) return;
    event.preventDefault();
    setOpen(true);
    show(link.closest("[data-turn]").dataset.turn);
    body.focus();
  });
  chat.addEventListener("messages", (event) => { if (event.detail.isOver) show(turns().at(-1)?.dataset.turn); });
  chat.addEventListener("thinking", () => { title.textContent = "What it saw · a reply is being made"; });
  opener?.addEventListener("click", () => setOpen(!isOpen()));
  glass.querySelector("[data-glass-close]").addEventListener("click", () => setOpen(false));
  body.addEventListener("pointerover", (event) => mark(event.target.closest("[data-layer]")?.dataset.layer));
  body.addEventListener("pointerleave", () => mark(null));
  function mark(layer) {
    for (const each of body.querySelectorAll("[data-layer]")) each.classList.toggle("lit", Boolean(layer) && each.dataset.layer === layer);
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    if (event.key === "i") setOpen(!isOpen());
    if (event.key === "[") step(-1);
    if (event.key === "]") step(1);
  });

  setOpen(window.matchMedia(WIDE).matches || new URL(location.href).searchParams.has("turn"));
  show(new URL(location.href).searchParams.get("turn") ?? turns().at(-1)?.dataset.turn);
}
