"""RehearsalWorld: the places of a rehearsal as they are now: who can read them, what stands there, what was reacted to.

It stands for the platform. `RehearsalPlace` is one channel of it as the familiar meets it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from familiar_connect.chat.message_parts import Reaction, ReferencedMessage, WebhookIdentity
from familiar_connect.chat.scene import ChannelContext, ChannelKind, ChannelRef, Member, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.rehearsal.models import TURN, CallLog, ModelCall
from familiar_connect.rehearsal.types import LAST, LAST_REPLY, OWNER, PlaceSetup, Rehearsal, Say
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock

OWN_ID = "900"
"""The familiar's own account, on every platform."""
LIMITS = {"discord": 2000, "twitch": 500, "terminal": 100_000}
"""Characters of one message."""
MAX_SPEAKERS = 30
SPOKEN = (ChannelKind.voice, ChannelKind.stage)
DECISION_SLOT = "interjection_decision"
WRITER_SLOT = "memory_writer"


@dataclass
class Reply:
    """What the familiar said in one go."""

    number: int
    """Counted from 1; `r1` is the id of the first."""
    place: str
    turn: int | None
    at: datetime
    pieces: list[str] = field(default_factory=list)
    reactions: tuple[Reaction, ...] = ()

    @property
    def id(self) -> str:
        return f"r{self.number}"

    @property
    def text(self) -> str:
        return "\n\n".join(self.pieces)


@dataclass(frozen=True)
class Notice:
    """Something people were told that is not the familiar speaking."""

    place: str
    text: str


class RehearsalWorld:
    """The state of every place, and what the familiar did there."""

    def __init__(self, rehearsal: Rehearsal, log: CallLog, clock: Clock) -> None:
        self.rehearsal = rehearsal
        self.log = log
        self.clock = clock
        self.replies: list[Reply] = []
        self.notices: list[Notice] = []
        self._members = {key: list(place.members) for key, place in rehearsal.places.items()}
        self._hidden = {key for key, place in rehearsal.places.items() if place.is_hidden}
        self._messages: dict[str, list[InboundMessage]] = {key: [] for key in rehearsal.places}
        self._turns = 0
        self._decisions: dict[int, list[ModelCall]] = {}
        """Turn → the calls that decided to speak."""
        self._decided_up_to: dict[str, int] = {}

    # Who can read what

    def is_hidden(self, place: str) -> bool:
        """Whether not everybody on the server can see the place, or the one its thread belongs to."""
        parent = self.rehearsal.places[place].parent
        return place in self._hidden or (parent in self.rehearsal.places and parent in self._hidden)

    def members_of(self, place: str) -> list[str]:
        """Keys of those who can read the place now."""
        return list(self._members[place])

    def servers_of(self, person: str) -> set[int]:
        """Servers that *person* is on now: whoever left an open place of one has left it."""
        servers: dict[int, set[bool]] = {}
        open_ones = {place.server_id for key, place in self.rehearsal.places.items() if not self.is_hidden(key)}
        for key, place in self.rehearsal.places.items():
            if place.server_id is not None and not (self.is_hidden(key) and place.server_id in open_ones):
                servers.setdefault(place.server_id, set()).add(person in self._members[key])
        return {server for server, there in servers.items() if there == {True}}

    def list_hidden_places(self, person: str) -> set[int]:
        """Channel ids of the hidden places that *person* can read now."""
        places = self.rehearsal.places.items()
        return {
            place.channel_id
            for key, place in places
            if not place.is_dm and self.is_hidden(key) and person in self._members[key]
        }

    def change_members(self, place: str, person: str, *, joins: bool) -> None:
        members = self._members[place]
        if joins and person not in members:
            members.append(person)
        elif not joins and person in members:
            members.remove(person)

    def change_visibility(self, place: str, *, hides: bool, members: Sequence[str] | None = None) -> None:
        """Hide a place, whose members stay unless told otherwise, or open it to everybody."""
        if hides:
            self._hidden.add(place)
            self._members[place] = list(members) if members is not None else self._members[place]
        else:
            self._hidden.discard(place)
            self._members[place] = list(self.rehearsal.people)

    def author(self, person: str, place: str) -> Author:
        return self.rehearsal.people[person].on_platform(self.rehearsal.places[place].platform)

    # What stands there

    def message_of(self, say: Say, at: datetime) -> InboundMessage:
        """What somebody says, as the platform would bring it. It stands in its place from now on."""
        setup = self.rehearsal.places[say.place]
        answered = self.reference_to(say.place, say.reply_to) if say.reply_to is not None else None
        at_home = setup.platform == "terminal"
        message = InboundMessage(
            platform=setup.platform,
            channel_id=setup.channel_id,
            author=self.author(say.person, say.place),
            text=say.text,
            timestamp=at,
            message_id=say.message_id,
            guild_id=setup.server_id if setup.platform == "discord" else None,
            is_mention=say.is_mention or at_home,
            is_reply_to_us=answered is not None and answered.is_self,
            is_bot=say.webhook is not None,
            is_voice=say.is_voice or setup.kind in SPOKEN,
            is_dm=setup.is_dm,
            channel_name=setup.name,
            reply_to=answered,
            forwards=say.forwards,
            attachments=say.attachments,
            stickers=say.stickers,
            webhook=WebhookIdentity(webhook_id=say.webhook[1] or "webhook", name=say.webhook[0])
            if say.webhook is not None
            else None,
        )
        self.add_message(say.place, message)
        return message

    def add_message(self, place: str, message: InboundMessage) -> None:
        self._messages[place].append(message)

    def find_message(self, place: str, target: str, person: str | None = None) -> InboundMessage | None:
        """The message *target* names: its id, or the last, of *person* where one is given."""
        author_id = self.rehearsal.people[person].user_id if person is not None else None
        for message in reversed(self._messages[place]):
            if target == message.message_id or (target == LAST and author_id in (None, message.author.user_id)):
                return message
        return None

    def find_reply(self, place: str, target: str) -> Reply | None:
        replies = (reply for reply in reversed(self.replies) if reply.place == place)
        return next((reply for reply in replies if target in (LAST_REPLY, reply.id)), None)

    def reference_to(self, place: str, target: str) -> ReferencedMessage:
        """What an answer points at; only its id where nothing of that name stands there."""
        if (reply := self.find_reply(place, target)) is not None:
            me = self.me(self.rehearsal.places[place].platform)
            return ReferencedMessage(message_id=reply.id, author=me, text=reply.text, is_self=True)
        found = self.find_message(place, target)
        if found is None:
            return ReferencedMessage(message_id=target)
        return ReferencedMessage(
            message_id=found.message_id or target,
            author=found.author,
            text=found.text,
            is_self=found.is_self,
            attachments=found.attachments,
            stickers=found.stickers,
        )

    def revise(self, place: str, message: InboundMessage, text: str | None) -> InboundMessage:
        """The message reads *text* now; None: it is gone."""
        revised = replace(message, text=text or "", edited_at=self.clock.now())
        standing = self._messages[place]
        at = next(at for at, each in enumerate(standing) if each is message)
        standing[at : at + 1] = [revised] if text is not None else []
        return revised

    def react(self, place: str, target: str, emoji: str, by: Author) -> bool:
        """Somebody reacts; whether there is what they reacted to."""
        if (reply := self.find_reply(place, target)) is not None:
            reply.reactions = _with_reaction(reply.reactions, emoji, by)
            return True
        found = self.find_message(place, target)
        if found is None:
            return False
        standing = self._messages[place]
        at = next(at for at, each in enumerate(standing) if each is found)
        standing[at] = replace(found, reactions=_with_reaction(found.reactions, emoji, by))
        return True

    def as_shown(self, place: str, stored: InboundMessage) -> InboundMessage:
        """A stored message with what the platform shows of it now."""
        if stored.is_self:
            said = next((r for r in reversed(self.replies) if r.place == place and r.text == stored.text), None)
            return replace(stored, message_id=said.id, reactions=said.reactions) if said is not None else stored
        live = next((each for each in self._messages[place] if each.message_id == stored.message_id), None)
        if live is None or stored.message_id is None:
            return stored
        return replace(
            stored,
            reply_to=live.reply_to,
            reactions=live.reactions,
            forwards=live.forwards,
            attachments=live.attachments,
            stickers=live.stickers,
            edited_at=live.edited_at,
        )

    # What the familiar does

    def me(self, platform: str, name: str | None = None) -> Author:
        return Author(platform, OWN_ID, None, name)

    def begin_turn(self, place: str) -> int:
        """A reply is being made: its number, by which its calls are known; who decided on it counts among them."""
        self._turns += 1
        since = self._decided_up_to.get(place, 0)
        calls = self.log.calls
        self._decisions[self._turns] = [c for c in calls[since:] if c.place == place and c.slot == DECISION_SLOT]
        self._decided_up_to[place] = len(calls)
        return self._turns

    def calls_for(self, turn: int) -> list[ModelCall]:
        """Every call made for a reply, side calls included."""
        made = [call for call in self.log.calls if call.turn == turn and call.slot != WRITER_SLOT]
        return [*self._decisions.get(turn, ()), *made]

    def add_piece(self, place: str, text: str) -> None:
        turn = TURN.get()
        last = next((reply for reply in reversed(self.replies) if reply.place == place), None)
        if last is None or turn is None or last.turn != turn:
            last = Reply(number=len(self.replies) + 1, place=place, turn=turn, at=self.clock.now())
            self.replies.append(last)
        last.pieces.append(text)


def _with_reaction(reactions: Sequence[Reaction], emoji: str, by: Author) -> tuple[Reaction, ...]:
    label = emoji.strip(":") or emoji
    had = next((each for each in reactions if each.label == label), None)
    users = (*(had.users or () if had is not None else ()), by)
    is_custom = len(emoji) > 2 and emoji.startswith(":") and emoji.endswith(":")
    new = Reaction(label=label, count=len(users), users=users, is_custom=is_custom)
    return (*(each for each in reactions if each.label != label), new)


class RehearsalPlace:
    """One place as the familiar meets it."""

    streams = False

    def __init__(self, world: RehearsalWorld, setup: PlaceSetup, familiar: Familiar) -> None:
        self._world = world
        self._setup = setup
        self._familiar = familiar
        self.limit = LIMITS[setup.platform]

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        yield

    async def why_not_writable(self) -> str | None:
        """Never closed. It is asked as a reply begins, so that all that follows is known to belong to that reply."""
        TURN.set(self._world.begin_turn(self._setup.key))
        return None

    async def send(self, text: str) -> None:
        self._world.add_piece(self._setup.key, text)

    async def notice(self, text: str) -> None:
        self._world.notices.append(Notice(self._setup.key, text))

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        """The stored messages, each with what the platform shows of it now."""
        stored = StoredMessages(
            self._familiar.history_store,
            self._familiar.id,
            self._setup.channel_id,
            platform=self._setup.platform,
            me=self._me,
        )
        return [self._world.as_shown(self._setup.key, message) for message in await stored.recent(limit)]

    async def scene(self) -> Scene:
        if self._setup.scene is not None:
            return self._setup.scene
        spoke = await off_loop(
            self._familiar.history_store.recent_distinct_authors,
            familiar_id=self._familiar.id,
            channel_id=self._setup.channel_id,
            limit=MAX_SPEAKERS,
        )
        speakers = tuple(spoke)
        here = self.channel_context
        if self._setup.is_dm or self._setup.platform != "discord":
            return self._small_scene(here, speakers)
        return Scene(
            server_name=self._setup.server_name,
            server_id=self._setup.server_id,
            channel=here,
            channel_topic=self._setup.topic,
            participants=speakers,
            members=tuple(Member(author=author) for author in speakers),
            channels=self._channels(),
            private_channel_ids=frozenset(p.channel_id for p in self._server() if self._world.is_hidden(p.key)),
            is_hidden=self._world.is_hidden(self._setup.key),
            me=self._me,
            own_name=self._me.label,
        )

    def _small_scene(self, here: ChannelContext, speakers: tuple[Author, ...]) -> Scene:
        """The scene of a direct message, or of a platform that shows little."""
        world, key = self._world, self._setup.key
        scene = Scene(
            channel=here,
            participants=speakers or self._listeners(),
            me=self._me,
            own_name=self._me.label,
            platform="twitch" if self._setup.platform == "twitch" else None,
        )
        people = world.members_of(key)
        if not self._setup.is_dm or self._setup.platform == "terminal" or not people:
            return scene
        return replace(
            scene,
            is_dm=True,
            reader_keys=frozenset(world.author(person, key).canonical_key for person in people),
            reader_server_ids=frozenset(set.intersection(*(world.servers_of(person) for person in people))),
            reader_channel_ids=frozenset(set.intersection(*(world.list_hidden_places(person) for person in people))),
        )

    @property
    def channel_context(self) -> ChannelContext:
        setup = self._setup
        if setup.is_dm and setup.platform == "discord":
            listeners = self._listeners()
            return ChannelContext(listeners[0].label if listeners else setup.name, setup.kind)
        parent = self._world.rehearsal.places.get(setup.parent or "")
        return ChannelContext(setup.name, setup.kind, parent.name if parent is not None else setup.parent)

    @property
    def _me(self) -> Author:
        return self._world.me(self._setup.platform, self._familiar.name)

    def _listeners(self) -> tuple[Author, ...]:
        """Who reads here, the owner last."""
        members = sorted(self._world.members_of(self._setup.key), key=lambda person: person == OWNER)
        return tuple(self._world.author(person, self._setup.key) for person in members)

    def _server(self) -> list[PlaceSetup]:
        places = self._world.rehearsal.places.values()
        return [place for place in places if place.server_id == self._setup.server_id and not place.is_dm]

    def _channels(self) -> tuple[ChannelRef, ...]:
        ids = {key: place.channel_id for key, place in self._world.rehearsal.places.items()}
        return tuple(
            ChannelRef(channel_id=each.channel_id, name=each.name, parent_id=ids.get(each.parent or ""))
            for each in self._server()
        )
