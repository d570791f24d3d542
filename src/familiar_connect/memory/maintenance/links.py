"""The Markdown links between memory files: where each leads, which lead nowhere, which files nobody links to.

Inline, reference and image links are read; code fences, code spans and comments are text. No target ever
leads out of the memory folder: `..` past its top, absolute paths and odd characters count as outside, other
schemes as external, and neither is opened.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.paths import split_path
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.markdown import read_blocks

MAX_FILES = 20_000
MAX_LINE_CHARS = 10_000
"""Longer lines are read up to here."""
MAX_LINKS_PER_FILE = 2_000

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_WORDS = r"(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.)*\])*"
_INLINE = re.compile(
    rf"\[({_WORDS})\]\(\s*(?:<([^<>]*)>|((?:[^\s()\\<]|\\.)(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_REFERENCE = re.compile(rf"\[({_WORDS})\](?:\[([^\[\]]*)\])?")
_DEFINITION = re.compile(r" {0,3}\[([^\[\]]+)\]:\s*(?:<([^<>]*)>|(\S+))")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")

LinkKind = Literal["file", "here", "external", "outside"]


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link as it is written."""

    line: int
    text: str
    target: str


@dataclass(frozen=True, kw_only=True)
class BrokenLink:
    """A link that leads nowhere, and why."""

    rel_path: str
    line: int
    target: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class LinkGraph:
    """All files and how they are linked."""

    texts: dict[str, str]
    """Readable files and what they say."""
    outgoing: dict[str, tuple[str, ...]]
    broken: tuple[BrokenLink, ...]
    unreadable: tuple[str, ...]
    """Sentences about files that could not be read."""

    def backlinks(self) -> dict[str, set[str]]:
        """File → the files that link to it."""
        found: dict[str, set[str]] = {path: set() for path in self.texts}
        for path, targets in self.outgoing.items():
            for target in targets:
                if target != path:
                    found.setdefault(target, set()).add(path)
        return found

    def are_linked(self, one: str, other: str) -> bool:
        return other in self.outgoing.get(one, ()) or one in self.outgoing.get(other, ())


def links_of(markdown: str) -> list[Link]:
    """Every link in *markdown*, in order."""
    lines = list(_prose_lines(markdown))
    definitions = {
        _label(found[1]): found[2] if found[2] is not None else found[3]
        for _, line in lines
        if (found := _DEFINITION.match(line))
    }
    links: list[Link] = []
    for number, line in lines:
        if _DEFINITION.match(line):
            continue
        links += _links_in(number, line, definitions)
        if len(links) >= MAX_LINKS_PER_FILE:
            break
    return links[:MAX_LINKS_PER_FILE]


def resolve_link(rel_path: str, target: str) -> tuple[LinkKind, str]:
    """What kind of place *target* is, seen from the file *rel_path*, and the memory path it names."""
    if _SCHEME.match(target):
        return "external", ""
    path = unquote(re.split(r"[#?]", target, maxsplit=1)[0])
    if not path:
        return "here", rel_path
    try:
        parts = split_path(path if path.startswith("/") else posixpath.join(posixpath.dirname(rel_path), path))
    except MemoryStoreError:
        return "outside", ""
    return "file", "/".join(parts)


def follow_links(store: MemoryStore, rel_path: str, *, limit: int = 100) -> list[str]:
    """The files *rel_path* links to, each once, in the order of its links."""
    found: dict[str, None] = {}
    for link in links_of(store.read_file(rel_path)):
        kind, path = resolve_link(rel_path, link.target)
        if kind == "file" and path != rel_path and store.exists(path):
            found[path] = None
        if len(found) >= limit:
            break
    return list(found)


def link_graph(store: MemoryStore) -> LinkGraph:
    """Every Markdown file of the memory and every link in it."""
    texts: dict[str, str] = {}
    unreadable: list[str] = []
    for path in markdown_files(store):
        try:
            texts[path] = store.read_to_cap(path)
        except MemoryStoreError as error:
            unreadable.append(str(error))
    if len(store.list_files()) > MAX_FILES:
        unreadable.append(f"only the first {MAX_FILES:,} files were looked at")
    outgoing: dict[str, tuple[str, ...]] = {}
    broken: list[BrokenLink] = []
    for path, text in texts.items():
        targets: dict[str, None] = {}
        for link in links_of(text):
            kind, target = resolve_link(path, link.target)
            if kind == "file" and _is_there(store, target, texts):
                targets[target] = None
            elif kind in ("file", "outside"):
                reason = "there is no such file" if kind == "file" else "it leads outside the memory folder"
                broken.append(BrokenLink(rel_path=path, line=link.line, target=link.target, reason=reason))
        outgoing[path] = tuple(target for target in targets if target in texts)
    return LinkGraph(texts=texts, outgoing=outgoing, broken=tuple(broken), unreadable=tuple(unreadable))


def markdown_files(store: MemoryStore) -> list[str]:
    """Every Markdown file outside dot folders, in path order."""
    return store.list_files()[:MAX_FILES]


def _is_there(store: MemoryStore, target: str, texts: dict[str, str]) -> bool:
    if target in texts or store.exists(target):
        return True
    try:
        store.list_dir(target)
    except MemoryStoreError:
        return False
    return True


def _prose_lines(markdown: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line outside code fences, code spans and comments blanked."""
    lines = markdown.splitlines()
    code = {number for fence in read_blocks(lines).fences for number in fence}
    in_comment = False
    for number, line in enumerate(lines):
        if number in code:
            continue
        text, in_comment = _without_comments(line[:MAX_LINE_CHARS], in_comment)
        yield number + 1, _CODE.sub(lambda found: " " * len(found[0]), text)


def _without_comments(line: str, in_comment: bool) -> tuple[str, bool]:
    kept = ""
    rest = line
    while rest:
        before, mark, after = rest.partition("-->" if in_comment else "<!--")
        kept += "" if in_comment else before
        if not mark:
            return kept, in_comment
        in_comment, rest = not in_comment, after
    return kept, in_comment


def _links_in(number: int, line: str, definitions: dict[str, str]) -> Iterator[Link]:
    at = 0
    while (start := line.find("[", at)) >= 0:
        at = start + 1
        if _is_escaped(line, start):
            continue
        if inline := _INLINE.match(line, start):
            target = inline[2] if inline[2] is not None else inline[3]
            yield Link(line=number, text=inline[1], target=_ESCAPED.sub(r"\1", target))
            at = inline.end()
        elif definitions and (reference := _REFERENCE.match(line, start)):
            label = _label(reference[2] or reference[1])
            if label in definitions:
                yield Link(line=number, text=reference[1], target=definitions[label])
                at = reference.end()


def _is_escaped(line: str, place: int) -> bool:
    before = line[:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _label(words: str) -> str:
    return " ".join(words.split()).casefold()
