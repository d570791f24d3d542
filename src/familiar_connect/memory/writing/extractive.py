"""Extractive notes: memory for models too small to write it, and the floor under what the others write.

Nothing is invented. A session file says where and who, and quotes what was said that lasts; a people
file quotes the facts the person told about themselves and their people, with the date. `weighing` says what lasts.
Later passes add to the same lists; of a full list the lines that weigh least make room, the older first: `archiving`
moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.versioning.provenance import part_hash
from familiar_connect.memory.weighing.answers import is_slip, replaces, takes_back
from familiar_connect.memory.weighing.statements import StatementReader, weigh_line
from familiar_connect.memory.writing.batch import Batch, BatchParticipant
from familiar_connect.memory.writing.markdown_sections import bullet_of, bullets_under, with_bullets
from familiar_connect.support.system_notes import without_fake_notes
from familiar_connect.support.text import one_line, truncate_chars

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
                quote = quotable(statement.sentence)
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
