// A place to read: earlier messages on demand, and the glass box beside them.
export async function start(root) {
  const log = root.querySelector(".log");
  const list = root.querySelector(".messages");
  root.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-earlier]");
    if (!link) return;
    event.preventDefault();
    const piece = document.createElement("template");
    piece.innerHTML = await (await fetch(link.href)).text();
    const found = [...piece.content.querySelectorAll("[data-id]")];
    const height = log.scrollHeight;
    list.prepend(...found);
    log.scrollTop += log.scrollHeight - height;
    if (!found.length) link.parentElement.remove();
    else link.href = link.href.replace(/before=\d+/, `before=${found[0].dataset.id}`);
  });
  log.scrollTop = log.scrollHeight;
  (await import(root.dataset.glass)).startGlass(root, document.getElementById("glass"));
  root.dataset.ready = "1";
}
