"""How long a card of one megabyte takes to read, beside the least any reader must do.

    python -m benchmarks.cards [--json]

The peer walks the same chunks, decodes the same base64 and parses the same JSON with nothing but `struct`, `base64` and
`json`, and trusts the file in everything. Both read from disk, in turns, in the same run.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.table import Row, machine, spread, table
from familiar_connect.bootstrap.cards import load_card

BAR_MS = 20.0
ROUNDS, QUICK_ROUNDS = 60, 10
FILE_BYTES = 1024 * 1024
PAYLOADS = {"a usual text (27 kB)": 27_000, "a text of half a megabyte": 500_000}
"""What is measured → the size of the JSON inside the picture."""


def make_card(payload_bytes: int) -> bytes:
    """A picture of one megabyte with a card of many lorebook entries in it."""
    words = "The lantern on the hill went out twice before anyone thought to ask why it had been lit at all. "
    entries = [
        {"keys": [f"lantern {uid}"], "content": words * 6, "extensions": {"position": 0}, "enabled": True}
        for uid in range(max(1, payload_bytes // 720))
    ]
    data = {"name": "Mira", "description": words * 20, "first_mes": words, "character_book": {"entries": entries}}
    text = base64.b64encode(json.dumps({"spec": "chara_card_v2", "data": data}).encode())
    card = _chunk(b"tEXt", b"chara\0" + text)
    noise = os.urandom(max(0, FILE_BYTES - len(card) - 100))
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", 512, 768, 8, 2, 0, 0, 0))
    pixels = b"".join(_chunk(b"IDAT", noise[at : at + 8192]) for at in range(0, len(noise), 8192))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + card + _chunk(b"IEND", b"")


def read_least(path: Path) -> Any:
    """The peer: the chunk, its base64, its JSON."""
    data = path.read_bytes()
    at = 8
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"tEXt" and data[at + 8 : at + 14] == b"chara\0":
            return json.loads(base64.b64decode(data[at + 14 : at + 8 + length]))
        at += length + 12
    raise ValueError("no card")


def measure(*, quick: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="familiar-cards-") as folder:
        for name, size in PAYLOADS.items():
            path = Path(folder) / "card.png"
            path.write_bytes(make_card(size))
            ours, peer = [], []
            for _ in range(QUICK_ROUNDS if quick else ROUNDS):
                ours.append(_timed(load_card, path))
                peer.append(_timed(read_least, path))
            found[name] = {"ours": spread(ours, 1000), "peer": spread(peer, 1000), "bytes": path.stat().st_size}
    return found


def rows(found: dict[str, Any]) -> list[Row]:
    return [
        Row(
            name=f"a card of 1 MB, {name}",
            value=f"{each['ours']['p50']:.1f} ms (p95 {each['ours']['p95']:.1f}); struct+base64+json alone "
            f"{each['peer']['p50']:.1f} ms: {each['ours']['p50'] / each['peer']['p50']:.2f} times as long",
            bar=f"< {BAR_MS:.0f} ms",
            ok=each["ours"]["p50"] < BAR_MS,
        )
        for name, each in found.items()
    ]


def _timed(work: Callable[[Path], object], path: Path) -> float:
    began = time.perf_counter()
    work(path)
    return time.perf_counter() - began


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cards", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args(arguments)
    found = measure(quick=options.quick)
    made = rows(found)
    if options.json:
        print(json.dumps({"cards": found, "machine": machine()}, indent=2))
    else:
        print(table({"cards": made}))
    return 0 if all(row.ok for row in made) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
