"""The process that has the program loaded and lives its lives: `python -m …runner`, a line of JSON for each.

A request says what `familiar` is called with, its streams, and at which write it is to be ended. The answer is a line
with its number, and when it is over one with what it wrote where. `HARNESS_NO_TRACE` in our own environment has it
count at our own functions, as where tracing is not allowed.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import resource
import runpy
import struct
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.reliability.door_kills import tracer
from benchmarks.reliability.door_kills.labels import LabelPage, OwnCounter, label_writes
from tests.fakes.warm_program import become, end_soon, load_program

NO_TRACE = "HARNESS_NO_TRACE"
PROC = "/proc"
_NUMBERS = re.compile(r"[0-9a-f]{8}-?[0-9a-f-]{8,}|(?<=/)[0-9a-f]{2}(?=/)|\d+")
READ, PUT_THERE = os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_APPEND


def why_no_trace() -> str | None:
    """Why calls are not counted by the system; None: they are."""
    if os.environ.get(NO_TRACE):
        return f"{NO_TRACE} is set"
    return tracer.why_not()


class PlaceNames:
    """What each call writes to, in words that are the same in every life."""

    def __init__(self, home: str, streams: dict[str, str], ports: dict[str, str], labels: LabelPage) -> None:
        self._home = home.rstrip("/") + "/"
        self._streams = streams
        self._ports = ports
        self._labels = labels
        self._sockets: dict[str, str | None] = {}

    def name(self, call: tracer.WritingCall) -> str | None:
        """`call what function`; None for what no one but the process itself can see."""
        path = tracer.read_path(call) if call.name in tracer.PATH_ARGUMENT else self._path(call)
        if path in self._streams:
            return f"{call.name} {self._streams[path]}"
        if path.startswith("socket:"):
            peer = self._peer(call.thread, path)
            return f"{call.name} {peer}" if peer is not None else None
        if path.startswith(self._home) or not path.startswith("/"):
            if not path or path.startswith(("pipe:", "anon_inode:")):
                return None
            shown = _NUMBERS.sub("N", path.removeprefix(self._home))
            return f"{call.name} {shown} {self._labels.get(call.thread)}".rstrip()
        return None if path.startswith("/dev/") else f"{call.name} elsewhere"

    def _path(self, call: tracer.WritingCall) -> str:
        try:
            return os.readlink(f"{PROC}/{call.thread}/fd/{call.arguments[0]}")
        except OSError:
            return ""

    def _peer(self, thread: int, path: str) -> str | None:
        """Who a socket leads to; None where that is the process itself."""
        if path not in self._sockets:
            self._sockets[path] = self._find_peer(thread, path.removeprefix("socket:[").rstrip("]"))
        return self._sockets[path]

    def _find_peer(self, thread: int, inode: str) -> str | None:
        lines = Path(f"{PROC}/{thread}/net/tcp").read_text(encoding="ascii").splitlines()
        for line in lines[1:]:
            fields = line.split()
            if fields[9] == inode:
                return self._ports.get(str(int(fields[2].partition(":")[2], 16)), "whoever asked")
        return None


def live(asked: dict[str, Any], labels: LabelPage) -> dict[str, Any] | None:
    """One life, told of as it begins; None: we are the child and the program has ended."""
    is_traced = why_no_trace() is None and not asked.get("untouched")
    counts: dict[str, int] = {}
    kill = asked.get("kill")
    labels.clear()
    go, gone = os.pipe()
    counted = Path(asked["counts"])
    counted.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.close(gone)
        os.read(go, 1)
        os.close(go)
        _be(asked, labels, is_traced=is_traced)
        return None
    os.close(go)
    if is_traced:
        tracer.seize(child)
    print(json.dumps({"pid": child}), flush=True)
    os.close(gone)
    if not is_traced:
        _, status = os.waitpid(child, 0)
        for label in counted.read_text(encoding="utf-8").splitlines() if counted.exists() else ():
            counts[label] = counts.get(label, 0) + 1
        return {"hit": os.WIFSIGNALED(status) and kill is not None, "status": status, "counts": counts}
    hit: list[tuple[str, bool]] = []
    names = PlaceNames(asked["home"], asked["names"], asked["ports"], labels)

    def on_call(call: tracer.WritingCall) -> str | None:
        place = names.name(call)
        if place is None:
            return None
        counts[place] = counts.get(place, 0) + 1
        side = choose_side(kill, place, counts[place])
        if side is not None:
            hit.append((place, side == "after"))
        return side

    end = tracer.follow(child, on_call)
    return {"hit": end.was_hit, "side": hit[-1] if hit else None, "status": end.status, "counts": counts}


def choose_side(kill: dict[str, Any] | None, place: str, time: int) -> str | None:
    """Whether a life is ended `before` or `after` a place that writes for the *time*-th time; None: at neither.

    Wanted is one place, or, where `struck` lists those that were, any side that was not struck yet: whichever comes.
    """
    if kill is None:
        return None
    if "struck" in kill:
        struck = {tuple(each) for each in kill["struck"]}
        for side, is_after in (("before", False), ("after", True)):
            if (place, is_after) not in struck:
                return side
    if (place, time) != (kill.get("place"), kill.get("at")):
        return None
    return "after" if kill["is_after"] else "before"


def _be(asked: dict[str, Any], labels: LabelPage, *, is_traced: bool) -> None:
    """In the child: become the program, and run it to its end."""
    kill = asked.get("kill")
    streams = [
        os.open(asked["streams"][at], READ if at == 0 and not asked["terminal"] else PUT_THERE) for at in range(3)
    ]
    if asked["terminal"]:
        for at, number in enumerate(streams):
            os.close(number)
            streams[at] = os.open(asked["streams"][at], os.O_RDWR | os.O_NOCTTY)
    become(asked, streams)
    if asked.get("clock"):
        _follow_clock(asked["clock"])
    if asked.get("limits"):
        _limit(asked["limits"])
    if asked.get("untouched"):
        pass  # nobody counts its writes
    elif is_traced:
        label_writes(lambda label, is_after: labels.put("" if is_after else label))
        tracer.filter_calls()
    else:
        sink = os.open(asked["counts"], PUT_THERE, 0o600)
        wanted = (kill["place"], kill["at"], kill["is_after"]) if kill else None
        label_writes(OwnCounter(lambda label: void(os.write(sink, f"{label}\n".encode())), wanted).on_write)
    if asked.get("twitch"):
        _lead_to_twitch(asked["twitch"])


def void(value: object) -> None:
    """Nothing, whatever *value* is."""


def _lead_to_twitch(addresses: dict[str, str]) -> None:
    """Have the program find our own Twitch where it looks for the real one."""
    from familiar_connect.extensions.twitch.account import Addresses

    defaults = Addresses.__init__.__kwdefaults__
    assert defaults is not None
    defaults.update(addresses)


def _follow_clock(path: str) -> None:
    """Have the program's clock differ from the machine's by the seconds that the file at *path* holds at the moment."""
    from familiar_connect.support.clock import SystemClock

    with open(path, "rb") as file:
        hand = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
    real_time = time.time

    def shifted_time() -> float:
        shift: float = struct.unpack("d", hand[:8])[0]
        return real_time() + shift

    time.time = shifted_time
    SystemClock.now = lambda self: datetime.fromtimestamp(shifted_time(), UTC)  # type: ignore[method-assign]


def _limit(limits: dict[str, int]) -> None:
    """Be short of something from the beginning."""
    if "files" in limits:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limits["files"],) * 2)
    if "memory" in limits:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + limits["memory"],) * 2)


def main() -> None:

    load_program()
    labels = LabelPage()
    print(json.dumps({"why_no_trace": why_no_trace()}), flush=True)
    for line in sys.stdin:
        told = live(json.loads(line), labels)
        if told is None:
            break
        print(json.dumps(told), flush=True)
    else:
        return
    try:
        runpy.run_module("familiar_connect", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        end_soon(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)
    end_soon(0)


if __name__ == "__main__":
    main()
