"""ParticipantsProvider: who is here and how to mention them; clock and presence apart, for those change every turn.

The list is the same as long as the company is: normal people first, by name; those on the far side of a bridge,
webhooks and other personas after them, for they cannot be mentioned. Ids of different kinds never meet. A person's own
choice comes before every setting: presence and roles are told only of those who allow everything, and nobody at FULL
privacy is named.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo

from familiar_connect.chat.annotate.context import display_name_of
from familiar_connect.chat.scene import Member, Roster, RosterEntry, Scene
from familiar_connect.chat.types import AuthorKind, Directives, ListedUser, SimplifiedMessage
from familiar_connect.context.providers.scene.text import (
    channel_name,
    inline_safe,
    is_voice_channel,
    persona_of,
    readable,
    scene_budget,
)
from familiar_connect.context.types import (
    FILES_DEADLINE_S,
    ContextItem,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Modality,
    Priority,
)
from familiar_connect.history.reminders import ReminderBook, StoredReminder
from familiar_connect.identity import EVERYTHING_ALLOWED, LOCAL_PLATFORMS, Author, Privacy, PrivacyLevel
from familiar_connect.llm.types import TextPart
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.system_notes import NAMELESS, speaker_name, wrap_note
from familiar_connect.support.text import fold_name
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

REMINDERS_LIMIT_S = 1.5
NOW_DEPTH = 2
NOW_ORDER = 10
MAX_PERSONA_CHARS = 1_500
MOST_REMINDERS = 10
MOST_ROLES = 6
MOST_PRESENT = 8
LIST_SHARE = 0.5
NOW_SHARE = 0.25
"""Parts of the scene's tokens that the list and the moment may take; the rest is for the place."""

_HOURS = (
    (4, "late at night"),
    (7, "early in the morning"),
    (12, "in the morning"),
    (13, "around noon"),
    (17, "in the afternoon"),
    (20, "in the evening"),
    (24, "at night"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


Key = tuple[AuthorKind, str]


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
        """Whether their presence and roles may be shown."""
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


class ParticipantsProvider:
    """The list of people, and the moment."""

    id = "participants"
    deadline_s = FILES_DEADLINE_S

    def __init__(
        self,
        *,
        privacy: Privacy = EVERYTHING_ALLOWED,
        zone: tzinfo = UTC,
        clock: Clock | None = None,
        reminders: ReminderBook | None = None,
    ) -> None:
        self._privacy = privacy
        self._zone = zone
        self._clock = clock or SystemClock()
        self._reminders = reminders

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        people = list_participants(request, self._privacy)
        listed = self._list(people, await self._read_reminders(request), request)
        return [*([listed] if listed is not None else []), self._now(people, request)]

    # The list

    async def _read_reminders(self, request: ContextRequest) -> Sequence[StoredReminder]:
        """Those of the place that is answered; what somebody asked for elsewhere is not told here."""
        if self._reminders is None:
            return ()
        try:
            async with asyncio.timeout(REMINDERS_LIMIT_S):
                return await off_loop(self._reminders.of_channel, request.channel_id)
        except Exception as error:  # isolation: the list is worth more than any one detail
            logger.warning("reminders were left out of the list of people", extra={"error": type(error).__name__})
            return ()

    def _list(
        self, people: Sequence[Participant], reminders: Sequence[StoredReminder], request: ContextRequest
    ) -> Contribution | None:
        if not people:
            return None
        details = [self._details(person, reminders, request) for person in people]
        spoken = request.modality is Modality.voice
        room = int(scene_budget(request) * LIST_SHARE)
        text = ""
        for text in _ever_shorter(people, details, channel_name(request), handles=not spoken):
            if estimate_tokens(text) <= room:
                break
        item = ContextItem(
            role="user",
            parts=(TextPart(text),),
            tag=ItemTag.PARTICIPANTS,
            source=self.id,
            users=tuple(person.as_listed_user() for person in people),
        )
        return Contribution(
            Layer.scene,
            int(Priority.PARTICIPANTS),
            text,
            estimate_tokens(text),
            self.id,
            tag=ItemTag.PARTICIPANTS,
            role="user",
            items=(item,),
            audiences=request.own_audience,
        )

    def _details(self, person: Participant, reminders: Sequence[StoredReminder], request: ContextRequest) -> list[str]:
        """What is told of one person, a line each."""
        lines: list[str] = []
        member, author = person.member, person.author
        if member is not None and member.appearance and person.is_open:
            lines.append(f"Looks: {inline_safe(member.appearance, 300)}")
        if member is not None and person.is_open:
            roles = sorted(member.roles, key=lambda role: (-role.position, role.name))
            names = [speaker_name(role.name) for role in roles if role.name.strip() != "@everyone"][:MOST_ROLES]
            if names:
                lines.append(f"Roles: {', '.join(names)}")
        if author is None:
            return lines
        is_owner = author.platform in LOCAL_PLATFORMS and not author.is_familiar
        if request.persona and request.preset is None and is_owner:
            lines.append(inline_safe(readable(request, request.persona, user=person.name), MAX_PERSONA_CHARS))
        waiting = [each for each in reminders if each.author.canonical_key == author.canonical_key]
        return lines + [f"Reminder {self._reminder(each)}" for each in waiting[:MOST_REMINDERS]]

    def _reminder(self, reminder: StoredReminder) -> str:
        due = reminder.due_at.astimezone(self._zone)
        again = f", {inline_safe(reminder.repeats.words, 60)}" if reminder.repeats is not None else ""
        return f"(id:{reminder.id}) {inline_safe(reminder.purpose, 200)}, {due:%Y-%m-%d %H:%M}{again}"

    # The moment

    def _now(self, people: Sequence[Participant], request: ContextRequest) -> Contribution:
        at = request.now or (request.turn.showing.now if request.turn is not None else None) or self._clock.now()
        clock = clock_line(at.astimezone(self._zone))
        spoken = request.modality is Modality.voice or is_voice_channel(request)
        present = [] if spoken else [line for person in people if (line := presence_line(person))]
        text = wrap_note("\n".join([*present[:MOST_PRESENT], clock]))
        if estimate_tokens(text) > scene_budget(request) * NOW_SHARE:
            text = wrap_note(clock)
        item = ContextItem.of("user", text, tag=ItemTag.NOW, depth=NOW_DEPTH, source="participants:now", apart=True)
        return Contribution(
            Layer.scene,
            int(Priority.NOW),
            text,
            estimate_tokens(text),
            "participants:now",
            tag=ItemTag.NOW,
            role="user",
            depth=NOW_DEPTH,
            order=NOW_ORDER,
            volatile=True,
            items=(item,),
            directives=imitation_directive(request),
            audiences=request.own_audience,
        )


def imitation_directive(request: ContextRequest) -> Directives:
    """The last word of a turn that speaks for somebody."""
    imitated = request.turn.imitated if request.turn is not None else None
    if imitated is None:
        return Directives()
    name = imitated.name
    return Directives(tail=(f"Write the next message of {name}, as {name} would. Begin with `{name}:`.",))


def _ever_shorter(
    people: Sequence[Participant], details: Sequence[Sequence[str]], channel: str, *, handles: bool
) -> Iterator[str]:
    """The list in full, without details, without handles, and with fewer names."""
    heads = [_head(person, handles=handles) for person in people]
    yield _note_of(
        [line for head, more in zip(heads, details, strict=True) for line in (head, *(f"  {each}" for each in more))],
        channel,
    )
    yield _note_of(heads, channel)
    names = [_head(person, handles=False) for person in people]
    yield _note_of(names, channel)
    count = len(names)
    while count > 4:
        count //= 2
        yield _note_of([*names[:count], f"- and {len(names) - count} more"], channel)


def _note_of(lines: Sequence[str], channel: str) -> str:
    return wrap_note("\n".join(["People here:", *lines, f"Channel: {channel}"]))


def _head(person: Participant, *, handles: bool) -> str:
    name = f"- {person.name}"
    if person.is_self:
        return f"{name} (you)"
    if person.member is not None and person.member.is_bot:
        name += " (a bot)"
    if not handles or not person.is_mentionable:
        return name
    if not person.handles:
        return f"{name}; ask who is meant before you mention them" if person.aliases else name
    first, *others = (f"@{{{handle}}}" for handle in person.handles)
    return f"{name}; mention: {first}" + (f" (also {', '.join(others)})" if others else "")


def clock_line(at: datetime) -> str:
    """The day, the time, how far it is from UTC, and what people call that time of day."""
    phrase = next(words for until, words in _HOURS if at.hour < until)
    offset = at.utcoffset() or timedelta()
    minutes = abs(int(offset.total_seconds() // 60))
    sign = "-" if offset < timedelta() else "+"
    zone = f"UTC{sign}{minutes // 60:02}:{minutes % 60:02}" if minutes else "UTC"
    day = f"{_DAYS[at.weekday()]}, {at.day} {_MONTHS[at.month - 1]} {at.year}"
    return f"It is {day}, {at:%H:%M} {zone}, {phrase}."


def presence_line(person: Participant) -> str:
    """Whether *person* is there and what they do, where they allow it to be told; else nothing."""
    member = person.member
    if member is None or not person.is_open:
        return ""
    does = ", ".join(filter(None, (inline_safe(member.presence or "", 40), inline_safe(member.activity or "", 80))))
    return f"{person.name} is {does}." if does else ""
