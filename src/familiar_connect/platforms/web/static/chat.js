// One chat: sends what is written, carries out its buttons and keys, shows what happens in it to every tab alike, and
// comes back after a lost connection. Without it the same buttons are forms.
const NEAR_THE_END = 80;
const SWIPE_PX = 70;
const KEYS = { r: "regenerate", c: "continue", u: "undo", e: "edit", b: "branch", h: "hide", ArrowLeft: "back", ArrowRight: "next" };

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

  const messages = () => [...list.querySelectorAll("[data-id]")];
  const lastId = () => Number(messages().at(-1)?.dataset.id ?? 0);
  const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_THE_END;
  const toEnd = () => { log.scrollTop = log.scrollHeight; };
  const keepEnd = (change) => { const follow = isAtEnd(); change(); if (follow) toEnd(); };
  const find = (turn) => list.querySelector(`[data-id="${Number(turn)}"]`);

  function setBusy(isBusy) {
    root.classList.toggle("busy", isBusy);
    send.hidden = isBusy && !words.value.trim();
    stop.hidden = !isBusy;
    status.textContent = isBusy ? "answering…" : "";
  }

  // The reply that comes: a new message, or the one whose next version it is, which keeps its height meanwhile.
  function showLive(revises, goesOn) {
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
      live.querySelector("bdi").textContent = document.querySelector(".side summary .who").textContent.trim();
      live.prepend(document.querySelector(".side summary .avatar").cloneNode(true));
      keepEnd(() => list.append(live));
    }
    live.classList.add("live");
    return live;
  }

  function showPiece(html) {
    const body = showLive().querySelector(".words");
    if (body.classList.contains("waiting")) root.dispatchEvent(new CustomEvent("first-words"));
    keepEnd(() => { body.classList.remove("waiting"); body.innerHTML = html; });
  }

  // What was just written, until it is heard and drawn.
  function showSent(text) {
    const line = document.createElement("li");
    line.className = "message theirs sent";
    line.innerHTML = '<span class="avatar" aria-hidden="true"></span><p class="who"><bdi></bdi></p><div class="words" dir="auto"><p class="plain"></p></div>';
    line.querySelector("bdi").textContent = root.dataset.you;
    line.querySelector(".avatar").textContent = root.dataset.you.slice(0, 1);
    line.querySelector(".plain").textContent = text;
    list.append(line);
    toEnd();
  }
  const endSent = () => list.querySelectorAll(".sent").forEach((line) => line.remove());

  function endLive() {
    if (!live) return;
    if (live.dataset.id) live.classList.remove("live"); else live.remove();
    live = null;
  }

  const parse = (html) => {
    const piece = document.createElement("template");
    piece.innerHTML = html;
    return [...piece.content.querySelectorAll("[data-id]")];
  };
  // One request after another, so that none is shown twice.
  const queue = (doing) => { fetching = fetching.then(doing).catch(() => {}); return fetching; };
  const fetchList = async (path) => {
    const answer = await fetch(`${BASE}/chats/${id}/messages${path}`);
    if (!answer.ok) throw new Error(answer.statusText);
    return parse(await answer.text());
  };

  function showNew(came, isOver) {
    const found = came.filter((each) => Number(each.dataset.id) > lastId());
    const again = came.filter((each) => !found.includes(each) && each.dataset.turn);
    keepEnd(() => {
      for (const each of again) { // shown before its turn was kept
        const there = find(each.dataset.id);
        if (there && there !== live && !there.dataset.turn) there.replaceWith(each);
      }
      endSent();
      if (isOver) endLive();
      if (found.length) { list.querySelector(".empty")?.remove(); root.querySelector(".greetings")?.remove(); }
      for (const each of found) live && !live.dataset.id ? live.before(each) : list.append(each);
    });
    root.dispatchEvent(new CustomEvent("messages", { detail: { isOver: isOver && came.length > 0 } }));
  }
  const fetchNew = (isOver) => queue(async () => showNew(await fetchList(`?after=${lastId()}`), isOver));
  // What is new comes with the event; a page that missed something before it asks, at the end of a reply for the last
  // line too, which may have been shown before its turn was kept.
  const takeNew = (facts, isOver) => queue(async () => {
    const isKnown = facts.html !== undefined && facts.after <= lastId();
    showNew(isKnown ? parse(facts.html) : await fetchList(`?after=${Math.max(0, lastId() - (isOver ? 1 : 0))}`), isOver);
  });

  function fetchChanged(ids) {
    return queue(async () => {
      if (!ids.length) {
        const now = await fetchList("");
        keepEnd(() => {
          const first = Number(now[0]?.dataset.id ?? 0);
          for (const each of messages()) if (Number(each.dataset.id) >= first) each.remove();
          list.append(...now);
        });
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
    line.textContent = text;
    keepEnd(() => (live && !live.dataset.id ? live.before(line) : list.append(line)));
    return line;
  }
  // What the program died over stands there until something is said or answered.
  const endUnanswered = () => list.querySelector("[data-unanswered]")?.remove();

  const on = (kind, handle) => source.addEventListener(kind, (event) => handle(event.data ? JSON.parse(event.data) : {}));
  function listen() {
    source?.close();
    source = new EventSource(`${BASE}/chats/${id}/events`);
    on("state", (state) => {
      if (state.latest > lastId() || !state.busy) fetchNew(!state.busy);
      if (state.busy) { showLive(state.revises, Boolean(state.html)); if (state.html) showPiece(state.html); }
      setBusy(state.busy);
      endUnanswered();
      if (state.unanswered && !state.busy) note(state.unanswered).dataset.unanswered = "";
    });
    on("said", (facts) => takeNew(facts, false));
    on("thinking", (facts) => {
      setBusy(true);
      endUnanswered();
      if (live && live.dataset.id !== String(facts.revises ?? "")) endLive();
      showLive(facts.revises, facts.goes_on);
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
    source.addEventListener("error", () => { status.dataset.lost = "1"; status.textContent = "connection lost, trying again…"; });
  }

  const ask = (path, fields) => fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(fields ?? {}),
  }).catch(() => null);
  const sendForm = (text, files) => {
    const fields = new FormData();
    fields.append("text", text);
    for (const file of files) fields.append("file", file, file.name);
    return fetch(form.action, { method: "POST", headers: { accept: "application/json" }, body: fields }).catch(() => null);
  };
  const LOST = "The program cannot be reached. Is it still running? Nothing was changed.";
  async function told(answer) {
    const facts = answer ? await answer.json().catch(() => ({})) : { problem: LOST };
    if (!answer?.ok) { note(facts.problem ?? "That was not taken. Try again."); return null; }
    return facts;
  }

  async function say() {
    const text = words.value;
    const files = attachments?.take() ?? [];
    if (!text.trim() && !files.length) return;
    words.value = "";
    if (text.trim() && !text.startsWith("/")) showSent(text);
    toEnd();
    if (await told(await (files.length ? sendForm(text, files) : ask(form.action, { text })))) return;
    endSent();
    words.value = words.value || text;
    attachments?.putBack(files);
  }

  function setDraft(text) { words.value = text; words.focus(); words.dispatchEvent(new Event("input")); }
  const stopReply = () => ask(`${BASE}/chats/${id}/stop`);

  async function edit(message) {
    const answer = await fetch(`${BASE}/chats/${id}/messages/${message.dataset.id}/edit`, { headers: { accept: "application/json" } }).catch(() => null);
    const facts = await told(answer);
    if (!facts) return;
    const body = message.querySelector(".words");
    const before = [...body.childNodes];
    const field = document.createElement("textarea");
    field.className = "whole";
    field.value = facts.text;
    field.dir = "auto";
    field.setAttribute("aria-label", "The line");
    const tools = document.createElement("p");
    tools.className = "tools";
    tools.innerHTML = '<button type="button">Save</button><button type="button" class="quiet">Cancel</button><span class="soft"><kbd>Ctrl</kbd> <kbd>Enter</kbd> saves</span>';
    const [save, cancel] = tools.querySelectorAll("button");
    const leave = () => { body.replaceChildren(...before); message.focus(); };
    const keep = async () => { if (await told(await ask(`${BASE}/chats/${id}/messages/${message.dataset.id}/edit`, { text: field.value })) && before.length) message.classList.remove("editing"); };
    save.addEventListener("click", keep);
    cancel.addEventListener("click", leave);
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.stopPropagation(); leave(); }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
    });
    field.style.minHeight = `${body.offsetHeight + 24}px`;
    body.replaceChildren(field, tools);
    field.focus();
  }

  async function carryOut(verb, message) {
    const line = message ? `${BASE}/chats/${id}/messages/${message.dataset.id}` : null;
    if (verb === "edit") return edit(message);
    if (verb === "hide") return told(await ask(`${line}/hide`));
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
    const isAlone = event.touches.length === 1 && !event.target.closest("pre, table, textarea");
    touched = isAlone && on && on === messages().at(-1) ? event.touches[0] : null;
  }, { passive: true });
  list.addEventListener("touchend", (event) => {
    const [end] = event.changedTouches;
    const [across, down] = touched ? [end.clientX - touched.clientX, end.clientY - touched.clientY] : [0, 0];
    touched = null;
    if (Math.abs(across) > SWIPE_PX && Math.abs(down) < SWIPE_PX / 2 && !getSelection().toString()) swipe(across > 0 ? "back" : "next");
  }, { passive: true });

  root.addEventListener("click", (event) => {
    const tool = event.target.closest("[data-verb]");
    if (!tool) return;
    event.preventDefault();
    tool.closest("details")?.removeAttribute("open");
    carryOut(tool.dataset.verb, tool.closest("[data-id]"));
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
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select, summary")) return;
    const focused = document.activeElement?.closest?.("[data-id]");
    if ((event.key === "ArrowUp" || event.key === "ArrowDown") && focused) {
      const all = messages();
      const next = all[all.indexOf(focused) + (event.key === "ArrowUp" ? -1 : 1)];
      event.preventDefault();
      (next ?? (event.key === "ArrowDown" ? words : focused)).focus();
    }
    const verb = KEYS[event.key];
    if (!verb || root.classList.contains("busy")) return;
    event.preventDefault();
    if (verb === "back" || verb === "next") swipe(verb);
    else carryOut(verb, focused ?? messages().at(-1));
  });

  root.addEventListener("click", async (event) => {
    const link = event.target.closest("[data-earlier]");
    if (!link) return;
    event.preventDefault();
    const found = parse(await (await fetch(link.href)).text());
    const height = log.scrollHeight;
    list.prepend(...found);
    log.scrollTop += log.scrollHeight - height;
    if (!found.length) link.parentElement.remove();
    else link.href = `${BASE}/chats/${id}/messages?before=${found[0].dataset.id}`;
  });

  // A browser has six connections to a host: a tab nobody looks at holds none, and catches up when it is shown.
  document.addEventListener("visibilitychange", () => { if (document.hidden) source.close(); else listen(); });
  listen();
  toEnd();
  form.noValidate = true; // a picture needs no words
  attachments = (await import(form.dataset.attach)).startAttachments(form, note);
  if (form.dataset.talk) (await import(form.dataset.talk)).startTalking(form, note);
  (await import(root.dataset.glass)).startGlass(root, document.getElementById("glass"));
  root.dataset.ready = "1";
  if (!window.matchMedia("(hover: none)").matches) words.focus();
}
