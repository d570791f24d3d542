// The members of a group: their buttons without a new page, and in every tab alike; and rounds one after the other.
const PAUSE_MS = 4000; // between two rounds, to be read and to be interrupted
const MOST_ROUNDS = 20; // so that nobody who forgot the page pays for a night of talk
const BASE = document.documentElement.dataset.at ?? "";

export function start(bar) {
  const chat = bar.closest("[data-chat]");
  const tell = (text) => chat.dispatchEvent(new CustomEvent("problem", { detail: text }));
  async function send(path, fields) {
    const answer = await fetch(path, {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/json", "x-familiar-history": document.documentElement.dataset.history },
      body: JSON.stringify(fields),
    }).catch(() => null);
    if (!answer?.ok) tell((await answer?.json().catch(() => null))?.problem ?? "The program does not answer. Try again.");
    return answer;
  }
  bar.addEventListener("submit", async (event) => {
    if (event.target.action.endsWith("/new")) return;
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.target, event.submitter));
    await send(event.target.action, fields);
  });

  // Each round begins here, so it ends with this page.
  const words = chat.querySelector("#words");
  const button = () => bar.querySelector("[data-keep-talking]");
  let rounds = 0;
  let waiting = null;
  function show() {
    button().hidden = false;
    button().setAttribute("aria-pressed", String(rounds > 0));
  }
  function keepQuiet(why) {
    if (rounds && why) tell(why);
    rounds = 0;
    clearTimeout(waiting);
    show();
  }
  async function talkOn() {
    if (!rounds) return;
    if (document.hidden || words.value) { keepQuiet(); return; }
    if (chat.classList.contains("busy")) { wait(); return; }
    if (rounds > MOST_ROUNDS) { keepQuiet(`Stopped after ${MOST_ROUNDS} rounds. Press Keep talking for more.`); return; }
    rounds += 1;
    const answer = await send(`${BASE}/chats/${chat.dataset.chat}/group/speak`, {});
    if (!answer?.ok) keepQuiet();
  }
  function wait() { clearTimeout(waiting); if (rounds) waiting = setTimeout(talkOn, PAUSE_MS); }
  bar.addEventListener("click", (event) => {
    if (!event.target.closest("[data-keep-talking]")) return;
    if (rounds) { keepQuiet(); return; }
    rounds = 1;
    show();
    talkOn();
  });
  words.addEventListener("input", () => keepQuiet());
  chat.querySelector(".stop").addEventListener("click", () => keepQuiet());
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") keepQuiet(); });
  chat.addEventListener("messages", (event) => { if (event.detail?.isOver) wait(); });
  show();

  chat.addEventListener("group", async () => {
    const answer = await fetch(`${BASE}/chats/${chat.dataset.chat}/group`).catch(() => null);
    if (!answer?.ok) return;
    const focused = [...bar.querySelectorAll("button, a")].indexOf(document.activeElement);
    bar.innerHTML = await answer.text();
    show();
    if (focused >= 0) bar.querySelectorAll("button, a")[focused]?.focus();
  });
}
