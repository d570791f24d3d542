"""Rights: what lies in the home is its owner's alone, whatever the umask says.

On Windows nothing is done here: the user's profile keeps other users out.

No links in a familiar's folder: what it names lies in it, so nothing outside is read or written through it.

A folder may come from anybody. `refuse_links` looks at every name in it before anything of it is used, so that the
owner hears of a link at once; what is opened later is opened through `support/no_follow`, which meets those that came
since. Inside the memory a link to
another place in the same memory is left alone: the memory store walks those itself and never leaves its root.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.support.no_follow import LinkRefused, is_link, open_file, open_folder

OWNER_FOLDER = 0o700
OWNER_FILE = 0o600
_OTHERS = 0o077


@contextmanager
def owner_only_files() -> Iterator[None]:
    """Inside, every file and folder this process makes is its owner's alone."""
    before = os.umask(_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def restrict_to_owner(home: Path) -> bool:
    """Close an existing home to others; whether anything was open and is not any more.

    Only what the program keeps there is touched, and the folder itself where it holds nothing else: somebody may have
    named a folder that has other things in it. Links are never followed.
    """
    if os.name == "nt":
        return False
    folder = HomeFolder(home)
    kept = (folder.secrets_file, folder.trust_file, folder.models_file, folder.catalogue_file)
    ours = (folder.familiars, folder.cache, folder.exports, *kept)
    try:
        if not stat.S_IMODE(home.stat().st_mode) & _OTHERS:
            return False
        has_more = bool(set(os.listdir(home)) - {path.name for path in ours})
    except OSError:
        return False
    changed = [_close(path) for path in ours]
    if any(path.exists() for path in ours) and not has_more:
        changed.append(_set_mode(home, OWNER_FOLDER))
    return any(changed)


def _close(top: Path) -> bool:
    """Close *top* and what lies below; False when it was closed already, is not ours or cannot be closed."""
    changed = False
    try:
        mode = top.lstat().st_mode
    except OSError:
        return False
    if stat.S_ISLNK(mode) or not mode & _OTHERS:
        return False
    if stat.S_ISDIR(mode):
        for here, _, files in os.walk(top, topdown=False):
            for name in files:
                changed |= _set_mode(Path(here, name), OWNER_FILE)
            changed |= _set_mode(Path(here), OWNER_FOLDER)
        return changed
    return _set_mode(top, OWNER_FILE)


def _set_mode(path: Path, mode: int) -> bool:
    with suppress(OSError):
        facts = path.lstat()
        if facts.st_uid != os.getuid() or not (stat.S_ISREG(facts.st_mode) or stat.S_ISDIR(facts.st_mode)):
            return False
        if facts.st_mode & _OTHERS:
            fd = open_folder(path) if stat.S_ISDIR(facts.st_mode) else open_file(path)
            try:
                os.fchmod(fd, stat.S_IMODE(facts.st_mode) & mode)  # takes rights away, gives none
            finally:
                os.close(fd)
            return not path.lstat().st_mode & _OTHERS
    return False


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
