// The list of turns goes on as one scrolls: earlier pages are put below, each a block the browser draws only when seen.
const AGAIN_MS = 1500;

export function start(list) {
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) goOn();
  }, { rootMargin: "1200px" });
  let isAsking = false;

  async function goOn() {
    const link = list.querySelector(".earlier a");
    if (!link || isAsking) return;
    isAsking = true;
    const where = new URL(link.href);
    where.pathname += "/rows";
    const answer = await fetch(where).catch(() => null);
    const html = answer?.ok ? await answer.text().catch(() => null) : null;
    isAsking = false;
    if (html === null) { setTimeout(goOn, AGAIN_MS); return; }
    const piece = document.createElement("template");
    piece.innerHTML = html;
    watcher.disconnect();
    list.querySelector(".earlier").replaceWith(piece.content);
    watch();
  }
  function watch() {
    const end = list.querySelector(".earlier");
    if (end) watcher.observe(end);
  }
  watch();
}
