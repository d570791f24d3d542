"""Following a process at the system calls that write, and ending it at one of them.

A filter in the kernel stops the process at these calls alone, so all else runs at full speed. Needs Linux and the
right to trace one's own children; `why_not` says what is in the way.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

_X86 = {
    "write": 1, "pwrite64": 18, "writev": 20, "sendto": 44, "sendmsg": 46, "fsync": 74, "fdatasync": 75,
    "ftruncate": 77, "rename": 82, "link": 86, "unlink": 87, "unlinkat": 263, "renameat": 264, "linkat": 265,
    "pwritev": 296, "sendmmsg": 307, "renameat2": 316,
}  # fmt: skip
_ARM = {
    "write": 64, "pwrite64": 68, "writev": 66, "sendto": 206, "sendmsg": 211, "fsync": 82, "fdatasync": 83,
    "ftruncate": 46, "unlinkat": 35, "renameat": 38, "linkat": 37, "pwritev": 70, "sendmmsg": 269, "renameat2": 276,
}  # fmt: skip
CALLS: dict[str, int] = {"x86_64": _X86, "aarch64": _ARM}.get(platform.machine(), {})
NAMES = {number: name for name, number in CALLS.items()}
PATH_ARGUMENT = {"rename": 0, "link": 0, "unlink": 0, "unlinkat": 1, "renameat": 1, "linkat": 1, "renameat2": 1}
"""Calls that name a file, and which of their arguments does; the others take a descriptor first."""

_SEIZE, _CONT, _SYSCALL, _LISTEN, _SYSCALL_INFO = 0x4206, 7, 24, 0x4208, 0x420E
_OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x80 | 0x100000
"""Exits of calls told apart, forks and threads followed, the filter's stops, and death together with the tracer."""
_EVENT_SECCOMP, _EVENT_STOP = 7, 128
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER_MODE = 38, 22, 2
_ALLOW, _TRACE = 0x7FFF0000, 0x7FF00000
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALL_CHILDREN = 0x40000000
LONGEST_PATH = 512
PROC = "/proc"

OnCall = Callable[["WritingCall"], "str | None"]
"""Told of each call before it is made; `before` or `after`: end the process there."""


@dataclass(frozen=True, kw_only=True)
class WritingCall:
    """A system call that is about to be made."""

    thread: int
    name: str
    arguments: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class TracedEnd:
    """How a followed process ended."""

    was_hit: bool
    """Ended at the call that was wanted."""
    status: int


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filters", ctypes.c_char_p)]


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    library.ptrace.restype = ctypes.c_long
    library.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    return library


def why_not() -> str | None:
    """What keeps this machine from following a process; None: nothing does."""
    if not sys.platform.startswith("linux"):
        return "only Linux can be asked"
    if not CALLS:
        return f"the calls of {platform.machine()} are not known"
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        _ask(_SEIZE, child, 0, _OPTIONS)
    except OSError as error:
        return f"the system does not let a process follow its child ({error.strerror})"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return None


def filter_calls() -> None:
    """In the child, before it has threads: stop at every call that writes. Whoever follows it must be there by now."""
    numbers = sorted(CALLS.values())
    steps = [struct.pack("HBBI", _LOAD, 0, 0, 0)]
    for at, number in enumerate(numbers):
        steps.append(struct.pack("HBBI", _JUMP_IF_EQUAL, len(numbers) - at, 0, number))
    steps += [struct.pack("HBBI", _RETURN, 0, 0, _ALLOW), struct.pack("HBBI", _RETURN, 0, 0, _TRACE)]
    code = b"".join(steps)
    library = _library()
    program = _Program(len(steps), code)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or library.prctl(
        _SET_SECCOMP, _FILTER_MODE, ctypes.addressof(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the filter could not be set")


def seize(child: int) -> None:
    """Follow *child* and all that it starts; it goes on meanwhile."""
    _ask(_SEIZE, child, 0, _OPTIONS)


def follow(child: int, on_call: OnCall) -> TracedEnd:
    """Follow *child* to its end."""
    ends_at: int | None = None
    was_hit = False
    while True:
        thread, status = os.waitpid(-1, _ALL_CHILDREN)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if thread == child:
                return TracedEnd(was_hit=was_hit, status=status)
            continue
        number, event = os.WSTOPSIG(status), status >> 16
        if was_hit:
            _go_on(_CONT, thread)
        elif event == _EVENT_SECCOMP:
            wish = on_call(_call_of(thread))
            if wish == "before":
                was_hit = _end(child)
            elif wish == "after":
                ends_at = thread
                _go_on(_SYSCALL, thread)
            else:
                _go_on(_CONT, thread)
        elif number == signal.SIGTRAP | 0x80:
            if thread == ends_at:
                was_hit = _end(child)
            else:
                _go_on(_CONT, thread)
        elif event == _EVENT_STOP:
            _go_on(_LISTEN if number in (signal.SIGSTOP, signal.SIGTSTP) else _CONT, thread)
        else:
            _go_on(_CONT, thread, 0 if event else number)


def read_path(call: WritingCall) -> str:
    """The path that *call* names; empty where it cannot be read."""
    address = call.arguments[PATH_ARGUMENT[call.name]]
    try:
        with open(f"{PROC}/{call.thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(LONGEST_PATH).split(b"\0")[0].decode(errors="replace")
    except (OSError, ValueError):
        return ""


def _end(child: int) -> bool:
    os.kill(child, signal.SIGKILL)
    return True


def _call_of(thread: int) -> WritingCall:
    room = ctypes.create_string_buffer(96)
    _ask(_SYSCALL_INFO, thread, 96, ctypes.addressof(room))
    number, *arguments = struct.unpack_from("7Q", room.raw, 24)
    return WritingCall(thread=thread, name=NAMES.get(number, str(number)), arguments=tuple(arguments))


def _go_on(how: int, thread: int, number: int = 0) -> None:
    with contextlib.suppress(ProcessLookupError):  # it was ended meanwhile; `waitpid` tells of it
        _ask(how, thread, 0, number)


def _ask(request: int, pid: int, address: int, data: int) -> None:
    if _LIBRARY.ptrace(request, pid, address, data) < 0:
        number = ctypes.get_errno()
        if number == errno.ESRCH:
            raise ProcessLookupError(number, os.strerror(number))
        raise OSError(number, os.strerror(number))


_LIBRARY = _library()
