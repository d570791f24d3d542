"""Grounding: whether what a model wrote was said at all. A sentence that no turn supports is not written.

Support is lexical: most of the words that carry meaning stand in what was said, every number and every name does, and
what was denied is not turned into its opposite. A person's file rests on what people said, never on the familiar's own
turns or its card; what somebody else said of themselves supports nothing there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from familiar_connect.memory.people import ALIASES_HEADING
from familiar_connect.memory.writing.batch import Batch, BatchParticipant
from familiar_connect.memory.writing.extractive import SelfStatement, stem_of, telling_words
from familiar_connect.memory.writing.line_units import LineUnit, split_units, unit_key
from familiar_connect.memory.writing.markdown_sections import bullet_of
from familiar_connect.support.text import sentence_spans, sentences

MAX_EVIDENCE = 2_000
"""Pieces of a batch that are looked at."""
PERSON_SHARE = 0.5
"""Part of a sentence's words that must have been said, in the file of a person."""
SHARE = 0.34
"""The same in a session or topic file, which may sum up."""
SHORT_WORDS = 2
"""Words up to which a sentence of such a file says too little to be wrong, but for names and numbers."""
TURN_SHARE = 0.6
"""Part of all its words, but for names, that one turn must hold, in the file of a person."""
MAX_PIECES = 3
"""Pieces that may stand together behind one sentence."""
CARD_SHARE = 0.6
COVERED_SHARE = 0.75
"""Part of what somebody told that a line must say to stand for it."""

_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
_NUMBERS = {stem_of(word): str(number) for number, word in enumerate(_NUMBER_WORDS)}
_DENIAL = re.compile(
    r"\b(?:not|no|never|none|nobody|cannot|without|hates?|hated|hating|dislikes?|disliked|\w+n't|longer|avoids?)\b",
    re.IGNORECASE,
)
_ONESELF = re.compile(r"\b(?:i|i'm|im|i've|i'd|i'll|my|mine|we|our|we're|we've)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:()]|\b(?:and|but|so|because)\b", re.IGNORECASE)
_CAPITALISED = re.compile(r"(?<![.!?:]\s)(?<!^)(?<=[\s(\"'-])[A-Z][\w'-]+")
_NUMERAL = re.compile(r"\d+")
_LABEL = re.compile(r"[\s\-*+]{0,8}(?:\[\d{1,9}\]\s{0,4})?(?P<name>[^\n:]{1,80}?)\s{0,4}:(?:\*\*)?\s")
_LIGHT = frozenset(
    stem_of(word)
    for word in """
    work works live lives living reside resides enjoy enjoys prefer prefers own owns name named called calls
    call years year old person user people fact facts told tell tells said says say saying mention mentions
    mentioned share shares shared talk talks talked discuss discussed discusses ask asks asked express expressed
    interest interested interests currently recently plan plans planning want wants like likes love loves states
    stated stating according conversation chat session summary introduced introduce introduces himself herself
    themselves themself speak speaks spoke information details including include includes also date today day
    time thing things new note notes known know knows lot very really
    """.split()  # noqa: SIM905
)
_FUNCTION_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being but by can can't could did
    didn't do does doesn't doing don't for from had has have haven't having he he's her here hers him his how i
    i'd i'll i'm i've if in into is isn't it it's its just me mine more my no not of off on one's or our ours
    out over really she she's so some such than that that's the their theirs them then there these they they're
    this those to too up us very was wasn't we we're we've were what when where which while who will with won't
    would you you're your yours isn aren't never btw tbh lol haha actually anyway well yeah
    """.split()  # noqa: SIM905
)
_DAYS_AND_MONTHS = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december i
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class _Evidence:
    turn_id: int
    text: str
    words: frozenset[str]
    slug: str | None
    """Whose words; None: the familiar's."""
    denies: bool
    is_of_oneself: bool


class GroundingCheck:
    """What was said in a batch, ready to be asked whether it supports a sentence."""

    def __init__(self, batch: Batch, *, name: str = "", card: str = "") -> None:
        self._evidence = _evidence_of(batch)
        said = [each.text for each in self._evidence]
        names = [name, batch.slot.title, *(each for person in batch.roster for each in (person.label, *person.names))]
        self._named = {word for text in names for word in _words(text)}
        self._said = {word for text in (*said, *names, *batch.contexts) for word in _words(text)}
        self._numbers = {number for text in (*said, *names, *batch.contexts) for number in _numerals(text)}
        self._numbers |= {str(turn.id) for turn in batch.turns}
        self._people = {person.slug: _own_words(person) for person in batch.roster}
        self._card = [frozenset(_words(sentence)) for sentence in sentences(card)]
        self._speakers = {each.casefold() for each in names}
        self._turns = [_plain(turn.actual_words) for turn in batch.turns]

    def supports(self, sentence: str, person: BatchParticipant | None = None) -> bool:
        """Whether *sentence*, in the file of *person* or in one of no person's, was said."""
        if not self._has_said_names(sentence) or not set(_numerals(sentence)) <= self._numbers:
            return False
        words = set(_words(sentence))
        content = words - self._named - _LIGHT
        content = content or (words - self._named) or words
        if not content or (person is None and len(content) <= SHORT_WORDS):
            return True
        fitting = [each for each in self._evidence if self._may_support(each, sentence, words, person)]
        share = self._share(content, sentence, fitting)
        if share < (SHARE if person is None else PERSON_SHARE):
            return False
        if person is None:
            return True
        return self._share_of_turn(words, fitting) >= TURN_SHARE and not self._is_of_card(content, share)

    def is_transcript_line(self, line: str, person: BatchParticipant) -> bool:
        """Whether *line* opens with a speaker: another than *person*, or before words that were said just so."""
        found = _LABEL.match(line)
        speaker = found["name"].strip("* ").casefold() if found else ""
        if found is None or speaker not in self._speakers:
            return False
        if speaker not in {name.casefold() for name in (person.label, *person.names)}:
            return True
        said = _plain(line[found.end() :])
        return bool(said) and any(said in turn for turn in self._turns)

    def _share_of_turn(self, words: Collection[str], fitting: Sequence[_Evidence]) -> float:
        """How much of *words*, names aside, the best single turn holds."""
        wanted = set(words) - self._named or set(words)
        said: dict[int, set[str]] = {}
        for each in fitting:
            said.setdefault(each.turn_id, set()).update(each.words)
        return max((len(wanted & turn) / len(wanted) for turn in said.values()), default=0.0)

    def _has_said_names(self, sentence: str) -> bool:
        """Whether every name in *sentence* stands in what was said."""
        found = (word.casefold().removesuffix("'s") for word in _CAPITALISED.findall(sentence))
        return all(word in _DAYS_AND_MONTHS or set(_words(word)) <= self._said for word in found)

    def _may_support(
        self, evidence: _Evidence, sentence: str, words: Collection[str], person: BatchParticipant | None
    ) -> bool:
        if person is None:
            return True
        if evidence.slug is None:
            return False
        if evidence.slug == person.slug or not evidence.is_of_oneself:
            return True
        return bool(self._people[evidence.slug] & set(words)) or bool(self._people[person.slug] & evidence.words)

    def _share(self, content: Collection[str], sentence: str, fitting: Sequence[_Evidence]) -> float:
        """How much of *content* the best piece holds, or the best few together, if none says the opposite."""
        wanted = set(content)
        denies = bool(_DENIAL.search(sentence))
        ranked = sorted(fitting, key=lambda each: (-len(wanted & each.words), each.denies is not denies))
        if not ranked or not wanted & ranked[0].words:
            return 0.0
        best = len(wanted & ranked[0].words)
        alike = [each for each in ranked if len(wanted & each.words) == best]
        if not any(each.denies is denies for each in alike):
            return 0.0
        found: set[str] = set()
        for _ in range(MAX_PIECES):
            found |= max((wanted & each.words for each in ranked), key=lambda shared: len(shared - found))
        return len(found) / len(wanted)

    def _is_of_card(self, content: Collection[str], share: float) -> bool:
        """Whether *content* fits the character's own text better than anything that was said."""
        wanted = set(content)
        of_card = max((len(wanted & words) / len(wanted) for words in self._card), default=0.0)
        return of_card >= CARD_SHARE and of_card > share


@dataclass(frozen=True, kw_only=True)
class GroundedText:
    """What of a file's text was said, and the sentences that were not."""

    text: str
    refused: tuple[str, ...] = ()
    is_empty: bool = False
    """Whether nothing new is left of it."""


def keep_supported(
    text: str,
    check: GroundingCheck,
    *,
    person: BatchParticipant | None,
    standing: str = "",
    managed: Collection[str] = (),
) -> GroundedText:
    """*text* without the sentences that nothing supports; lines that are *standing* in the file stay."""
    known = {unit_key(line) for line in standing.splitlines()}
    code_kept = {unit_key(name) for name in managed}
    kept: list[LineUnit | str] = []
    refused: list[str] = []
    told = 0
    for unit in split_units(text):
        if unit.kind in ("heading", "front"):
            kept.append(unit)
        elif unit.key in known or unit.section in code_kept:
            if unit.section != unit_key(ALIASES_HEADING) or unit.key in known or check.supports(unit.text, person):
                kept.append(unit.text)
        else:
            left, gone = _keep_supported_part(unit.text, check, person, standing)
            refused += gone
            if left:
                told += 1
                kept.append(left)
    if not refused:
        return GroundedText(text=text)
    return GroundedText(text=_join(kept), refused=tuple(refused), is_empty=told == 0)


def only_unwritten(text: str, told: Iterable[SelfStatement], person: BatchParticipant) -> list[SelfStatement]:
    """Those things a person *told* that no line of their file says yet."""
    lines = [(frozenset(_words(part)), bool(_DENIAL.search(part))) for part in text.splitlines()]
    own = _own_words(person)

    def is_written(each: SelfStatement) -> bool:
        words = set(_words(each.sentence)) - own or set(_words(each.sentence))
        denies = bool(_DENIAL.search(each.sentence.replace("’", "'")))
        needed = len(words) if len(words) <= 3 else math.ceil(len(words) * COVERED_SHARE)
        return any(len(words & said) >= needed and denied is denies for said, denied in lines)

    return [each for each in told if not is_written(each)]


def _keep_supported_part(
    text: str, check: GroundingCheck, person: BatchParticipant | None, standing: str
) -> tuple[str, list[str]]:
    """Those sentences of a line or bullet that were said or are *standing* in the file, and the others."""
    marker = text[: len(text) - len(text.lstrip(" \t-*+"))] if bullet_of(text.partition("\n")[0]) is not None else ""
    if person is not None and check.is_transcript_line(text, person):
        return "", [text]
    body = text[len(marker) :]
    pieces = [body[start:end].strip() for start, end in sentence_spans(body)]
    gone = [piece for piece in pieces if piece not in standing and not check.supports(piece.strip("*_ "), person)]
    if not gone:
        return text, []
    left = " ".join(piece for piece in pieces if piece not in gone)
    return (marker + left if left else ""), gone


def _join(kept: Iterable[LineUnit | str]) -> str:
    """Units as a text again; a heading that nothing follows goes, but not the title."""
    lines: list[str] = []
    waiting: list[LineUnit] = []
    for unit in kept:
        if isinstance(unit, LineUnit):
            if unit.kind == "front" or unit.level <= 1:
                lines += [unit.text, ""]
                continue
            waiting = [each for each in waiting if each.level < unit.level]
            waiting.append(unit)
            continue
        for heading in waiting:
            lines += ["", heading.text]
        waiting = []
        if bullet_of(unit.partition("\n")[0]) is None:
            lines.append("")
        lines.append(unit)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _evidence_of(batch: Batch) -> list[_Evidence]:
    found: list[_Evidence] = []
    for turn in batch.turns:
        person = batch.participant(turn)
        for start, end in sentence_spans(turn.actual_words)[:40]:
            sentence = turn.actual_words[start:end].strip()
            clauses = [clause.strip() for clause in _CLAUSE.split(sentence)[:12]]
            for piece in dict.fromkeys([sentence, *clauses]):
                words = frozenset(_words(piece))
                if words and len(found) < MAX_EVIDENCE:
                    found.append(
                        _Evidence(
                            turn_id=turn.id,
                            text=piece,
                            words=words,
                            slug=person.slug if person is not None else None,
                            denies=bool(_DENIAL.search(piece.replace("’", "'"))),
                            is_of_oneself=bool(_ONESELF.search(piece.replace("’", "'"))),
                        )
                    )
    return found


def _own_words(person: BatchParticipant) -> set[str]:
    return {word for name in (person.label, *person.names) for word in _words(name)}


def _words(text: str) -> list[str]:
    """The words of *text* that carry meaning, by their stems; numbers as digits."""
    plain = text.replace("’", "'")
    return [_NUMBERS.get(word, word) for word in telling_words(plain, without=_FUNCTION_WORDS)]


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


def _numerals(text: str) -> list[str]:
    return [number.lstrip("0") or "0" for number in _NUMERAL.findall(text)]
