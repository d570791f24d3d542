"""Root and Folder: access to a memory tree that cannot leave it.

A path is walked one component at a time. Each step opens the next folder inside the one already
held open and refuses to follow a link, so a link swapped in between two steps is met, not followed.
A link is read instead, and walked the same way: one that stays inside the root leads on, one that
leaves it is an error. Where the system cannot open relative to a folder (Windows), each step is
checked against the resolved root instead.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from familiar_connect.errors import MemoryStoreError, MemoryStorePathError
from familiar_connect.support.files import is_stale, is_temporary
from familiar_connect.support.no_follow import LinkRefused, open_folder

MAX_LINKS = 16
MAX_SPLIT = 4_096
"""Paths that are checked once."""
CAN_HOLD_FOLDERS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd

_CLOSE_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_OPEN_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _CLOSE_ON_EXEC
_OPEN_FILE = os.O_RDONLY | _NOFOLLOW | _CLOSE_ON_EXEC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

Parts = tuple[str, ...]

_REASONS = {
    errno.ENOENT: "there is no such file or folder",
    errno.ENOTDIR: "a part of it is a file, not a folder",
    errno.EISDIR: "it is a folder",
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "your disk quota is used up; free some space and try again",
    errno.EROFS: "the disk is read-only; make it writable or move the data home",
    errno.EACCES: "you have no right to; check the owner and rights of the file and its folder",
    errno.EPERM: "you have no right to; check the owner and rights of the file and its folder",
    errno.ENAMETOOLONG: "its name is longer than the system allows; choose a shorter one",
    errno.EFBIG: "it is larger than the system allows",
}


@lru_cache(maxsize=MAX_SPLIT)
def split_path(rel_path: str) -> Parts:
    """*rel_path* as components below the root; `..` is worked out here and may not leave the root."""
    shown = quote_for_error(rel_path)
    if "\\" in rel_path or any(ord(c) < 32 or ord(c) == 127 for c in rel_path):
        raise MemoryStorePathError(f"memory path {shown} may not contain backslashes or control characters")
    if rel_path.startswith("/") or (os.name == "nt" and ":" in rel_path):
        raise MemoryStorePathError(f"memory path {shown} is absolute; give a path relative to the memory folder")
    try:
        rel_path.encode("utf-8")
    except UnicodeEncodeError:
        raise MemoryStorePathError(f"memory path {shown} is not valid text") from None
    return _join((), rel_path, shown)


def quote_for_error(text: str) -> str:
    """*text* quoted for an error sentence."""
    return repr(text if len(text) <= 200 else f"{text[:200]}…")


def failure(verb: str, rel_path: str, error: OSError) -> MemoryStoreError:
    """What the system refused, as one sentence that names the file and, where there is one, the fix."""
    if isinstance(error, LinkRefused):
        return MemoryStorePathError(str(error))
    if error.errno == errno.ELOOP:
        return MemoryStorePathError(
            f"memory path {quote_for_error(rel_path)} turned into a link while it was being opened"
        )
    reason = _REASONS.get(error.errno or 0, (error.strerror or type(error).__name__).lower())
    return MemoryStoreError(f"cannot {verb} memory file {quote_for_error(rel_path)}: {reason}")


class FolderStamp(NamedTuple):
    """What tells a changed folder from an unchanged one without reading it."""

    place: tuple[int, int]
    changed_ns: int


class Folder:
    """One folder of the tree, held open; names given to it are single components, never paths."""

    def __init__(self, fd: int | None, parts: Parts, root: Path) -> None:
        self.fd = fd
        self.parts = parts
        self._root = root

    @property
    def _path(self) -> Path:
        return self._root.joinpath(*self.parts)

    def open_folder(self, name: str) -> Folder:
        if self.fd is None:
            return _checked_folder(self._root, (*self.parts, name))
        fd = os.open(name, _OPEN_FOLDER, dir_fd=self.fd)
        return Folder(fd, (*self.parts, name), self._root)

    def read(self, name: str, max_bytes: int) -> bytes | None:
        """What the plain file *name* holds, None when that is over *max_bytes*.

        Links, folders and devices are an `OSError`.
        """
        fd = os.open(self.at(name), _OPEN_FILE, dir_fd=self.fd)
        try:
            facts = os.fstat(fd)
            if not stat.S_ISREG(facts.st_mode):
                raise OSError(errno.EISDIR if stat.S_ISDIR(facts.st_mode) else errno.EINVAL, "not a plain file")
            if facts.st_size > max_bytes:
                return None
            data = os.read(fd, facts.st_size)
            while len(data) < facts.st_size and (more := os.read(fd, facts.st_size - len(data))):
                data += more
            return data
        finally:
            os.close(fd)

    def read_beginning(self, name: str, size: int) -> bytes:
        """The first *size* bytes, or what there is, of the plain file *name*."""
        fd = os.open(self.at(name), _OPEN_FILE, dir_fd=self.fd)
        try:
            data = os.read(fd, size)
            while data and len(data) < size and (more := os.read(fd, size - len(data))):
                data += more
            return data
        finally:
            os.close(fd)

    def read_to(self, name: str, max_bytes: int) -> tuple[bytes, bool]:
        """As `read`, but of a file over *max_bytes* its whole lines within them; whether it was cut."""
        data = self.read(name, max_bytes)
        if data is not None:
            return data, False
        beginning = self.read_beginning(name, max_bytes)
        end = beginning.rfind(b"\n") + 1
        return beginning[:end] if end else beginning.decode("utf-8", "ignore").encode(), True

    def lstat(self, name: str) -> os.stat_result:
        return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False)

    def link_target(self, name: str) -> str | None:
        """Where the link *name* points, or None when it is no link (or is not there)."""
        try:
            return os.readlink(self.at(name), dir_fd=self.fd)
        except OSError:
            return None

    def leads_out(self, name: str) -> bool:
        """Whether the link *name* leads out of the tree."""
        return not Path(os.path.realpath(self._path / name)).is_relative_to(self._root)

    def make_folder(self, name: str) -> None:
        os.mkdir(self.at(name), 0o700, dir_fd=self.fd)

    def replace(self, old: str, new: str) -> None:
        os.replace(self.at(old), self.at(new), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def unlink(self, name: str) -> None:
        os.unlink(self.at(name), dir_fd=self.fd)

    def stamp(self) -> FolderStamp | None:
        """Which folder it is and when something in it was last added, renamed or removed; None where nobody can say."""
        if self.fd is None:
            return None
        facts = os.fstat(self.fd)
        return FolderStamp((facts.st_dev, facts.st_ino), facts.st_ctime_ns)

    def scan(self) -> list[os.DirEntry[str]]:
        """Everything in the folder whose name is valid text, in no order; temporary files are passed by."""
        with os.scandir(self.fd if self.fd is not None else self._path) as entries:
            return [e for e in entries if _is_text(e.name) and not is_temporary(e.name)]

    def sweep(self) -> None:
        """Remove what interrupted writes left behind."""
        with os.scandir(self.fd if self.fd is not None else self._path) as entries:
            for entry in entries:
                if is_temporary(entry.name):
                    with contextlib.suppress(OSError):
                        if is_stale(entry.stat(follow_symlinks=False).st_mtime):
                            self.unlink(entry.name)

    def sync(self) -> None:
        if self.fd is not None:
            os.fsync(self.fd)

    def at(self, name: str) -> str:
        """*name* as the system wants it beside this folder's `fd`."""
        return name if self.fd is not None else str(self._path / name)

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Root:
    """The top of a memory tree."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: dict[int, int] = {}
        """The top as threads keep it open, by their numbers."""

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep the top open for this thread: what it reads meanwhile is not looked for from the root of the system.

        For a handful of files that are read in one go. Links inside the tree are met as ever.
        """
        thread = threading.get_ident()
        if not CAN_HOLD_FOLDERS or thread in self._held:
            yield
            return
        try:
            self._held[thread] = open_folder(self.path)
        except OSError:  # whoever reads is told why
            yield
            return
        try:
            yield
        finally:
            os.close(self._held.pop(thread))

    @contextmanager
    def folder(self, parts: Parts, *, create: bool = False) -> Iterator[Folder]:
        """The folder at *parts*; with *create*, it and its parents are made where missing."""
        folder = self._enter(parts, create=create, links_left=MAX_LINKS)
        try:
            yield folder
        finally:
            folder.close()

    @contextmanager
    def parent_of(self, parts: Parts, *, create: bool = False) -> Iterator[tuple[Folder, str]]:
        """The folder that holds the file at *parts*, and its name there, once every link is worked out."""
        links_left = MAX_LINKS
        while True:
            if not parts:
                raise IsADirectoryError(errno.EISDIR, "the memory folder itself")
            with self.folder(parts[:-1], create=create) as folder:
                target = folder.link_target(parts[-1])
                if target is None:
                    yield folder, parts[-1]
                    return
                links_left = _count_down(links_left, parts)
                parts = self._follow(folder.parts, target, parts)

    def _enter(self, parts: Parts, *, create: bool, links_left: int) -> Folder:
        folder = self._top()
        try:
            for index, name in enumerate(parts):
                try:
                    inner = self._step(folder, name, create=create)
                except OSError:
                    target = folder.link_target(name)
                    if target is None:
                        raise
                    links_left = _count_down(links_left, parts)
                    onward = self._follow(folder.parts, target, parts) + parts[index + 1 :]
                    folder.close()
                    return self._enter(onward, create=create, links_left=links_left)
                folder.close()
                folder = inner
        except BaseException:
            folder.close()
            raise
        return folder

    def _top(self) -> Folder:
        if not CAN_HOLD_FOLDERS:
            return _checked_folder(self.path, ())
        held = self._held.get(threading.get_ident())
        fd = open_folder(self.path) if held is None else os.open(".", _OPEN_FOLDER, dir_fd=held)
        return Folder(fd, (), self.path)

    def _step(self, folder: Folder, name: str, *, create: bool) -> Folder:
        try:
            return folder.open_folder(name)
        except FileNotFoundError:
            if not create:
                raise
        try:
            folder.make_folder(name)
        except FileExistsError:
            pass  # somebody was quicker, or it is a dangling link: opening it tells
        else:
            folder.sync()
        return folder.open_folder(name)

    def _follow(self, base: Parts, target: str, asked: Parts) -> Parts:
        """Components a link in the folder *base* leads to; leaving the root is an error."""
        shown = quote_for_error("/".join(asked))
        if not os.path.isabs(target):
            return _join(base, target.replace(os.sep, "/"), shown)
        try:
            inside = Path(os.path.realpath(target)).relative_to(self.path)
        except ValueError:
            raise MemoryStorePathError(
                f"memory path {shown} is a link that leads outside the memory folder; replace it with what it links to"
            ) from None
        return inside.parts


def _join(base: Parts, path: str, shown: str) -> Parts:
    parts = list(base)
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if is_temporary(name):
            raise MemoryStorePathError(f"memory path {shown} uses a name kept for temporary files")
        if name != "..":
            parts.append(name)
        elif parts:
            parts.pop()
        else:
            raise MemoryStorePathError(f"memory path {shown} leads outside the memory folder")
    return tuple(parts)


def _count_down(links_left: int, parts: Parts) -> int:
    if links_left == 0:
        raise MemoryStorePathError(f"memory path {quote_for_error('/'.join(parts))} is a loop of links")
    return links_left - 1


def _checked_folder(root: Path, parts: Parts) -> Folder:
    """The folder at *parts* without holding it open: it must be one and, links resolved, still be itself."""
    path = root.joinpath(*parts)
    if not stat.S_ISDIR(os.stat(path, follow_symlinks=False).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "not a folder")
    if os.path.normcase(os.path.realpath(path)) != os.path.normcase(path):
        raise OSError(errno.ELOOP, "a link")
    return Folder(None, parts, root)


def _is_text(name: str) -> bool:
    return name.isascii() or not any(0xD800 <= ord(character) < 0xE000 for character in name)
