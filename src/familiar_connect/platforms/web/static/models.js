// What is said of models above a chat and on their page: an offer, how far a download is, what came of it. A chat is told
// when there is news; the page of models asks while something is under way. Without this the buttons are forms.
const BASE = document.documentElement.dataset.at ?? "";
const EVERY_MS = 1000;

export function start(part) {
  const chat = part.closest(".chat");
  const log = chat?.querySelector(".log");
  const address = `${BASE}/connect/offer${chat ? `?chat=${chat.dataset.chat}` : ""}`;
  const state = () => part.querySelector("[data-state]").dataset.state;

  // A step of a download changes its words alone, so that whoever is at the button stays there.
  function show(fresh) {
    const there = part.querySelector("[data-state]");
    const name = chat?.querySelector(".bar .model bdi");
    if (name) name.textContent = fresh.dataset.model;
    if (there.dataset.state === "busy" && fresh.dataset.state === "busy") {
      there.querySelector("[data-words]").textContent = fresh.querySelector("[data-words]").textContent;
      there.querySelector("progress").replaceWith(fresh.querySelector("progress"));
      return;
    }
    const isAtEnd = log && log.scrollHeight - log.scrollTop - log.clientHeight < 80;
    const hadFocus = there.contains(document.activeElement);
    there.replaceWith(fresh);
    if (isAtEnd) log.scrollTop = log.scrollHeight;
    if (hadFocus) (fresh.querySelector("button") ?? chat?.querySelector("#words"))?.focus();
  }

  let asking = Promise.resolve();
  const refresh = () => (asking = asking.then(async () => {
    const answer = await fetch(address).catch(() => null);
    if (!answer?.ok) return;
    const drawn = new DOMParser().parseFromString(await answer.text(), "text/html");
    show(document.adoptNode(drawn.querySelector("[data-state]")));
  }));

  part.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.target));
    await fetch(event.target.action, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ ...fields, answer: event.submitter?.value ?? "" }),
    }).catch(() => null);
    if (chat) refresh();
    else location.reload();
  });
  chat?.addEventListener("model", refresh);
  if (!chat && state() === "busy") {
    const timer = setInterval(async () => {
      await refresh();
      if (state() !== "busy") { clearInterval(timer); location.reload(); }
    }, EVERY_MS);
  }
}
