// A line is changed where it stands. What a person said can be answered again as it reads then: what followed goes.
export async function edit(message, { line, ask, told, next, chat }) {
  const answer = await fetch(`${line}/edit`, { headers: { accept: "application/json" } }).catch(() => null);
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
  tools.innerHTML = '<button type="button">Save</button><button type="button" class="quiet">Save and answer again</button><button type="button" class="quiet">Cancel</button><span class="soft"><kbd>Ctrl</kbd> <kbd>Enter</kbd> saves</span>';
  const [save, again, cancel] = tools.querySelectorAll("button");
  again.hidden = !message.classList.contains("theirs");
  const leave = () => { body.replaceChildren(...before); message.focus(); };
  const keep = async () => told(await ask(`${line}/edit`, { text: field.value }));
  async function keepAndAnswer() {
    if (!await keep()) return;
    if (next && !await told(await ask(`${chat}/messages/${next.dataset.id}/remove/rest`))) return;
    await told(await ask(`${chat}/regenerate`));
  }
  save.addEventListener("click", keep);
  again.addEventListener("click", keepAndAnswer);
  cancel.addEventListener("click", leave);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { event.stopPropagation(); leave(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
  });
  field.style.minHeight = `${body.offsetHeight + 24}px`;
  body.replaceChildren(field, tools);
  field.focus();
}
