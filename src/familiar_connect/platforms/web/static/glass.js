// The glass box beside a chat: follows the message in hand, can be pinned, widened, closed and walked with [ and ].
const WIDE = "(min-width: 1101px)";
const LOOK_AGAIN_MS = 1000;
const FIRST_LOOK_MS = 500;

const BASE = document.documentElement.dataset.at ?? ""; // where the pages of this familiar begin

export function startGlass(chat, glass) {
  const body = glass.querySelector(".glass-body");
  const title = glass.querySelector(".glass-title");
  const opener = document.querySelector("[data-glass-open]");
  const pin = glass.querySelector("[data-glass-pin]");
  const widen = glass.querySelector("[data-glass-wide]");
  const frame = document.querySelector(".frame");
  let shown = null;
  let wanted = null;

  const turns = () => [...chat.querySelectorAll("[data-turn]")];
  const isOpen = () => glass.classList.contains("open");
  const isPinned = () => pin.getAttribute("aria-pressed") === "true";
  const isAsking = () => body.contains(document.activeElement) && document.activeElement.matches("input");
  const press = (button, is) => button.setAttribute("aria-pressed", String(is));
  function setOpen(open) {
    glass.classList.toggle("open", open);
    frame.classList.toggle("no-glass", !open);
    opener?.setAttribute("aria-expanded", String(open));
    if (open) show(wanted);
  }

  async function show(id, { again = false } = {}) {
    if (!id) return;
    wanted = id;
    if (!isOpen() || (id === shown && !again)) { markChosen(); return; }
    shown = id;
    markChosen();
    const at = turns().find((each) => each.dataset.turn === id)?.dataset.at ?? BASE; // another familiar's, in a group
    const answer = await fetch(`${at}/turns/${encodeURIComponent(id)}/panel`).catch(() => null);
    if (shown !== id) return;
    const html = answer && answer.ok ? await answer.text() : "<p class='empty'>This turn is not kept any more.</p>";
    if (shown !== id) return;
    showPanel(id, html);
    const place = turns().findIndex((each) => each.dataset.turn === id);
    title.textContent = place >= 0 && place === turns().length - 1 ? "What it saw · latest" : "What it saw";
    const url = new URL(location.href);
    url.searchParams.set("turn", id);
    history.replaceState(null, "", url);
  }
  // The same turn again, such as when its reply is there: what the owner has opened stays open, and where they read.
  function showPanel(id, html) {
    const isSame = body.querySelector(`.panel[data-turn="${CSS.escape(id)}"]`) !== null;
    const opened = new Set(isSame ? [...body.querySelectorAll("details[open]")].map(nameOf) : []);
    const top = isSame ? body.scrollTop : 0;
    body.innerHTML = html;
    for (const each of body.querySelectorAll("details")) if (opened.has(nameOf(each))) each.open = true;
    body.scrollTop = top;
    showWhereViewBegins();
  }
  // A line in the chat where the model's view of it began.
  function showWhereViewBegins() {
    chat.querySelector(".view-begins")?.remove();
    const { firstSent, notSent } = body.querySelector(".panel")?.dataset ?? {};
    const first = firstSent ? chat.querySelector(`[data-id="${Number(firstSent)}"]`) : null;
    if (!first) return;
    const line = Object.assign(document.createElement("li"), { className: "view-begins", textContent: `The model’s view begins here. ${notSent}` });
    const log = chat.querySelector(".log");
    const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    first.before(line);
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  }
  function nameOf(details) {
    const isCut = details.closest(".block.cut") !== null;
    return `${isCut} ${details.querySelector("summary .name, summary").textContent}`;
  }
  function markChosen() {
    for (const each of turns()) each.classList.toggle("chosen", isOpen() && each.dataset.turn === wanted);
  }

  function step(by) {
    const all = turns();
    const isShown = (each) => each.dataset.turn === shown;
    const at = by > 0 ? all.findLastIndex(isShown) : all.findIndex(isShown); // several lines may be of one turn
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
  // The message under the pointer for a moment, or the one that has the focus.
  let resting = 0;
  const follow = (event) => {
    const turn = event.target.closest?.("[data-turn]")?.dataset.turn;
    clearTimeout(resting);
    if (turn && !isPinned() && !isAsking() && window.matchMedia(WIDE).matches) resting = setTimeout(() => show(turn), event.type === "focusin" ? 0 : 400);
  };
  chat.addEventListener("pointerover", follow);
  chat.addEventListener("focusin", follow);
  chat.addEventListener("messages", (event) => {
    if (event.detail.isOver && !isPinned() && !isAsking()) show(turns().at(-1)?.dataset.turn);
    else markChosen();
  });
  // While a reply is made the box shows how far it has come: its blocks as soon as they are put together, then the time.
  let looking = 0;
  async function showRunning() {
    clearTimeout(looking);
    if (!isOpen() || isPinned() || !chat.dataset.chat || !chat.classList.contains("busy")) return;
    title.textContent = "Reply under way…";
    const answer = await fetch(`${BASE}/running/${chat.dataset.chat}`).catch(() => null);
    const html = answer?.ok ? await answer.text() : null;
    if (!chat.classList.contains("busy")) return;
    if (html !== null) showSoFar(html);
    clearTimeout(looking);
    looking = setTimeout(showRunning, LOOK_AGAIN_MS);
  }
  function showSoFar(html) {
    const fresh = document.createRange().createContextualFragment(html);
    const turn = fresh.querySelector(".panel").dataset.turn;
    const hasBlocks = body.querySelector(`.panel[data-turn="${CSS.escape(turn)}"] .block`);
    if (shown === null && hasBlocks) body.querySelector(".time")?.replaceWith(fresh.querySelector(".time"));
    else body.replaceChildren(fresh);
    shown = null;
  }
  // Not at once: the prompt is put together first, and a reply that is there at once needs no look on the way.
  const lookSoon = () => { clearTimeout(looking); looking = setTimeout(showRunning, FIRST_LOOK_MS); };
  chat.addEventListener("thinking", lookSoon);
  chat.addEventListener("first-words", lookSoon);
  opener?.addEventListener("click", () => setOpen(!isOpen()));
  pin.addEventListener("click", () => press(pin, !isPinned()));
  widen.addEventListener("click", () => press(widen, frame.classList.toggle("half")));
  for (const each of glass.querySelectorAll("[data-turn-step]")) each.addEventListener("click", () => step(Number(each.dataset.turnStep)));
  glass.querySelector("[data-glass-close]").addEventListener("click", () => setOpen(false));
  body.addEventListener("pointerover", (event) => mark(event.target.closest("[data-layer]")?.dataset.layer));
  body.addEventListener("pointerleave", () => mark(null));
  body.addEventListener("focusin", (event) => mark(event.target.closest("[data-layer]")?.dataset.layer));
  function mark(layer) {
    for (const each of body.querySelectorAll("[data-layer]")) {
      each.classList.toggle("lit", Boolean(layer) && each.dataset.layer === layer);
    }
    body.querySelector(".strip")?.classList.toggle("dimmed", Boolean(layer));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    if (event.key === "i") setOpen(!isOpen());
    if (event.key === "[") step(-1);
    if (event.key === "]") step(1);
    if (event.key === "Escape" && isOpen() && !window.matchMedia(WIDE).matches) setOpen(false);
  });

  wanted = new URL(location.href).searchParams.get("turn") ?? turns().at(-1)?.dataset.turn;
  setOpen(window.matchMedia(WIDE).matches || new URL(location.href).searchParams.has("turn"));
}
