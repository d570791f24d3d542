"""FolderWatch: whether anything below a folder changed since the last look, told by the system instead of by looking.

On Linux the kernel tells (inotify). Elsewhere, on more folders than are worth it, or where the system refuses, the
answer is always "it may have", and whoever asks looks for themselves.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from pathlib import Path

MAX_FOLDERS = 1_024
EVENT_BYTES = 65_536
_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x40, 0x80, 0x100, 0x200, 0x400, 0x800
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000
_CHANGES = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF


class FolderWatch:
    """Watches *root* and the folders below it but those whose name begins with a dot. Safe to use from any thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._events: int | None = None
        self._library: ctypes.CDLL | None = None

    @property
    def is_watching(self) -> bool:
        return self._events is not None

    def watch(self) -> None:
        """Begin to watch, or take in folders that are new; call it before the look that counts as the last."""
        with self._lock:
            if not sys.platform.startswith("linux"):
                return
            try:
                if self._events is None:
                    self._library = ctypes.CDLL(None, use_errno=True)
                    self._events = self._begin(self._library)
                self._add_folders()
            except (OSError, AttributeError):  # no descriptor left, or a system without it
                self._end()

    def may_have_changed(self) -> bool:
        """Whether something changed since this was last asked; True where nobody can tell."""
        with self._lock:
            if self._events is None:
                return True
            has_news = False
            try:
                while os.read(self._events, EVENT_BYTES):
                    has_news = True
            except BlockingIOError:
                return has_news
            except OSError:
                self._end()
            return True

    def close(self) -> None:
        with self._lock:
            self._end()

    def _begin(self, library: ctypes.CDLL) -> int:
        events = int(library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if events < 0:
            raise OSError(ctypes.get_errno(), "the folder cannot be watched")
        return events

    def _add_folders(self) -> None:
        assert self._library is not None
        for count, (folder, inner, _) in enumerate(os.walk(self._root), 1):
            inner[:] = [name for name in inner if not name.startswith(".")]
            mask = _CHANGES | _ONLY_FOLDERS | _NO_LINKS
            added = self._library.inotify_add_watch(self._events, os.fsencode(folder), mask)
            if count > MAX_FOLDERS or added < 0:
                raise OSError(ctypes.get_errno(), "the folder cannot be watched")

    def _end(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            os.close(events)
