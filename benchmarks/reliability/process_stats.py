"""Gauge: how late the event loop of this process runs, what memory it holds and what work it has done."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import re
import resource
import sys
import threading
import time
from array import array
from collections import deque
from contextlib import suppress
from dataclasses import is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from numpy import ndarray

from benchmarks.table import spread
from familiar_connect.memory.index.storage import RowCache, Vectors
from familiar_connect.memory.index.vectors.fact_columns import FactColumns
from familiar_connect.memory.index.vectors.word_vectors import WordVectors
from familiar_connect.support.lru import LruCache

TICK_S = 0.01
NUMBER_BYTES = 32
"""A number as Python holds it: the key of a unit, a word, or a count."""
PACKAGE = "familiar_connect"
_DATA = (str, bytes, bytearray, int, float, tuple, list, dict, set, frozenset, array, ndarray, datetime)
_POOLED = re.compile(r"-[1-4]$")
"""Threads that wait for work of one module, four at most for each: a pool starts one when its others are all busy."""
_LINK = "_lru_list_elem"
"""What `functools.lru_cache` strings its entries together with."""
_PAGE = resource.getpagesize()


def resident_bytes() -> int:
    """Memory held now; where the system does not tell, the most that was ever held."""
    if sys.platform == "linux":
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


class ProcessStats:
    """Ticks, and notes how late each tick came.

    Of a delay, at most the work this process did meanwhile is its own: the rest is the machine, busy with others.
    """

    def __init__(self) -> None:
        self._late: list[float] = []
        self._own: list[float] = []

    async def run(self) -> None:
        while True:
            began, worked = time.perf_counter(), time.process_time()
            await asyncio.sleep(TICK_S)
            late = max(0.0, time.perf_counter() - began - TICK_S)
            self._late.append(late)
            self._own.append(min(late, time.process_time() - worked))

    def read(self) -> dict[str, Any]:
        """Everything since the last reading."""
        late, self._late = self._late or [0.0], []
        own, self._own = self._own or [0.0], []
        return {
            "rss": resident_bytes(),
            "cpu_s": time.process_time(),
            "late_ms": spread(late, 1000),
            "own_ms": spread(own, 1000),
        }


def count_held(loop: asyncio.AbstractEventLoop) -> dict[str, Any]:
    """What this process holds once what nobody needs is collected and given back to the system."""
    for _ in range(3):
        gc.collect()
    in_use, free = heap_bytes()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL("libc.so.6").malloc_trim(0)
    handles = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    entries, most = count_cached()
    by_cache = measure_caches()
    return {
        "rss": resident_bytes(),
        "cache_bytes": sum(by_cache.values()),
        "caches": by_cache,
        "by_type": measure_types(),
        "index": index_bytes(),
        "sqlite": sqlite_bytes(),
        "heap_in_use": in_use,
        "heap_free": free,
        "cached": entries,
        "cached_most": most,
        "objects": count_objects(),
        "handles": handles,
        "tasks": len(asyncio.all_tasks(loop)),
        "threads": sum(_POOLED.search(thread.name) is None for thread in threading.enumerate()),
        "pooled": sum(_POOLED.search(thread.name) is not None for thread in threading.enumerate()),
    }


class _HeapFacts(ctypes.Structure):
    """What glibc tells of its heaps (`mallinfo2`)."""

    _fields_ = (
        *((name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")),
        *((name, ctypes.c_size_t) for name in ("uordblks", "fordblks", "keepcost")),
    )


def heap_bytes() -> tuple[int, int]:
    """Bytes of the C heaps in use, and those free between them; nought where the system does not tell.

    In a process started with `PYTHONMALLOC=malloc` all of Python's memory is there too, to the byte.
    """
    with suppress(OSError, AttributeError):
        ask = ctypes.CDLL("libc.so.6").mallinfo2
        ask.restype = _HeapFacts
        facts = ask()
        return int(facts.uordblks + facts.hblkhd), int(facts.fordblks)
    return 0, 0


def sqlite_bytes() -> int:
    """What SQLite holds: mostly pages, up to two megabytes for each open database; 0 where nobody can tell."""
    with suppress(OSError, AttributeError):
        ask = ctypes.CDLL("libsqlite3.so.0").sqlite3_memory_used
        ask.restype = ctypes.c_int64
        return int(ask())
    return 0


def count_cached() -> tuple[int, int]:
    """Entries in all bounded caches of the program, and how many there may be in those that hold any."""
    kept = [(len(each), each._entries) for each in list(_caches)]
    facts = [each.cache_info() for each in _cached_functions()]
    kept += [(each.currsize, each.maxsize or 0) for each in facts]
    return sum(entries for entries, _ in kept), sum(most for entries, most in kept if entries)


def measure_caches() -> dict[str, int]:
    """Bytes that bounded caches hold, by who made them; what two of them share counts for the first."""
    seen: set[int] = set()
    found: dict[str, int] = {}
    for each in list(_caches):
        maker = _makers.get(each, "?")
        found[maker] = found.get(maker, 0) + _measure([each._kept], seen)
    for rows in list(_row_caches):
        found["RowCache"] = found.get("RowCache", 0) + _measure([rows._rows], seen)
    for function in _cached_functions():
        name = f"{function.__module__}.{function.__qualname__}"
        found[name] = found.get(name, 0) + _measure(gc.get_referents(function), seen)
    return {name: size for name, size in found.items() if size}


def measure_types() -> dict[str, int]:
    """Bytes of everything Python knows to be there, by type: what the collector follows and all that it refers to.

    A dict or tuple of plain texts and numbers is not followed by the collector, so what is in it is looked for here.
    """
    seen: set[int] = set()
    found: dict[str, int] = {}
    for tracked in gc.get_objects():
        waiting = [tracked]
        while waiting:
            each = waiting.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            name = type(each).__name__
            with suppress(TypeError, ReferenceError):
                found[name] = found.get(name, 0) + sys.getsizeof(each)
            waiting += [part for part in gc.get_referents(each) if not gc.is_tracked(part)]
    return found


def _cached_functions() -> list[Any]:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(PACKAGE)]
    functions = {id(each): each for module in modules for each in list(vars(module).values())}.values()
    return [each for each in functions if hasattr(each, "cache_info")]


def _measure(held: list[Any], seen: set[int]) -> int:
    """Bytes of plain data reachable from *held*: parts of the program that it refers to are not its own."""
    size, waiting = 0, list(held)
    while waiting:
        each = waiting.pop()
        is_data = isinstance(each, _DATA) or is_dataclass(each) or type(each).__name__ == _LINK
        if id(each) in seen or isinstance(each, type) or not is_data:
            continue
        seen.add(id(each))
        size += sys.getsizeof(each)
        waiting += gc.get_referents(each)
    return size


def count_objects() -> int:
    """How many objects the collector knows; none is touched, which would upset whoever is just making it."""
    gc.freeze()
    try:
        return gc.get_freeze_count()
    finally:
        gc.unfreeze()


_vectors: WeakSet[Vectors] = WeakSet()
_columns: WeakSet[FactColumns] = WeakSet()
_caches: WeakSet[LruCache[Any, Any]] = WeakSet()
_row_caches: WeakSet[RowCache] = WeakSet()
_makers: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""The function that made each of them."""


def follow_parts() -> None:
    """Know of every part of an index and of every cache that is made from now on."""
    for kind, known in (
        (Vectors, _vectors),
        (FactColumns, _columns),
        (LruCache, _caches),
        (RowCache, _row_caches),
    ):
        _follow(kind, known)


def _follow(kind: Any, known: WeakSet[Any]) -> None:
    make = kind.__init__

    def make_known(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        known.add(self)
        _makers[self] = sys._getframe(1).f_code.co_qualname

    kind.__init__ = make_known


def index_bytes() -> int:
    """What the memory index takes: a row for each thing said, so that it is found by sense, words and day."""
    found = sum(sum(part.nbytes for part in each._held) for each in list(_columns))
    for each in list(_vectors):
        found += sum(block.nbytes for block in each._blocks) + each._steps.nbytes + each._numbers.nbytes
        found += sum(part.nbytes for part in each._sorted or ())
        if isinstance(each, WordVectors):
            found += each.count_bytes() + NUMBER_BYTES * (len(each._of_units) + 2 * len(each._holding))
    return found


_lengths: dict[int, int] = {}
LEAST_GROWTH = 20


def find_growing() -> list[str]:
    """Containers that hold more than when this was last asked, the one that grew most first, and whose they are."""
    gc.collect()
    everything = gc.get_objects()
    now = {id(each): len(each) for each in everything if isinstance(each, dict | list | set | deque)}
    grown = [
        (now[id(each)] - _lengths.get(id(each), now[id(each)]), each)
        for each in everything
        if now.get(id(each), 0) - _lengths.get(id(each), now.get(id(each), 0)) >= LEAST_GROWTH
    ]
    _lengths.clear()
    _lengths.update(now)
    grown.sort(key=lambda pair: -pair[0])
    return [f"+{more} of {len(each)}: {_owner_of(each)}" for more, each in grown[:30]]


def _owner_of(held: Any) -> str:
    owners = []
    for each in gc.get_referrers(held)[:12]:
        if isinstance(each, dict):
            keys = [key for key, value in each.items() if value is held][:1]
            above = [type(one).__qualname__ for one in gc.get_referrers(each) if getattr(one, "__dict__", None) is each]
            owners.append(f"{'/'.join(above[:2]) or each.get('__name__', 'dict')}.{keys[0] if keys else '?'}")
        elif type(each).__name__ not in ("frame", "list", "tuple"):
            owners.append(type(each).__qualname__)
    return f"{type(held).__name__} of {', '.join(owners) or 'nobody'}: {str(held)[:120]}"
