"""Readers of other people's files under damaged input: no crash, no hang, no exception but their own.

    python -m benchmarks.fuzz_readers [--seconds 60] [--quick] [--reader cards] [--seed 0]

Valid files are changed at random; a change that reaches a line of the reader nobody reached before is kept and
changed further. Every input must end, within two seconds, in a value or in the reader's own error. What failed is
printed as base64, ready to become a test.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import sys
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from types import FrameType
from typing import Any

from benchmarks.hostile_inputs import chunk, png_of

MOST_SECONDS = 2.0
MOST_KEPT = 2_000
MOST_BYTES = 60_000
QUICK_SECONDS = 3.0
TOKENS = (
    b"ccv3", b"chara", b"zTXt", b"iTXt", b"tEXt", b"IEND", b"PK\x03\x04", b"PK\x05\x06", b"RIFF", b"WEBP", b"EXIF",
    b"rcc||", b'{"', b"[[[[", b"\\ud800", b"null", b"1e999", b"-1", b"\xff\xfe", b"\xef\xbb\xbf", b"\0", b"\x89PNG",
    b'"data":', b'"spec":', b'"entries":', b'"name":', b'"extensions":', b"name: ", b"&a [*a]", b"{{", b"}}",
    b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"prompt_order", b"prompts", b"identifier", b"lorebookVersion",
)  # fmt: skip
"""Words the formats know."""


@dataclass(frozen=True)
class Reader:
    """One reader: where it is, what it reads, what it may raise, and the modules whose lines count as reached."""

    call: str
    seeds: Callable[[], Iterable[bytes]]
    errors: tuple[str, ...]
    watched: str
    more: tuple[str, ...] = ()
    """What else it wants to be called with."""


@dataclass
class Findings:
    """What came of one reader."""

    runs: int = 0
    read: int = 0
    refused: int = 0
    lines: int = 0
    slowest_s: float = 0.0
    failures: list[str] = field(default_factory=list)


def card_seeds() -> Iterable[bytes]:
    card = {
        "spec": "chara_card_v2",
        "data": {
            "name": "Mira",
            "description": "A keeper.",
            "tags": ["a"],
            "extensions": {"depth_prompt": {"prompt": "p", "depth": "4"}},
            "character_book": {"entries": [{"keys": ["k"], "content": "c"}]},
        },
    }
    text = json.dumps(card).encode()
    short = png_of(chunk(b"tEXt", b"chara\0" + base64.b64encode(text)))
    yield from (text, short, b"name: M\ncontext: |\n  words\n", b"Name: M\nPersonality: p\n", b'[Character("M") { x }]')
    packed = b"chara\0\0" + zlib.compress(base64.b64encode(text))
    yield short[:33] + len(packed).to_bytes(4, "big") + b"zTXt" + packed + bytes(4) + short[-12:]
    yield from _archives(text)


def _archives(card: bytes) -> Iterable[bytes]:
    import io
    import zipfile

    for members in ({"card.json": card}, {"manifest.json": b'{"characters":["a.json"]}', "a.json": b'{"name":"M"}'}):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            for name, data in members.items():
                made.writestr(name, data)
        yield out.getvalue()


def lorebook_seeds() -> Iterable[bytes]:
    native = {"entries": {"0": {"uid": 0, "key": ["a"], "comment": "c", "content": "t", "position": 1, "depth": 4}}}
    book = {"name": "b", "entries": [{"keys": ["a"], "content": "t", "extensions": {"position": 0}, "enabled": True}]}
    yield from (json.dumps(each).encode() for each in (native, book, {"spec": "lorebook_v3", "data": book}))
    yield json.dumps({"lorebookVersion": 5, "entries": [{"text": "t", "keys": ["a"], "displayName": "n"}]}).encode()
    yield json.dumps({"kind": "memory", "name": "n", "entries": [{"entry": "t", "keywords": ["a"]}]}).encode()
    yield json.dumps({"type": "risu", "data": [{"key": "a", "content": "t", "comment": "c"}]}).encode()


def preset_seeds() -> Iterable[bytes]:
    prompts = [
        {"identifier": "main", "role": "system", "content": "Write {{char}}."},
        {"identifier": "x", "marker": True},
    ]
    order = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]
    yield json.dumps({"prompts": prompts, "prompt_order": order, "temperature": 1, "names_behavior": 0}).encode()
    yield json.dumps(
        {"name": "old", "system_prompt": "s", "input_sequence": "i", "story_string": "{{description}}"}
    ).encode()


READERS: dict[str, Reader] = {
    "cards": Reader("bootstrap.cards:load_card", card_seeds, ("CharacterCardError",), "bootstrap/card"),
    "lorebooks": Reader(
        "bootstrap.lorebook_files.books:sillytavern_entries",
        lorebook_seeds,
        ("LorebookImportError",),
        "bootstrap/lorebook_files",
    ),
    "presets": Reader("presets.load:read_preset", preset_seeds, ("PresetError",), "presets/", ("a preset",)),
}


def fuzz(reader: Reader, *, seconds: float, least_runs: int = 0, seed: int = 0) -> Findings:
    """Change valid files for *seconds*, and *least_runs* times, following what reaches new lines."""
    module, _, name = reader.call.partition(":")
    read: Callable[..., Any] = getattr(import_module(f"familiar_connect.{module}"), name)
    errors = tuple(getattr(import_module("familiar_connect.errors"), each) for each in reader.errors)
    rng = random.Random(seed)
    kept = list(reader.seeds())
    reached: set[tuple[str, int]] = set()
    found = Findings()
    waiting = list(kept)
    until = time.perf_counter() + seconds
    while waiting or found.runs < least_runs or time.perf_counter() < until:
        data = waiting.pop() if waiting else mutate(rng, kept)
        lines = _run(lambda given: read(given, *reader.more), errors, data, reader.watched, found)
        if not lines <= reached:
            reached |= lines
            if len(kept) < MOST_KEPT:
                kept.append(data)
    found.lines = len(reached)
    return found


def mutate(rng: random.Random, kept: list[bytes]) -> bytes:
    """One of *kept*, with a few random changes."""
    data = bytearray(rng.choice(kept))
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] = rng.randrange(256)
        elif kind == 1:
            data[at:at] = rng.choice(TOKENS)
        elif kind == 2:
            del data[at : at + rng.choice((1, 4, 64, 4096))]
        elif kind == 3:
            data[at : at + rng.randrange(8)] = rng.randbytes(rng.randrange(8))
        elif kind == 4:
            other = rng.choice(kept)
            start = rng.randrange(len(other) + 1)
            data[at:at] = other[start : start + rng.choice((8, 64, 1024))]
        else:
            data[at:at] = data[at : at + rng.choice((2, 16, 256))] * rng.choice((2, 8, 64))
    return bytes(data[:MOST_BYTES])


def _run(
    read: Callable[[bytes], Any], errors: tuple[type[Exception], ...], data: bytes, watched: str, found: Findings
) -> set[tuple[str, int]]:
    lines: set[tuple[str, int]] = set()

    def on_line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return on_line

    def on_call(frame: FrameType, event: str, _: Any) -> Any:
        return on_line if watched in frame.f_code.co_filename.replace("\\", "/") else None

    found.runs += 1
    began = time.perf_counter()
    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        read(data)
        found.read += 1
    except errors:
        found.refused += 1
    except Exception as error:  # isolation: what is looked for is exactly this
        found.failures.append(f"{type(error).__name__}: {error} on {base64.b64encode(data).decode()}")
    finally:
        sys.settrace(before)
    took = time.perf_counter() - began
    found.slowest_s = max(found.slowest_s, took)
    if took > MOST_SECONDS:
        found.failures.append(f"took {took:.1f} s on {base64.b64encode(data).decode()}")
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz_readers", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each reader")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SECONDS:.0f} seconds each")
    parser.add_argument("--reader", action="append", choices=list(READERS), help="only this one; may be given again")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    failed = False
    for name in options.reader or list(READERS):
        found = fuzz(READERS[name], seconds=QUICK_SECONDS if options.quick else options.seconds, seed=options.seed)
        failed |= bool(found.failures)
        print(
            f"{name}: {found.runs:,} inputs, {found.read:,} read, {found.refused:,} refused, "
            f"{found.lines} lines reached, slowest {found.slowest_s * 1000:.0f} ms, {len(found.failures)} failures"
        )
        for failure in found.failures[:5]:
            print(f"  {failure[:2000]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
