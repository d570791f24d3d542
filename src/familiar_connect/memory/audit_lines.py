"""Lines of the audit log: changes, what was finished, what was taken back, as bytes and as values.

Thousands of lines are passed over for each that is read, so most are only looked at, not parsed: a quote
inside a value is always escaped, so the marks looked for cannot be part of one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Set
from datetime import datetime
from typing import Any

from familiar_connect.memory.types import AuditEntry, RemovedLine

CHANGE, DONE, WITHDRAWN = b'{"time":"', b'{"done":', b'{"withdrawn":'
TORN = b"#torn"
"""Ends a line that a crash cut short, so that it is not taken for a whole one."""
_NAME, _NAME_END = b'","file":"', b'","operation":'
_HASHES = re.compile(rb'"before":(?:"([0-9a-f]{64})"|null),"after":(?:"([0-9a-f]{64})"|null)\}\Z')

ActiveChange = tuple[bytes, int, bytes]
"""A change that was not taken back: its file's key, its number within the file, its line."""


def path_key(rel_path: str) -> bytes:
    """A path as it stands in a line."""
    return json.dumps(rel_path, ensure_ascii=False).encode()


def path_from_key(key: bytes) -> str | None:
    """The path a key stands for; None for one from a damaged line."""
    try:
        name = json.loads(key)
    except ValueError:
        return None
    return name if isinstance(name, str) else None


def file_key_in_line(raw: bytes) -> bytes | None:
    """The key of the file a line says was changed; None for other lines."""
    if not raw.startswith(CHANGE):
        return None
    start, end = raw.find(_NAME, len(CHANGE)), raw.find(_NAME_END, len(CHANGE))
    return raw[start + len(_NAME) - 1 : end + 1] if 0 <= start < end else None


def parse_line(raw: bytes) -> dict[str, object] | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):  # the latter for brackets nested without end
        return None
    return line if isinstance(line, dict) else None


def find_withdrawn_change(raw: bytes, standing: list[ActiveChange]) -> int | None:
    """Which of the *standing* changes the withdrawal *raw* takes back."""
    line = parse_line(raw) or {}
    key = path_key(str(line.get("withdrawn")))
    for position in range(len(standing) - 1, -1, -1):
        if standing[position][0] == key:
            entry = entry_from_line(standing[position][2])
            return position if entry is not None and entry.hash_after == line.get("after") else None
    return None


def redact_line(raw: bytes, gone: Set[bytes], kept_latest: Set[bytes], newest: dict[bytes, bytes]) -> bytes | None:
    """What stays of a line when the files in *gone*, and all but the newest line of others, are forgotten."""
    key = file_key_in_line(raw)
    line = parse_line(raw)
    if line is None:  # damaged: it may name anyone
        return None
    if key is None:
        about = path_key(str(line.get("done") or line.get("withdrawn") or ""))
        return None if about in gone or ("withdrawn" in line and about in kept_latest) else raw
    if key in gone or (key in kept_latest and raw != newest[key]):
        return None
    entry = entry_from_line(raw) if key in kept_latest else None
    return raw if entry is None else line_from_entry(entry, first=True)


def hashes_in(raw: bytes) -> list[str]:
    """The texts a line names."""
    found = _HASHES.search(raw)
    return [] if found is None else [name.decode() for name in found.groups() if name]


def line_from_entry(entry: AuditEntry, *, first: bool = False) -> bytes:
    """The line of a change; with *first*, as if nothing had stood there before."""
    line = _to_json(entry)
    if first:
        line["before"] = None
    return encode_line(line)


def done_line(rel_path: str) -> bytes:
    return encode_line({"done": rel_path})


def withdrawal_line(entry: AuditEntry) -> bytes:
    return encode_line({"withdrawn": entry.rel_path, "after": entry.hash_after})


def encode_line(facts: dict[str, object]) -> bytes:
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode()


def active_changes(data: bytes, rel_path: str | None) -> list[ActiveChange]:
    """Every change of one file, or of all, that was not taken back, oldest first."""
    wanted = None if rel_path is None else path_key(rel_path)
    mark = _NAME if wanted is None else _mark(wanted)
    counts: dict[bytes, int] = {}
    standing: list[ActiveChange] = []
    for raw in data.split(b"\n"):
        if mark in raw and not raw.endswith(TORN):
            key = wanted or file_key_in_line(raw)
            if key is not None:
                counts[key] = counts.get(key, 0) + 1
                standing.append((key, counts[key], raw))
        elif raw.startswith(WITHDRAWN) and (taken_back := find_withdrawn_change(raw, standing)) is not None:
            counts[standing.pop(taken_back)[0]] -= 1
    return standing


def last_active_changes(data: bytes, rel_path: str | None, last: int) -> list[ActiveChange]:
    """The *last* so many of them: the same, by looking at few lines."""
    if not _is_plain(data):
        return active_changes(data, rel_path)[-last:]
    found: list[ActiveChange] = []
    at = len(data)
    if rel_path is not None:
        key = path_key(rel_path)
        mark, total = _mark(key), data.count(_mark(key))
        for number in range(total, max(0, total - last), -1):
            at = data.rfind(mark, 0, at)
            found.append((key, number, _line_at(data, at)))
    else:
        keys = [b'"' + piece.partition(_NAME_END)[0] + b'"' for piece in data.split(_NAME)[1:]]
        totals = Counter(keys)
        for key in reversed(keys[-last:]):
            at = data.rfind(_NAME, 0, at)
            found.append((key, totals[key], _line_at(data, at)))
            totals[key] -= 1
    return found[::-1]


def find_active_change(data: bytes, rel_path: str, version: int | str) -> ActiveChange | None:
    """The newest change of a file with this number, or whose text's hash begins so."""
    key = path_key(rel_path)
    begins = f'"after":"{version}'.lower().encode()
    if not _is_plain(data):
        for number, raw in ((number, raw) for _, number, raw in reversed(active_changes(data, rel_path))):
            if number == version or (isinstance(version, str) and begins in raw):
                return key, number, raw
        return None
    mark = _mark(key)
    if isinstance(version, int):
        at = -1
        for _ in range(version):
            at = data.find(mark, at + 1)
            if at < 0:
                return None
        return (key, version, _line_at(data, at)) if at >= 0 else None
    at = len(data)
    while (at := data.rfind(begins, 0, at)) >= 0:
        raw = _line_at(data, at)
        if mark in raw:
            return key, data.count(mark, 0, at), raw
    return None


def _is_plain(data: bytes) -> bool:
    """Whether every change in the log stands: nothing was taken back or cut short."""
    return WITHDRAWN not in data and TORN not in data


def _mark(key: bytes) -> bytes:
    """What the line of a change of this file has in it, and no other line."""
    return b'","file":' + key + b',"operation":'


def _line_at(data: bytes, at: int) -> bytes:
    end = data.find(b"\n", at)
    return data[data.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(data)]


def entry_from_line(raw: bytes) -> AuditEntry | None:
    line = parse_line(raw)
    return None if line is None else _from_json(line)


def _to_json(entry: AuditEntry) -> dict[str, object]:
    removed = [[line.line, line.reason, line.turn] for line in entry.removed]
    return {
        "time": entry.timestamp.isoformat(),
        "file": entry.rel_path,
        "operation": entry.operation,
        "bytes": entry.bytes_written,
        "source": entry.source,
        "run": entry.run_id,
        "turns": entry.turn_range,
        **({"removed": removed} if removed else {}),
        "before": entry.hash_before,
        "after": entry.hash_after,
    }


def _from_json(line: dict[str, Any]) -> AuditEntry | None:
    try:
        turns = line["turns"]
        return AuditEntry(
            rel_path=line["file"],
            operation=line["operation"],
            bytes_written=line["bytes"],
            source=line["source"],
            timestamp=datetime.fromisoformat(line["time"]),
            run_id=line["run"],
            turn_range=None if turns is None else (turns[0], turns[1]),
            hash_before=line["before"],
            hash_after=line["after"],
            removed=tuple(RemovedLine(str(name), str(why), turn) for name, why, turn in line.get("removed") or ()),
        )
    except (KeyError, TypeError, ValueError, IndexError):
        return None
