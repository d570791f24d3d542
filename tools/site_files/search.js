// The search of the documentation: every word must stand in a part of a page; headings count most. SECTIONS is made
// together with the pages, so that it also works from a folder, without a server.
"use strict";
{
  const field = document.getElementById("site-search");
  const found = document.getElementById("site-found");
  const root = document.documentElement.dataset.root;
  const MOST = 12;

  const rank = ([page, , heading, text], words) => {
    const title = `${page} ${heading}`.toLowerCase();
    const body = text.toLowerCase();
    let sum = 0;
    for (const word of words) {
      const inTitle = title.includes(word);
      if (!inTitle && !body.includes(word)) return 0;
      sum += inTitle ? 5 : 1;
    }
    return sum;
  };

  const excerpt = (text, words) => {
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 40);
    return (at ? "…" : "") + text.slice(at, at + 140);
  };

  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length ? SECTIONS.map((part) => [rank(part, words), part]).filter(([sum]) => sum) : [];
    hits.sort((one, other) => other[0] - one[0]);
    found.replaceChildren(...hits.slice(0, MOST).map(([, [page, address, heading, text]]) => {
      const entry = document.createElement("li");
      const link = document.createElement("a");
      link.href = root + address;
      link.textContent = heading && heading !== page ? `${page}: ${heading}` : page;
      const words_around = document.createElement("small");
      words_around.textContent = excerpt(text, words);
      entry.append(link, words_around);
      return entry;
    }));
    if (words.length && !hits.length) {
      const nothing = document.createElement("li");
      nothing.textContent = "Nothing found.";
      found.replaceChildren(nothing);
    }
  };

  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { field.value = ""; show(); }
  });
  show();
}
