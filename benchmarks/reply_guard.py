"""Whether the guard against collapsed replies throws away good ones, and finds the bad.

    python -m benchmarks.reply_guard --dialogues FILE --cards FOLDER
    python -m benchmarks.reply_guard                         the talks that come with the benchmarks alone

Good texts are what people wrote to each other (dialogues in LoCoMo's format, the talks of `benchmarks/talk`, and the
chat lines and prose of `benchmarks/addressing` and `token_samples.json` in 22 languages) and the examples and greetings
of character cards. Each stands after the five texts that the same
speaker wrote before, as replies do, and comes in pieces of a few signs, as from a model. Bad ones are made of good
ones: run in circles, copied with a word changed, turned into rows of signs, broken into tables of nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.table import Row, table
from familiar_connect.bootstrap.cards import load_card
from familiar_connect.context.processors.reply_guard import COPIES, LOOPS, NO_WORDS, ReplyGuard
from familiar_connect.errors import FamiliarError

HERE = Path(__file__).parent
MOST_REJECTED = 0.01
LEAST_GOOD = 2_000
LONGEST_PIECE = 9
BAD_EVERY = 5
"""Of every so many good texts one is made bad, in each way."""
LEAST_BAD_WORDS = 8
_SAMPLE_TURN = re.compile(r"^\s*(?:<START>|\{\{(?:char|user)\}\}:|[^\n:]{1,40}:)\s*", re.MULTILINE | re.IGNORECASE)

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？।])")
_CODES = dict(
    zip(
        (
            "English",
            "German",
            "French",
            "Spanish",
            "Polish",
            "Russian",
            "Arabic",
            "Hindi",
            "Japanese",
            "Chinese",
            "Korean",
        ),
        ("en", "de", "fr", "es", "pl", "ru", "ar", "hi", "ja", "zh", "ko"),
        strict=True,
    )
)

Texts = list[str]
"""What one speaker wrote, in its order."""


def read_dialogues(path: Path) -> Iterator[Texts]:
    """Each speaker's turns in every conversation of a file in LoCoMo's format."""
    for row in json.loads(path.read_text(encoding="utf-8")):
        sessions = [value for value in row["conversation"].values() if isinstance(value, list)]
        turns = [turn for session in sessions for turn in session]
        for speaker in sorted({turn["speaker"] for turn in turns}):
            yield [turn["text"] for turn in turns if turn["speaker"] == speaker]


def read_cards(folder: Path) -> Iterator[Texts]:
    """The greetings and the sample turns of every card in *folder*; what is no card is passed over."""
    for path in sorted(folder.iterdir()):
        try:
            card = load_card(path)
        except (FamiliarError, OSError, ValueError):
            continue
        yield [card.first_mes, *card.alternate_greetings]
        yield _SAMPLE_TURN.split(card.mes_example)


def read_talks(folder: Path) -> Iterator[Texts]:
    """The lines of the talks that come with the benchmarks, by who says them."""
    for path in sorted((folder / "talk").glob("*.txt")):
        speakers: dict[str, Texts] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            name, parted, text = line.partition(": ")
            if parted:
                speakers.setdefault(name, []).append(text)
        yield from speakers.values()


def read_languages(folder: Path) -> dict[str, Texts]:
    """Chat lines and sentences of prose, by their language; English left out."""
    found: dict[str, Texts] = {}
    for path in sorted((folder / "addressing").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found.setdefault(row["language"], []).append(row["text"])
    for language, passages in json.loads((folder / "token_samples.json").read_text(encoding="utf-8")).items():
        sentences = (text for passage in passages for text in _SENTENCE_END.split(passage))
        found.setdefault(_CODES.get(language, language), []).extend(sentences)
    return {language: texts for language, texts in found.items() if language not in ("en", "code", "chat")}


def find_fault(text: str, earlier: Sequence[str], source: random.Random) -> str | None:
    """What the guard finds wrong with *text* after the replies *earlier*; or that it changed it."""
    guard = ReplyGuard(earlier, by_sentence=True)
    shown, at = "", 0
    while at < len(text):
        size = source.randint(1, LONGEST_PIECE)
        shown += guard.feed(text[at : at + size])
        at += size
    shown += guard.close()
    return guard.fault or (None if shown == text else "it showed something else")


def run_in_circles(text: str, source: random.Random) -> str:
    """The last few words, over and over."""
    words = text.split()
    return f"{text} " + " ".join(words[-source.randint(1, min(10, len(words))) :] * 30)


def copy_nearly(text: str, source: random.Random) -> str:
    """One word is another."""
    words = text.split()
    words[source.choice((0, -1))] = "indeed"
    return " ".join(words)


def write_signs(text: str, source: random.Random) -> str:
    """Signs in place of most words."""
    return "".join(source.choice("|-_=*#~") * source.randint(1, 9) for _ in text.split()) + " | --- |"


def write_empty_table(text: str, source: random.Random) -> str:
    """Rows of a table that hold nothing."""
    return ("|" + "   |" * source.randint(2, 6) + "\n") * 20


BAD: dict[str, tuple[Callable[[str, random.Random], str], frozenset[str]]] = {
    "in circles": (run_in_circles, frozenset({LOOPS})),
    "nearly a copy": (copy_nearly, frozenset({COPIES})),
    "rows of signs": (write_signs, frozenset({LOOPS, NO_WORDS})),
    "empty tables": (write_empty_table, frozenset({LOOPS, NO_WORDS})),
}
"""Ways to make a good text bad, with what may be said of it."""


def measure(
    speakers: Sequence[Texts], *, seed: int = 36, title: str = "the guard against collapsed replies", least: int = 0
) -> dict[str, list[Row]]:
    source = random.Random(seed)
    rejected: list[tuple[str, str]] = []
    good = 0
    tried, found = dict.fromkeys(BAD, 0), dict.fromkeys(BAD, 0)
    for texts in speakers:
        kept = [text for text in texts if text.strip()]
        for at, text in enumerate(kept):
            earlier = kept[max(0, at - 5) : at]
            good += 1
            fault = find_fault(text, earlier, source)
            if fault is not None:
                rejected.append((fault, text))
            elif at % BAD_EVERY == 0 and len(text.split()) >= LEAST_BAD_WORDS:
                for name, (spoil, faults) in BAD.items():
                    tried[name] += 1
                    found[name] += find_fault(spoil(text, source), [*earlier, text], source) in faults
    for fault, text in rejected[:40]:
        print(f"rejected, {fault}: {text[:160]!r}", file=sys.stderr)
    share = len(rejected) / max(1, good)
    rows = [
        Row(name="good texts", value=f"{good:,}", bar=f"≥ {least:,}", ok=good >= least)
        if least
        else Row(name="good texts", value=f"{good:,}"),
        Row(
            name="good ones rejected or changed",
            value=f"{len(rejected)} ({share:.2%})",
            bar="≤ 1 %",
            ok=share <= MOST_REJECTED,
        ),
        *(Row(name=f"bad ones found: {name}", value=f"{found[name]} of {tried[name]}") for name in BAD),
    ]
    return {title: rows}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reply_guard",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dialogues", type=Path, action="append", default=[], help="a file in LoCoMo's format")
    parser.add_argument("--cards", type=Path, action="append", default=[], help="a folder of character cards")
    options = parser.parse_args(arguments)
    speakers = list(read_talks(HERE))
    for path in options.dialogues:
        speakers += read_dialogues(path)
    for folder in options.cards:
        speakers += read_cards(folder)
    languages = read_languages(HERE)
    found = {
        **measure(speakers, least=LEAST_GOOD),
        **measure(list(languages.values()), title=f"in {len(languages)} other languages"),
    }
    print(table(found))
    return 1 if any(row.ok is False for rows in found.values() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
