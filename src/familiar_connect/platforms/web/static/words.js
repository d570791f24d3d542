// Buttons beside words: those that copy code, or a line as it was written, and those that ask before they act.
const SAID_MS = 1500;
const ASKED_MS = 6000;
document.documentElement.classList.add("scripted");

// Without HTTPS, such as on a phone in the same house, there is no clipboard to write to: then the words are selected.
async function copy(part, text = part.textContent) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(part);
    return document.execCommand("copy");
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.(".code .copy");
  if (!button) return;
  button.textContent = await copy(button.closest(".code").querySelector("code")) ? "Copied" : "Press Ctrl-C";
  setTimeout(() => { button.textContent = "Copy"; }, SAID_MS);
});

document.addEventListener("click", async (event) => {
  const link = event.target.closest?.('[data-verb="copy"]');
  if (!link) return;
  event.preventDefault();
  const words = link.closest("[data-id]").querySelector(".words");
  const answer = await fetch(link.href).catch(() => null);
  const isDone = await copy(words, answer?.ok ? await answer.text() : words.innerText);
  const name = link.querySelector(".hidden");
  link.dataset.said = name.textContent = isDone ? "Copied" : "Press Ctrl-C";
  setTimeout(() => { name.textContent = "Copy"; delete link.dataset.said; }, SAID_MS);
});

// A button that takes much away is pressed twice: the first time it only says so.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-ask]");
  if (!button || button.dataset.said) return;
  event.preventDefault();
  event.stopPropagation();
  const status = document.querySelector(".status");
  button.dataset.said = "Press again";
  if (status) status.textContent = button.dataset.ask;
  setTimeout(() => { delete button.dataset.said; if (status?.textContent === button.dataset.ask) status.textContent = ""; }, ASKED_MS);
}, true);

// On a phone the less common buttons of a line come when they are asked for.
document.addEventListener("click", (event) => {
  const more = event.target.closest?.("[data-more-verbs]");
  if (more) more.setAttribute("aria-expanded", String(more.parentElement.classList.toggle("all")));
});
