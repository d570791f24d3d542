"""Links between memory files as the page shows them: Markdown links and [[names]], both ways, and a drawing of them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from html import escape, unescape
from urllib.parse import quote

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.maintenance.links import follow_links, link_graph
from familiar_connect.memory.store import MemoryStore

MAX_DRAWN = 60
"""Files in one drawing; a file's own page draws those around it."""
MAX_CANDIDATES = 300
WIDTH, HEIGHT, RADIUS = 1000.0, 700.0, 250.0
LABEL_CHARS = 26
_WIKI_LINK = re.compile(r"\[\[([^\]|#\n]{1,200})(?:[#|][^\]\n]{0,200})?\]\]")
_TAG = re.compile("(<[^>]*>)")


@dataclass(frozen=True, kw_only=True)
class FileLink:
    """A memory file as a link."""

    path: str
    href: str


@dataclass(frozen=True, kw_only=True)
class DrawnFile:
    """A file in a drawing: where it stands, and where its name does."""

    path: str
    href: str
    label: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str


@dataclass(frozen=True, kw_only=True)
class DrawnLink:
    """A link in a drawing, as an SVG path."""

    shape: str


def file_link(path: str) -> FileLink:
    return FileLink(path=path, href=file_address(path))


def file_address(path: str) -> str:
    return f"/memory/file?path={quote(path, safe='')}"


def links_from(store: MemoryStore, path: str, files: Collection[str]) -> list[str]:
    """The files that the one at *path* links to."""
    found = dict.fromkeys(target for target in follow_links(store, path) if target in files)
    found |= dict.fromkeys(_wiki_targets(store.read_file(path), _by_stem(files)))
    found.pop(path, None)
    return list(found)


def links_to(store: MemoryStore, path: str, files: Collection[str]) -> list[str]:
    """The files that link to the one at *path*."""
    words = re.split(r"[\s_]+", _stem(path))
    naming = {hit.rel_path for hit in store.grep(r"(?:\s|%20|_)+".join(map(re.escape, words)))} - {path}
    found = []
    for each in sorted(naming & set(files))[:MAX_CANDIDATES]:
        try:
            if path in links_from(store, each, files):
                found.append(each)
        except MemoryStoreError:  # a file that cannot be read is told of on its own page
            continue
    return found


def all_links(store: MemoryStore) -> dict[str, tuple[str, ...]]:
    """File → the files it links to, for every file that links anywhere or is linked to."""
    graph = link_graph(store)
    stems = _by_stem(graph.texts)
    outgoing: dict[str, tuple[str, ...]] = {}
    for path, text in graph.texts.items():
        targets = dict.fromkeys((*graph.outgoing.get(path, ()), *_wiki_targets(text, stems)))
        targets.pop(path, None)
        if targets:
            outgoing[path] = tuple(targets)
    return outgoing


def around(outgoing: Mapping[str, tuple[str, ...]], path: str) -> dict[str, tuple[str, ...]]:
    """Only the links of the file at *path*, both ways, and those between its neighbours."""
    near = {path, *outgoing.get(path, ()), *(each for each, targets in outgoing.items() if path in targets)}
    kept = {each: tuple(target for target in outgoing.get(each, ()) if target in near) for each in sorted(near)}
    return {each: targets for each, targets in kept.items() if targets}


def link_wiki_names(html: str, files: Collection[str]) -> str:
    """HTML of the page's own renderer with `[[name]]` as a link to that file, outside of code and of other links."""
    stems, closed, out = _by_stem(files), 0, []
    for piece in _TAG.split(html):
        if piece.startswith("<"):
            closed += {"<code": 1, "</cod": -1, "<a hr": 1, "</a>": -1}.get(piece[:5], 0)
            out.append(piece)
        else:
            out.append(piece if closed else _WIKI_LINK.sub(lambda found: _wiki_anchor(found, stems), piece))
    return "".join(out)


def _wiki_anchor(found: re.Match[str], stems: Mapping[str, str]) -> str:
    path = stems.get(_stem(unescape(found[1])))
    return found[0] if path is None else f'<a href="{escape(file_address(path))}">{found[1]}</a>'


def draw_links(outgoing: Mapping[str, tuple[str, ...]]) -> tuple[list[DrawnFile], list[DrawnLink]]:
    """The files with most links on a circle, folder by folder, and their links as curves through it."""
    degree: dict[str, int] = {}
    for path, targets in outgoing.items():
        for each in (path, *targets):
            degree[each] = degree.get(each, 0) + 1
    most = sorted(degree, key=lambda path: (-degree[path], path))[:MAX_DRAWN]
    places = {path: 2 * math.pi * number / max(1, len(most)) for number, path in enumerate(sorted(most))}
    files = [_draw_file(path, angle) for path, angle in places.items()]
    links = [
        _draw_link(places[path], places[target])
        for path, targets in outgoing.items()
        for target in targets
        if path in places and target in places
    ]
    return files, links


def _draw_file(path: str, angle: float) -> DrawnFile:
    x, y = _at(angle, RADIUS)
    label_x, label_y = _at(angle, RADIUS + 14)
    stem = path.rpartition("/")[2].removesuffix(".md")
    side = math.cos(angle)
    return DrawnFile(
        path=path,
        href=file_address(path),
        label=stem if len(stem) <= LABEL_CHARS else f"{stem[: LABEL_CHARS - 1]}…",
        x=x,
        y=y,
        label_x=label_x,
        label_y=label_y + 5,
        anchor="middle" if abs(side) < 0.15 else "start" if side > 0 else "end",
    )


def _draw_link(start: float, end: float) -> DrawnLink:
    (x1, y1), (x2, y2) = _at(start, RADIUS), _at(end, RADIUS)
    cx, cy = WIDTH / 2, HEIGHT / 2
    bend_x, bend_y = round((x1 + x2 + 2 * cx) / 4, 1), round((y1 + y2 + 2 * cy) / 4, 1)
    return DrawnLink(shape=f"M{x1} {y1}Q{bend_x} {bend_y} {x2} {y2}")


def _at(angle: float, radius: float) -> tuple[float, float]:
    return round(WIDTH / 2 + radius * math.cos(angle), 1), round(HEIGHT / 2 + radius * math.sin(angle), 1)


def _by_stem(files: Collection[str]) -> dict[str, str]:
    return {_stem(each): each for each in files}


def _wiki_targets(text: str, stems: Mapping[str, str]) -> list[str]:
    return [stems[_stem(name)] for name in _WIKI_LINK.findall(text) if _stem(name) in stems]


def _stem(name: str) -> str:
    return name.strip().rpartition("/")[2].removesuffix(".md").casefold()
