"""Extractive summaries: what was told and decided, in people's own words.

For models too small to summarise. Nothing is invented: every line is a sentence someone said, with
the speaker's name. The most telling lines stay when there are too many. What people state about themselves is
left out: it stands in their people files, and a prompt that holds both would tell it twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.writing.self_statements import find_self_statements
from familiar_connect.support.text import one_line, sentences, truncate_chars

MAX_LINES = 12
MAX_LINE_CHARS = 160
MAX_SENTENCES_PER_TURN = 40
LEAST_WEIGHT = 2
"""A sentence that only mentions its speaker weighs one."""

_ABOUT_ONESELF = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|my|mine|me|we|our|us)\b", re.IGNORECASE)
_WEIGHTY = re.compile(
    r"\b(?:name|call(?:ed)?|love|like|hate|prefer|favou?rite|live|from|work|job|study|birthday|born|married|"
    r"family|mother|father|sister|brother|wife|husband|partner|dog|cat|allergic|remember|promise|decided?|"
    r"plan(?:ned|s)?|tomorrow|next|moving|bought|started|finished|won|lost|sick|died|never|always)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d")
_FILLER = re.compile(
    r"^(?:hi|hey|hello|ok|okay|yes|no|thanks|thank you|lol|haha|bye|good (?:morning|night))\b[^a-z]*$", re.I
)


def extract_summary(previous: str, turns: Sequence[HistoryTurn], *, max_lines: int = MAX_LINES) -> str:
    """The lines of *previous* and the most telling sentences of *turns*, oldest first, at most *max_lines*."""
    lines = [(_weight(line), line) for line in previous.splitlines() if line.strip()]
    known = {line for _, line in lines}
    for turn in turns:
        if turn.role != "user" or turn.author is None:
            continue
        spoken = turn.display_text[: MAX_LINE_CHARS * MAX_SENTENCES_PER_TURN]
        noted = find_self_statements(spoken)
        for sentence in sentences(spoken)[:MAX_SENTENCES_PER_TURN]:
            if any(statement in sentence for statement in noted):
                continue
            line = f"{turn.author.label} said: {truncate_chars(one_line(sentence), MAX_LINE_CHARS)}"
            weight = _weight(sentence)
            if weight >= LEAST_WEIGHT and line not in known:
                known.add(line)
                lines.append((weight, line))
    best = sorted(range(len(lines)), key=lambda i: (-lines[i][0], -i))[:max_lines]
    return "\n".join(lines[i][1] for i in sorted(best))


def latest_words(turns: Sequence[HistoryTurn]) -> str:
    """One sentence on what was last said in another channel; empty when nobody said anything."""
    said = [turn for turn in turns if turn.role == "user" and turn.author is not None and turn.display_text.strip()]
    if not said or said[-1].author is None:
        return ""
    words = truncate_chars(one_line(said[-1].display_text), MAX_LINE_CHARS)
    return f"Meanwhile, in another channel, {said[-1].author.label} said: {words}"


def _weight(sentence: str) -> int:
    """How much a sentence tells about people; 0: nothing worth keeping."""
    words = sentence.split()
    if len(words) < 3 or sentence.rstrip().endswith("?") or _FILLER.match(sentence.strip()):
        return 0
    telling = len(_WEIGHTY.findall(sentence))
    return 2 * telling + bool(_ABOUT_ONESELF.search(sentence)) + bool(_NUMBER.search(sentence))
