"""People: everyone whose words a turn shows, and what else is known of them.

The order stays while the same people are there: normal people first, by name; those on the far side of a bridge,
webhooks and other personas after them, for they cannot be mentioned. Ids of different kinds never meet. Nobody at FULL
privacy is among them. What others know of them is asked of each source with a time limit; one may fail alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from familiar_connect.chat.annotate.context import display_name_of
from familiar_connect.chat.scene import Member, Roster, RosterEntry, Scene
from familiar_connect.chat.types import AuthorKind, ListedUser, SimplifiedMessage
from familiar_connect.context.providers.scene.protocols import (
    Enricher,
    KeptMemory,
    PendingReminder,
    PersonalMemories,
    Reminders,
)
from familiar_connect.context.providers.scene.text import persona_of
from familiar_connect.context.types import ContextRequest
from familiar_connect.history.reminders import ReminderBook
from familiar_connect.identity import Author, Privacy, PrivacyLevel
from familiar_connect.support.aio import off_loop
from familiar_connect.support.system_notes import NAMELESS, speaker_name
from familiar_connect.support.text import fold_name

logger = logging.getLogger(__name__)

Key = tuple[AuthorKind, str]

SOURCE_LIMIT_S = 1.5

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Participant:
    """Someone here, under the names that may be shown."""

    key: Key
    name: str
    aliases: tuple[str, ...] = ()
    """Everything they can be called by, the best first."""
    handles: tuple[str, ...] = ()
    """Those of the aliases that nobody else here has."""
    author: Author | None = None
    member: Member | None = None
    is_self: bool = False
    level: PrivacyLevel = PrivacyLevel.MINIMAL

    @property
    def is_mentionable(self) -> bool:
        return self.key[0] == "user" and not self.is_self

    @property
    def is_open(self) -> bool:
        """Whether presence, roles and memories of them may be shown."""
        return self.level is PrivacyLevel.MINIMAL

    def as_listed_user(self) -> ListedUser:
        kind, id_ = self.key
        return ListedUser(
            target_id=id_ if kind == "user" else f"{kind}:{id_}",
            display_label=self.name,
            aliases=self.handles,
            mentionable=self.is_mentionable,
        )


def list_participants(request: ContextRequest, privacy: Privacy) -> list[Participant]:
    """Everyone who wrote what the turn shows, and the familiar itself unless it speaks for somebody."""
    found: dict[Key, Participant] = {}
    known = _Known(request, privacy)
    turn = request.turn
    for message in reversed(turn.messages) if turn is not None else ():  # whoever changed names goes by the newest
        if message.author_kind != "system" and message.author_key not in found:
            participant = known.writer(message)
            if participant is not None:
                found.setdefault(participant.key, participant)
    for author in known.speakers():
        if author.user_id == request.familiar_id and not author.is_named:
            continue  # its own words, from which somebody has it go on: it is listed by what it is called
        participant = known.person(author)
        if participant is not None:
            found.setdefault(participant.key, participant)
    if turn is None or turn.imitated is None:
        own = known.ourselves()
        found[own.key] = own
    return _with_handles(sorted(found.values(), key=_rank))


def _rank(participant: Participant) -> tuple[int, str, str]:
    kind, id_ = participant.key
    if participant.is_self:
        return 0, "", ""
    return (1 if kind == "user" else 2), participant.name.casefold(), f"{kind}:{id_}"


def _with_handles(people: Sequence[Participant]) -> list[Participant]:
    roster = Roster(RosterEntry(person.key, "", person.aliases) for person in people)
    return [
        replace(
            person,
            handles=tuple(alias for alias in person.aliases if not roster.is_shared(alias))
            if person.is_mentionable
            else (),
        )
        for person in people
    ]


class _Known:
    """What the request tells about people."""

    def __init__(self, request: ContextRequest, privacy: Privacy) -> None:
        self._request = request
        self._privacy = privacy
        scene = request.scene or Scene()
        self._me = scene.me
        self._scene = scene
        self._members = {member.author.user_id: member for member in scene.members}
        said = [turn.author for turn in request.turns_to_answer if turn.author is not None]
        authors = [*(member.author for member in scene.members), *scene.participants, *said]
        self._authors = {author.user_id: author for author in authors}
        self._bridged = {author.canonical_key: author for author in authors}

    def speakers(self) -> list[Author]:
        """Those being answered, those who listen, and, where nothing else is known of the company, all of the scene."""
        turn = self._request.turn
        said = [each.author for each in self._request.turns_to_answer if each.author is not None]
        alone = turn is None or not turn.messages
        return [*said, *self._scene.listeners, *(self._scene.participants if alone else ())]

    def writer(self, message: SimplifiedMessage) -> Participant | None:
        kind, id_ = message.author_key
        if kind == "persona":
            return self._persona(message)
        if kind == "webhook":
            return _synthetic(message.author_key, message.author_name)
        author = self._bridged.get(id_) if kind == "bridge" else self._authors.get(id_)
        if author is None:
            return _synthetic(message.author_key, message.author_name)
        return self.person(author, name=message.author_name, kind=kind)

    def _persona(self, message: SimplifiedMessage) -> Participant | None:
        name = message.persona_name or message.author_name
        imitating = self._request.turn is not None and self._request.turn.imitated is not None
        if not imitating and fold_name(name) == fold_name(persona_of(self._request)):
            return None
        return _synthetic(("persona", name), name)

    def person(self, author: Author, *, name: str | None = None, kind: AuthorKind = "user") -> Participant | None:
        """A human or another bot; None for ourselves, and for whoever is not to be heard at all."""
        level = self._privacy.get(author)
        if level is PrivacyLevel.FULL or (self._me is not None and author.canonical_key == self._me.canonical_key):
            return None
        member = self._members.get(author.user_id)
        if member is not None and not self._request.settings.personal_memories_enabled:
            member = replace(member, is_personalised=False)
        bridged = kind == "bridge" or (member is not None and member.is_bridge_user)
        return Participant(
            key=("bridge", author.canonical_key) if bridged else ("user", author.user_id),
            name=speaker_name(name) if name else display_name_of(author, member),
            aliases=_aliases(author, member),
            author=author,
            member=member,
            level=level,
        )

    def ourselves(self) -> Participant:
        persona = persona_of(self._request)
        me = self._me
        names: tuple[str | None, ...] = (persona, self._scene.own_name)
        if me is not None:
            names += (me.display_name, me.username)
        return Participant(key=("persona", persona), name=persona, aliases=_clean(names), author=me, is_self=True)


def _synthetic(key: Key, name: str) -> Participant:
    return Participant(key=key, name=speaker_name(name), aliases=(speaker_name(name),))


def _aliases(author: Author, member: Member | None) -> tuple[str, ...]:
    """Saved nickname where it may be shown, server nickname, name on the platform, user name."""
    if member is None:
        return _clean((author.display_name, author.username))
    saved = member.saved_nickname if member.is_personalised and not member.is_blacklisted else None
    here = member.server_nickname or member.author.display_name
    return _clean((saved, here, member.global_name, member.author.username or author.username))


def _clean(names: Iterable[str | None]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for name in names:
        cleaned = speaker_name(name, "") if name else NAMELESS
        cleaned = cleaned.replace("{", "(").replace("}", ")")
        if cleaned != NAMELESS:
            found.setdefault(fold_name(cleaned), cleaned)
    return tuple(found.values())


@dataclass(frozen=True)
class PeopleFacts:
    """What others know of the people here, by canonical key."""

    memories: Mapping[str, Sequence[KeptMemory]] = field(default_factory=dict)
    reminders: Sequence[PendingReminder] = ()
    more: Sequence[Mapping[str, Sequence[str]]] = ()


@dataclass
class PeopleSources:
    """Who is asked. Any of them may be missing."""

    memories: PersonalMemories | None = None
    reminders: Reminders | None = None
    enrichers: Sequence[Enricher] = ()

    async def ask(self, people: Sequence[Participant], request: ContextRequest) -> PeopleFacts:
        """Everyone at once; enrichers keep their order. Nobody is asked about people who do not allow it."""
        memories, reminders, more = await asyncio.gather(
            self._memories(people, request), self._reminders(request), self._more(people, request)
        )
        return PeopleFacts(memories, reminders, more)

    async def _memories(
        self, people: Sequence[Participant], request: ContextRequest
    ) -> Mapping[str, Sequence[KeptMemory]]:
        authors = [each.author for each in people if each.author is not None and may_remember(each, request)]
        if self.memories is None or not authors:
            return {}
        found = await _in_time(self.memories.of(authors, request)) or {}
        return {author.canonical_key: found.get(author.canonical_key, ()) for author in authors}

    async def _reminders(self, request: ContextRequest) -> Sequence[PendingReminder]:
        return () if self.reminders is None else await _in_time(self.reminders.pending(request)) or ()

    async def _more(
        self, people: Sequence[Participant], request: ContextRequest
    ) -> Sequence[Mapping[str, Sequence[str]]]:
        authors = [each.author for each in people if each.author is not None and each.is_open and not each.is_self]
        if not authors:
            return ()
        found = await asyncio.gather(*(_in_time(each.lines(authors, request)) for each in self.enrichers))
        return [lines for lines in found if lines]


def may_remember(person: Participant, request: ContextRequest) -> bool:
    """Whether memories of *person* may be told here."""
    imitated = request.turn.imitated if request.turn is not None else None
    author, member = person.author, person.member
    if author is None or person.is_self or not person.is_open or not request.settings.personal_memories_enabled:
        return False
    if member is not None and (member.is_blacklisted or not member.is_personalised):
        return False
    return imitated is None or imitated.author.canonical_key == author.canonical_key


async def _in_time(asked: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(SOURCE_LIMIT_S):
            return await asked
    except Exception as error:  # isolation: the list is worth more than any one detail
        logger.warning("what a source knows of people was left out", extra={"error": type(error).__name__})
        return None


class ChannelReminders:
    """Those of the place that is answered; what somebody asked for elsewhere is not told here."""

    def __init__(self, book: ReminderBook) -> None:
        self._book = book

    async def pending(self, request: ContextRequest) -> Sequence[PendingReminder]:
        found = await off_loop(self._book.of_channel, request.channel_id)
        return [
            PendingReminder(
                id=str(each.id),
                purpose=each.purpose,
                due_at=each.due_at,
                recipient=each.author,
                recurrence=each.repeats.words if each.repeats is not None else "",
            )
            for each in found
        ]
