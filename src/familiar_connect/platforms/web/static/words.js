// Buttons in what people wrote: "Copy" beside code. The words themselves come ready from the server.
const SAID_MS = 1500;
document.documentElement.classList.add("scripted");

// Without HTTPS, such as on a phone in the same house, there is no clipboard to write to: then the words are selected.
async function copy(part) {
  try {
    await navigator.clipboard.writeText(part.textContent);
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
