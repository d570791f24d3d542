// The members of a group: their buttons without a new page, and in every tab alike.
const BASE = document.documentElement.dataset.at ?? "";

export function start(bar) {
  const chat = bar.closest("[data-chat]");
  const tell = (text) => chat.dispatchEvent(new CustomEvent("problem", { detail: text }));
  bar.addEventListener("submit", async (event) => {
    if (event.target.action.endsWith("/new")) return;
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.target, event.submitter));
    const answer = await fetch(event.target.action, {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/json", "x-familiar-history": document.documentElement.dataset.history },
      body: JSON.stringify(fields),
    }).catch(() => null);
    if (!answer?.ok) tell((await answer?.json().catch(() => null))?.problem ?? "The program does not answer. Try again.");
  });
  chat.addEventListener("group", async () => {
    const answer = await fetch(`${BASE}/chats/${chat.dataset.chat}/group`).catch(() => null);
    if (!answer?.ok) return;
    const focused = [...bar.querySelectorAll("button, a")].indexOf(document.activeElement);
    bar.innerHTML = await answer.text();
    if (focused >= 0) bar.querySelectorAll("button, a")[focused]?.focus();
  });
}
