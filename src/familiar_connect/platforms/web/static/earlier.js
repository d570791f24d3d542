// The lines of long ago: they come by themselves as one scrolls up, and what is far from view is let go until one comes
// back to it, so that ten thousand lines cost a page no more than a few hundred.
const NEAR_PX = 1500;
const FAR_PX = 5000;
const MOST_LINES = 120; // at the end of the chat; those before them are let go, too
const AT_ONCE = 24;

const linesOf = (part) => [...part.querySelectorAll(":scope > [data-id]")];
const idOf = (line) => Number(line.dataset.id);

export function startEarlier(root, { log, list, address, parse }) {
  const more = log.querySelector("[data-earlier]")?.parentElement;
  let first = idOf(linesOf(list)[0] ?? { dataset: { id: 0 } });
  let isLoading = false;

  async function fetchLines(query) {
    const answer = await fetch(`${address}/messages?${query}`).catch(() => null);
    return answer?.ok ? parse(await answer.text()) : null;
  }

  // Lines that are shown together, let go together and fetched again together, as they read then.
  function makeChunk(lines, until) {
    const chunk = document.createElement("ol");
    chunk.className = "messages earlier";
    chunk.dataset.first = lines[0].dataset.id;
    chunk.dataset.until = until;
    chunk.append(...lines);
    return chunk;
  }

  // What is in view stays where it is.
  function keepPlace(change) {
    const height = log.scrollHeight;
    change();
    log.scrollTop += log.scrollHeight - height;
  }

  async function load() {
    if (isLoading) return;
    isLoading = true;
    const found = await fetchLines(`before=${first}`);
    isLoading = false;
    if (found === null) return; // the button is still there
    near.unobserve(more);
    if (!found.length) { more.remove(); return; }
    const chunk = makeChunk(found, first);
    first = idOf(found[0]);
    keepPlace(() => more.after(chunk));
    far.observe(chunk);
    if (found.length < AT_ONCE) more.remove(); else near.observe(more); // tells again whether it is near
  }

  function letGo(chunk, height) {
    if (!chunk.firstChild || chunk.contains(document.activeElement) || chunk.querySelector("textarea")) return;
    chunk.style.height = `${height}px`;
    chunk.replaceChildren();
  }

  async function fill(chunk) {
    if (chunk.firstChild || chunk.dataset.comes) return;
    chunk.dataset.comes = "1";
    const found = await fetchLines(`after=${Number(chunk.dataset.first) - 1}`);
    delete chunk.dataset.comes;
    if (found === null) return;
    const isAbove = chunk.getBoundingClientRect().bottom < log.getBoundingClientRect().top;
    const put = () => { chunk.style.height = ""; chunk.append(...found.filter((line) => idOf(line) < Number(chunk.dataset.until))); };
    if (isAbove) keepPlace(put); else put();
  }

  const near = new IntersectionObserver((entries) => { if (entries.at(-1).isIntersecting) load(); }, { root: log, rootMargin: `${NEAR_PX}px 0px` });
  const far = new IntersectionObserver((entries) => {
    for (const each of entries) {
      if (each.isIntersecting) fill(each.target); else letGo(each.target, each.boundingClientRect.height);
    }
  }, { root: log, rootMargin: `${FAR_PX}px 0px` });

  // A chat that grows while it is open.
  root.addEventListener("messages", () => {
    const lines = linesOf(list);
    for (let at = 0; lines.length - at > MOST_LINES; at += AT_ONCE) {
      const chunk = makeChunk(lines.slice(at, at + AT_ONCE), idOf(lines[at + AT_ONCE]));
      list.before(chunk);
      far.observe(chunk);
    }
  });
  if (!more) return;
  more.addEventListener("click", (event) => { event.preventDefault(); load(); });
  near.observe(more);
}
