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
    const answer = await fetch(link.href).catch(() => null);
    isAsking = false;
    if (!answer?.ok) { setTimeout(goOn, AGAIN_MS); return; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const chunk = page.querySelector(".chunk");
    const earlier = page.querySelector(".earlier");
    const end = list.querySelector(".earlier");
    watcher.disconnect();
    if (chunk) end.before(document.adoptNode(chunk));
    if (earlier) end.replaceWith(document.adoptNode(earlier));
    else end.remove();
    watch();
  }
  function watch() {
    const end = list.querySelector(".earlier");
    if (end) watcher.observe(end);
  }
  watch();
}
