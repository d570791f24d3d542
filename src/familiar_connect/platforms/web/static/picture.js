// A chosen picture is made smaller before it is sent: the page shows it at the size of a hand.
const LONGEST_SIDE = 1024;
const SMALL_BYTES = 300 * 1024;

async function shrink(file) {
  if (file.size <= SMALL_BYTES) return file;
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (!bitmap) return file;
  const part = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(bitmap.width * part));
  canvas.height = Math.max(1, Math.round(bitmap.height * part));
  canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const made = await new Promise((done) => canvas.toBlob(done, "image/webp", 0.85));
  return made && made.size < file.size ? new File([made], "picture.webp", { type: "image/webp" }) : file;
}

export function start(form) {
  const chooser = form.querySelector("[type=file]");
  const send = form.querySelector("button");
  chooser.addEventListener("change", async () => {
    const [file] = chooser.files;
    if (!file) return;
    send.disabled = true; // until it is small
    const chosen = new DataTransfer();
    chosen.items.add(await shrink(file));
    chooser.files = chosen.files;
    send.disabled = false;
  });
  form.dataset.ready = "1";
}
