"""Which of our functions is about to write, told to whoever follows the process; or where nobody can, ended there.

Only the harness's own child installs this: the program knows nothing of it.
"""

from __future__ import annotations

import mmap
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from familiar_connect.support.sqlite import Database

SLOTS, SLOT_BYTES = 256, 96


class LabelPage:
    """Memory that the child and its follower share: for each thread the function that writes."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SLOTS * SLOT_BYTES)

    def put(self, label: str) -> None:
        at = threading.get_native_id() % SLOTS * SLOT_BYTES
        self._memory[at : at + SLOT_BYTES] = label.encode()[:SLOT_BYTES].ljust(SLOT_BYTES, b"\0")

    def get(self, thread: int) -> str:
        at = thread % SLOTS * SLOT_BYTES
        return self._memory[at : at + SLOT_BYTES].rstrip(b"\0").decode(errors="replace")

    def clear(self) -> None:
        self._memory[:] = bytes(SLOTS * SLOT_BYTES)


OnWrite = Callable[[str, bool], None]
"""Told of a write by its name: before it (False), and after (True)."""


def label_writes(on_write: OnWrite) -> None:
    """Have *on_write* told of every write of the databases, of files that are put in place, and of sockets."""
    _label_databases(on_write)
    for name in ("replace", "rename", "unlink", "fsync"):
        setattr(os, name, _around(getattr(os, name), on_write, f"os.{name}", skip=1))
    for name in ("send", "sendall", "sendmsg"):
        setattr(socket.socket, name, _around(getattr(socket.socket, name), on_write, f"socket.{name}", is_socket=True))


def _around(
    call: Callable[..., Any], on_write: OnWrite, name: str, *, skip: int = 0, is_socket: bool = False
) -> Callable[..., Any]:
    def write(*arguments: Any, **options: Any) -> Any:
        if is_socket and arguments[0].family == socket.AF_UNIX:  # the loop wakes itself
            return call(*arguments, **options)
        label = name if is_socket else f"{sys._getframe(skip).f_code.co_qualname}:{name}"
        on_write(label, False)
        done = call(*arguments, **options)
        on_write(label, True)
        return done

    return write


def _label_databases(on_write: OnWrite) -> None:
    write, transaction = Database.write, Database.transaction

    def labelled_write(self: Database, sql: str, parameters: Any = ()) -> Any:
        label = sys._getframe(1).f_code.co_qualname
        on_write(label, False)
        done = write(self, sql, parameters)
        on_write(label, True)
        return done

    @contextmanager
    def labelled_transaction(self: Database) -> Iterator[Any]:
        label = f"{sys._getframe(2).f_code.co_qualname}:commit"
        with transaction(self) as connection:
            yield connection
            on_write(label, False)
        on_write(label, True)

    Database.write = labelled_write  # type: ignore[method-assign]
    Database.transaction = labelled_transaction  # type: ignore[method-assign]


class OwnCounter:
    """Where nobody may follow: counts our own writes, and ends the process at the one that is wanted."""

    def __init__(self, counts: Callable[[str], None], kill: tuple[str, int, bool] | None) -> None:
        self._counts = counts
        self._kill = kill
        self._seen: dict[str, int] = {}
        self._turn = threading.Lock()

    def on_write(self, label: str, is_after: bool) -> None:
        with self._turn:
            if not is_after:
                self._seen[label] = self._seen.get(label, 0) + 1
                self._counts(label)
            if self._kill == (label, self._seen.get(label, 0), is_after):
                os.kill(os.getpid(), signal.SIGKILL)
