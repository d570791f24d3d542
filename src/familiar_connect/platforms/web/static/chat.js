// One chat: hands what is written to the outbox, carries out its buttons and keys, shows what happens in it to every tab
// alike, comes back after a lost connection, and says when the program behind it changed. Without it the same buttons are forms.
const NEAR_THE_END = 80;
const SWIPE_PX = 70;
const SILENT_MS = 45_000; // the program gives a sign of life every 15 seconds
const LOOK_EVERY_MS = 5000;
const COME_BACK_MS = [1000, 2000, 4000, 8000, 15_000];
const KEYS = { r: "regenerate", c: "continue", u: "undo", e: "edit", b: "branch", h: "hide", y: "copy", v: "aloud", Delete: "remove", ArrowLeft: "back", ArrowRight: "next" };

const BASE = document.documentElement.dataset.at ?? ""; // where the pages of this familiar begin

export async function start(root) {
  const id = root.dataset.chat;
  const log = root.querySelector(".log");
  const list = root.querySelector(".messages");
  const form = root.querySelector(".composer");
  const words = form.querySelector("textarea");
  const send = form.querySelector(".send");
  const stop = form.querySelector(".stop");
  const status = root.querySelector(".status");
  let live = null;
  let fetching = Promise.resolve();
  let source = null;
  let attachments = null;
  let outbox = null;
  let isForeign = false;
  const isApart = root.dataset.apart !== undefined; // around a line of long ago: what is new is not shown here
  let heardAt = Date.now();
  let losses = 0;
  let coming = null;
  const { history } = document.documentElement.dataset;
  let { run } = document.documentElement.dataset;
  const drawnAs = new WeakMap(); // a line → what it was drawn from

  const messages = () => [...log.querySelectorAll("[data-id]")];
  const lastId = () => Number(messages().at(-1)?.dataset.id ?? 0);
  const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_THE_END;
  const toEnd = () => { log.scrollTop = log.scrollHeight; };
  const keepEnd = (change) => { const follow = isAtEnd(); change(); if (follow) toEnd(); };
  const find = (turn) => log.querySelector(`[data-id="${Number(turn)}"]`);

  function setBusy(isBusy) {
    root.classList.toggle("busy", isBusy);
    send.hidden = isBusy && !words.value.trim();
    stop.hidden = !isBusy;
    status.textContent = isBusy ? "answering…" : "";
  }

  // Who of a group speaks.
  function faceOf({ name, picture }) {
    const face = Object.assign(document.createElement("span"), { className: "avatar", textContent: name.slice(0, 1) });
    face.setAttribute("aria-hidden", "true");
    if (picture) face.append(Object.assign(document.createElement("img"), { src: picture, alt: "" }));
    return face;
  }

  // The reply that comes: a new message, or the one whose next version it is, which keeps its height meanwhile.
  function showLive(revises, goesOn, speaker) {
    if (live) return live;
    const revised = revises ? find(revises) : null;
    if (revised) {
      live = revised;
      const body = live.querySelector(".words");
      body.style.minHeight = `${body.offsetHeight}px`;
      if (!goesOn) body.replaceChildren();
      body.classList.add("waiting");
    } else {
      live = document.createElement("li");
      live.className = "message own";
      live.innerHTML = '<p class="who"><bdi></bdi></p><div class="words waiting" dir="auto"></div>';
      live.querySelector("bdi").textContent = speaker?.name ?? document.querySelector(".side summary .who").textContent.trim();
      live.prepend(speaker ? faceOf(speaker) : document.querySelector(".side summary .avatar").cloneNode(true));
      if (!isApart) keepEnd(() => list.append(live));
    }
    live.classList.add("live");
    return live;
  }

  function showPiece(html) {
    const body = showLive().querySelector(".words");
    if (body.classList.contains("waiting")) root.dispatchEvent(new CustomEvent("first-words"));
    keepEnd(() => { body.classList.remove("waiting"); body.innerHTML = html; });
  }

  function endLive() {
    if (!live) return;
    if (live.dataset.id) live.classList.remove("live"); else live.remove();
    live = null;
  }

  const parse = (html) => {
    const piece = document.createElement("template");
    piece.innerHTML = html;
    const found = [...piece.content.querySelectorAll("[data-id]")];
    for (const each of found) drawnAs.set(each, each.outerHTML);
    return found;
  };
  // One request after another, so that none is shown twice.
  const queue = (doing) => { fetching = fetching.then(doing).catch(() => {}); return fetching; };
  const fetchList = async (path) => {
    const answer = await fetch(`${BASE}/chats/${id}/messages${path}`);
    if (!answer.ok) throw new Error(answer.statusText);
    return parse(await answer.text());
  };

  // The familiar may have learned a name from what was just said.
  function learnName(line) {
    const name = line.dataset.key ? line.querySelector(".who bdi")?.textContent : null;
    const before = root.dataset.you;
    if (!name || name === before) return;
    root.dataset.you = name;
    const label = form.querySelector("label[for=words]");
    for (const part of [label, form.querySelector(".you .hidden")]) part.textContent = part.textContent.replace(before, name);
    words.placeholder = words.placeholder.replace(before, name);
    const face = form.querySelector(".you .avatar");
    if (!face.querySelector("img")) face.textContent = name.slice(0, 1);
    form.querySelector(".you").title = form.querySelector(".you").title.replace(before, name);
  }

  // The picture of the mood that was spoken in last.
  const mood = root.querySelector(".mood");
  function showMood() {
    const now = messages().filter((each) => each.dataset.mood).at(-1)?.dataset.mood;
    mood.hidden = !now;
    if (now && mood.firstElementChild.getAttribute("src") !== now) mood.firstElementChild.src = now;
  }
  root.addEventListener("messages", showMood);

  // Behind what is kept, before what is not yet.
  function addLine(line) {
    const next = outbox?.first() ?? (live && !live.dataset.id ? live : null);
    if (next) next.before(line); else list.append(line);
  }

  function showNew(came, isOver) {
    const found = came.filter((each) => Number(each.dataset.id) > lastId());
    const again = came.filter((each) => !found.includes(each) && each.dataset.turn);
    keepEnd(() => {
      for (const each of again) { // shown before its turn was kept
        const there = find(each.dataset.id);
        if (there && there !== live && !there.dataset.turn) there.replaceWith(each);
      }
      if (isOver) endLive();
      if (found.length) { list.querySelector(".empty")?.remove(); root.querySelector(".greetings")?.remove(); }
      for (const each of found) { addLine(each); learnName(each); }
      outbox?.settle();
    });
    root.dispatchEvent(new CustomEvent("messages", { detail: { isOver: isOver && came.length > 0 } }));
  }
  const fetchNew = (isOver) => queue(async () => isApart || showNew(await fetchList(`?after=${lastId()}`), isOver));
  // What is new comes with the event; a page that missed something before it asks, at the end of a reply for the last
  // line too, which may have been shown before its turn was kept.
  const takeNew = (facts, isOver) => queue(async () => {
    if (isApart) return;
    const isKnown = facts.html !== undefined && facts.after <= lastId();
    showNew(isKnown ? parse(facts.html) : await fetchList(`?after=${Math.max(0, lastId() - (isOver ? 1 : 0))}`), isOver);
  });

  // The latest lines as they read now: those that read otherwise are replaced, those that are gone go; a line that is
  // being edited is left alone.
  function showAll(now) {
    const first = Number(now[0]?.dataset.id ?? 0);
    const gone = new Map(messages().filter((each) => Number(each.dataset.id) >= first).map((each) => [each.dataset.id, each]));
    for (const each of now) {
      const there = gone.get(each.dataset.id);
      gone.delete(each.dataset.id);
      if (!there) addLine(each);
      else if (there !== live && !there.querySelector("textarea") && drawnAs.get(there) !== drawnAs.get(each)) there.replaceWith(each);
    }
    for (const each of gone.values()) if (each !== live) each.remove();
    outbox?.settle();
  }

  function fetchChanged(ids) {
    return queue(async () => {
      if (!ids.length && !isApart) {
        const now = await fetchList("");
        keepEnd(() => showAll(now));
      }
      for (const turn of ids) {
        const [now] = await fetchList(`/${turn}`);
        const there = find(turn);
        if (!there) continue;
        const hadFocus = there.contains(document.activeElement) ? document.activeElement.dataset.verb : null;
        keepEnd(() => (now ? there.replaceWith(now) : there.remove()));
        if (now && hadFocus) now.querySelector(`[data-verb="${hadFocus}"]`)?.focus();
      }
      root.dispatchEvent(new CustomEvent("messages", { detail: { isOver: true } }));
    });
  }

  function note(text) {
    const line = document.createElement("li");
    line.className = "message notice";
    line.setAttribute("role", "status");
    // A command between backticks is code, as everywhere.
    for (const piece of text.split(/(`[^`\n]+`)/)) {
      line.append(/^`.+`$/.test(piece) ? Object.assign(document.createElement("code"), { textContent: piece.slice(1, -1) }) : piece);
    }
    keepEnd(() => addLine(line));
    return line;
  }
  function noteOnce(mark, text, ...more) {
    list.querySelector(`[data-${mark}]`)?.remove();
    const line = note(text);
    line.setAttribute(`data-${mark}`, "");
    line.append(...more);
  }
  const linkToReload = () => Object.assign(document.createElement("a"), { href: location.href.split("#")[0], textContent: "Load the page again" });

  // Another familiar answers at this address than the one this page was opened for: nothing more is sent from here.
  function setForeign() {
    if (isForeign) return;
    isForeign = true;
    source?.close();
    outbox?.hold();
    root.classList.add("foreign");
    noteOnce("foreign", "This page now belongs to a different familiar. Nothing is sent to it from here; what you wrote stays in this browser. ", linkToReload());
    send.disabled = true;
  }

  // Another run of the program serves this chat than the last time.
  function compareRun(state) {
    if (state.history !== history) { setForeign(); return; }
    if (state.run === run) return;
    run = state.run;
    const when = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const isNewer = state.version !== root.dataset.version;
    noteOnce("restarted", `The program restarted (${when}).${isNewer ? " It is another version: " : ""}`, ...(isNewer ? [linkToReload()] : []));
  }
  // What the program died over stands there until something is said or answered.
  const endUnanswered = () => list.querySelector("[data-unanswered]")?.remove();

  const on = (kind, handle) => source.addEventListener(kind, (event) => {
    heardAt = Date.now();
    handle(event.data ? JSON.parse(event.data) : {});
  });
  function setLost(words) {
    status.dataset.lost = "1";
    status.textContent = words;
  }
  const WHY_LOST = {
    401: "This browser is no longer let in: open the address that the program printed.",
    404: "This familiar is not here any more.",
    400: "This chat is not here any more.",
  };
  // The browser comes back by itself after a broken connection, and never after a refusal: then we do.
  async function comeBack() {
    const answer = await fetch(`${BASE}/chats/${id}/sent/nothing`, { headers: { accept: "application/json" } }).catch(() => null);
    if (answer && !answer.ok && WHY_LOST[answer.status]) setLost(WHY_LOST[answer.status]);
    else listen();
    if (answer?.headers.get("x-familiar-history") && answer.headers.get("x-familiar-history") !== history) setForeign();
  }
  function listen() {
    clearTimeout(coming);
    source?.close();
    if (isForeign) return;
    heardAt = Date.now();
    source = new EventSource(`${BASE}/chats/${id}/events`);
    const tellOfModel = () => root.dispatchEvent(new CustomEvent("model"));
    on("model", tellOfModel);
    on("here", () => {});
    on("group", () => root.dispatchEvent(new CustomEvent("group")));
    let isFirst = !root.dataset.ready;
    on("state", (state) => {
      losses = 0;
      compareRun(state);
      if (isForeign) return;
      if (root.dataset.ready) tellOfModel();
      if (!isFirst) fetchChanged([]);
      else if (state.latest > lastId() || !state.busy) fetchNew(!state.busy);
      isFirst = false;
      if (!state.busy) queue(async () => endLive());
      if (state.busy) { showLive(state.revises, Boolean(state.html), state.speaker); if (state.html) showPiece(state.html); }
      setBusy(state.busy);
      endUnanswered();
      if (state.unanswered && !state.busy) note(state.unanswered).dataset.unanswered = "";
      outbox?.resume();
    });
    on("said", (facts) => takeNew(facts, false));
    on("thinking", (facts) => {
      setBusy(true);
      endUnanswered();
      if (live && live.dataset.id !== String(facts.revises ?? "")) endLive();
      showLive(facts.revises, facts.goes_on, facts.speaker);
      root.dispatchEvent(new CustomEvent("thinking"));
    });
    on("piece", (facts) => showPiece(facts.html));
    on("notice", (facts) => note(facts.text));
    on("changed", (facts) => fetchChanged(facts.ids));
    on("draft", (facts) => setDraft(facts.text));
    on("go", (facts) => location.assign(`${BASE}/chats/${Number(facts.chat)}`));
    on("done", (facts) => {
      setBusy(false);
      if (facts.changed?.length) queue(async () => endLive()).then(() => fetchChanged(facts.changed));
      else takeNew(facts, true);
    });
    source.addEventListener("open", () => { if (status.dataset.lost) { status.textContent = ""; delete status.dataset.lost; } });
    const mine = source;
    source.addEventListener("error", () => {
      setLost("connection lost, trying again…");
      if (mine === source && mine.readyState === EventSource.CLOSED) {
        clearTimeout(coming);
        coming = setTimeout(comeBack, COME_BACK_MS[Math.min(losses++, COME_BACK_MS.length - 1)]);
      }
    });
  }
  setInterval(() => { if (!document.hidden && Date.now() - heardAt > SILENT_MS) listen(); }, LOOK_EVERY_MS);

  const names = { accept: "application/json", "x-familiar-history": history };
  const post = (path, fields, signal) => fetch(path, {
    method: "POST",
    headers: { ...names, "content-type": "application/json" },
    body: JSON.stringify(fields ?? {}),
    signal,
  });
  const ask = (path, fields) => post(path, fields).catch(() => null);
  function sendLine(line, files, signal) {
    if (!files.length) return post(form.action, { text: line.text, key: line.key }, signal);
    const fields = new FormData();
    fields.append("text", line.text);
    fields.append("key", line.key);
    for (const file of files) fields.append("file", file, file.name);
    return fetch(form.action, { method: "POST", headers: names, body: fields, signal });
  }
  const LOST = "The program does not answer, so this page cannot know whether that was done. Look again when it is back.";
  async function told(answer) {
    const facts = answer ? await answer.json().catch(() => ({})) : { problem: LOST };
    if (!answer?.ok) { note(facts.problem ?? "That did not work. Try again."); return null; }
    return facts;
  }

  function say() {
    const text = words.value;
    const files = attachments?.take() ?? [];
    if (isForeign || (!text.trim() && !files.length)) return;
    words.value = "";
    words.dispatchEvent(new Event("input"));
    outbox.say(text, files);
    if (isApart) location.assign(`${BASE}/chats/${id}`); // it is sent from there
    else toEnd();
  }
  function takeBack(text, files) {
    if (files.length) attachments?.putBack(files);
    setDraft(words.value.trim() ? `${text}\n${words.value}` : text);
  }

  function setDraft(text) { words.value = text; words.focus(); words.dispatchEvent(new Event("input")); }
  const stopReply = () => ask(`${BASE}/chats/${id}/stop`);

  async function carryOut(verb, message) {
    const line = message ? `${BASE}/chats/${id}/messages/${message.dataset.id}` : null;
    if (verb === "edit") return (await import(root.dataset.editor)).edit(message, { line, ask, told, next: messages()[messages().indexOf(message) + 1], chat: `${BASE}/chats/${id}` });
    if (verb === "rest") return await told(await ask(`${line}/remove/rest`)) && isApart ? location.assign(`${BASE}/chats/${id}`) : null;
    if (verb === "aloud") {
      const button = message.querySelector('[data-verb="aloud"]');
      return button && (await import(root.dataset.aloud)).toggle(button, note);
    }
    if (verb === "hide" || verb === "remove") return told(await ask(`${line}/${verb}`));
    if (verb === "branch") {
      const facts = await told(await ask(`${line}/branch`));
      if (facts) location.assign(`${BASE}/chats/${Number(facts.chat)}`);
      return null;
    }
    if (verb === "impersonate") {
      status.textContent = "writing a line for you…";
      const facts = await told(await ask(`${BASE}/chats/${id}/impersonate`));
      status.textContent = "";
      if (facts) setDraft(facts.draft);
      return null;
    }
    if (verb === "up" || verb === "down") {
      const facts = await told(await ask(`${line}/move/${verb}`));
      if (facts) (await fetchChanged([]), find(facts.line))?.focus();
      return null;
    }
    const path = { back: "swipe/back", next: "swipe/next" }[verb] ?? verb;
    return told(await ask(`${BASE}/chats/${id}/${path}`));
  }

  // Versions of the last reply, from an empty field, a key or a finger; before the first there is none.
  const isPlain = (event) => !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
  function swipe(verb) {
    const button = messages().at(-1)?.querySelector(`[data-verb="${verb}"]`);
    if (button && !button.disabled && !root.classList.contains("busy")) carryOut(verb);
  }
  let touched = null;
  list.addEventListener("touchstart", (event) => {
    const on = event.target.closest("[data-id]");
    const isAlone = event.touches.length === 1 && !event.target.closest("pre, .table, .formula.alone, textarea");
    touched = isAlone && on && on === messages().at(-1) ? event.touches[0] : null;
  }, { passive: true });
  list.addEventListener("touchend", (event) => {
    const [end] = event.changedTouches;
    const [across, down] = touched ? [end.clientX - touched.clientX, end.clientY - touched.clientY] : [0, 0];
    touched = null;
    if (Math.abs(across) > SWIPE_PX && Math.abs(down) < SWIPE_PX / 2 && !getSelection().toString()) swipe(across > 0 ? "back" : "next");
  }, { passive: true });

  root.addEventListener("problem", (event) => note(event.detail));
  root.addEventListener("click", (event) => {
    const tool = event.target.closest("[data-verb]");
    if (!tool || tool.dataset.verb === "copy") return;
    event.preventDefault();
    tool.closest("details")?.removeAttribute("open");
    carryOut(tool.dataset.verb, tool.closest("[data-id]"));
  });
  root.addEventListener("click", (event) => {
    const quick = event.target.closest("[data-quick]");
    if (!quick || isForeign || isApart) return;
    event.preventDefault();
    outbox.say(quick.value, []);
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); say(); });
  stop.addEventListener("click", stopReply);
  words.addEventListener("input", () => { if (!stop.hidden) send.hidden = !words.value.trim(); });
  words.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); say(); }
    if (event.key === "ArrowUp" && !words.value) { event.preventDefault(); messages().at(-1)?.focus(); }
    const isSwipe = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (isSwipe && !words.value && isPlain(event)) { event.preventDefault(); swipe(event.key === "ArrowLeft" ? "back" : "next"); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !stop.hidden) { stopReply(); return; }
    const moved = event.altKey && { ArrowUp: "up", ArrowDown: "down" }[event.key];
    const inHand = document.activeElement?.closest?.("[data-id]");
    if (moved && inHand && !event.target.matches("textarea") && inHand.querySelector(`[data-verb="${moved}"]`)) { event.preventDefault(); carryOut(moved, inHand); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select, summary")) return;
    const focused = document.activeElement?.closest?.("[data-id]");
    if ((event.key === "ArrowUp" || event.key === "ArrowDown") && focused) {
      const all = messages();
      const next = all[all.indexOf(focused) + (event.key === "ArrowUp" ? -1 : 1)];
      event.preventDefault();
      (next ?? (event.key === "ArrowDown" ? words : focused)).focus();
    }
    const named = event.key === "Delete" && event.shiftKey ? "rest" : KEYS[event.key];
    const verb = event.target.matches("pre, .table") && event.key.startsWith("Arrow") ? null : named;
    if (!verb || root.classList.contains("busy") || (["remove", "rest"].includes(verb) && !focused)) return;
    event.preventDefault();
    if (verb === "back" || verb === "next") swipe(verb);
    else if (verb === "copy" || verb === "rest") (focused ?? messages().at(-1))?.querySelector(`[data-verb="${verb}"]`)?.click();
    else carryOut(verb, focused ?? messages().at(-1));
  });

  // A browser has six connections to a host: a tab nobody looks at holds none, and catches up when it is shown.
  document.addEventListener("visibilitychange", () => { if (document.hidden) source.close(); else listen(); });
  for (const each of messages()) drawnAs.set(each, each.outerHTML);
  outbox = (await import(root.dataset.outbox)).openOutbox(root, {
    list,
    address: `${BASE}/chats/${id}`,
    history,
    send: sendLine,
    drawn: (key) => log.querySelector(`[data-id][data-key="${key}"]`) !== null,
    lastId,
    keepEnd,
    refetch: () => fetchNew(false),
    takeBack,
    onForeign: setForeign,
  });
  listen();
  if (root.dataset.line) find(root.dataset.line)?.scrollIntoView({ block: "center" });
  else toEnd();
  (await import(root.dataset.earlierModule)).startEarlier(root, { log, list, address: `${BASE}/chats/${id}`, parse });
  if (form.dataset.draft) (await import(form.dataset.draft)).keepDraft(words, `${BASE} ${history} ${id}`);
  form.noValidate = true; // a picture needs no words
  attachments = (await import(form.dataset.attach)).startAttachments(form, note);
  if (form.dataset.talk) (await import(form.dataset.talk)).startTalking(form, note);
  (await import(root.dataset.glass)).startGlass(root, document.getElementById("glass"));
  root.dataset.ready = "1";
  if (!window.matchMedia("(hover: none)").matches) words.focus();
}
