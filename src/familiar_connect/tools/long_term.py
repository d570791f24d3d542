"""Long-term memory as tools: remember something, change it, forget it.

Only those who took part can be written about, and only if they allow everything; taking something back is always
allowed. Each change goes through the memory store, under one name in its audit, and is told to whoever wants to
know. Of two at once none is lost.

The tool `short_term_note`: a summary of the conversation, kept for some hours.

Targets: whom a tool may mean by a name. Only those who took part in what is being answered can be meant.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from familiar_connect.chat.scene import Member, Roster, RosterEntry, Scene, distinct_label
from familiar_connect.context.types import ContextRequest
from familiar_connect.errors import MemoryStoreError, MemoryStoreSizeLimitError
from familiar_connect.identity import Author, Privacy
from familiar_connect.memory.file_audience import with_audience
from familiar_connect.memory.note_paths import people_path
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.short_term import MAX_SUMMARY_CHARS, without_placeholders
from familiar_connect.memory.visible_memory import VisibleMemory, read_server_notes, server_path, server_target
from familiar_connect.support.aio import off_loop, run_to_end
from familiar_connect.support.system_notes import speaker_name, without_fake_notes
from familiar_connect.support.text import one_line, printable
from familiar_connect.tools.numbered_notes import NumberedNote, notes_of, with_edited_note, with_numbered_note
from familiar_connect.tools.types import (
    FORGET_MEMORY,
    REMEMBER,
    SHORT_TERM_NOTE,
    SOURCE,
    UPDATE_MEMORY,
    MemoryChange,
    Notify,
    Outcome,
    Refusal,
    Status,
    SummaryKeeper,
    Tool,
    id_argument,
    text_argument,
    tool_spec,
)

MOST_CANDIDATES = 8
WORDS_FOR_SELF = ("bot", "char", "{bot}", "{char}", "{{char}}", "yourself")
"""What a model may call the familiar besides its names."""


@dataclass(frozen=True, kw_only=True)
class TargetPerson:
    """Someone who took part."""

    author: Author
    is_real: bool = True
    """False: on the far side of a bridge, or a webhook; nothing is kept about them."""
    is_barred: bool = False
    """Kept from being personalised on this server."""


def resolve_target(people: Roster[TargetPerson], name: str) -> TargetPerson | None:
    """Who of *people* is called *name*; None for the familiar itself. `Refusal` where that is nobody, or not one."""
    if people.is_own_name(name):
        return None
    found = people.resolve(name)
    if len(found) == 1:
        return found[0].person
    if not found:
        here = [speaker_name(entry.label) for entry in people][:MOST_CANDIDATES]
        raise Refusal(Status.user_not_found, "no one in this conversation has that name", people=here)
    candidates = [_distinct(each) for each in found]
    raise Refusal(
        Status.ambiguous_user, "several people have that name; say which", people=candidates[:MOST_CANDIDATES]
    )


def _distinct(entry: RosterEntry[TargetPerson]) -> str:
    """A name with which nobody else is meant, as a conversation shows it where two go by the same."""
    name, own = speaker_name(entry.label), entry.person.author.username or "?"
    return name if name.endswith((f" ({own})", " (a user)")) else distinct_label(name, own)


def people_in_turn(request: ContextRequest) -> Roster[TargetPerson]:
    """Those who wrote what *request* answers or shows, and what the familiar itself is called."""
    scene = request.scene or Scene()
    members = {member.author.user_id: member for member in scene.members}
    found: dict[tuple[bool, str], RosterEntry[TargetPerson]] = {}
    turn = request.turn
    said = [each.author for each in request.turns_to_answer if each.author is not None]
    said += [each.author for each in turn.said] if turn is not None else []
    shown = {each.author_id: each.author_name for each in turn.messages if each.author_kind == "user"} if turn else {}
    for author in said:
        member = members.get(author.user_id)
        found.setdefault((True, author.user_id), _person(author, shown.get(author.user_id, author.label), member))
    platform = request.author.platform if request.author is not None else said[0].platform if said else ""
    known = {each.user_id: each for each in (*scene.participants, *(member.author for member in scene.members))}
    for message in turn.messages if turn is not None else ():
        if message.author_type == "persona" or message.author_kind in ("system", "persona") or not platform:
            continue
        real = message.author_kind == "user"
        member = members.get(message.author_id) if real else None
        met = known.get(message.author_id) if real else None
        met = met or Author(platform, message.author_id, None, message.author_name)
        found.setdefault((real, message.author_id), _person(met, message.author_name, member, is_real=real))
    own = [turn.persona if turn is not None else "", scene.own_name or "", request.familiar_id]
    own += [scene.me.display_name or "", scene.me.username or ""] if scene.me is not None else []
    return Roster(found.values(), own_names=(*own, *WORDS_FOR_SELF))


def _person(author: Author, shown: str, member: Member | None, *, is_real: bool = True) -> RosterEntry[TargetPerson]:
    names: list[str | None] = [author.display_name, author.username, *sorted(author.aliases)]
    barred = False
    if member is not None:
        barred = member.is_blacklisted or not member.is_personalised
        names += [member.server_nickname, member.global_name, None if barred else member.saved_nickname]
        is_real = is_real and not member.is_bridge_user
    person = TargetPerson(author=author, is_real=is_real, is_barred=barred)
    return RosterEntry(person, shown, tuple(name for name in names if name))


logger = logging.getLogger(__name__)

MAX_MEMORIES = 100
"""For each server or person, and persona."""
MAX_CHARS = 1_000
SCOPES = ("server_wide", "target_user")

_TEXT = {"type": "string", "maxLength": MAX_CHARS}
_TARGET = {"type": "string", "description": "Name of the person it is about, as seen in this conversation."}
_ID = {"type": "integer", "description": "Number of the memory, as in [id:7]."}


@dataclass(frozen=True)
class _Place:
    """A file of memories and whom it is about."""

    path: str
    title: str
    about: Author | None = None


class LongTermMemoryTools:
    """The three tools for one turn."""

    def __init__(
        self,
        memory: PartAudiences,
        request: ContextRequest,
        *,
        privacy: Privacy,
        lock: threading.Lock,
        notify: Notify | None = None,
    ) -> None:
        self._memory = memory
        self._store = memory.store
        self._request = request
        self._privacy = privacy
        self._lock = lock
        self._notify = notify
        self._people = people_in_turn(request)
        self._persona = request.turn.persona if request.turn is not None else ""

    def tools(self) -> tuple[Tool, ...]:
        create = tool_spec(
            REMEMBER,
            "Keep one fact for good, in a short sentence of its own. {user} and {bot} may stand for names.",
            "content",
            "scope",
            content=_TEXT,
            scope={"type": "string", "enum": list(SCOPES), "description": "About everybody here, or one person."},
            target=_TARGET,
        )
        change = tool_spec(
            UPDATE_MEMORY,
            "Replace what a kept memory says. Without a target it is one about this server.",
            "id",
            "content",
            id=_ID,
            content=_TEXT,
            target=_TARGET,
        )
        remove = tool_spec(
            FORGET_MEMORY, "Delete a kept memory that is wrong or unwanted.", "id", id=_ID, target=_TARGET
        )
        return Tool(create, self.remember), Tool(change, self.update), Tool(remove, self.forget)

    async def remember(self, given: Mapping[str, object]) -> Outcome:
        content = text_argument(given, "content")
        scope = text_argument(given, "scope")
        if scope not in SCOPES:
            raise Refusal(Status.invalid_arguments, f"`scope` must be one of {', '.join(SCOPES)}")
        place = self._place(text_argument(given, "target", required=scope == "target_user"), scope, writing=True)
        content = clean_content(content)
        self._check_persona()
        return await self._write_locked(self._add, place, content)

    async def update(self, given: Mapping[str, object]) -> Outcome:
        id_ = id_argument(given)
        content = text_argument(given, "content", required=False)
        target = text_argument(given, "target", required=False)
        place = self._place(target, _scope_of(target), writing=bool(content))
        content = clean_content(content) if content else ""
        self._check_persona()
        return await self._write_locked(self._change, place, id_, content)

    async def forget(self, given: Mapping[str, object]) -> Outcome:
        id_ = id_argument(given)
        target = text_argument(given, "target", required=False)
        place = self._place(target, _scope_of(target), writing=False)
        self._check_persona()
        return await self._write_locked(self._change, place, id_, "")

    # Checks

    def _place(self, target: str, scope: str, *, writing: bool) -> _Place:
        """The file that is meant; `Refusal` where it may not be written."""
        person = resolve_target(self._people, target) if scope == "target_user" else None
        if person is None or not person.is_real:
            path = server_path(self._request)
            if path is None:
                raise Refusal(Status.internal, "it is not known where this conversation takes place")
            return _Place(path, "What is known of this place")
        if writing:
            self._check_privacy(person)
        return _Place(people_path(person.author.slug), person.author.label, person.author)

    def _check_privacy(self, person: TargetPerson) -> None:
        allowed = self._request.settings.personal_memories_enabled and not person.is_barred
        if not allowed or not self._privacy.may_note(person.author):
            raise Refusal(Status.privacy_restricted, "nothing is kept about this person")

    def _check_persona(self) -> None:
        if not self._persona:
            raise Refusal(Status.internal, "it is not known whose memory this is")

    # Writing

    async def _write_locked(self, work: Callable[..., tuple[Outcome, MemoryChange | None]], *given: object) -> Outcome:
        """Run *work* in a thread, nobody else writing meanwhile, to its end even if the reply is given up."""

        def write() -> tuple[Outcome, MemoryChange | None]:
            with self._lock:
                return work(*given)

        try:
            outcome, change = await run_to_end(off_loop(write))
        except MemoryStoreSizeLimitError:
            raise Refusal(Status.limit, "no more can be kept there; update or forget something first") from None
        except MemoryStoreError as error:
            logger.warning("memory could not be written by a tool", extra={"error": type(error).__name__})
            raise Refusal(Status.storage, "memory cannot be written right now") from None
        if change is not None and self._notify is not None:
            try:
                await self._notify(change)
            except Exception as error:  # isolation: it is kept, whoever is told
                logger.warning("a change of memory could not be told", extra={"error": type(error).__name__})
        return outcome

    def _target(self, place: _Place) -> str:
        """The file that holds what is said of it to those who can read here."""
        readers = self._request.readers
        if place.about is None:
            return server_target(self._memory, self._request) or place.path
        return place.path if readers is None else self._memory.choose_path(place.path, readers.audience)

    def _texts(self, place: _Place) -> dict[str, str]:
        """What is kept there and may be told here, by file."""
        memory = VisibleMemory.of(self._memory, self._request)
        if place.about is None:
            return read_server_notes(memory, self._request)
        return {path: memory.look(path).text for path in memory.files_of(place.path)}

    def _put(self, path: str, text: str) -> None:
        """Write a file; a new one says whom it was told to."""
        readers = self._request.readers
        if readers is not None and not self._store.exists(path):
            text = with_audience(text, readers.audience)
        self._store.write_file(path, text, source=SOURCE)

    def _add(self, place: _Place, content: str) -> tuple[Outcome, MemoryChange | None]:
        kept = [note for text in self._texts(place).values() for note in notes_of(text, self._persona)]
        same = next((each for each in kept if each.text.casefold() == content.casefold()), None)
        if same is not None:
            return Outcome(Status.saved, "this is kept already", {"id": same.id}), None
        if len(kept) >= MAX_MEMORIES:
            raise Refusal(Status.limit, f"{MAX_MEMORIES} memories are kept there; update or forget one first")
        number = self._append(place, content, after=max((each.id for each in kept), default=0))
        return self._done(Status.saved, place, number, content)

    def _append(self, place: _Place, content: str, *, after: int) -> int:
        """One memory more in the file of those who can read here; its number."""
        path = self._target(place)
        text = self._store.read_if_present(path) or ""
        new, number = with_numbered_note(text, self._persona, content, title=place.title, after=after)
        self._put(path, new)
        return number

    def _change(self, place: _Place, id_: int, content: str) -> tuple[Outcome, MemoryChange | None]:
        path, memory = self._find(place, id_)
        text = self._store.read_file(path)
        is_own = path == self._target(place)
        if content and not is_own:  # what is said here stays here, whoever was told what it replaces
            number = self._append(place, content, after=id_ - 1)
            self._put(path, with_edited_note(text, memory, None))
            return self._done(Status.updated, place, number, content, before=memory.text)
        self._put(path, with_edited_note(text, memory, content or None))
        if not content:
            return self._done(Status.deleted, place, id_, memory.text)
        return self._done(Status.updated, place, id_, content, before=memory.text)

    def _find(self, place: _Place, id_: int) -> tuple[str, NumberedNote]:
        """The file and the memory of this number; `Refusal` where none may be told here."""
        for path, shown in self._texts(place).items():
            if any(each.id == id_ for each in notes_of(shown, self._persona)):
                whole = notes_of(self._store.read_file(path), self._persona)
                return path, next(each for each in whole if each.id == id_)
        raise Refusal(Status.not_found, f"there is no memory {id_} there")

    def _done(
        self, status: Status, place: _Place, id_: int, text: str, *, before: str = ""
    ) -> tuple[Outcome, MemoryChange]:
        change = MemoryChange(status=status, id=id_, text=text, before=before, about=place.about, persona=self._persona)
        scope = "server_wide" if place.about is None else "target_user"
        facts = {"id": id_, "scope": scope} | ({"text": text} if status is Status.deleted else {})
        return Outcome(status, f"memory {status.value}", facts), change


def _scope_of(target: str) -> str:
    return "target_user" if target else "server_wide"


def clean_content(content: str) -> str:
    """*content* as one line that is nothing but words; `Refusal` when it is too long or nothing is left."""
    line = one_line(without_fake_notes(without_placeholders(printable(content[: MAX_CHARS * 4]))))
    if not line:
        raise Refusal(Status.invalid_arguments, "`content` must be a text that is not empty")
    if len(line) > MAX_CHARS:
        raise Refusal(Status.limit, f"one memory has at most {MAX_CHARS} characters; say it shorter")
    return line


class ShortTermNoteTool:
    """Keeps what the conversation comes to; once in a turn, and nobody is told."""

    def __init__(self, keeper: SummaryKeeper, request: ContextRequest) -> None:
        self._keeper = keeper
        self._request = request
        self._done = False

    def tool(self) -> Tool:
        return Tool(
            tool_spec(
                SHORT_TERM_NOTE,
                "Keep a short summary of this conversation for the next hours. Replaces the earlier one.",
                "summary",
                summary={"type": "string", "maxLength": MAX_SUMMARY_CHARS},
            ),
            self.run,
        )

    async def run(self, given: Mapping[str, object]) -> Outcome:
        summary = text_argument(given, "summary")[:MAX_SUMMARY_CHARS]
        request, turn = self._request, self._request.turn
        if turn is not None and turn.flags.explicit_long_term_memory_intent:
            raise Refusal(Status.disabled, "this is to be kept for good, not for a while")
        if turn is not None and turn.flags.disable_short_term_memory_update:
            raise Refusal(Status.disabled, "nothing is kept of this turn; go on without it")
        if self._done or request.author is None:
            raise Refusal(Status.limit, "the summary was written already in this reply")
        self._done = True
        kept = await run_to_end(
            off_loop(
                self._keeper.write_summary,
                summary,
                familiar_id=request.familiar_id,
                persona=turn.persona if turn is not None else "",
                channel_id=request.channel_id,
                guild_id=request.guild_id,
                author=request.author,
            )
        )
        if not kept:
            raise Refusal(Status.privacy_restricted, "nothing is kept of this conversation")
        return Outcome(Status.saved, "the summary is kept; go on without mentioning it")
