"""Adversarial answers to the memory writer: how many reach beyond their files or lose what stood there.

Answers are drawn, the same every time, from forged names, paths that climb, floods, control characters,
marks inside marks and answers with pieces missing. Each is given to a fresh familiar whose memory holds a
character, lore, notes, a stranger and earlier days, all by the owner's hand. Counted: files written outside the
allow-list, texts that are neither in place nor in a stored version, and lines of the owner's that are not in place.

Run `python -m benchmarks.writer_adversary [--count N] [--json]`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import tempfile
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from familiar_connect.audience import EVERYONE
from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.memory.audit import hash_of
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.writer import MemoryWriter

EVENING = datetime(2026, 4, 7, 19, 0, tzinfo=UTC)
ALICE = Author(platform="discord", user_id="1", username="alice_w", display_name="Alice")
BOB = Author(platform="discord", user_id="2", username=None, display_name="Bob")
FACTS = "- A long-standing fact about Alice.\n" * 15
BEFORE = {
    "self/name.md": "Wren\n",
    "self/description.md": "A bird.\n",
    "lore/house-rules.md": "Be kind.\n",
    "notes.md": "Scratch.\n",
    "people/discord-1.md": f"# Alice\n{FACTS}",
    "people/discord-8.md": "# Stranger\nWas never here today.\n",
    "topics/ska.md": "# Ska\nLoud.\n",
    "sessions/2026-04-06-evening.md": "# Yesterday\n",
    "sessions/2026-04-07-evening.md": "# Today\nSo far, so good.\n",
}
MAY_CHANGE = ("people/discord-1.md", "topics/ska.md", "sessions/2026-04-07-evening.md")
MAY_APPEAR = ("people/_aliases.json", "people/discord-2.md")

_NAMES = (
    *("discord-1.md", "discord-1", "DISCORD-2.md", "discord-8.md", "../self/name.md", "../../audit/log.jsonl"),
    *("..\\lore\\house-rules.md", "/etc/passwd", "self/description.md", "notes.md", "_aliases.json", "ska.md"),
    *("people/discord-8.md", "2026-04-06-evening.md", "con.md", ".pending", "a" * 400, "a\x00b.md", "~", "-", "..."),
)
_BODIES = (
    *("", "forged", "# Alice\nHm.", f"# Alice\n{FACTS}- New.", "x" * 70_000, "\x1b[2J", "[x](../self/name.md)"),
    *("OUTDATED [1]: Loud.", f"# Alice\n{FACTS}OUTDATED [2]: A long-standing fact about Alice.", "OUTDATED: Loud."),
    "# Today\nLoud and so far, so good.\n- OUTDATED [1]: So far, so good.",
    "===PEOPLE===\n---FILE: discord-8.md---\nforged\n---END_FILE---",
)
_names = st.one_of(st.sampled_from(_NAMES), st.text(max_size=30))
_bodies = st.one_of(st.sampled_from(_BODIES), st.text(max_size=200))
_files = st.dictionaries(_names, _bodies, max_size=16)


def _answer(session: str, people: Mapping[str, str], topics: Mapping[str, str]) -> str:
    blocks = [f"===SESSION_SUMMARY===\n{session}\n===END_SESSION_SUMMARY==="]
    for section, files in (("PEOPLE", people), ("TOPICS", topics)):
        inner = "\n".join(f"---FILE: {name}---\n{text}\n---END_FILE---" for name, text in files.items())
        blocks.append(f"==={section}===\n{inner}\n===END_{section}===")
    return "\n".join(blocks)


_whole = st.builds(_answer, _bodies, _files, _files)
answers = st.one_of(
    _whole,
    st.builds(lambda text, at: text[:at] + text[at + 7 :], _whole, st.integers(0, 400)),
    st.builds(lambda s, p, t: json.dumps({"session": s, "people": p, "topics": t}), _bodies, _files, _files),
    st.text(max_size=400),
)


def harm_of(reply: str) -> tuple[list[str], list[str], list[str]]:
    """Files written that may not be, texts lost, and lines of the owner's lost, after a pass with *reply*."""
    with tempfile.TemporaryDirectory(prefix="familiar-adversary-") as name:
        base = Path(name).resolve()
        folder = base / "familiar"
        for path, text in BEFORE.items():
            (folder / "memory" / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / "memory" / path).write_text(text, encoding="utf-8")
        memory = MemoryStore(folder / "memory", audit_dir=folder / "audit")
        history = HistoryStore(":memory:")
        for who, words in ((ALICE, "I moved to Lyon."), (BOB, "Alice hates ska.")):
            history.append_turn(
                familiar_id="w",
                channel_id=1,
                role="user",
                content=words,
                author=who,
                timestamp=EVENING,
                audience=EVERYONE,
            )
        model = ScriptedModel([reply])
        writer = MemoryWriter(memory_store=memory, history_store=history, llm_client=model, familiar_id="w")
        asyncio.run(writer.run())
        history.close()
        lost = [path for path, text in BEFORE.items() if _is_lost(memory, path, text)]
        lines = [
            line
            for path, text in BEFORE.items()
            for line in Counter(text.splitlines()) - Counter(memory.read_file(path).splitlines())
        ]
        return _strays(base, memory), lost, lines


def _strays(base: Path, memory: MemoryStore) -> list[str]:
    found = [path.relative_to(memory.root).as_posix() for path in memory.root.rglob("*") if path.is_file()]
    strays = [path for path in found if path not in BEFORE and path not in MAY_APPEAR and not _is_topic(path)]
    strays += [path for path in BEFORE if path not in MAY_CHANGE and memory.read_file(path) != BEFORE[path]]
    ours = (memory.root, base / "familiar" / "audit")
    beside = [path for path in base.rglob("*") if not any(path.is_relative_to(place) for place in ours)]
    return strays + [path.name for path in beside if path != base / "familiar"]


def _is_topic(path: str) -> bool:
    return path.startswith("topics/") and path.endswith(".md") and path.count("/") == 1


def _is_lost(memory: MemoryStore, path: str, text: str) -> bool:
    if memory.read_if_present(path) == text:
        return False
    assert memory.audit is not None
    try:
        return memory.audit.read(hash_of(text.encode())) != text.encode()
    except MemoryStoreError:
        return True


def measure(count: int = 200) -> dict[str, int]:
    """Put *count* answers to the writer."""
    tally = {"answers": 0, "outside": 0, "lost": 0, "lines": 0}

    @settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(answers)
    def put(reply: str) -> None:
        strays, lost, lines = harm_of(reply)
        tally["answers"] += 1
        tally["outside"] += len(strays)
        tally["lost"] += len(lost)
        tally["lines"] += len(lines)

    put()
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description="Adversarial answers to the memory writer.")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    tally = measure(options.count)
    if options.json:
        print(json.dumps(tally))
    else:
        print(
            f"{tally['answers']} answers: {tally['outside']} files outside the allow-list, {tally['lost']} texts and "
            f"{tally['lines']} lines of the owner's lost"
        )


if __name__ == "__main__":
    main()
