"""Extractive notes: memory for models too small to write it, and the floor under what the others write.

Nothing is invented. A session file says where and who, and quotes what was said that lasts; a people
file quotes the facts the person told about themselves and their people, with the date. `weighing` says what lasts.
Later passes add to the same lists; of a full list the lines that weigh least make room, the older first: `archiving`
moves them.

Attribution: which turns stand behind a sentence of memory, and whose word it is.

Support is lexical: a turn supports a part when it shares enough of its telling words. What stands in a
person's file and rests on the words of others alone is marked as their word.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.people import ALIASES_HEADING, STOP_WORDS
from familiar_connect.memory.versioning.provenance import part_hash, parts_of
from familiar_connect.memory.weighing.answers import is_slip, replaces, takes_back
from familiar_connect.memory.weighing.statements import StatementReader, split_statement, weigh_line
from familiar_connect.memory.writing.batch import Batch, BatchParticipant
from familiar_connect.memory.writing.markdown_sections import bullet_of, bullets_under, with_bullets
from familiar_connect.support.system_notes import without_fake_notes
from familiar_connect.support.text import one_line, sentences, truncate_chars

SAID_HEADING = "What was said"
PRESENT_HEADING = "Who was there"
ABOUT_HEADING = "What they said about themselves"
SAID_LINES = 40
"""Quotes that the list of a session may have."""
ABOUT_LINES = 200
"""Quotes that the list of a person may have: years of facts, where small talk is not kept."""
MAX_LINES_PER_PASS = 14
MAX_LINE_CHARS = 240


@dataclass(frozen=True, kw_only=True)
class ExtractedFile:
    """The text of one file and the turns behind each new part of it."""

    rel_path: str
    text: str
    sources: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class _Quote:
    turn: HistoryTurn
    person: BatchParticipant
    sentence: str
    weight: int


@dataclass(frozen=True, kw_only=True)
class SelfStatement:
    """A fact that somebody told about themselves, in their words."""

    turn_id: int
    sentence: str


def statements_of(batch: Batch, person: BatchParticipant, standing: str = "") -> list[SelfStatement]:
    """What *person*, whose file says *standing*, told about themselves and their people in *batch*, each thing once."""
    found: dict[str, SelfStatement] = {}
    others = [name for other in batch.roster if other is not person for name in other.names]
    reader = StatementReader(others=others, is_alone=len(batch.roster) == 1)
    reader.note_standing(standing)
    said: list[tuple[int, str]] = []
    for turn in batch.turns:
        if batch.participant(turn) is person:
            words = without_fake_notes(turn.actual_words)
            if said and is_slip(words):
                found = {key: each for key, each in found.items() if each.turn_id != said[-1][0]}
            said.append((turn.id, words))
            for statement in reader.read(words):
                for part in split_statement(statement.sentence):
                    quote = quotable(part)
                    found.setdefault(quote.casefold().rstrip(".!"), SelfStatement(turn_id=turn.id, sentence=quote))
    return _standing_statements(list(found.values()), said)


def _standing_statements(told: Sequence[SelfStatement], said: Sequence[tuple[int, str]]) -> list[SelfStatement]:
    """*told* without what is taken back further on, be it in a message of which nothing else is kept."""
    kept = {each.turn_id for each in told}
    return [
        each
        for at, each in enumerate(told)
        if not any(replaces(later.sentence, each.sentence) for later in told[at + 1 :])
        and not any(
            turn not in kept and turn > each.turn_id and takes_back(words, each.sentence) for turn, words in said
        )
    ]


def with_statements(
    text: str, batch: Batch, person: BatchParticipant, told: Iterable[SelfStatement]
) -> tuple[str, dict[str, tuple[int, ...]]]:
    """A person's file with quotes of what they *told* in its list, and the turn behind each."""
    day = batch.slot.day.isoformat()
    lines = {f"{day}, {person.label} said: {each.sentence}": (each.turn_id,) for each in told}
    return (_with_quotes(text, ABOUT_HEADING, lines, ABOUT_LINES) if lines else text), _sources(lines)


def extract_files(batch: Batch, current: Callable[[str], str | None]) -> list[ExtractedFile]:
    """Session and people files for *batch*; *current* gives the text a file has now, None when there is none."""
    quotes = list(_quotes(batch))
    found = [_session(batch, quotes, current(batch.slot.rel_path))]
    for person in batch.roster:
        if person.may_note:
            found.append(_person(batch, person, current(person.rel_path)))
    return found


def _session(batch: Batch, quotes: Sequence[_Quote], before: str | None) -> ExtractedFile:
    best = sorted(sorted(quotes, key=lambda quote: -quote.weight)[:MAX_LINES_PER_PASS], key=lambda q: q.turn.id)
    lines = {f"{quote.person.label} said: {quote.sentence}": (quote.turn.id,) for quote in best}
    text = before if before and before.strip() else f"# {batch.slot.title}\n"
    if batch.contexts:
        text = with_bullets(text, "Context", batch.contexts)
    if batch.roster:
        text = with_bullets(text, PRESENT_HEADING, [person.label for person in batch.roster])
    text = _with_quotes(text, SAID_HEADING, lines, SAID_LINES)
    return ExtractedFile(rel_path=batch.slot.rel_path, text=text, sources=_sources(lines))


def _person(batch: Batch, person: BatchParticipant, before: str | None) -> ExtractedFile:
    text = before if before and before.strip() else f"# {person.label}\n"
    text, sources = with_statements(text, batch, person, statements_of(batch, person, text))
    return ExtractedFile(rel_path=person.rel_path, text=text, sources=sources)


def _with_quotes(text: str, heading: str, lines: Iterable[str], most: int) -> str:
    """*text* with those of *lines* in its list that weigh enough for a place there, of equals the newest."""
    present = bullets_under(text, heading)
    said = {_fact_key(line) for line in text.splitlines() if bullet_of(line)}
    every = [*present, *(line for line in lines if _fact_key(line) not in said)]
    if len(every) <= most:
        return with_bullets(text, heading, every[len(present) :])
    ranked = sorted(range(len(every)), key=lambda at: (-weigh_quote(every[at]), -at))[:most]
    return with_bullets(text, heading, [every[at] for at in sorted(ranked) if at >= len(present)])


def weigh_quote(line: str) -> int:
    """What a line of a list of quotes weighs."""
    return weigh_line(words_of_quote(line))


def _fact_key(line: str) -> str:
    """What two quotes of one fact have in common, whenever it was said and wherever in a file it stands."""
    return one_line(words_of_quote(bullet_of(line) or line)).casefold().rstrip(".!")


def words_of_quote(line: str) -> str:
    """A quote without who said it when."""
    return line.partition(" said: ")[2] or line


def _sources(lines: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {part_hash(line): turns for line, turns in lines.items()}


def _quotes(batch: Batch) -> Iterable[_Quote]:
    seen: set[tuple[str, str]] = set()
    readers = {person.slug: StatementReader(is_about_anyone=True) for person in batch.roster}
    for turn in batch.turns:
        person = batch.participant(turn)
        if person is None:
            continue
        for statement in readers[person.slug].read(without_fake_notes(turn.actual_words)):
            quote = quotable(statement.sentence)
            if (person.slug, quote.casefold()) not in seen:
                seen.add((person.slug, quote.casefold()))
                yield _Quote(turn, person, quote, statement.weight)


def quotable(sentence: str) -> str:
    """A sentence as it may stand in a bullet: one line, nothing that steers a reader's terminal, no live links."""
    clean = "".join(character for character in one_line(sentence) if character.isprintable())
    clean = clean.replace("](", "] (").replace("<!--", "< !--")
    return truncate_chars(clean, MAX_LINE_CHARS)


MIN_SHARE = 0.34
"""Part of the telling words, weighed by rarity, that a turn must share to stand behind a sentence."""
MAX_SOURCES = 8
MAX_SOURCES_PER_SENTENCE = 3
MAX_PART_CHARS = 2_000

_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_WIDE = re.compile(r"[぀-ヿ㐀-鿿가-힯]")
_ENDINGS = ("ing", "ies", "ed", "es", "s", "'s")
_ATTRIBUTED = re.compile(
    r"\b(?:says?|said|saying|according|claims?|claimed|tells?|told|thinks?|believes?|reports?|reported|mentions?|"
    r"mentioned|heard|apparently|allegedly|reportedly|supposedly|rumou?rs?|seems?|joked?|teased?|"
    r"sagt|sagte|laut|selon|dit|dice|según)\b|[\"“„«]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Said:
    turn_id: int
    words: frozenset[str]
    slug: str | None


class SourceFinder:
    """The turns of a batch, ready to be asked what stands behind a sentence."""

    def __init__(self, batch: Batch) -> None:
        self._labels = {person.slug: person.label for person in batch.roster}
        self._said = []
        for turn in batch.turns:
            person = batch.participant(turn)
            words = frozenset(_stems(set(_words(turn.actual_words)), STOP_WORDS))
            self._said.append(_Said(turn.id, words, person.slug if person else None))
        seen = Counter(word for said in self._said for word in said.words)
        self._rarity = {word: math.log(1 + len(self._said) / count) for word, count in seen.items()}

    def sources(self, text: str, *, ignoring: Collection[str] = ()) -> list[tuple[int, str | None]]:
        """Turns behind *text*, best first, each with the slug of its speaker (None: the familiar)."""
        words = set(telling_words(text[:MAX_PART_CHARS])) - set(ignoring)
        if not words or not self._said:
            return []
        rare = math.log(1 + len(self._said))
        whole = sum(self._rarity.get(word, rare) for word in words)
        scored = []
        for said in self._said:
            shared = words & said.words
            share = sum(self._rarity[word] for word in shared) / whole
            if share >= MIN_SHARE and (len(shared) >= 2 or len(words) <= 2):
                scored.append((-share, said.turn_id, said.slug))
        return [(turn_id, slug) for _, turn_id, slug in sorted(scored, key=lambda entry: entry[:2])[:MAX_SOURCES]]

    def turns_behind(self, text: str) -> tuple[int, ...]:
        """Turns that stand behind any sentence of *text*, ascending."""
        pieces = sentences(text[:MAX_PART_CHARS])
        behind = {turn_id for piece in pieces for turn_id, _ in self.sources(piece)[:MAX_SOURCES_PER_SENTENCE]}
        return tuple(sorted(behind))

    def with_attributions(
        self, text: str, known: Collection[str], person: BatchParticipant, *, standing: str = ""
    ) -> str:
        """*text* of *person*'s file with "(according to …)" behind new sentences that only others stand for.

        Parts that are *known*, and sentences of the text *standing* there, are left as they are.
        """
        own = {word for name in person.names for word in telling_words(name)}
        for part in reversed(parts_of(text)):
            if part.hash in known or part.heading == ALIASES_HEADING or "](" in part.text:
                continue
            marked = part.text
            for sentence in reversed(sentences(part.text)):
                witness = self._only_source(sentence, person, own)
                at = marked.rfind(sentence)
                if witness is not None and at >= 0 and sentence not in standing:
                    marked = marked[:at] + _mark(sentence, witness) + marked[at + len(sentence) :]
            text = text[: part.start] + marked + text[part.end :]
        return text

    def _only_source(self, sentence: str, person: BatchParticipant, own: set[str]) -> str | None:
        """Whose word *sentence* is, when it is neither the person's own nor the familiar's and nothing says so."""
        if _ATTRIBUTED.search(sentence):
            return None
        sources = self.sources(sentence, ignoring=own)
        speakers = [slug for _, slug in sources]
        if not sources or None in speakers or person.slug in speakers:
            return None
        return self._labels.get(speakers[0] or "")


def telling_words(text: str, *, without: Collection[str] = STOP_WORDS) -> list[str]:
    """The words that carry meaning, without their endings; scripts without spaces in pairs of characters."""
    return _stems(_words(text), without)


def _words(text: str) -> list[str]:
    found: list[str] = _WORD.findall(text.casefold())
    return found


def _stems(words: Iterable[str], without: Collection[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        if _WIDE.search(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        elif word not in without and (len(word) > 2 or word.isdigit()):
            found.append(stem_of(word))
    return found


def stem_of(word: str) -> str:
    """*word* without the ending that its forms differ in."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def _mark(text: str, witness: str) -> str:
    ending = text[-1] if text[-1:] in (".", "!") else ""
    return f"{text.removesuffix(ending) if ending else text} (according to {witness}){ending}"
