"""Corrections: lines of a person's list that something they said later takes the place of.

Only quotes are compared with quotes, of one person. The line goes with the turn that replaces it as its reason, so the
versions show both; a line of the owner's stays, and they are asked. What was said to many also takes the place of what
stands in that person's files for fewer, where all of those could hear it. Never the other way round: a line that is
missing from a file for many would tell them that something was said to a few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.audit import AuditLog
from familiar_connect.memory.file_audience import is_within, read_audience
from familiar_connect.memory.note_paths import people_path
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.blame import our_lines
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.visible_memory import MarkedFiles
from familiar_connect.memory.weighing.answers import replaces, takes_back
from familiar_connect.memory.writing.batch import Batch, BatchParticipant
from familiar_connect.memory.writing.extractive import ABOUT_HEADING, SelfStatement, statements_of, words_of_quote
from familiar_connect.memory.writing.markdown_sections import bullets_under
from familiar_connect.memory.writing.reply_parser import OutdatedLine
from familiar_connect.memory.writing.rewrite import OurLines, RewriteResult, merge_rewrite
from familiar_connect.support.system_notes import without_fake_notes

MAX_OTHER_FILES = 20
"""Files of one person for other circles that one pass looks at."""


def remove_replaced(
    text: str,
    batch: Batch,
    person: BatchParticipant,
    told: Sequence[SelfStatement],
    ours: OurLines,
    said_in: Mapping[str, int] | None = None,
) -> RewriteResult:
    """*text*, a file of *person*, without the quotes that what they *told* in *batch* takes the place of.

    *said_in*, the turns that quotes were said in, keeps those that are newer, or of which none is known.
    """
    said = {turn.id: without_fake_notes(turn.actual_words) for turn in batch.turns if batch.participant(turn) is person}
    outdated = []
    for bullet in bullets_under(text, ABOUT_HEADING):
        turn = _find_replacing_turn(words_of_quote(bullet), told, said)
        if turn is not None and (said_in is None or said_in.get(part_hash(bullet), turn) < turn):
            outdated.append(OutdatedLine(text=bullet, turn=turn))
    if not outdated:
        return RewriteResult(text=text)
    return merge_rewrite(text, "", outdated=outdated, turns={turn.id for turn in batch.turns}, ours=ours)


def _find_replacing_turn(earlier: str, told: Sequence[SelfStatement], said: dict[int, str]) -> int | None:
    """The turn that takes the place of *earlier*: by a statement that is kept, by the rest of its message ("Not the
    mill. The barn!"), or by a message that only takes something back."""
    for statement in told:
        if replaces(statement.sentence, earlier) or replaces(said.get(statement.turn_id, ""), earlier):
            return statement.turn_id
    kept = {statement.turn_id for statement in told}
    return next((turn for turn, words in said.items() if turn not in kept and takes_back(words, earlier)), None)


def correct_other_files(store: MemoryStore, batch: Batch) -> Iterator[tuple[str, str, RewriteResult]]:
    """Other files about those who spoke, each as it is and without what *batch* takes the place of.

    Only those whose readers may all hear the batch too, and only lines that were said before it.
    """
    if store.audit is None:
        return
    marked = MarkedFiles(store)
    for person in batch.roster:
        beside = [path for path in marked.beside(people_path(person.slug)) if path != person.rel_path]
        for path in beside[:MAX_OTHER_FILES] if person.may_note else ():
            try:
                before = store.read_if_present(path) or ""
            except MemoryStoreError:  # what cannot be read is left as it is
                continue
            said_to = read_audience(before)
            if said_to is None or not is_within(said_to, batch.audience):
                continue
            ours = partial(our_lines, store.audit, path, before)
            told = statements_of(batch, person, before)
            gone = remove_replaced(before, batch, person, told, ours, _newest_turns(store.audit, path))
            if gone.removed or gone.contested:
                yield path, before, gone


def _newest_turns(audit: AuditLog, rel_path: str) -> dict[str, int]:
    """Each part of a file that has sources → the last turn it was made of."""
    sources = Provenance(audit.folder).sources_of(rel_path)
    return {part: max(turns) for part, turns in sources.items() if turns}
