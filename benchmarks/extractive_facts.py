"""How well quotes tell facts about the speaker from everything else people type.

The sentences of `tests/fixtures/self_statements.jsonl` carry labels that were written before the rules. A fact is what
a speaker says in earnest about themselves, their family, pets and things, and what a friend would still want to know
next week. Requests, questions, commands, passing remarks, talk about others, hypotheticals, jokes, quotes, code, lyrics
and played actions are none. The rules were tuned on one half only; which half a sentence belongs to follows from its
checksum. Run `python -m benchmarks.extractive_facts [--mistakes]`; `--mistakes` shows those of the tuned half.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.memory.weighing.statements import find_self_statements

SENTENCES = Path(__file__).parent.parent / "tests" / "fixtures" / "self_statements.jsonl"
BAR = 0.9


@dataclass(frozen=True, kw_only=True)
class LabelledSentence:
    """One message as somebody typed it, and whether it tells a fact about them."""

    text: str
    fact: bool
    subject: str
    """`speaker`, `family` or `pet`; empty for what is no fact."""
    kind: str

    @property
    def is_tuned(self) -> bool:
        return zlib.crc32(self.text.encode()) % 2 == 0


@dataclass(frozen=True, kw_only=True)
class FactScore:
    """How many facts were found, missed, and taken for one."""

    found: int
    missed: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def precision(self) -> float:
        return self.found / max(1, self.found + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.found / max(1, self.found + len(self.missed))


def read_sentences() -> list[LabelledSentence]:
    """Every labelled sentence, in order."""
    return [LabelledSentence(**json.loads(line)) for line in SENTENCES.read_text(encoding="utf-8").splitlines()]


def has_fact(text: str) -> bool:
    """Whether the extractor keeps anything of a message."""
    return bool(find_self_statements(text))


def score_sentences(labelled: Iterable[LabelledSentence], finds: Callable[[str], bool] = has_fact) -> FactScore:
    """What *finds* makes of the sentences."""
    found, missed, wrong = 0, [], []
    for sentence in labelled:
        says = finds(sentence.text)
        if sentence.fact and says:
            found += 1
        elif sentence.fact:
            missed.append(sentence.text)
        elif says:
            wrong.append(sentence.text)
    return FactScore(found=found, missed=tuple(missed), wrong=tuple(wrong))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mistakes", action="store_true", help="show the mistakes of the tuned half")
    mistakes = parser.parse_args().mistakes
    every = read_sentences()
    for name, tuned in (("tuned", True), ("untuned", False)):
        half = [sentence for sentence in every if sentence.is_tuned is tuned]
        score = score_sentences(half)
        print(f"{name:8} {len(half):4} sentences  precision {score.precision:.3f}  recall {score.recall:.3f}")
        if mistakes and tuned:
            print("\n".join(f"  missed: {text}" for text in score.missed))
            print("\n".join(f"  wrong:  {text}" for text in score.wrong))


if __name__ == "__main__":
    main()
