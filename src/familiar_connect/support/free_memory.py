"""How much memory this process may still take, and whether a failure was for want of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from familiar_connect.errors import HomeError

MEGABYTE = 1024 * 1024
LEAST_BYTES = 512 * MEGABYTE
"""Of address space, which threads and libraries reserve far more of than they use. With less, some libraries end the
whole process instead of failing."""

_SIGNS = ("bad_alloc", "can't start new thread", "cannot allocate memory", "unable to allocate", "out of memory")


def free_memory() -> int | None:
    """Bytes this process can still get: what the machine has left, and no more than its own limit; None: unknown."""
    found = [size for size in (_left_on_machine(), left_of_limit()) if size is not None]
    return min(found, default=None)


def check_free_memory() -> None:
    """Refuse to begin what would end in the middle for want of memory.

    Only a limit on the process is looked at: a machine that is short of memory is slow, but it makes room.
    """
    free = left_of_limit()
    if free is not None and free < LEAST_BYTES:
        raise HomeError(memory_sentence(free))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether *error*, or what lies behind it, says that memory ran out, in whatever words its library has."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        words = str(current).lower()
        if isinstance(current, MemoryError) or any(sign in words for sign in _SIGNS):
            return True
        current = current.__cause__ or current.__context__
    return False


def memory_sentence(free: int | None = None) -> str:
    """What to do when there is too little memory."""
    left = f" (about {free // MEGABYTE} MB are left)" if free is not None else ""
    return (
        f"there is too little memory to go on{left}: close other programs or raise the limit (`ulimit -v`), "
        "then run it again; what was stored before is safe."
    )


def reply_memory_sentence() -> str:
    """What to do when there is too little memory for one reply."""
    return (
        "there is too little memory for a reply: close other programs or raise the limit (`ulimit -v`), "
        "then ask again; what was said is safe."
    )


def _left_on_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
        return sizes["MemAvailable"] + sizes.get("SwapFree", 0)
    except (OSError, ValueError, KeyError, IndexError):
        return None


def left_of_limit() -> int | None:
    """Bytes this process can still get before it meets its own limit; None where it has none."""
    if sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    return max(0, limit - address_space_bytes())


def address_space_bytes() -> int:
    """Bytes this process has mapped; a guess where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 64 * MEGABYTE
