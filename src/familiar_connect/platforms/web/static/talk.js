// Speak instead of typing: hold the button, speak, let go. The words are made out on the computer that serves the page
// and put into the field, where they can be changed before they are sent.
const LONGEST_MS = 60_000;
const BASE = document.documentElement.dataset.at ?? ""; // where the pages of this familiar begin
const KEYS = [" ", "Enter"];
const NO_MICROPHONE = "This browser gives no microphone to a page without HTTPS, except on the computer that serves it. Put an HTTPS proxy in front of the page, or type.";

async function record(stream) {
  const recorder = new MediaRecorder(stream);
  const pieces = [];
  recorder.ondataavailable = (event) => pieces.push(event.data);
  const ended = new Promise((done) => { recorder.onstop = () => done(new Blob(pieces, { type: recorder.mimeType })); });
  recorder.start();
  setTimeout(() => { if (recorder.state === "recording") recorder.stop(); }, LONGEST_MS);
  return { stop: () => { if (recorder.state === "recording") recorder.stop(); }, ended };
}

export function startTalking(form, note) {
  const button = form.querySelector(".talk");
  const words = form.querySelector("textarea");
  if (!button) return;
  button.hidden = false;
  const why = button.dataset.why ?? (!navigator.mediaDevices || !window.MediaRecorder ? NO_MICROPHONE : null);
  if (why) { button.addEventListener("click", () => note(why)); return; }
  let isHeld = false;
  let isBusy = false;
  let recording = null;

  async function transcribe(sound) {
    const headers = { accept: "application/json", "content-type": sound.type || "application/octet-stream" };
    const answer = await fetch(`${BASE}/hear`, { method: "POST", body: sound, headers }).catch(() => null);
    const facts = await answer?.json().catch(() => ({})) ?? {};
    if (!answer?.ok) { note(facts.problem ?? "The recording did not arrive. Try again."); return; }
    words.value = words.value.trim() ? `${words.value.trimEnd()} ${facts.text}` : facts.text;
    words.dispatchEvent(new Event("input", { bubbles: true }));
    words.focus();
  }

  async function press() {
    if (isBusy) return;
    isHeld = isBusy = true;
    button.setAttribute("aria-pressed", "true");
    let stream = null;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      recording = await record(stream);
      if (!isHeld) recording.stop();
      await transcribe(await recording.ended);
    } catch {
      note("The browser blocks the microphone: allow it for this page.");
    } finally {
      stream?.getTracks().forEach((track) => track.stop());
      button.setAttribute("aria-pressed", "false");
      isBusy = false;
      recording = null;
    }
  }

  function release() {
    isHeld = false;
    recording?.stop();
  }

  button.addEventListener("pointerdown", (event) => { button.setPointerCapture(event.pointerId); press(); });
  button.addEventListener("pointerup", release);
  button.addEventListener("pointercancel", release);
  button.addEventListener("keydown", (event) => { if (KEYS.includes(event.key)) { event.preventDefault(); if (!event.repeat) press(); } });
  button.addEventListener("keyup", (event) => { if (KEYS.includes(event.key)) release(); });
  button.addEventListener("blur", release);
}
