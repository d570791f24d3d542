"""No links in a familiar's folder: what it names lies in it, so nothing outside is read or written through it.

A folder may come from anybody. `refuse_links` looks at every name in it before anything of it is used, so that the
owner hears of a link at once; what is opened later is opened through `support/no_follow`, which meets those that came
since. Inside the memory a link to
another place in the same memory is left alone: the memory store walks those itself and never leaves its root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.support.no_follow import LinkRefused, is_link


def refuse_links(folder: FamiliarFolder) -> None:
    """A `LinkRefused` for the first link in the familiar's folder or in the profile under it."""
    for path in (folder.root.parent, *(top.root for top in (folder.profile, folder))):
        if is_link(path):
            raise LinkRefused(path, is_folder=path.is_dir())
    for each in (folder.profile, folder):
        for path in find_links(each):
            raise LinkRefused(path, is_folder=path.is_dir())


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
            if is_link(path):
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
