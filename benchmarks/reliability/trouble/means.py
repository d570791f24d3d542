"""The troubles: how each is brought about for one running program, and how it is taken away again."""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOME_MB = 48
ROOM_LEFT = 4 << 20
"""Bytes of memory that a short one leaves."""
DAY_S = 86_400.0
_BLOCK = 1 << 16
_NEW_MOUNTS = 0x00020000
PROC = Path("/proc")


def why_no_mounts() -> str | None:
    """Go where our own mounts are seen by us and our children alone; else why that is not allowed."""
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(_NEW_MOUNTS):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        _mount("--make-rprivate", "/")
    except (AttributeError, OSError, subprocess.CalledProcessError) as failure:
        return f"this machine does not let us mount a disk of our own ({failure})"
    return None


@dataclass
class Trouble:
    """One trouble. `begin` and `end` may come again for another process of the same home."""

    home: Path
    name: str = ""
    needs_mounts: bool = False
    is_told: bool = True
    """Whether the owner is to be told of it."""
    named_as: str = ""
    """A regular expression: what a sentence about it says."""

    def prepare(self) -> None:
        """Before the home is made."""

    def request(self) -> dict[str, Any]:
        """What is asked of the process that becomes the program, trouble or not."""
        return {}

    def limits(self) -> dict[str, Any]:
        """What is asked of a process that begins in the middle of the trouble."""
        return {}

    def begin(self, pid: int) -> None:
        raise NotImplementedError

    def end(self, pid: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Leave nothing behind."""


@dataclass
class FullDisk(Trouble):
    """The home's disk has no byte left."""

    name: str = "full disk"
    needs_mounts: bool = True
    named_as: str = "disk|space"

    def prepare(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        _mount("-t", "tmpfs", "-o", f"size={HOME_MB}m,mode=700", "tmpfs", str(self.home))

    def begin(self, pid: int) -> None:
        with (self.home / "ballast").open("wb", buffering=0) as ballast:
            size = _BLOCK
            while size:
                try:
                    ballast.write(bytes(size))
                except OSError:
                    size //= 2

    def end(self, pid: int) -> None:
        (self.home / "ballast").unlink()

    def close(self) -> None:
        while os.path.ismount(self.home):  # a trouble that was not ended lies over it
            subprocess.run(["umount", "--lazy", str(self.home)], check=True, capture_output=True)


@dataclass
class ReadOnlyDisk(FullDisk):
    """The home's disk takes no write. What is open for writing would forbid that, so the home is laid over itself, and
    a file that was open before (a database) can still be written through its old handle.
    """

    name: str = "read-only disk"
    named_as: str = "read-only|may be written to"

    def begin(self, pid: int) -> None:
        aside = self.home.with_name("aside")  # made there, so that nobody opens a file of it before it is read-only
        aside.mkdir(exist_ok=True)
        _mount("--bind", str(self.home), str(aside))
        _mount("-o", "remount,bind,ro", str(aside))
        _mount("--move", str(aside), str(self.home))

    def end(self, pid: int) -> None:
        subprocess.run(["umount", "--lazy", str(self.home)], check=True, capture_output=True)


@dataclass
class NoDescriptors(Trouble):
    """No further file or socket can be opened."""

    name: str = "no descriptors"
    named_as: str = "open files|files open|descriptor"

    def limits(self) -> dict[str, Any]:
        return {"files": 24}

    def begin(self, pid: int) -> None:
        used = {int(each.name) for each in (PROC / str(pid) / "fd").iterdir()}
        lowest = next(number for number in range(len(used) + 1) if number not in used)
        self._before = _lower(pid, resource.RLIMIT_NOFILE, lowest)

    def end(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, self._before)


@dataclass
class ShortMemory(Trouble):
    """The process may grow by a few megabytes more."""

    name: str = "short memory"
    named_as: str = "memory"

    def limits(self) -> dict[str, Any]:
        return {"memory": ROOM_LEFT}

    def begin(self, pid: int) -> None:
        pages = int((PROC / str(pid) / "statm").read_text(encoding="ascii").split()[0])
        self._before = _lower(pid, resource.RLIMIT_AS, pages * resource.getpagesize() + ROOM_LEFT)

    def end(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_AS, self._before)


@dataclass
class ClockForward(Trouble):
    """The clock jumps a day ahead, and back again when the trouble ends."""

    name: str = "clock a day ahead"
    is_told: bool = False
    seconds: float = DAY_S

    @property
    def _hand(self) -> Path:
        return self.home.parent / "clock"

    def prepare(self) -> None:
        self._hand.write_bytes(struct.pack("d", 0.0))

    def request(self) -> dict[str, Any]:
        return {"clock": str(self._hand)}

    def begin(self, pid: int) -> None:
        self._set(self.seconds)

    def end(self, pid: int) -> None:
        self._set(0.0)

    def _set(self, seconds: float) -> None:
        with self._hand.open("r+b") as hand:
            hand.write(struct.pack("d", seconds))


@dataclass
class ClockBack(ClockForward):
    """The clock jumps a day back."""

    name: str = "clock a day back"
    seconds: float = -DAY_S


def _lower(pid: int, limit: int, most: int) -> tuple[int, int]:
    """Lower a limit of a process and leave its hard one, which we may not raise again; what both were."""
    before = resource.prlimit(pid, limit)
    resource.prlimit(pid, limit, (most, before[1]))
    return before


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


TROUBLES: dict[str, type[Trouble]] = {
    kind.name: kind for kind in (FullDisk, ReadOnlyDisk, NoDescriptors, ShortMemory, ClockForward, ClockBack)
}
