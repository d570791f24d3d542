"""From an answer, or from the transcript itself, to a plan: the model proposes, code decides.

A file is rewritten only when the model saw all of it and nobody changed it since; any other edit is
added to what stands there. No line goes without a reason that is logged, and none of the owner's goes at
all: where the model says one is out of date, they are asked. Strong shrinkage is refused. Words of others
about a person are marked as theirs, names seen are listed, files of one pass link to each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import PurePosixPath

from familiar_connect.audience import AudienceKind
from familiar_connect.errors import MemoryStoreError
from familiar_connect.memory.file_audience import open_path, read_audience, with_audience, without_audience
from familiar_connect.memory.people import ALIASES_HEADING
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.blame import our_lines
from familiar_connect.memory.versioning.provenance import MarkdownPart, Provenance, parts_of
from familiar_connect.memory.writing.apply import text_hash, with_added_parts
from familiar_connect.memory.writing.archiving import LINKS_HEADING, MANAGED, SESSIONS_HEADING, fit_file
from familiar_connect.memory.writing.batch import Batch, BatchParticipant
from familiar_connect.memory.writing.corrections import correct_other_files, remove_replaced
from familiar_connect.memory.writing.edit_rules import (
    EditRefused,
    aliases_to_list,
    check_text,
    path_for_proposal,
    rename_title,
    settle_strays,
)
from familiar_connect.memory.writing.extractive import SourceFinder, extract_files, statements_of, with_statements
from familiar_connect.memory.writing.grounding import GroundingCheck, keep_supported, only_unwritten
from familiar_connect.memory.writing.markdown_sections import (
    bullets_under,
    has_section,
    link_target,
    link_text,
    with_bullets,
    without_sections,
)
from familiar_connect.memory.writing.plan import LineRemoval, PartSource, Plan, PlannedWrite, RefusedEdit, WriterRun
from familiar_connect.memory.writing.prompt import INSTRUCTIONS, PromptMaterial
from familiar_connect.memory.writing.reply_parser import (
    MAX_REPLY_CHARS,
    ProposedFile,
    WriterAnswer,
    parse_reply,
    split_outdated,
)
from familiar_connect.memory.writing.rewrite import (
    OurLines,
    RewriteResult,
    find_unexplained_losses,
    merge_rewrite,
    without_removals,
)
from familiar_connect.support.markdown import document_title

MAX_FILES = 12
MAX_PASS_BYTES = 262_144
SHRINK_FROM_CHARS = 400
SHRINK_TO = 0.5
MAX_REFUSED = 50
MAX_REFUSED_CHARS = 4_000
UNSAID = "no turn says so"
MAX_QUESTIONS = 10
"""Changes of the owner's lines that one pass may put before them."""

_MIN_TELLTALE_CHARS = 40


@dataclass(frozen=True, kw_only=True)
class _Draft:
    rel_path: str
    text: str
    before: str | None
    sources: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    removed: tuple[LineRemoval, ...] = ()
    contested: tuple[LineRemoval, ...] = ()


def interpret_reply(reply: str | None, name: str) -> WriterAnswer | str:
    """What a reply proposes, or in words why it is no answer."""
    if not reply or not reply.strip():
        return "the reply was empty"
    if len(reply) > MAX_REPLY_CHARS:
        return f"the reply was longer than {MAX_REPLY_CHARS} characters"
    answer = parse_reply(reply)
    if answer is None:
        return "the reply held no section that could be understood"
    telltales = [line for line in INSTRUCTIONS.replace("{name}", name).splitlines() if len(line) >= _MIN_TELLTALE_CHARS]
    if sum(line in reply for line in telltales) >= 3:
        return "the reply only repeated the instructions"
    session = "" if any(line in answer.session for line in telltales) else answer.session
    files = tuple(file for file in answer.files if not any(line in file.text for line in telltales))
    kept = replace(answer, session=session, files=files)
    return kept if kept.weight else "the reply only repeated the instructions"


def plan_from_answer(
    store: MemoryStore, batch: Batch, material: PromptMaterial, answer: WriterAnswer, run: WriterRun
) -> Plan:
    """What of *answer* is carried out, and what is refused."""
    support = SourceFinder(batch)
    check = GroundingCheck(batch, name=material.name, card=material.card)
    drafts: dict[str, _Draft] = {}
    refused: list[RefusedEdit] = []
    used = 0
    proposals = (
        [ProposedFile(category="sessions", name=batch.slot.title, text=answer.session)] if answer.session else []
    )
    for proposed in [*proposals, *answer.files]:
        try:
            draft, unsaid = _draft(store, batch, material, check, proposed, run)
            refused += unsaid
            used += len(draft.text.encode("utf-8"))
            if draft.rel_path in drafts:
                raise EditRefused("the answer names this file twice")
            if len(drafts) >= MAX_FILES or used > MAX_PASS_BYTES:
                raise EditRefused(f"one pass writes at most {MAX_FILES} files and {MAX_PASS_BYTES} bytes")
        except EditRefused as reason:
            refused.append(_refusal(proposed, str(reason)))
        else:
            drafts[draft.rel_path] = _with_claims(draft, batch, support)
    held_back = {edit.name.lower().removesuffix(".md") for edit in refused}
    for person in batch.roster:
        if person.may_note:
            _add_floor(store, batch, person, drafts, refused)
        if f"people/{person.slug}" not in held_back:
            _note_new_names(store, person, drafts)
    return _plan(store, batch, drafts, refused, support, run)


def plan_floor(store: MemoryStore, batch: Batch, run: WriterRun) -> Plan:
    """What people told about themselves, quoted in their files and nothing else: where a model had no usable answer."""
    drafts: dict[str, _Draft] = {}
    refused: list[RefusedEdit] = []
    for person in batch.roster:
        if person.may_note:
            _add_floor(store, batch, person, drafts, refused)
    return _plan(store, batch, drafts, refused, SourceFinder(batch), run)


def find_people_left_out(store: MemoryStore, batch: Batch, plan: Plan) -> list[BatchParticipant]:
    """Those who told something about themselves of which neither *plan* nor their file has anything."""
    written = {write.rel_path for write in plan.writes}
    return [
        person
        for person in batch.roster
        if person.may_note
        and person.rel_path not in written
        and (told := statements_of(batch, person, text := _text_of(store, person.rel_path)))
        and len(only_unwritten(text, told, person)) == len(told)
    ]


def _text_of(store: MemoryStore, rel_path: str) -> str:
    try:
        return store.read_if_present(rel_path) or ""
    except MemoryStoreError:
        return ""


def plan_from_transcript(store: MemoryStore, batch: Batch, run: WriterRun) -> Plan:
    """A plan made of quotes alone, for models too small to write."""
    befores: dict[str, str | None] = {}
    refused: list[RefusedEdit] = []
    drafts: dict[str, _Draft] = {}

    removals: dict[str, RewriteResult] = {}

    def current(rel_path: str) -> str | None:
        try:
            befores[rel_path] = before = store.read_if_present(rel_path)
        except MemoryStoreError as error:
            refused.append(RefusedEdit(name=rel_path, reason=f"the file that stands there cannot be read: {error}"))
            return None
        person = next((person for person in batch.roster if person.rel_path == rel_path), None)
        if person is None or not before:
            return before
        told = statements_of(batch, person, before)
        removals[rel_path] = remove_replaced(before, batch, person, told, _ours(store, rel_path, before))
        return removals[rel_path].text

    for found in extract_files(batch, current):
        if len(drafts) >= MAX_FILES:
            refused.append(RefusedEdit(name=found.rel_path, reason=f"one pass writes at most {MAX_FILES} files"))
        elif found.rel_path in befores:
            gone = removals.get(found.rel_path, RewriteResult(text=""))
            drafts[found.rel_path] = _Draft(
                rel_path=found.rel_path,
                text=found.text,
                before=befores[found.rel_path],
                sources=found.sources,
                removed=gone.removed,
                contested=gone.contested,
            )
    return _plan(store, batch, drafts, refused, SourceFinder(batch), run)


def _draft(
    store: MemoryStore,
    batch: Batch,
    material: PromptMaterial,
    check: GroundingCheck,
    proposed: ProposedFile,
    run: WriterRun,
) -> tuple[_Draft, list[RefusedEdit]]:
    """One proposal as the whole text its file shall have, and the sentences of it that nobody said."""
    is_session = proposed.category == "sessions"
    rel_path = batch.slot.rel_path if is_session else path_for_proposal(proposed.category, proposed.name, batch)
    check_text(proposed.text)
    try:
        before = store.read_if_present(rel_path)
    except MemoryStoreError as error:
        raise EditRefused(f"the file that stands there cannot be read: {error}") from None
    body, outdated = split_outdated(without_audience(proposed.text))
    body = settle_strays(body, before or "")
    person = next((person for person in batch.roster if person.rel_path == rel_path), None)
    grounded = keep_supported(body, check, person=person, standing=before or "", managed=MANAGED)
    unsaid = [RefusedEdit(name=rel_path, reason=UNSAID, text=line[:MAX_REFUSED_CHARS]) for line in grounded.refused]
    if grounded.is_empty and not outdated:
        raise EditRefused(UNSAID)
    body = grounded.text
    text = _add_title(body, rel_path, batch)
    if before is None or not before.strip():
        if not body.strip():
            raise EditRefused("it says only what is out of date in a file that is not there")
        return _Draft(rel_path=rel_path, text=text, before=before), unsaid
    shown = material.shown.get(rel_path)
    is_current = shown is not None and shown.hash == text_hash(before)
    whole = shown is not None and shown.whole and is_current and not proposed.adds and bool(body.strip())
    if whole:
        had, has = (len(without_sections(side, MANAGED).strip()) for side in (before, text))
        if had >= SHRINK_FROM_CHARS and has < had * SHRINK_TO:
            raise EditRefused(f"it would shrink the file from {had} to {has} characters")
    merged = merge_rewrite(
        before,
        text if whole else "",
        outdated=outdated if is_current else (),
        turns={turn.id for turn in batch.turns},
        ours=_ours(store, rel_path, before),
    )
    return _draft_merged(rel_path, before, merged, "" if whole or not body.strip() else text, run), unsaid


def _draft_merged(rel_path: str, before: str, merged: RewriteResult, added: str, run: WriterRun) -> _Draft:
    """What a merge gave, with the parts of *added* that are new under a heading of their own."""
    parts = [part for part in parts_of(added) if part.heading not in MANAGED]
    text = with_added_parts(merged.text, parts, f"Added {run.now.date().isoformat()}")
    return _Draft(rel_path=rel_path, text=text, before=before, removed=merged.removed, contested=merged.contested)


def _ours(store: MemoryStore, rel_path: str, before: str | None) -> OurLines:
    """Asks once, and only if somebody wants to know: every version of the file has to be read for it."""
    return cache(lambda: our_lines(store.audit, rel_path, before or ""))


def _add_title(text: str, rel_path: str, batch: Batch) -> str:
    if document_title(text) is not None:
        return text.strip() + "\n"
    stem = PurePosixPath(open_path(rel_path)).stem
    if rel_path == batch.slot.rel_path:
        title = batch.slot.title
    else:
        labels = {person.rel_path: person.label for person in batch.roster}
        title = labels.get(rel_path) or stem.replace("-", " ").capitalize()
    return f"# {title}\n\n{text.strip()}\n"


def _with_claims(draft: _Draft, batch: Batch, support: SourceFinder) -> _Draft:
    person = next((person for person in batch.roster if person.rel_path == draft.rel_path), None)
    if person is None:
        return draft
    known = {part.hash for part in parts_of(draft.before or "")}
    text = support.with_attributions(draft.text, known, person, standing=draft.before or "")
    return replace(draft, text=text)


def _add_floor(
    store: MemoryStore,
    batch: Batch,
    person: BatchParticipant,
    drafts: dict[str, _Draft],
    refused: list[RefusedEdit],
) -> None:
    """Quote in a person's file what they told about themselves and the model left out."""
    told = statements_of(batch, person, _text_of(store, person.rel_path))
    if not told:
        return
    draft = drafts.get(person.rel_path)
    if draft is None:
        try:
            before = store.read_if_present(person.rel_path)
        except MemoryStoreError as error:
            reason = f"the file that stands there cannot be read: {error}"
            refused.append(RefusedEdit(name=person.rel_path, reason=reason))
            return
        text = before if before and before.strip() else f"# {person.label}\n"
        gone = remove_replaced(text, batch, person, told, _ours(store, person.rel_path, before))
        draft = _Draft(
            rel_path=person.rel_path, text=gone.text, before=before, removed=gone.removed, contested=gone.contested
        )
    missing = only_unwritten(draft.text, told, person)
    text, sources = with_statements(draft.text, batch, person, missing)
    if text != draft.before:
        drafts[person.rel_path] = replace(draft, text=text, sources={**draft.sources, **sources})


def _note_new_names(store: MemoryStore, person: BatchParticipant, drafts: dict[str, _Draft]) -> None:
    """List a name not seen before in a people file that keeps such a list, though nothing else changes there."""
    if person.rel_path in drafts or not person.may_note or len(drafts) >= MAX_FILES:
        return
    before = _text_of(store, person.rel_path)
    if has_section(before, ALIASES_HEADING):
        text = with_bullets(before, ALIASES_HEADING, aliases_to_list(person))
        if text != before:
            drafts[person.rel_path] = _Draft(rel_path=person.rel_path, text=text, before=before)


def _plan(
    store: MemoryStore,
    batch: Batch,
    drafts: Mapping[str, _Draft],
    refused: list[RefusedEdit],
    support: SourceFinder,
    run: WriterRun,
) -> Plan:
    writes: list[PlannedWrite] = []
    questions: list[PlannedWrite] = []
    for draft in (_with_title(store, batch, draft) for draft in drafts.values()):
        text = _with_audience(_finish(store, batch, draft, drafts), draft, batch, support)
        try:
            planned = _fit_writes(store, draft, text, support, run)
        except EditRefused as reason:
            refused.append(RefusedEdit(name=draft.rel_path, reason=str(reason), text=text[:MAX_REFUSED_CHARS]))
            continue
        writes += planned
        questions += _questions(draft, planned[-1].content if planned else draft.before or "")
    for path, before, gone in islice(correct_other_files(store, batch), MAX_FILES):
        other = _Draft(rel_path=path, text=gone.text, before=before, contested=gone.contested)
        if gone.removed:
            writes.append(replace(_planned(other, gone.text, support, {}), removed=gone.removed))
        questions += _questions(other, gone.text)
    return Plan(
        run_id=run.run_id,
        familiar_id=run.familiar_id,
        turn_range=batch.turn_range,
        created_at=run.now.isoformat(),
        writes=tuple(writes),
        refused=tuple(refused[:MAX_REFUSED]),
        questions=tuple(questions[:MAX_QUESTIONS]),
        audience=str(batch.audience),
    )


def _with_title(store: MemoryStore, batch: Batch, draft: _Draft) -> _Draft:
    """A person's file under the name they go by now."""
    person = next((person for person in batch.roster if person.rel_path == draft.rel_path), None)
    if person is None or not draft.before:
        return draft
    ours = _ours(store, draft.rel_path, draft.before)
    text, removed = rename_title(draft.text, draft.before, person, ours)
    return replace(draft, text=text, removed=(*draft.removed, *removed))


def _with_audience(text: str, draft: _Draft, batch: Batch, support: SourceFinder) -> str:
    """*text* with its audience in its front matter: as it stood there, in a new file that of the batch.

    What is said to everyone says so only where no source of it is known, for then nothing else would tell.
    """
    if draft.before is not None and draft.before.strip():
        said_to = read_audience(draft.before)
        if said_to == read_audience(text):
            return text
        return without_audience(text) if said_to is None else with_audience(text, said_to)
    known = any(source.turns for source in _planned(draft, text, support, {}).parts)
    if batch.audience.kind is AudienceKind.EVERYONE and known:
        return without_audience(text)
    return with_audience(text, batch.audience)


def _fit_writes(
    store: MemoryStore, draft: _Draft, text: str, support: SourceFinder, run: WriterRun
) -> list[PlannedWrite]:
    """The file, and before it the archive that takes what there is no room for; none when nothing changes."""
    ours = _ours(store, draft.rel_path, draft.before)
    try:
        fitted = fit_file(store, draft.rel_path, draft.before, text, day=run.now.date().isoformat(), ours=ours)
    except MemoryStoreError as error:
        raise EditRefused(str(error)) from None
    size = len(fitted.text.encode("utf-8"))
    if size > store.limits.max_file_bytes:
        raise EditRefused(f"the file would be {size} bytes, more than the {store.limits.max_file_bytes} allowed")
    removed = (*draft.removed, *fitted.removed)
    if lost := find_unexplained_losses(draft.before or "", fitted.text, removed):
        raise EditRefused(f"{len(lost)} lines would be lost without a reason")
    if fitted.text == draft.before:
        return []
    known = _turns_by_line(store, draft)
    write = replace(_planned(draft, fitted.text, support, known), removed=removed)
    if fitted.archive is None:
        return [write]
    sources = [
        PartSource(part=part.hash, turns=_inherit_turns(part, known)) for part in parts_of(fitted.archive.content)
    ]
    return [replace(fitted.archive, parts=tuple(source for source in sources if source.turns)), write]


def _questions(draft: _Draft, text: str) -> list[PlannedWrite]:
    """For each line of the owner's that the model says is out of date, the file without it."""
    return [
        PlannedWrite(
            rel_path=draft.rel_path,
            content=without_removals(text, [removal]),
            before=text_hash(text),
            removed=(removal,),
        )
        for removal in draft.contested
    ]


def _turns_by_line(store: MemoryStore, draft: _Draft) -> dict[str, tuple[int, ...]]:
    """Each line of the file as it stands → the turns on record for the part it belongs to."""
    if store.audit is None or not draft.before:
        return {}
    sources = Provenance(store.audit.folder).sources_of(draft.rel_path)
    return {
        line.strip(): sources[part.hash]
        for part in parts_of(draft.before)
        if part.hash in sources
        for line in part.text.splitlines()
    }


def _inherit_turns(part: MarkdownPart, known: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The turns behind those lines of *part* that stood in the file before."""
    return tuple(sorted({turn for line in part.text.splitlines() for turn in known.get(line.strip(), ())}))


def _finish(store: MemoryStore, batch: Batch, draft: _Draft, drafts: Mapping[str, _Draft]) -> str:
    """The text of a draft with what code keeps: names, and links to what exists after the pass."""
    text, before = draft.text, draft.before or ""
    session = batch.slot.rel_path
    if draft.rel_path == session:
        links = [*bullets_under(before, LINKS_HEADING), *_session_links(store, batch, drafts)]
        return with_bullets(text, LINKS_HEADING, [link for link in links if link_target(link) not in text])
    person = next((person for person in batch.roster if person.rel_path == draft.rel_path), None)
    if person is not None:
        text = with_bullets(text, ALIASES_HEADING, [*bullets_under(before, ALIASES_HEADING), *aliases_to_list(person)])
    links = bullets_under(before, SESSIONS_HEADING)
    if session in drafts or store.exists(session):
        links.append(f"[{batch.slot.title}](../{session})")
    return with_bullets(text, SESSIONS_HEADING, [link for link in links if link_target(link) not in text])


def _session_links(store: MemoryStore, batch: Batch, drafts: Mapping[str, _Draft]) -> list[str]:
    people = [
        f"[{link_text(person.label)}](../{person.rel_path})"
        for person in batch.roster
        if person.rel_path in drafts or store.exists(person.rel_path)
    ]
    topics = [
        f"[{link_text(document_title(draft.text) or PurePosixPath(path).stem)}](../{path})"
        for path, draft in drafts.items()
        if path.startswith("topics/")
    ]
    return [*people, *topics]


def _planned(
    draft: _Draft, text: str, support: SourceFinder, turns_by_line: Mapping[str, tuple[int, ...]]
) -> PlannedWrite:
    known = {part.hash for part in parts_of(draft.before or "")}
    parts = {}
    for part in parts_of(text):
        if part.hash not in known and part.heading not in MANAGED:
            turns = draft.sources.get(part.hash) or support.turns_behind(part.text)
            turns = tuple(sorted({*turns, *_inherit_turns(part, turns_by_line)}))
            parts[part.hash] = PartSource(part=part.hash, turns=turns)
    return PlannedWrite(
        rel_path=draft.rel_path, content=text, before=text_hash(draft.before), parts=tuple(parts.values())
    )


def _refusal(proposed: ProposedFile, reason: str) -> RefusedEdit:
    name = f"{proposed.category}/{proposed.name}" if proposed.category else proposed.name
    return RefusedEdit(name=name[:200], reason=reason, text=proposed.text[:MAX_REFUSED_CHARS])
