"""RehearsalWorld: the places of a rehearsal as they are now: who can read them, what stands there, what was reacted to.

It stands for the platform; one channel of it as the familiar meets it is a `RehearsalPlace`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from familiar_connect.chat.message_parts import Reaction, ReferencedMessage, WebhookIdentity
from familiar_connect.chat.place import Place
from familiar_connect.chat.scene import ChannelKind
from familiar_connect.chat.types import InboundMessage
from familiar_connect.extensions.load import find_platform
from familiar_connect.extensions.parts import RehearsedLines, RehearsedServers
from familiar_connect.extensions.platforms import make_host
from familiar_connect.familiar import Familiar
from familiar_connect.identity import Author
from familiar_connect.rehearsal.models import TURN, CallLog, ModelCall
from familiar_connect.rehearsal.platforms import TERMINAL
from familiar_connect.rehearsal.servers import RehearsalServers
from familiar_connect.rehearsal.types import LAST, LAST_REPLY, OWNER, Proxy, Rehearsal, Say
from familiar_connect.support.clock import Clock

OWN_ID = "900"
"""The familiar's own account, on every platform."""
SPOKEN = (ChannelKind.voice, ChannelKind.stage)
MODERATOR = "moderator"
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
        self.servers = RehearsalServers(rehearsal)
        self._networks = _create_networks(rehearsal)
        """Of each platform that has servers, what says who can read them."""
        self._lines: dict[str, RehearsedLines] = {}
        """Of each place whose lines may be commands, what reads them."""
        self._members = {key: list(place.members) for key, place in rehearsal.places.items()}
        """Who reads the places that belong to no server."""
        self._messages: dict[str, list[InboundMessage]] = {key: [] for key in rehearsal.places}
        self._turns = 0
        self._decisions: dict[int, list[ModelCall]] = {}
        """Turn → the calls that decided to speak."""
        self._decided_up_to: dict[str, int] = {}
        self._show(rehearsal.begins_at)

    # Who can read what

    def connect(self, familiar: Familiar) -> None:
        """*familiar* was started: from now on its platforms see the servers for it."""
        for platform, network in self._networks.items():
            network.connect(make_host(familiar, platform))
        people = [self.servers.person(key) for key in self.rehearsal.people]
        for key, place in self.rehearsal.places.items():
            create = find_platform(place.platform).rehearse_lines if place.platform != TERMINAL else None
            if create is not None:
                self._lines[key] = create(make_host(familiar, place.platform), str(place.channel_id), people)

    def _show(self, now: datetime) -> None:
        """Tell each platform how its servers are."""
        for platform, network in self._networks.items():
            network.show(self.servers.describe(platform, now))

    def network_of(self, place: str) -> RehearsedServers | None:
        """What knows the servers of the platform that a place is on; None: it has none."""
        return self._networks.get(self.rehearsal.places[place].platform)

    def server_of(self, place: str) -> int | None:
        """The server that a place is on now, where its platform has any."""
        setup = self.rehearsal.places[place]
        return setup.server_id if setup.platform in self._networks else None

    def rules_of(self, place: str) -> str | None:
        """A mark of the rules that let not everybody on the server read the place; None: it is open to all there."""
        setup = self.rehearsal.places[place]
        network = self.network_of(place)
        return network.rules(setup.channel_id) if network is not None and self._is_on_server(place) else None

    def is_hidden(self, place: str) -> bool:
        """Whether the rules of the place, or of the one its thread belongs to, let not everybody on the server in."""
        return self.rules_of(place) is not None

    def _is_on_server(self, place: str) -> bool:
        return self.server_of(place) is not None and not self.rehearsal.places[place].is_dm

    def members_of(self, place: str) -> list[str]:
        """Keys of those who can read the place now."""
        network = self.network_of(place)
        if network is None or not self._is_on_server(place):
            return list(self._members[place])
        found = network.readers(self.rehearsal.places[place].channel_id)
        return [self.servers.name_of(number) for number in found]

    def servers_of(self, person: str) -> set[int]:
        """Servers that *person* is on now."""
        return {server for server, people in self.servers.on_server.items() if person in people}

    def list_hidden_places(self, person: str) -> set[int]:
        """Channel ids of the hidden places that *person* can read now."""
        places = self.rehearsal.places.items()
        return {place.channel_id for key, place in places if self.is_hidden(key) and person in self.members_of(key)}

    def change_members(self, place: str, person: str, *, joins: bool) -> None:
        """Somebody is let into a hidden place or leaves it; who leaves an open one has left its server."""
        setup = self.rehearsal.places[place]
        if not self._is_on_server(place):
            members = self._members[place]
            if joins and person not in members:
                members.append(person)
            elif not joins and person in members:
                members.remove(person)
            return
        if joins:
            self.servers.join(setup.server_id or 0, person)
        if not self.servers.rules[place].is_hidden:
            if not joins:
                self.servers.leave(setup.server_id or 0, person)
        elif joins:
            self.servers.allow(place, [person])
        else:
            self.servers.rules[place].allowed.discard(person)
            self._show(self.clock.now())
            if person in self.members_of(place):  # a role lets them in
                self.servers.deny(place, [person])
        self._show(self.clock.now())

    def change_visibility(self, place: str, *, hides: bool, members: Sequence[str] | None = None) -> None:
        """Hide a place, whose members stay unless told otherwise, or open it to everybody."""
        if hides:
            self.servers.hide(place, members if members is not None else self.members_of(place))
        else:
            self.servers.open(place)
        self._show(self.clock.now())

    def change_rules(self, place: str, names: Sequence[str], *, allows: bool) -> None:
        """A place lets people and roles in, or shuts them out."""
        (self.servers.allow if allows else self.servers.deny)(place, names)
        self._show(self.clock.now())

    def change_roles(self, roles: Mapping[str, Sequence[str]]) -> None:
        """From now on each of these people has these roles and no others."""
        self.servers.set_roles(roles)
        self._show(self.clock.now())

    def kick(self, person: str, server_id: int | None) -> None:
        """*person* is put off a server; None: off every one."""
        for each in self.servers_of(person) if server_id is None else {server_id}:
            self.servers.leave(each, person)
        self._show(self.clock.now())

    def author(self, person: str, place: str) -> Author:
        return self.rehearsal.people[person].on_platform(self.rehearsal.places[place].platform)

    # What stands there

    def message_of(self, say: Say, at: datetime) -> InboundMessage:
        """What somebody says, as the platform would bring it. It stands in its place from now on."""
        hook, is_person = self._webhook_of(say)
        setup = self.rehearsal.places[say.place]
        answered = self.reference_to(say.place, say.reply_to) if say.reply_to is not None else None
        at_home, lines = setup.platform == TERMINAL, self._lines.get(say.place)
        message = InboundMessage(
            platform=setup.platform,
            channel_id=setup.channel_id,
            author=hook.bridge_user if hook and hook.bridge_user else self.author(say.person, say.place),
            text=say.text if lines is None else lines.read(say.text),
            timestamp=at,
            message_id=say.message_id,
            guild_id=self.server_of(say.place),
            server_name=setup.server_name,
            author_roles=tuple(self.servers.roles.get(say.person, ())),
            is_mention=say.is_mention or at_home,
            is_reply_to_us=answered is not None and answered.is_self,
            is_bot=hook is not None and not is_person,
            is_voice=say.is_voice or setup.kind in SPOKEN,
            is_dm=setup.is_dm,
            channel_name=setup.name,
            reply_to=answered,
            forwards=say.forwards,
            attachments=say.attachments,
            stickers=say.stickers,
            webhook=hook,
        )
        self.add_message(say.place, message)
        return message

    async def answer_command(self, say: Say, message: InboundMessage, place: Place) -> list[str] | None:
        """What is posted about a line that is a command where it is said; None: it is talk.

        In charge of a chat without servers are the owner, and who has the role of a moderator.
        """
        lines = self._lines.get(say.place)
        if lines is None:
            return None
        is_in_charge = say.person == OWNER or MODERATOR in self.servers.roles[say.person]
        return await lines.answer_command(message.author, message.text, place, is_in_charge=is_in_charge)

    def add_message(self, place: str, message: InboundMessage) -> None:
        self._messages[place].append(message)

    def _webhook_of(self, say: Say) -> tuple[WebhookIdentity | None, bool]:
        """The webhook that says it, if one does, and whether the settings take it for a person."""
        network = self.network_of(say.place)
        if say.webhook is None or network is None:
            return None, False
        name, application = say.webhook
        source = application or "webhook"
        speaker = network.webhook_speaker(name, source)
        hook = WebhookIdentity(webhook_id=source, name=name, bridge_user=speaker)
        return hook, network.is_webhook_person(application or None)

    def twin_of(self, proxy: Proxy) -> Say:
        """What the application that speaks for people says in the place of what was said."""
        network = self.network_of(proxy.say.place)
        hook = (proxy.name, network.proxy_application) if network is not None else None
        return replace(proxy.say, message_id=f"{proxy.say.message_id}-twin", webhook=hook, reply_to=None)

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
            reactions=live.reactions,
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


def _create_networks(rehearsal: Rehearsal) -> dict[str, RehearsedServers]:
    found = {
        platform: find_platform(platform).rehearse_servers for platform in rehearsal.platforms if platform != TERMINAL
    }
    return {platform: create() for platform, create in found.items() if create is not None}
