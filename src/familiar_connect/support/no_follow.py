"""Opening files so that no link is followed, at any part of the path.

What is below a data home may come from anybody, or be changed while the program runs, so a path is not trusted because
it was looked at before: every opening walks it from the top, one folder held open after the other, and a link at any
step is a `LinkRefused` that names it. Where the system cannot hold folders so (Windows, macOS) each part is looked at
right before. The home itself is resolved once, when it is chosen: a link above it is the owner's word.

A library that opens files by name (SQLite, a log handler) gets its path from `refuse_linked_path`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from familiar_connect.errors import HomeError

CAN_WALK = hasattr(os, "O_PATH") and os.open in os.supports_dir_fd
"""Whether folders can be held open without the right to list them, as on Linux."""
OWNER_ONLY = 0o600

_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0)
_STEP = getattr(os, "O_PATH", 0) | _FOLDER | _NOFOLLOW | _CLOSE_ON_EXEC
_OPEN = _NOFOLLOW | _CLOSE_ON_EXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_IN_PLACE = os.O_WRONLY | os.O_RDWR
_MOUNT_POINT = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)


class LinkRefused(HomeError, OSError):
    """A link stands where a file or folder of ours should; its text is a sentence with the fix."""

    def __init__(self, path: Path | str, *, is_folder: bool = False, is_hard: bool = False) -> None:
        what = "folder" if is_folder else "file"
        if is_hard:
            reason = "has a second name elsewhere (a hard link), which would change with it; put a copy in its place"
            short = f"it {reason}"
        else:
            reason = f"is a link; replace it by the {what} itself, because nothing outside is read or written"
            short = f"it is a link; replace it by the {what} itself"
        OSError.__init__(self, errno.ELOOP, short, str(path))
        self.sentence = f"{path} {reason}"

    def __str__(self) -> str:
        return self.sentence


def is_link(path: Path | str) -> bool:
    """Whether *path* itself is a link, or what Windows has for one."""
    try:
        facts = os.lstat(path)
    except (OSError, ValueError):
        return False
    tag = getattr(facts, "st_reparse_tag", 0)
    return stat.S_ISLNK(facts.st_mode) or (_MOUNT_POINT is not None and tag == _MOUNT_POINT)


def refuse_linked_path(path: Path | str, *, is_written: bool = False) -> None:
    """A `LinkRefused` for the first part of *path* that is a link; with *is_written* also for a second name of it."""
    target = _absolute(path)
    for part in reversed(target.parents):
        if is_link(part):
            raise LinkRefused(part, is_folder=True)
    refuse_linked_name(target, is_written=is_written)


def refuse_linked_name(path: Path, *, is_written: bool = False) -> None:
    """As `refuse_linked_path`, for whoever has looked at the folders on the way to *path* just now."""
    if is_link(path):
        raise LinkRefused(path, is_folder=path.is_dir())
    if is_written:
        with contextlib.suppress(FileNotFoundError):
            _refuse_second_name(path, os.lstat(path))


@contextmanager
def hold_parent(path: Path | str, *, create: bool = False) -> Iterator[tuple[int | None, str]]:
    """The folder that holds *path*, kept open, and the name to use beside it; with *create* it is made where missing.

    Where the system cannot hold folders the first is None and the name is the whole path.
    """
    target = _absolute(path)
    if not CAN_WALK:
        refuse_linked_path(target.parent)
        if create:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield None, str(target)
        return
    fd = _enter(str(target.parent), create=create)
    try:
        yield fd, target.name
    finally:
        os.close(fd)


def make_folder(path: Path | str) -> None:
    """Make the folder *path* and its parents where they lack; a link on the way is refused."""
    with hold_parent(Path(path) / "x", create=True):
        pass


def open_file(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the plain file *path*; one that is made is its owner's alone."""
    with hold_parent(path) as (folder, name):
        try:
            if folder is None:
                refuse_linked_path(path)
            fd = os.open(name, flags | _OPEN, OWNER_ONLY, dir_fd=folder)
        except OSError as error:
            if is_link(path) and not isinstance(error, LinkRefused):
                raise LinkRefused(path, is_folder=os.path.isdir(path)) from error
            raise
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            is_folder = stat.S_ISDIR(facts.st_mode)
            raise OSError(errno.EISDIR if is_folder else errno.EINVAL, "it is not a plain file", str(path))
        if flags & _IN_PLACE:
            _refuse_second_name(Path(path), facts)
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_folder(path: Path | str) -> int:
    """A descriptor of the folder *path*, good for flushing, locking and listing it."""
    # Every file of memory that a reply reads begins here, so it goes without the help of pathlib.
    target = os.path.abspath(path)
    parent, name = os.path.split(target)
    folder: int | None = None
    if CAN_WALK:
        folder = _enter(parent, create=False)
    else:
        refuse_linked_path(target)
    try:
        place = (name or ".") if folder is not None else target
        return os.open(place, os.O_RDONLY | _FOLDER | _NOFOLLOW | _CLOSE_ON_EXEC, dir_fd=folder)
    except OSError as error:
        if is_link(path):
            raise LinkRefused(path, is_folder=True) from error
        raise
    finally:
        if folder is not None:
            os.close(folder)


def open_to_read(path: Path | str) -> BinaryIO:
    """The plain file *path* as a stream of bytes."""
    return os.fdopen(open_file(path), "rb")


def open_to_append(path: Path | str) -> BinaryIO:
    """The plain file *path*, made where it lacks, as a stream that writes at its end."""
    return os.fdopen(open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "ab")


def load_bytes(path: Path | str, limit: int | None = None) -> bytes:
    """What the plain file *path* holds, at most *limit* bytes of it."""
    with open_to_read(path) as file:
        return file.read() if limit is None else file.read(limit)


def remove_file(path: Path | str, *, missing_ok: bool = True) -> None:
    """Delete *path*; a link there is deleted itself, and one on the way to it is refused."""
    with contextlib.suppress(*(FileNotFoundError,) if missing_ok else ()), hold_parent(path) as (folder, name):
        os.unlink(name, dir_fd=folder)


def _enter(folder: str, *, create: bool) -> int:
    """A descriptor of the absolute *folder*, every part of its path entered without following a link."""
    fd = os.open("/", _STEP)
    names = [name for name in folder.split("/") if name]
    for depth, name in enumerate(names, 1):
        try:
            inner = _step(fd, name, create=create)
        except OSError as error:
            os.close(fd)
            here = Path("/", *names[:depth])
            if is_link(here):
                raise LinkRefused(here, is_folder=True) from error
            raise OSError(error.errno, error.strerror, str(here)) from error
        os.close(fd)
        fd = inner
    return fd


def _step(fd: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _STEP, dir_fd=fd)
    except FileNotFoundError:
        if not create:
            raise
    with contextlib.suppress(FileExistsError):  # somebody was quicker, or it is a dangling link: opening it tells
        os.mkdir(name, 0o700, dir_fd=fd)
    return os.open(name, _STEP, dir_fd=fd)


def _refuse_second_name(path: Path, facts: os.stat_result) -> None:
    if stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1:
        raise LinkRefused(path, is_hard=True)


def _absolute(path: Path | str) -> Path:
    return Path(os.path.abspath(path))
