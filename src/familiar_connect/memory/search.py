"""glob and grep over a memory tree.

Both walk in path order and never through a link, so a loop of links or one that leads out costs
nothing; what a link inside the tree points at is found under its own name. Files and folders whose
name begins with a dot (`.index`, import records, originals) are passed by unless the caller names them.
"""

from __future__ import annotations

import fnmatch
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice

from familiar_connect.errors import MemoryStoreError, MemoryStorePathError, MemoryStorePatternError
from familiar_connect.memory.paths import Folder, Parts, Root, failure, quote_for_error
from familiar_connect.memory.types import GrepHit, GrepHits, MemoryStoreLimits
from familiar_connect.support.line_regex import LinePattern
from familiar_connect.support.lru import LruCache
from familiar_connect.support.re2_engine import PatternRefused

MAX_DEPTH = 32
MAX_GLOB_CHARS = 1000
GREP_SECONDS = 2.0
"""When this is up, grep returns what it has; with nothing in hand it says so instead."""

BATCH_BYTES = 65_536
MAX_SCANS, MAX_SCANNED_NAMES = 1_024, 100_000
"""Folders, and names in all of them, that are remembered between two looks."""
AT_REST_NS = 2_000_000_000
"""A folder that changed less than this before it was read may change again without showing it."""

_Text = tuple[str, bytes]
"""A file's path and what it holds."""
Show = Callable[[str], bytes | None]
"""What may be shown of the file at a path, line for line; None for nothing."""

_log = logging.getLogger(__name__)


def grep_tree(
    root: Root,
    limits: MemoryStoreLimits,
    pattern: str,
    parts: Parts,
    *,
    ignore_case: bool,
    seconds: float = GREP_SECONDS,
    show: Show | None = None,
) -> GrepHits:
    """The first match of each matching line in the file or folder at *parts*, files in path order.

    With *show*, what it makes of a file is searched in its place, and nothing else counts or is handed out. A file over
    the cap is searched up to it. What is left out, and why, stands with the hits. *seconds* are those of this thread's
    own work: a busy machine finds as much as an idle one.
    """
    if not pattern:
        return GrepHits()
    hits: list[GrepHit] = []
    left_out: list[str] = []
    most = limits.max_results_per_op
    deadline = time.thread_time() + seconds
    try:
        searcher = _line_pattern(pattern, ignore_case)
        for batch in _batches(_texts(root, parts, limits.max_file_bytes, left_out)):
            if searcher.may_match(b"\n".join(data for _, data in batch)):
                hits += islice(_hits(searcher, batch, show), most + 1 - len(hits))
            if len(hits) > most:
                del hits[most:]
                left_out.append(f"these are the first {most:,} lines, there are more: search a smaller folder")
                break
            if time.thread_time() > deadline:
                if not hits:
                    raise MemoryStorePatternError(
                        f"searching for {quote_for_error(pattern)} took longer than {seconds:g} s; "
                        "search a smaller folder"
                    )
                _log.warning("search stopped at its time limit", extra={"hits": len(hits), "limit_s": seconds})
                left_out.append(f"the search ended after {seconds:g} s of work: search a smaller folder")
                break
    except PatternRefused as refusal:
        raise MemoryStorePatternError(f"cannot search for {quote_for_error(pattern)}: {refusal}") from None
    return GrepHits(hits, left_out)


def say_cut(rel_path: str, max_bytes: int) -> str:
    """The sentence about a file that is read up to its cap."""
    return f"memory file {quote_for_error(rel_path)} is read to {max_bytes:,} bytes and cut there; shorten or split it"


def find_oversize_files(root: Root, parts: Parts, max_bytes: int) -> Iterator[str]:
    """The files at or below *parts* that are larger than *max_bytes*."""
    for folder, name in walk_files(root, parts):
        try:
            size = folder.lstat(name).st_size
        except OSError:
            continue
        if size > max_bytes and name.endswith(".md"):
            yield path_of(folder, name)


def glob_tree(root: Root, limits: MemoryStoreLimits, pattern: str) -> list[str]:
    """Relative paths of files that match *pattern* (`*`, `?`, `[…]`, and `**` for any folders), sorted, capped."""
    steps = _glob_steps(pattern)
    if not steps:
        return []
    found: list[str] = []
    try:
        with root.folder(()) as top:
            for path in _matching(top, steps, frozenset({0})):
                found.append(path)
                if len(found) >= limits.max_results_per_op:
                    break
    except OSError as error:
        raise failure("search", pattern, error) from None
    return found


def walk_files(root: Root, parts: Parts) -> Iterator[tuple[Folder, str]]:
    """Every file below the folder at *parts*, in path order: the folder that holds it, open, and its name there.

    What begins with a dot is left out. Where there is no such folder, there is nothing.
    """
    try:
        with root.folder(parts) as top:
            yield from _walk(top)
    except OSError:
        return


def unreadable_folders(root: Root, parts: Parts) -> Iterator[MemoryStoreError]:
    """Why the folder at *parts*, or one below it, cannot be read: what the walks above pass over in silence.

    Where there is no such folder, there is nothing to tell.
    """
    try:
        with root.folder(parts) as folder:
            inner = [name for name, is_dir in _scan(folder) if is_dir and not name.startswith(".")]
    except FileNotFoundError:
        return
    except OSError as error:
        yield failure("read", "/".join(parts), error)
        return
    except MemoryStoreError as error:
        yield error
        return
    for name in inner if len(parts) < MAX_DEPTH else ():
        yield from unreadable_folders(root, (*parts, name))


def _walk(folder: Folder) -> Iterator[tuple[Folder, str]]:
    for name, is_dir in _scan(folder):
        if name.startswith("."):
            continue
        if not is_dir:
            yield folder, name
        else:
            with _inside(folder, name) as inner:
                if inner is not None:
                    yield from _walk(inner)


def _texts(root: Root, parts: Parts, max_bytes: int, left_out: list[str]) -> Iterator[_Text]:
    """Path and bytes of every file at *parts*, in path order, but unreadable ones; *left_out* tells of cut ones."""
    try:
        with root.parent_of(parts) as (folder, name):
            alone, is_cut = folder.read_to(name, max_bytes)
            path = path_of(folder, name)
    except OSError:
        for folder, name in walk_files(root, parts):
            try:
                data, is_cut = folder.read_to(name, max_bytes)
            except OSError:
                continue
            left_out += [say_cut(path_of(folder, name), max_bytes)] if is_cut else []
            yield path_of(folder, name), data
    else:
        left_out += [say_cut(path, max_bytes)] if is_cut else []
        yield path, alone


def _batches(texts: Iterable[_Text]) -> Iterator[list[_Text]]:
    """*texts* in handfuls: joined, they are ruled out by one look instead of many."""
    batch: list[_Text] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text[1])
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _hits(searcher: LinePattern, batch: list[_Text], show: Show | None = None) -> Iterator[GrepHit]:
    for path, data in batch:
        try:
            shown = data if show is None else show(path) if any(True for _ in searcher.search(data)) else None
            for hit in searcher.search(shown) if shown is not None else ():
                yield GrepHit(path, hit.line_number, hit.line, hit.start, hit.end)
        except UnicodeDecodeError:
            continue


def path_of(folder: Folder, name: str) -> str:
    """The path of *name* in *folder*, from the root."""
    return "/".join((*folder.parts, name))


def _matching(folder: Folder, steps: tuple[_Step, ...], states: frozenset[int]) -> Iterator[str]:
    """Paths of matching files. *states* are the steps the path so far may be waiting at, so every file is met once."""
    found = _scan(folder)
    only = steps[next(iter(states))] if len(states) == 1 and len(steps) not in states else None
    if only is not None and not only.any_folders:  # most names of a large folder are ruled out at once
        found = [each for each in found if only.matches(each[0])]
        if only is steps[-1] and states == {len(steps) - 1}:  # no folder leads on from here
            names = (name for name, is_dir in found if not is_dir and (only.names_hidden or not name.startswith(".")))
            yield from (path_of(folder, name) for name in names)
            return
    for name, is_dir in found:
        onward = _advance(steps, states, name, is_dir=is_dir)
        if not is_dir and len(steps) in onward:
            yield path_of(folder, name)
        elif is_dir and onward - {len(steps)}:
            with _inside(folder, name) as inner:
                if inner is not None:
                    yield from _matching(inner, steps, onward)


def _advance(steps: tuple[_Step, ...], states: frozenset[int], name: str, *, is_dir: bool) -> frozenset[int]:
    """Where a path goes on after the component *name*; past the last step it has matched."""
    hidden = name.startswith(".")
    onward: set[int] = set()
    waiting = list(states)
    for state in waiting:
        if state == len(steps):
            continue
        step = steps[state]
        if step.any_folders:
            waiting.append(state + 1)  # no folder at all
            if not hidden:
                onward.add(state)
                if not is_dir and state + 1 == len(steps):
                    onward.add(len(steps))
        elif step.matches(name) and not (hidden and not step.names_hidden):
            onward.add(state + 1)
    return frozenset(onward)


def _glob_steps(pattern: str) -> tuple[_Step, ...]:
    shown = quote_for_error(pattern)
    if "\0" in pattern or pattern.startswith("/") or ".." in pattern.split("/"):
        raise MemoryStorePathError(f"memory pattern {shown} may not be absolute or contain `..` or NUL")
    if len(pattern) > MAX_GLOB_CHARS:
        raise MemoryStorePatternError(f"memory pattern {shown} is longer than {MAX_GLOB_CHARS} characters")
    return tuple(_Step(part) for part in pattern.split("/") if part not in ("", "."))


class _Step:
    """One component of a glob pattern."""

    def __init__(self, text: str) -> None:
        self.any_folders = text == "**"
        self.names_hidden = text.startswith(".")
        self.matches = re.compile(fnmatch.translate(text)).match


def _scan(folder: Folder) -> list[tuple[str, bool]]:
    """Plain files and folders of *folder*, ordered so that walking down gives whole paths in order.

    A folder that has not changed since it was last read, and had been at rest by then, is not read again.
    """
    stamp = folder.stamp()
    held = _scans.get(stamp.place) if stamp is not None else None
    if stamp is not None and held is not None and held[0] == stamp.changed_ns:
        return held[1]
    found = _read_names(folder)
    if stamp is not None and time.time_ns() - stamp.changed_ns > AT_REST_NS:
        _scans.put(stamp.place, (stamp.changed_ns, found))
    return found


_scans: LruCache[tuple[int, int], tuple[int, list[tuple[str, bool]]]] = LruCache(
    MAX_SCANS, size=MAX_SCANNED_NAMES, size_of=lambda held: len(held[1])
)


def _read_names(folder: Folder) -> list[tuple[str, bool]]:
    found = []
    for entry in folder.scan():
        if entry.is_dir(follow_symlinks=False):
            found.append((entry.name, True))
        elif entry.is_file(follow_symlinks=False):
            found.append((entry.name, False))
        elif entry.is_symlink() and folder.leads_out(entry.name):
            _warn_of_link(path_of(folder, entry.name))
    return sorted(found, key=lambda item: item[0] + "/" if item[1] else item[0])


@lru_cache(maxsize=256)
def _warn_of_link(rel_path: str) -> None:
    """Say once that a file is passed by."""
    _log.warning("memory path %r is a link that leads outside and is passed by; replace it by the file", rel_path)


@contextmanager
def _inside(folder: Folder, name: str) -> Iterator[Folder | None]:
    """The folder *name*, or None when it lies too deep or is no longer there to be opened."""
    try:
        inner = folder.open_folder(name) if len(folder.parts) < MAX_DEPTH else None
    except OSError:
        inner = None
    try:
        yield inner
    finally:
        if inner is not None:
            inner.close()


@lru_cache(maxsize=16)
def _line_pattern(pattern: str, ignore_case: bool) -> LinePattern:
    return LinePattern(pattern, ignore_case=ignore_case)
