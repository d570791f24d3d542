// Lines that were written and are not proven: each is kept in this browser until the program's record of it came back,
// is sent again under the same key when the program is back, and stands in the chat meanwhile as what it is.
const MOST_SHOWN = 20_000; // characters of a line that waits
const DATABASE = "familiar-page";
const STORE = "files";
const SEND_WITHIN_MS = 30_000;
const FILES_WITHIN_MS = 300_000;
const AGAIN_MS = [1000, 2000, 4000, 8000, 15_000];
const FRESH_MS = 10 * 60_000; // an older one waits for a click: the talk may have gone on without it
const OTHER_TAB_MS = 5000; // what another tab wrote is taken over when it has had its time
const DRAWN_WITHIN_MS = 3000;
const NO_FILES_KEPT = "Its files did not survive the reload; take the message back and attach them again.";

const makeKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((each) => each.toString(16).padStart(2, "0")).join("");

// What belongs to one chat of one history, in this browser: words in its storage, files in its database.
function openStore(place) {
  const prefix = `unsent ${place} `;
  const memory = new Map(); // where the browser keeps nothing
  const files = new Map();
  const read = (text) => { try { return JSON.parse(text); } catch { return null; } };
  const database = new Promise((done) => {
    try {
      const asked = indexedDB.open(DATABASE, 1);
      asked.onupgradeneeded = () => asked.result.createObjectStore(STORE);
      asked.onsuccess = () => done(asked.result);
      asked.onerror = () => done(null);
    } catch { done(null); }
  });
  async function ask(mode, doing) {
    const opened = await database;
    if (!opened) return null;
    return new Promise((done) => {
      const step = opened.transaction(STORE, mode);
      const asked = doing(step.objectStore(STORE));
      step.oncomplete = () => done(asked.result);
      step.onerror = step.onabort = () => done(null);
    });
  }
  function names() {
    try { return Object.keys(localStorage).filter((each) => each.startsWith(prefix)); } catch { return []; }
  }
  return {
    isOurs: (name) => name?.startsWith(prefix),
    keyOf: (name) => name.slice(prefix.length),
    all() {
      const kept = names().map((name) => { try { return read(localStorage.getItem(name)); } catch { return null; } });
      return [...kept.filter((line) => line?.key), ...memory.values()].sort((one, other) => one.at - other.at);
    },
    keep(line, chosen) {
      if (chosen.length) { files.set(line.key, chosen); ask("readwrite", (store) => store.put(chosen, line.key)); }
      try { localStorage.setItem(prefix + line.key, JSON.stringify(line)); } catch { memory.set(line.key, line); }
    },
    remove(line) {
      memory.delete(line.key);
      files.delete(line.key);
      try { localStorage.removeItem(prefix + line.key); } catch { /* it kept nothing */ }
      if (line.files) ask("readwrite", (store) => store.delete(line.key));
    },
    filesOf: async (line) => files.get(line.key) ?? await ask("readonly", (store) => store.get(line.key)) ?? [],
  };
}

// `send(line, files, signal)` asks the program; `drawn(key)` says whether its record is shown; `lastId()` is the latest one.
export function openOutbox(root, { list, address, history, send, drawn, lastId, keepEnd, refetch, takeBack, onForeign }) {
  const store = openStore(`${document.documentElement.dataset.at} ${history} ${root.dataset.chat}`);
  const shown = new Map(); // key → { line, item, state, turn }
  let isSending = false;
  let again = null;
  let tries = 0;

  function describe(entry, words, buttons) {
    const foot = entry.item.querySelector(".delivery");
    foot.replaceChildren();
    if (words) foot.append(Object.assign(document.createElement("span"), { textContent: words }));
    for (const [label, act] of buttons) {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: label });
      button.addEventListener("click", act);
      foot.append(button);
    }
    foot.hidden = !words && !buttons.length;
  }

  const setState = (entry, state, words = "") => keepEnd(() => changeState(entry, state, words));
  function changeState(entry, state, words) {
    entry.state = state;
    entry.item.dataset.state = state;
    const retry = ["Try again", () => { tries = 0; entry.isHeld = false; setState(entry, "sending"); flush(); }];
    const back = ["Take it back", () => leave(entry)];
    if (state === "sending") describe(entry, "Sending…", []);
    if (state === "waiting") describe(entry, words || "Not sent yet.", [retry, back]);
    if (state === "refused") describe(entry, words, [retry, back]);
    if (state === "proven") describe(entry, "", []);
  }

  function show(line, state) {
    const item = document.createElement("li");
    item.className = "message theirs sent";
    item.dataset.key = line.key;
    item.innerHTML = '<span class="avatar" aria-hidden="true"></span><p class="who"><bdi></bdi></p><div class="words" dir="auto"><p class="plain"></p></div><p class="delivery" role="status" hidden></p>';
    item.querySelector("bdi").textContent = root.dataset.you;
    item.querySelector(".avatar").replaceWith(document.querySelector(".you .avatar").cloneNode(true));
    item.querySelector(".plain").textContent = [line.text.slice(0, MOST_SHOWN), ...(line.files ?? [])].filter(Boolean).join("\n");
    const entry = { line, item, state, turn: null };
    shown.set(line.key, entry);
    list.append(item);
    setState(entry, state);
    return entry;
  }

  function drop(entry) {
    shown.delete(entry.line.key);
    entry.item.remove();
  }

  // The program has it: what stands here goes when the record is drawn.
  function prove(entry, turn) {
    store.remove(entry.line);
    entry.turn = turn ?? 0;
    setState(entry, "proven");
    if (entry.line.isCommand) drop(entry);
    else if (settle()) setTimeout(() => { if (shown.has(entry.line.key)) refetch().then(settle); }, DRAWN_WITHIN_MS);
  }

  // Takes away what the chat shows by itself now; whether some of it is left.
  function settle() {
    for (const entry of [...shown.values()]) {
      const isDrawn = drawn(entry.line.key);
      if (isDrawn) store.remove(entry.line);
      if (isDrawn || (entry.state === "proven" && entry.turn <= lastId())) drop(entry);
    }
    return shown.size > 0;
  }

  async function leave(entry) {
    const turn = await ask(entry.line.key);
    if (turn) { prove(entry, turn); return; }
    const files = await store.filesOf(entry.line);
    store.remove(entry.line);
    drop(entry);
    takeBack(entry.line.text, files);
  }

  async function ask(key) {
    const answer = await fetch(`${address}/sent/${key}`, { headers: { accept: "application/json" } }).catch(() => null);
    return answer?.ok ? (await answer.json().catch(() => ({}))).turn ?? null : null;
  }

  async function sendOne(entry) {
    const { line } = entry;
    const files = line.files ? await store.filesOf(line) : [];
    if (line.files && !files.length) { setState(entry, "refused", NO_FILES_KEPT); return true; }
    setState(entry, "sending");
    const signal = AbortSignal.timeout(files.length ? FILES_WITHIN_MS : SEND_WITHIN_MS);
    entry.wasTried = true;
    const answer = await send(line, files, signal).catch(() => null);
    const facts = await answer?.json().catch(() => null);
    if (answer?.ok && facts) { prove(entry, facts.turn); return true; }
    const problem = facts?.problem ? `${facts.problem}.`.replace(/\.\.$/, ".") : "";
    if (answer?.status === 409) { onForeign(problem); setState(entry, "waiting", "Not sent: it was meant for another familiar."); return false; }
    if (answer && answer.status >= 400 && answer.status < 500 && ![401, 408, 421, 429].includes(answer.status)) {
      setState(entry, "refused", `Not sent: ${problem || "the program refused it."}`);
      return true;
    }
    if (line.isCommand) { setState(entry, "waiting", "The program did not answer; it may or may not have done this."); return true; }
    const why = answer?.status === 401 ? "Not sent yet: this browser is no longer let in. Open the address that the program printed." : "";
    setState(entry, "waiting", why || problem && `Not sent yet: ${problem}` || "Not sent yet: the program does not answer. It is sent by itself when the program is back.");
    return false;
  }

  // One after the other, so that they arrive as they were written.
  async function flush() {
    if (isSending) { again = again ?? 0; return; }
    isSending = true;
    clearTimeout(again);
    again = null;
    let isThrough = true;
    for (const entry of [...shown.values()].sort((one, other) => one.line.at - other.line.at)) {
      if (entry.state !== "sending" && entry.state !== "waiting") continue;
      if (entry.isHeld) continue;
      if (entry.state === "waiting" && entry.wasTried && entry.line.isCommand) continue; // it may have run
      isThrough = await sendOne(entry);
      if (!isThrough) break;
    }
    isSending = false;
    if (!isThrough) for (const entry of shown.values()) if (entry.state === "sending") setState(entry, "waiting", "Not sent yet: it waits for the line before it.");
    if (isThrough) tries = 0;
    if (again === 0) { again = null; flush(); } else if (!isThrough) again = setTimeout(flush, AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)]);
  }

  // What an earlier page of this browser wrote here, and could not prove.
  async function adopt(least) {
    for (const line of store.all()) {
      if (shown.has(line.key) || Date.now() - line.at < least) continue;
      const entry = show(line, "waiting");
      entry.isHeld = line.isCommand || Date.now() - line.at > FRESH_MS;
      if (!entry.isHeld) continue;
      const turn = await ask(line.key);
      if (turn) prove(entry, turn);
      else setState(entry, "waiting", "Written earlier and not sent.");
    }
    settle();
  }

  window.addEventListener("storage", (event) => { // another tab proved it, or took it back
    if (!store.isOurs(event.key) || event.newValue !== null) return;
    const entry = shown.get(store.keyOf(event.key));
    if (entry && entry.state !== "proven") ask(entry.line.key).then((turn) => (turn ? prove(entry, turn) : drop(entry)));
  });
  window.addEventListener("online", () => flush());

  return {
    say(text, files) {
      const line = { key: makeKey(), text, at: Date.now(), isCommand: text.startsWith("/") && !files.length };
      if (files.length) line.files = files.map((each) => each.name);
      store.keep(line, files);
      show(line, "sending");
      flush();
    },
    settle,
    // The program answers again, or for the first time: what waits goes now.
    async resume() {
      await adopt(shown.size ? OTHER_TAB_MS : 0);
      tries = 0;
      for (const entry of shown.values()) if (entry.state === "waiting" && !entry.isHeld && !(entry.wasTried && entry.line.isCommand)) entry.state = "sending";
      await flush();
    },
    first: () => list.querySelector(".sent"),
    hold: () => { clearTimeout(again); for (const entry of shown.values()) entry.isHeld = true; },
  };
}
