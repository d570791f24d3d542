// One chat: sends what is written, shows what happens in it to every tab alike, and comes back after a lost connection.
const NEAR_THE_END = 80;

export async function start(root) {
  const id = root.dataset.chat;
  const log = root.querySelector(".log");
  const list = root.querySelector(".messages");
  const form = root.querySelector(".composer");
  const words = form.querySelector("textarea");
  const send = form.querySelector(".send");
  const stop = form.querySelector(".stop");
  const status = root.querySelector(".status");
  let live = null;
  let fetching = Promise.resolve();

  const lastId = () => Number([...list.querySelectorAll("[data-id]")].at(-1)?.dataset.id ?? 0);
  const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_THE_END;
  const toEnd = () => { log.scrollTop = log.scrollHeight; };
  const keepEnd = (change) => { const follow = isAtEnd(); change(); if (follow) toEnd(); };

  function setBusy(isBusy) {
    send.hidden = isBusy && !words.value.trim();
    stop.hidden = !isBusy;
    status.textContent = isBusy ? "answering…" : "";
  }

  function showLive() {
    if (live) return live;
    live = document.createElement("li");
    live.className = "message own live";
    const who = document.createElement("p");
    who.className = "who";
    who.textContent = document.querySelector(".side summary .who").textContent.trim();
    const body = document.createElement("div");
    body.className = "words waiting";
    body.dir = "auto";
    live.append(who, body);
    keepEnd(() => list.append(live));
    return live;
  }

  function showPiece(html) {
    const body = showLive().querySelector(".words");
    keepEnd(() => { body.classList.remove("waiting"); body.innerHTML = html; });
  }

  function endLive() { if (live) { live.remove(); live = null; } }

  // Later messages are fetched one request after another, so that none is shown twice.
  function fetchNew(replacesLive) {
    fetching = fetching.then(async () => {
      const answer = await fetch(`/chats/${id}/messages?after=${lastId()}`);
      if (!answer.ok) return;
      const piece = document.createElement("template");
      piece.innerHTML = await answer.text();
      keepEnd(() => {
        if (replacesLive) endLive();
        const found = [...piece.content.querySelectorAll("[data-id]")].filter((each) => Number(each.dataset.id) > lastId());
        if (found.length) list.querySelector(".empty")?.remove();
        for (const each of found) live ? live.before(each) : list.append(each);
      });
      root.dispatchEvent(new CustomEvent("messages", { detail: { isOver: replacesLive } }));
    }).catch(() => {});
    return fetching;
  }

  function note(text) {
    const line = document.createElement("li");
    line.className = "message notice";
    line.setAttribute("role", "status");
    line.textContent = text;
    keepEnd(() => (live ? live.before(line) : list.append(line)));
  }

  const source = new EventSource(`/chats/${id}/events`);
  source.addEventListener("state", (event) => {
    const state = JSON.parse(event.data);
    if (state.latest > lastId() || !state.busy) fetchNew(!state.busy);
    if (state.busy) { showLive(); if (state.html) showPiece(state.html); }
    setBusy(state.busy);
  });
  source.addEventListener("said", () => fetchNew(false));
  source.addEventListener("thinking", () => { setBusy(true); showLive(); root.dispatchEvent(new CustomEvent("thinking")); });
  source.addEventListener("piece", (event) => showPiece(JSON.parse(event.data).html));
  source.addEventListener("notice", (event) => note(JSON.parse(event.data).text));
  source.addEventListener("done", () => { setBusy(false); fetchNew(true); });
  source.addEventListener("open", () => { if (status.dataset.lost) { status.textContent = ""; delete status.dataset.lost; } });
  source.addEventListener("error", () => { status.dataset.lost = "1"; status.textContent = "connection lost, trying again…"; });

  async function say() {
    const text = words.value;
    if (!text.trim()) return;
    words.value = "";
    toEnd();
    const answer = await fetch(form.action, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ text }),
    }).catch(() => null);
    if (!answer || !answer.ok) {
      words.value = text;
      note(answer ? (await answer.json().catch(() => ({}))).problem ?? "That was not taken. Try again." : "The program cannot be reached. What you wrote is kept below.");
    }
  }

  const stopReply = () => fetch(`/chats/${id}/stop`, { method: "POST" }).catch(() => {});
  form.addEventListener("submit", (event) => { event.preventDefault(); say(); });
  stop.addEventListener("click", stopReply);
  words.addEventListener("input", () => { if (!stop.hidden) send.hidden = !words.value.trim(); });
  words.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); say(); }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !stop.hidden) stopReply(); });

  root.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-earlier]");
    if (!link) return;
    event.preventDefault();
    const answer = await fetch(link.href);
    const piece = document.createElement("template");
    piece.innerHTML = await answer.text();
    const found = [...piece.content.querySelectorAll("[data-id]")];
    const height = log.scrollHeight;
    list.prepend(...found);
    log.scrollTop += log.scrollHeight - height;
    if (!found.length) link.parentElement.remove();
    else link.href = `/chats/${id}/messages?before=${found[0].dataset.id}`;
  });

  toEnd();
  (await import(root.dataset.glass)).startGlass(root, document.getElementById("glass"));
  if (!window.matchMedia("(hover: none)").matches) words.focus();
}
