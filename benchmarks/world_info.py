"""How long World Info's scan takes: a thousand entries over a hundred messages, recursion included.

    python -m benchmarks.world_info [--quick] [--json]

Times are processor time, so that a busy machine does not count. The peer is a plain loop over the same keys and the
same texts, pass by pass, with `re` for words that must stand alone and for patterns, `in` for phrases: what a scan
without an index does. Both run by turns and must find the same entries. One key in fifty is a pattern.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.table import Row, percentile, run_part
from familiar_connect.presets.world_info.place_entries import pool_of
from familiar_connect.presets.world_info.read_entries import read_entry
from familiar_connect.presets.world_info.scan import ScanInputs, scan_books
from familiar_connect.presets.world_info.types import ScanSettings, WorldBook, WorldEntry
from familiar_connect.support.js_regex import split_literal

ENTRIES, MESSAGES = 1000, 100
BAR_MS = 10.0
ROUNDS, QUICK_ROUNDS = 60, 9
WORDS = 8000
PATTERN_EVERY = 50
PROMPT_TOKENS = 1_000_000
"""So much that the budget keeps nothing out."""


def make_world(*, is_woven: bool = False, seed: int = 1) -> tuple[tuple[WorldEntry, ...], list[str]]:
    """A pool of entries and a chat, newest message first.

    Every third message names an entry, every other entry's text names another. *is_woven*: texts are made of nothing
    but names, so that recursion calls up all of them.
    """
    rng = random.Random(seed)
    names = _words(rng, "abcdefghijklmnop", 3 * ENTRIES)
    filler = names if is_woven else _words(rng, "qrstuvwxyzaeiou", WORDS)
    entries = []
    for uid in range(ENTRIES):
        keys = [*names[3 * uid : 3 * uid + 3], " ".join(rng.choices(names, k=2))]
        if uid % PATTERN_EVERY == 0:
            keys.append(f"/\\b{keys[0]}s?\\b/i")
        content = [*rng.choices(filler, k=40), *rng.choices(names, k=uid % 2)]
        entries.append(read_entry({"uid": uid, "key": keys, "content": " ".join(content)}, book="b"))
    chat = [" ".join([*rng.choices(filler, k=25), *rng.choices(names, k=at % 3 == 0)]) for at in range(MESSAGES)]
    return pool_of([WorldBook(name="b", entries=tuple(entries))]), chat


def _words(rng: random.Random, letters: str, count: int) -> list[str]:
    return ["".join(rng.choices(letters, k=rng.randint(5, 9))) for _ in range(count)]


def scan_plainly(pool: Sequence[WorldEntry], chat: Sequence[str]) -> set[str]:
    """The entries a plain loop finds: every key in every text that is new, until nothing more is."""
    found: set[str] = set()
    texts = [text.lower() for text in chat]
    while texts:
        brought = []
        whole = "\n".join(texts)
        for entry in pool:
            if entry.key not in found and any(_stands_in(key.lower(), whole) for key in entry.keys):
                found.add(entry.key)
                brought.append(entry.content.lower())
        texts = brought
    return found


def _stands_in(key: str, text: str) -> bool:
    literal = split_literal(key) if key.startswith("/") else None
    if literal is not None:
        return re.search(literal[0], text) is not None
    if " " in key:
        return key in text
    return key in text and re.search(rf"(?:^|\W){re.escape(key)}(?:$|\W)", text) is not None


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Times of both, in milliseconds of processor time, and what they found; in a common world, and in a woven one."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    return {"common": _measure(*make_world(), rounds), "woven": _measure(*make_world(is_woven=True), rounds // 4)}


def _measure(pool: tuple[WorldEntry, ...], chat: list[str], rounds: int) -> dict[str, Any]:
    settings = ScanSettings(depth=MESSAGES, whole_words=True, recursive=True)
    rng, words = random.Random(2), " ".join(chat).split(" ")
    ours, plain = [], []
    for _ in range(rounds):
        chat = [" ".join(rng.choices(words, k=26)), *chat[:-1]]  # the chat goes on by a message
        inputs = ScanInputs(pool=pool, settings=settings, messages=chat, prompt_tokens=PROMPT_TOKENS)
        began = time.process_time()
        world = scan_books(inputs)
        ours.append((time.process_time() - began) * 1000)
        began = time.process_time()
        peer = scan_plainly(pool, chat)
        plain.append((time.process_time() - began) * 1000)
    found = {each.entry.key for each in world.activated}
    return {
        "found": len(found),
        "same": found == peer,
        "p50_ms": percentile(ours, 0.5),
        "p95_ms": percentile(ours, 0.95),
        "plain_p50_ms": percentile(plain, 0.5),
        "plain_p95_ms": percentile(plain, 0.95),
    }


def rows(found: dict[str, Any]) -> list[Row]:
    common, woven = found["common"], found["woven"]
    scan = f"scan of {ENTRIES:,} entries over {MESSAGES} messages, recursion included"
    return [
        Row(name=scan, value=_times(common), bar=f"< {BAR_MS:g} ms p50", ok=common["p50_ms"] < BAR_MS),
        Row(name="plain loop over the same keys", value=_plain_times(common)),
        Row(name="the same where recursion calls up every entry", value=_times(woven)),
        Row(name="plain loop over those", value=_plain_times(woven)),
        Row(
            name="both find the same entries",
            value="yes" if common["same"] and woven["same"] else "no",
            bar="yes",
            ok=common["same"] and woven["same"],
        ),
    ]


def _times(row: dict[str, Any]) -> str:
    return f"{row['p50_ms']:.1f} ms (p95 {row['p95_ms']:.1f}), {row['found']} entries found"


def _plain_times(row: dict[str, Any]) -> str:
    times = row["plain_p50_ms"] / max(row["p50_ms"], 1e-9)
    return f"{row['plain_p50_ms']:.1f} ms (p95 {row['plain_p95_ms']:.1f}): {times:.1f} times as long"


if __name__ == "__main__":
    sys.exit(run_part(sys.argv[1:], title="world info", description=__doc__, measure=measure, rows=rows))
