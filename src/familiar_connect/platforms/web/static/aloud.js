// A line is read aloud by the program's own voice; the same button, another line or Esc ends it.
let player = null;
let button = null;

export function silence() {
  player?.pause();
  player?.removeAttribute("src");
  button?.removeAttribute("aria-pressed");
  player = button = null;
}

export async function toggle(link, note) {
  const isSame = link === button;
  silence();
  if (isSame) return;
  button = link;
  link.setAttribute("aria-pressed", "true");
  const mine = player = new Audio(link.href);
  mine.addEventListener("ended", () => { if (mine === player) silence(); });
  mine.addEventListener("error", async () => {
    if (mine !== player) return;
    silence();
    const answer = await fetch(link.href, { headers: { accept: "application/json" } }).catch(() => null);
    const facts = answer?.ok ? {} : await answer?.json().catch(() => ({}));
    note(facts?.problem ?? "That could not be read aloud.");
  });
  mine.play().catch(() => {});
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") silence(); });
