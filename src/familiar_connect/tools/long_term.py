"""Long-term memory as tools: remember something, change it, forget it.

Only those who took part can be written about, and only if they allow everything; taking something back is always
allowed. Each change goes through the memory store, under one name in its audit, and is told to whoever wants to
know. Of two at once none is lost.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from familiar_connect.context.types import ContextRequest
from familiar_connect.errors import MemoryStoreError, MemoryStoreSizeLimitError
from familiar_connect.identity import Author, Privacy
from familiar_connect.memory.file_audience import with_audience
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.people import people_path
from familiar_connect.memory.short_term import without_placeholders
from familiar_connect.memory.visibility import read_server_notes, server_path, server_target
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.support.aio import off_loop, run_to_end
from familiar_connect.support.system_notes import without_fake_notes
from familiar_connect.support.text import one_line, printable
from familiar_connect.tools.numbered_notes import NumberedNote, notes_of, with_edited_note, with_numbered_note
from familiar_connect.tools.protocols import Notify
from familiar_connect.tools.targets import TargetPerson, people_in_turn, resolve_target
from familiar_connect.tools.types import (
    FORGET_MEMORY,
    REMEMBER,
    SOURCE,
    UPDATE_MEMORY,
    MemoryChange,
    Outcome,
    Refusal,
    Status,
    Tool,
    id_argument,
    text_argument,
    tool_spec,
)

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
