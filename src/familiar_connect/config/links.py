"""No links in a familiar's folder: what it names lies in it, so nothing outside is read or written through it.

A folder may come from anybody. `refuse_links` looks at every name in it when it is opened. Inside the memory a link to
another place in the same memory is left alone: the memory store walks those itself and never leaves its root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import HomeError


def refuse_links(folder: FamiliarFolder) -> None:
    """A `HomeError` that names the first link in the familiar's folder or in the profile under it."""
    for path in (folder.root.parent, *(top.root for top in (folder.profile, folder))):
        if _is_link(path):
            raise _refusal(path)
    for each in (folder.profile, folder):
        for path in find_links(each):
            raise _refusal(path)


def find_links(folder: FamiliarFolder) -> Iterator[Path]:
    """Every link below the familiar's folder that may lead out of it, or into what is not memory."""
    memory = os.path.realpath(folder.memory)
    waiting = [folder.root]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(here) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue  # not there, or not readable: whoever opens it says so
        for entry in found:
            path = here / entry.name
            if _is_link(entry):
                if not _stays_in_memory(path, folder.memory, memory):
                    yield path
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)


def _stays_in_memory(path: Path, memory: Path, real_memory: str) -> bool:
    """Whether the link *path* lies in the memory and leads to another place in it; what begins with a dot does not."""
    if memory not in path.parents or _has_dot(path.relative_to(memory)):
        return False
    target = os.path.realpath(path)
    return target.startswith(real_memory + os.sep) and not _has_dot(Path(os.path.relpath(target, real_memory)))


def _has_dot(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _is_link(entry: Path | os.DirEntry[str]) -> bool:
    """Whether *entry* is a link, or what Windows has for one."""
    is_junction = getattr(entry, "is_junction", None)  # Python 3.12
    return entry.is_symlink() or bool(is_junction is not None and is_junction())


def _refusal(path: Path) -> HomeError:
    what = "folder" if path.is_dir() else "file"
    return HomeError(f"{path} is a link; replace it by the {what} itself, because nothing outside is read or written")
