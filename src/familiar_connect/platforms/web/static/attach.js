// Files for the next message: chosen with the clip, pasted, or dropped on the field. A picture that is too large is made
// smaller here; what else is wrong with a file the program says when it is sent.
const MOST_FILES = 4;
const MOST_BYTES = 5 * 1024 * 1024;
const LONGEST_SIDE = 2048;
const THUMB = 56;
const SHRINKS = ["image/png", "image/jpeg", "image/webp"];

async function draw(bitmap, width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.getContext("2d").drawImage(bitmap, 0, 0, width, height);
  return canvas;
}

async function shrink(file) {
  if (!SHRINKS.includes(file.type) || file.size <= MOST_BYTES) return file;
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (!bitmap) return file;
  const part = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = await draw(bitmap, Math.max(1, Math.round(bitmap.width * part)), Math.max(1, Math.round(bitmap.height * part)));
  const made = await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.85));
  return made ? new File([made], `${file.name.replace(/\.\w+$/, "")}.jpg`, { type: "image/jpeg" }) : file;
}

async function thumbnail(file) {
  const bitmap = file.type.startsWith("image/") ? await createImageBitmap(file).catch(() => null) : null;
  if (!bitmap) return null;
  const canvas = await draw(bitmap, Math.max(1, Math.round(THUMB * bitmap.width / bitmap.height)), THUMB);
  canvas.setAttribute("aria-hidden", "true");
  return canvas;
}

export function startAttachments(form, note) {
  const tray = form.querySelector(".tray");
  const words = form.querySelector("textarea");
  const chooser = form.querySelector("[data-attached]");
  const button = form.querySelector(".attach");
  let files = [];

  function remove(file, item) {
    files = files.filter((each) => each !== file);
    const next = item.nextElementSibling ?? item.previousElementSibling;
    item.remove();
    tray.hidden = !files.length;
    (next?.querySelector("button") ?? words).focus();
  }

  async function show(file) {
    const item = document.createElement("li");
    const name = document.createElement("bdi");
    name.textContent = file.name;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "ghost";
    close.title = `Leave out ${file.name}`;
    close.setAttribute("aria-label", close.title);
    close.textContent = "×";
    close.addEventListener("click", () => remove(file, item));
    item.append(name, close);
    tray.append(item);
    tray.hidden = false;
    const picture = await thumbnail(file);
    if (picture) item.prepend(picture);
  }

  async function add(chosen) {
    for (const each of chosen) {
      if (files.length >= MOST_FILES) { note(`At most ${MOST_FILES} files go with one message; ${each.name} was left out.`); continue; }
      const file = await shrink(each);
      files.push(file);
      show(file);
    }
    words.focus();
  }

  button.hidden = false;
  button.addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", () => { const chosen = [...chooser.files]; chooser.value = ""; add(chosen); });
  words.addEventListener("paste", (event) => {
    const pasted = [...event.clipboardData.files];
    if (pasted.length) { event.preventDefault(); add(pasted); }
  });
  // What is dropped on the field goes with the message; what is dropped elsewhere is brought in, which `page.js` does.
  const over = (is) => form.classList.toggle("dropping", is);
  form.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) over(true); });
  form.addEventListener("dragleave", (event) => { if (!form.contains(event.relatedTarget)) over(false); });
  form.addEventListener("drop", (event) => {
    over(false);
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    event.stopPropagation();
    add([...event.dataTransfer.files]);
  });

  return {
    take() { const taken = files; files = []; tray.replaceChildren(); tray.hidden = true; return taken; },
    putBack(taken) { if (!files.length) for (const file of taken) { files.push(file); show(file); } },
  };
}
