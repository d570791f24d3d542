// A channel elsewhere: earlier messages on demand, new ones as they come, words of the familiar's where it is connected, and
// the glass box beside them. Without it the same buttons are forms.
const NEAR_THE_END = 80;
const BASE = document.documentElement.dataset.at ?? ""; // where the pages of this familiar begin

export async function start(root) {
  const log = root.querySelector(".log");
  const list = root.querySelector(".messages");
  const status = root.querySelector(".status");
  const form = root.querySelector(".composer");
  const path = `${BASE}/places/${root.dataset.place}`;
  const lastId = () => Number([...list.querySelectorAll("[data-id]")].at(-1)?.dataset.id ?? 0);
  const parse = (html) => {
    const piece = document.createElement("template");
    piece.innerHTML = html;
    return [...piece.content.querySelectorAll("[data-id]")];
  };
  const fetchList = async (query) => {
    const answer = await fetch(`${path}/messages${query}`);
    if (!answer.ok) throw new Error(answer.statusText);
    return parse(await answer.text());
  };

  // What is new comes with the event; a page that missed something before it asks. One after another, so that none is shown twice.
  let taking = Promise.resolve();
  function take(facts) {
    taking = taking.then(async () => {
      const came = facts.html === undefined || facts.after > lastId() ? await fetchList(`?after=${lastId()}`) : parse(facts.html);
      const found = came.filter((each) => Number(each.dataset.id) > lastId());
      if (!found.length) return;
      const follow = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_THE_END;
      list.append(...found);
      if (follow) log.scrollTop = log.scrollHeight;
      if (!status.dataset.lost) status.textContent = "";
      root.dispatchEvent(new CustomEvent("messages", { detail: { isOver: true } }));
    }).catch(() => {});
  }
  let source = null;
  function listen() {
    source?.close();
    source = new EventSource(`${path}/events`);
    source.addEventListener("state", (event) => { if (JSON.parse(event.data).latest > lastId()) take({}); });
    source.addEventListener("said", (event) => take(JSON.parse(event.data)));
    source.addEventListener("open", () => { if (status.dataset.lost) { status.textContent = ""; delete status.dataset.lost; } });
    source.addEventListener("error", () => { status.dataset.lost = "1"; status.textContent = "connection lost, trying again…"; });
  }

  root.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-earlier]");
    if (!link) return;
    event.preventDefault();
    const found = await fetchList(new URL(link.href).search);
    const height = log.scrollHeight;
    list.prepend(...found);
    log.scrollTop += log.scrollHeight - height;
    if (!found.length) link.parentElement.remove();
    else link.href = link.href.replace(/before=\d+/, `before=${found[0].dataset.id}`);
  });

  if (form) {
    const words = form.querySelector("textarea");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const speaks = event.submitter?.classList.contains("speak");
      const text = words.value;
      if (!speaks && !text.trim()) return;
      if (!speaks) words.value = "";
      status.textContent = speaks ? "asked to speak…" : "posting…";
      const answer = await fetch(`${path}/${speaks ? "speak" : "say"}`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        body: JSON.stringify(speaks ? {} : { text }),
      }).catch(() => null);
      const facts = answer ? await answer.json().catch(() => ({})) : { problem: "The program cannot be reached." };
      if (answer?.ok) { if (!speaks) status.textContent = ""; return; }
      status.textContent = facts.problem ?? "That did not work. Try again.";
      if (!speaks) words.value = words.value || text;
    });
    words.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(form.querySelector(".send")); }
    });
  }

  // A browser has six connections to a host: a tab nobody looks at holds none, and catches up when it is shown.
  document.addEventListener("visibilitychange", () => { if (document.hidden) source.close(); else listen(); });
  listen();
  log.scrollTop = log.scrollHeight;
  (await import(root.dataset.glass)).startGlass(root, document.getElementById("glass"));
  root.dataset.ready = "1";
}
