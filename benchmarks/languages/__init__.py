"""Chats in twelve languages: does memory find what was said whatever the language?

    python -m benchmarks.recall --languages [--half open|held] [--json]

A file is a chat of one language: `# Name: speakers`, then facts as `speaker: words => question => question`, the first
of a bystander and the second of whoever said it, then below `---` the chatter among which they are said, by the
speakers in turn. Every second fact is held back: rules may be tuned on the open ones alone, and nobody looks at single
questions of the others. Each language is asked in a home of its own, and all of them in one home together, as on a
server where everybody speaks their own.

The sets in `long/` tell other things, each its own, and are asked among `LONG_LINES` lines: those of the file, what was
said in the shorter set of that language, and then pairs of such lines in one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.dialogues import Dialogue, Question, Turn

FOLDER = Path(__file__).parent
HALVES = ("open", "held")
LINES_OF_A_DAY = 24
LONG_LINES = 480
STEPS = (7, 11)
"""How far apart the two lines of a pair are taken from one pair to the next."""
FIRST_DAY = datetime(2025, 3, 3, 18, 0, tzinfo=UTC)
CATEGORY = 4
"""One message answers."""


Said = tuple[str, str, tuple[str, list[str]] | None]
"""Who said it, the words, and the half and the questions of a fact."""


@dataclass(frozen=True)
class LanguageSet:
    """What was said in one language, and what is asked about it by half."""

    language: str
    lines: list[Said]


def read_sets() -> list[LanguageSet]:
    """All sets, in the order of their files."""
    return [read_set(path) for path in sorted(FOLDER.glob("*.txt"))]


def read_long_sets() -> list[LanguageSet]:
    """The sets of `long/`, each among so much talk that little of it fits into a prompt."""
    return [read_set(path, least=LONG_LINES) for path in sorted((FOLDER / "long").glob("*.txt"))]


def read_set(path: Path, *, least: int = 0) -> LanguageSet:
    """One file, its facts at equal distances among the chatter, which is made *least* lines long."""
    head, *rest = path.read_text(encoding="utf-8").splitlines()
    language, speakers = head.removeprefix("# ").split(": ", 1)
    names = speakers.split(", ")
    cut = rest.index("---")
    facts: list[Said] = []
    for number, line in enumerate(rest[:cut]):
        said, *questions = line.split(" => ")
        who, words = said.split(": ", 1)
        facts.append((who, words, (HALVES[number % 2], questions)))
    lines: list[Said] = []
    chatter = _lengthen(rest[cut + 1 :], FOLDER / path.name, least) if least else rest[cut + 1 :]
    for number, words in enumerate(chatter):
        while facts and number * len(rest[:cut]) >= (len(rest[:cut]) - len(facts) + 0.5) * len(chatter):
            lines.append(facts.pop(0))
        lines.append((names[number % len(names)], words, None))
    return LanguageSet(language, lines + facts)


def _lengthen(chatter: list[str], shorter: Path, least: int) -> list[str]:
    """*chatter*, what the *shorter* set says, if there is one, and pairs of lines until there are *least* of them."""
    lines = list(chatter)
    if shorter.is_file():
        lines += [words for _, words, _ in read_set(shorter).lines]
    count = len(lines)
    for number in range(least - count):
        first, second = (lines[number * step % count] for step in STEPS)
        lines.append(f"{first}, {second}")
    return lines


def as_dialogue(sets: list[LanguageSet], half: str, *, asked: str | None = None) -> Dialogue:
    """*sets* as one chat, a day of each in turn; the questions of one *half*, of the language *asked* alone."""
    turns: list[Turn] = []
    questions: list[Question] = []
    days = max((len(each.lines) + LINES_OF_A_DAY - 1) // LINES_OF_A_DAY for each in sets)
    session = 0
    for day in range(days):
        for each in sets:
            said = each.lines[day * LINES_OF_A_DAY : (day + 1) * LINES_OF_A_DAY]
            start = FIRST_DAY + timedelta(hours=6 * session)
            session += bool(said)
            for place, (who, words, fact) in enumerate(said):
                if fact is not None and fact[0] == half and asked in (None, each.language):
                    questions += [Question(text, (len(turns),), CATEGORY) for text in fact[1]]
                turns.append(Turn((session, place + 1), who, words, start + timedelta(minutes=place)))
    return Dialogue(asked or "everyone", turns, questions)
