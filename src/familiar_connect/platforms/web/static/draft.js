// What was typed and not sent is there again after a reload, a crash or a look at another chat: it is kept in this browser.
const KEPT_AFTER_MS = 300;

export function keepDraft(words, place) {
  const name = `draft ${place}`;
  let waiting = null;
  const keep = () => {
    clearTimeout(waiting);
    try {
      if (words.value.trim()) localStorage.setItem(name, words.value); else localStorage.removeItem(name);
    } catch { /* the browser keeps nothing */ }
  };
  try { words.value ||= localStorage.getItem(name) ?? ""; } catch { /* there is none */ }
  if (words.value) words.dispatchEvent(new Event("input"));
  words.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(keep, words.value ? KEPT_AFTER_MS : 0); });
  window.addEventListener("pagehide", keep);
}
