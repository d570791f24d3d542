"""The files that replay keeps: where they are, how they are read, and what a turn's page needs of them.

`read_summary` reads a record without the types it is made of, so that looking at a turn takes little time.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from familiar_connect.errors import FamiliarError
from familiar_connect.support.no_follow import load_bytes

MAX_BYTES = 64 * 1024 * 1024
"""Nothing larger is unpacked."""
UNREADABLE = (OSError, zlib.error, KeyError, TypeError, ValueError, OverflowError, RecursionError)
"""What reading a damaged or hostile file may end in."""
SUFFIX = ".json.z"

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class ReplayFiles:
    """Records under `turns/`, their parts under `objects/`."""

    def __init__(self, folder: Path) -> None:
        self.turns = Path(folder) / "turns"
        self.objects = Path(folder) / "objects"

    def record_path(self, trace_id: str) -> Path:
        if not _SAFE_ID.fullmatch(trace_id):
            raise FamiliarError(f"{trace_id!r} is not the id of a turn: letters, digits, dots and dashes only")
        return self.turns / f"{trace_id}{SUFFIX}"

    def object_path(self, name: str) -> Path:
        if not re.fullmatch(r"[0-9a-f]{64}", name):
            raise ValueError("no content hash")
        return self.objects / name[:2] / f"{name}{SUFFIX}"


@dataclass(frozen=True, kw_only=True)
class RecordSummary:
    """What the page of a turn says of its record, where the trace and the prompt on disk tell the rest."""

    trace_id: str
    seed: int
    messages_hash: str
    preset: str = ""
    node_names: Mapping[str, str] = field(default_factory=dict)
    """Names that the author of the preset gave its prompts, by identifier."""


def read_summary(folder: Path, trace_id: str) -> RecordSummary | None:
    """What there is to say of the record of *trace_id* in *folder*; None where it cannot be read."""
    files = ReplayFiles(folder)
    try:
        plain = read_packed(files.record_path(trace_id))
        active = plain["request"].get("preset")
        if isinstance(active, str):
            active = read_packed(files.object_path(active))
        preset: Mapping[str, Any] = active["preset"] if active else {"name": "", "prompts": []}
        return RecordSummary(
            trace_id=str(plain["trace_id"]),
            seed=int(plain["seed"]),
            messages_hash=str(plain["messages_hash"]),
            preset=str(preset["name"]),
            node_names={str(node["identifier"]): str(node.get("name") or "") for node in preset["prompts"]},
        )
    except (*UNREADABLE, FamiliarError):
        return None


def read_packed(path: Path) -> Any:
    """What a file of replay's holds."""
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(load_bytes(path), MAX_BYTES)
    if not unpacking.eof:
        raise ValueError("cut short, or too large")
    return json.loads(text)
