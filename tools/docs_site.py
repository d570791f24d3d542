"""The site of the documentation: one page of HTML for each of the Markdown files that `docs/nav.toml` names.

    python3 run.py docs             build it into build/docs
    python3 run.py docs FOLDER      build it into FOLDER, which is new or was made by this

It is made with the program's own Markdown library and fetches nothing; the pages load nothing from outside and can be
read from a folder, search included. A link, anchor or picture that leads nowhere, and a page that is not in the
navigation, are told with file and line, and there is no site.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import posixpath
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
FILES = Path(__file__).resolve().parent / "site_files"
NAV = "docs/nav.toml"
MARK = ".familiar-docs"
"""The file that says a folder was made by this, and may be made again."""
NAME = "Familiar Connect"
OUTSIDE = ("http", "https", "mailto")
PICTURES = (".webp", ".png", ".svg", ".jpg")
DEEPEST_PART = 3
"""Headings down to this level are listed beside the page."""


class SiteProblem(Exception):
    """Why there is no site; a line for each fault."""


@dataclass(frozen=True)
class Part:
    """A heading of a page and the words under it."""

    level: int
    title: str
    anchor: str
    words: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Page:
    """A Markdown file, read."""

    source: str
    """Its path from the root of the repository."""
    tokens: list[Token]
    parts: list[Part]

    @property
    def address(self) -> str:
        """Where its HTML stands on the site."""
        stem = self.source.removesuffix(".md")
        return f"{stem.removeprefix('docs/') if stem.startswith('docs/') else stem.lower()}.html"

    @property
    def title(self) -> str:
        return self.parts[0].title if self.parts else self.source

    @property
    def anchors(self) -> set[str]:
        return {part.anchor for part in self.parts}


def main(arguments: Sequence[str]) -> int:
    """0 when the site is there; 1 with a line for each fault when it is not."""
    parser = argparse.ArgumentParser(prog="python3 run.py docs", description="Build the site of the documentation.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "docs", help="default: build/docs")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    try:
        count = build_site(chosen.root, chosen.folder)
    except SiteProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    sys.stdout.write(f"{count} pages. Open {chosen.folder / 'index.html'} in a browser.\n")
    return 0


def build_site(root: Path, folder: Path) -> int:
    """Write the site into *folder*, whole or not at all; how many pages it has."""
    if folder.exists() and not (folder / MARK).exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SiteProblem(f"{folder} holds something else: name a folder that is new or empty.")
    sections = read_nav(root)
    pages = {source: read_page(root, source) for _, sources in sections for source in sources}
    pictures: set[str] = set()
    faults = [fault for page in pages.values() for fault in resolve_links(root, page, pages, pictures)]
    if faults:
        raise SiteProblem("\n".join(faults))
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".docs-") as made:
        new = Path(made, "new")
        for address, text in site_files(sections, pages):
            path = new / address
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for picture in pictures:
            path = new / picture.removeprefix("docs/")
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / picture, path)
        if folder.exists():
            os.rename(folder, Path(made, "old"))
        os.rename(new, folder)
    return len(pages)


def read_nav(root: Path) -> list[tuple[str, list[str]]]:
    """The sections and their pages; every page of docs/ is in one of them, once."""
    nav = tomllib.loads((root / NAV).read_text(encoding="utf-8"))
    sections = [(section["title"], list(section["pages"])) for section in nav["section"]]
    named = [source for _, sources in sections for source in sources]
    there = {path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")}
    faults = [f"{NAV}: {source} is not there" for source in named if not (root / source).is_file()]
    faults += [f"{NAV}: {source} is named twice" for source in sorted(set(named)) if named.count(source) > 1]
    faults += [f"{NAV}: {source} is missing" for source in sorted(there - set(named))]
    if faults:
        raise SiteProblem("\n".join(faults))
    return sections


def read_page(root: Path, source: str) -> Page:
    """One file as tokens, its headings with the anchors that GitHub gives them."""
    text = (root / source).read_text(encoding="utf-8")
    if comment := re.match(r"<!--.*?-->", text, re.DOTALL):  # a word to those who edit it; lines keep their numbers
        text = re.sub(r"[^\n]", "", comment[0]) + text[comment.end() :]
    tokens = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(text)
    parts: list[Part] = []
    taken: dict[str, int] = {}
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            title = plain_words(tokens[place + 1])
            slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            taken[slug] = taken.get(slug, -1) + 1
            anchor = f"{slug}-{taken[slug]}" if taken[slug] else slug
            token.attrSet("id", anchor)
            parts.append(Part(int(token.tag[1]), title, anchor))
        elif parts and token.type == "inline" and tokens[place - 1].type != "heading_open":
            parts[-1].words.append(plain_words(token))
        elif parts and token.type == "fence":
            parts[-1].words.append(token.content)
    return Page(source, tokens, parts)


def plain_words(inline: Token) -> str:
    return "".join(
        child.content if child.type in ("text", "code_inline", "image") else " " * child.type.endswith("break")
        for child in inline.children or ()
    )


def resolve_links(root: Path, page: Page, pages: dict[str, Page], pictures: set[str]) -> Iterator[str]:
    """Turn links of the repository into links of the site; a fault for each that leads nowhere."""
    for token in page.tokens:
        for child in token.children or ():
            name = {"link_open": "href", "image": "src"}.get(child.type)
            if name is None:
                continue
            written = str(child.attrGet(name) or "")
            try:
                child.attrSet(name, resolve(root, page, written, pages, pictures, loads=name == "src"))
            except LookupError as fault:
                line = token.map[0] + 1 if token.map else 1
                yield f"{page.source}:{line}: {written} {fault.args[0]}"


def resolve(root: Path, page: Page, written: str, pages: dict[str, Page], pictures: set[str], *, loads: bool) -> str:
    """The address on the site of what is *written* in a link; LookupError with the reason where there is none."""
    parts = urlsplit(written)
    if parts.scheme or parts.netloc:
        if parts.scheme not in OUTSIDE or loads:
            raise LookupError("would be loaded from outside" if loads else "is no address for a browser")
        return written
    here = posixpath.dirname(page.source)
    source = posixpath.normpath(posixpath.join(here, unquote(parts.path))) if parts.path else page.source
    start = posixpath.dirname(page.address) or "."
    if loads:
        if not (root / source).is_file() or not source.startswith("docs/") or not source.endswith(PICTURES):
            raise LookupError("is no picture of docs/")
        pictures.add(source)
        return posixpath.relpath(source.removeprefix("docs/"), start)
    if source not in pages:
        raise LookupError("is no page of the site" if (root / source).exists() else "is not there")
    anchor = unquote(parts.fragment)
    if anchor and anchor not in pages[source].anchors:
        raise LookupError("has no such heading")
    return posixpath.relpath(pages[source].address, start) + (f"#{parts.fragment}" if anchor else "")


def site_files(sections: Sequence[tuple[str, list[str]]], pages: dict[str, Page]) -> Iterator[tuple[str, str]]:
    """Address and text of everything on the site but its pictures."""
    order = list(pages.values())
    for place, page in enumerate(order):
        near = (order[place - 1] if place else None, order[place + 1] if place + 1 < len(order) else None)
        yield page.address, page_html(page, sections, pages, near)
    for name in ("style.css", "search.js"):
        yield name, (FILES / name).read_text(encoding="utf-8")
    found = [
        (page.title, f"{page.address}#{part.anchor}", part.title, " ".join(" ".join(part.words).split()))
        for page in order
        for part in page.parts
    ]
    yield "sections.js", f"const SECTIONS = {json.dumps(found, ensure_ascii=False)};\n"
    yield MARK, "made by tools/docs_site.py\n"


def page_html(
    page: Page,
    sections: Sequence[tuple[str, list[str]]],
    pages: dict[str, Page],
    near: tuple[Page | None, Page | None],
) -> str:
    """The whole of one page."""
    start = posixpath.dirname(page.address) or "."
    up = "" if start == "." else posixpath.relpath(".", start) + "/"

    def link(to: Page, words: str) -> str:
        current = ' aria-current="page"' if to is page else ""
        return f'<a href="{posixpath.relpath(to.address, start)}"{current}>{words}</a>'

    listed = "".join(
        f"<h2>{html.escape(title)}</h2><ul>"
        + "".join(f"<li>{link(pages[source], html.escape(pages[source].title))}</li>" for source in sources)
        + "</ul>"
        for title, sources in sections
    )
    parts = "".join(
        f'<li{" class=deeper" * (part.level > 2)}><a href="#{part.anchor}">{html.escape(part.title)}</a></li>'
        for part in page.parts
        if 1 < part.level <= DEEPEST_PART
    )
    before, after = near
    steps = f"{link(before, '← ' + html.escape(before.title)) if before else '<span></span>'}"
    steps += f"{link(after, html.escape(after.title) + ' →') if after else ''}"
    maker = MarkdownIt("commonmark", {"html": False})
    body = maker.renderer.render(page.tokens, maker.options, {})
    body = body.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")
    name = html.escape(page.title if page.title == NAME else f"{page.title} · {NAME}")
    return f"""<!doctype html>
<html lang="en" data-root="{up}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{name}</title>
<link rel="stylesheet" href="{up}style.css">
<script src="{up}sections.js" defer></script>
<script src="{up}search.js" defer></script>
</head>
<body>
<a class="skip" href="#site-text">To the text</a>
<header><a href="{up}index.html">{NAME}</a>
<div class="search"><label for="site-search">Search</label> <input id="site-search" type="search" autocomplete="off">
<ul id="site-found" aria-live="polite"></ul></div></header>
<div class="page">
<nav class="pages" aria-label="Pages">{listed}</nav>
<main id="site-text">
{body}
<div class="next">{steps}</div>
</main>
<nav class="parts" aria-label="On this page">{f"<h2>On this page</h2><ul>{parts}</ul>" if parts else ""}</nav>
</div>
</body>
</html>
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
