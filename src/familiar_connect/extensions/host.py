"""PlatformHost: the familiar as a stranger's platform meets it. It hands on what was heard, and is all a platform sees.

Channels have the names that the platform has for them; the numbers that everything is kept by stay in here.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from familiar_connect.chat.message_parts import ReferencedMessage
from familiar_connect.chat.place import Place
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.errors import ConfigError, DeliveryError, FetchError
from familiar_connect.extensions.hosts.chat_host import ChatHost
from familiar_connect.extensions.hosts.command_host import CommandHost
from familiar_connect.extensions.hosts.server_host import ServerHost
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.familiar import Familiar
from familiar_connect.history.channel_keys import is_large_number
from familiar_connect.history.reminders import StoredReminder
from familiar_connect.identity import Author, ChannelKey
from familiar_connect.slash.command import SlashCommands, SlashContext, SlashPlace, is_offered_at, run_command
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import BackgroundTasks, off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.fetch.client import BringFile

if TYPE_CHECKING:  # a platform without voice channels loads nothing of them
    from familiar_connect.extensions.hosts.call_host import CallHost, OpenSpeech

logger = logging.getLogger(__name__)

JOIN_S = 60.0
"""How long a reminder that is due waits for its channel to be joined before it is tried again later."""
FindChannel = Callable[[str], Awaitable[Place | None]]
"""The channel of that name as a place; None while it cannot be reached."""


class ReadBy(Enum):
    """Who can read a place. Every scene says one; there is no default."""

    everyone = "everyone"
    """Anybody on the network may come in and read."""
    members = "members"
    """Only those who were let in: by invitation, a key, a role."""
    people = "people"
    """The people of a direct message, and nobody else."""


class PlatformHost:
    """What a platform may do with the familiar it answers for."""

    def __init__(
        self,
        familiar: Familiar,
        platform: str,
        part: PartContext,
        tell: Callable[[str], None],
        *,
        commands: SlashCommands,
        keep: Callable[[str, str], None] = lambda name, value: None,
        keeps_numbers: bool = False,
        open_speech: OpenSpeech | None = None,
    ) -> None:
        self._open_speech = open_speech
        self._familiar = familiar
        self._tell = tell
        self.commands = CommandHost(familiar, commands)
        """The slash commands, where the network offers commands in a way of its own."""
        self._keep = keep
        self._keeps_numbers = keeps_numbers
        self._background = BackgroundTasks(platform)
        self._joined = asyncio.Event()
        """Set when the next channel is joined, and another one from then on."""
        # One whose section does not say it decides by itself whose it hands on.
        familiar.intake.hear_dms_of(platform, getattr(part.settings, "dms", "everyone"))
        self._servers = ServerHost(familiar, platform)
        self.platform = platform
        self.settings: Any = part.settings
        """The part's settings dataclass, filled."""
        self.secrets = part.secrets
        self.folder = part.folder

    @property
    def name(self) -> str:
        """What the familiar is called."""
        return self._familiar.name

    @property
    def familiar_id(self) -> str:
        """What the familiar's folder is called: one short word."""
        return self._familiar.id

    @property
    def clock(self) -> Clock:
        return self._familiar.clock

    # Hearing

    def author(self, user_id: str, name: str, *, username: str | None = None) -> Author:
        """Somebody on this platform. The id is what they are known by for good; the name is what people see.

        *username* is what they log in with, where that is another one.
        """
        return Author(self.platform, user_id, username or name, name)

    async def hear(
        self,
        channel: str,
        author: Author,
        text: str,
        place: Place,
        *,
        message_id: str | None = None,
        said_at: datetime | None = None,
        is_mention: bool = False,
        is_dm: bool = False,
        is_bot: bool = False,
        is_self: bool = False,
        is_reply_to_us: bool = False,
        reply_to: ReferencedMessage | None = None,
        wants_answer: bool = False,
        channel_name: str | None = None,
        roles: Collection[str] | None = None,
    ) -> None:
        """Somebody said *text*: it is stored before anything else happens, and answered at *place* if it should be.

        In a channel it is heard after `join`; whose direct messages are heard is for the platform to decide. The same
        *message_id* twice is stored once. What *wants_answer* is answered whoever else is talking; *channel_name* is
        what people call the channel, where its id says nothing to them; *roles* are those of the author there, by
        name, for the owner's limits.
        """
        message = InboundMessage(
            platform=self.platform,
            channel_id=await self.number_of(channel),
            author=author,
            text=text,
            timestamp=said_at or self.clock.now(),
            message_id=message_id,
            is_mention=is_mention,
            is_dm=is_dm,
            is_bot=is_bot or is_self,
            is_self=is_self,
            is_reply_to_us=is_reply_to_us,
            reply_to=reply_to,
            wants_answer=wants_answer,
            channel_name=channel_name or channel,
            author_roles=tuple(roles) if roles is not None else None,
        )
        heard = await self._receive(message, place)
        logger.debug("heard", extra={"channel_id": message.channel_id, "outcome": heard.value})

    async def _receive(self, message: InboundMessage, place: Place) -> IntakeResult:
        return await self._familiar.intake.receive(message, place)

    async def withdraw(self, channel: str, message_ids: Collection[str]) -> None:
        """The messages were deleted: nothing of them is told again."""
        await self._familiar.reply_path.message_edits.on_delete(await self.number_of(channel), message_ids)

    async def withdraw_since(
        self, channel: str, since: datetime, *, of: Author | None = None, ours: bool = False
    ) -> None:
        """All that was said since then was deleted, or all that *of* said; what the familiar said too where *ours*."""
        await self._familiar.reply_path.message_edits.on_purge(
            await self.number_of(channel), since=since, of=of, ours=ours
        )

    async def recent(self, channel: str, limit: int) -> Sequence[InboundMessage]:
        """What was last said in a channel, for networks that cannot be asked; what `Place.recent` may give."""
        return await self._servers.recent(await self.number_of(channel), limit)

    @staticmethod
    def scene(
        channel: str,
        *,
        read_by: ReadBy,
        people: Collection[Author] = (),
        topic: str | None = None,
        writing_note: str | None = None,
        program_note: str | None = None,
    ) -> Scene:
        """Where this is, who is here and who can read it; what `Place.scene` gives.

        *writing_note* tells the model how people write here, where that is not as elsewhere; {char} is the familiar.
        *program_note* is what the program they write with tells a model; it is shown as material.
        """
        is_dm = read_by is ReadBy.people
        kind = ChannelKind.dm if is_dm else ChannelKind.text
        return Scene(
            channel=ChannelContext(channel, kind),
            channel_topic=topic,
            participants=tuple(people),
            is_dm=is_dm,
            is_public=read_by is ReadBy.everyone,
            reader_keys=frozenset(each.canonical_key for each in people) if is_dm else frozenset(),
            writing_note=writing_note,
            program_note=program_note,
        )

    # Answering

    async def join(self, channel: str, place: Place, *, is_dm: bool = False) -> None:
        """Listen in *channel* from now on; who was left waiting there by an earlier run is answered beside.

        A direct message needs no subscription: the platform decides whose it hands on, and *is_dm* says that it is one.
        """
        number = await self.number_of(channel)
        if not is_dm:
            await off_loop(self._subscribe, number)
        self._joined.set()
        self._joined = asyncio.Event()
        leftovers = self._familiar.history_store.outbox.channels_with_leftovers
        if number in await off_loop(leftovers, self._familiar.id):
            finishing = self._servers.finish_replies(number, place, is_dm=is_dm)
            self._background.start(finishing, name=f"leftovers {channel}")

    async def leave(self, channel: str) -> None:
        """Listen in *channel* no more."""
        number, subscriptions = await self.number_of(channel), self._familiar.subscriptions
        await off_loop(partial(subscriptions.remove, channel_id=number, kind=SubscriptionKind.text))

    async def waiting_channels(self) -> Sequence[str]:
        """Channels in which an earlier run left somebody waiting; `join` answers them, once each can be reached."""
        return await off_loop(self._waiting_channels)

    @contextmanager
    def connect(
        self,
        find_channel: FindChannel,
        *,
        is_owner: Callable[[Author], bool] | None = None,
        tell_owner: Callable[[str], Awaitable[None]] | None = None,
    ) -> Iterator[None]:
        """Let the familiar speak in this platform's channels, and know its owner there, while this is open.

        It speaks there when a reminder is due, and when its owner has it say something from elsewhere. *tell_owner*
        brings the owner what the familiar has to say to them, where the network can.
        """

        async def find(number: int) -> Place | None:
            name = await self._name(number)
            return await find_channel(name) if name is not None else None

        async def find_reminded(reminder: StoredReminder) -> Place | None:
            """A room is entered after the platform has connected: that is waited for."""
            with suppress(TimeoutError):
                async with asyncio.timeout(JOIN_S):
                    while True:
                        joined = self._joined
                        if (place := await find(reminder.channel_id)) is not None:
                            return place
                        await joined.wait()
            return None

        def is_our_owner(author: Author) -> bool:
            """Ids of another platform say nothing here: somebody there may be called as the owner is here."""
            return is_owner is not None and author.platform == self.platform and is_owner(author)

        with (
            self._familiar.owner.connect(is_owner=is_our_owner, tell=tell_owner),
            self._familiar.reply_path.reminders.connect(self.platform, place_at=find_reminded),
            self._familiar.live_places.connect(self.platform, find),
        ):
            yield

    # What only some networks have

    @property
    def servers(self) -> ServerHost:
        """Whole messages, subscriptions and rules of who reads what; it knows channels by `number_of`."""
        return self._servers

    async def number_of(self, channel: str) -> int:
        """The number that a channel goes by here: for a part that says `keeps_numbers`, the network's own."""
        if self._keeps_numbers and channel.isascii() and channel.isdigit() and is_large_number(int(channel)):
            return int(channel)
        keys = self._familiar.history_store.channel_keys
        key = ChannelKey(self.platform, channel)
        return await off_loop(partial(keys.number_of, key, keeps_number=self._keeps_numbers))

    def hear_dms(self, whose: str) -> None:
        """Hear the direct messages of `everyone`, of the `owner` or of nobody (`off`), whatever the settings say."""
        self._familiar.intake.hear_dms_of(self.platform, whose)

    @property
    def chats(self) -> ChatHost:
        """What was said in a channel, for a program that keeps chats of its own: change it, answer it again."""
        return ChatHost(self._familiar, self.platform, self.number_of)

    @property
    def calls(self) -> CallHost:
        """Voice channels."""
        from familiar_connect.extensions.hosts.call_host import CallHost

        return CallHost(self._familiar, self._open_speech)

    def picture_of(self, persona: str) -> str:
        """Where the picture of a further persona is on the web; empty: it has none."""
        return next((each.picture for each in self._familiar.config.alters if each.name == persona), "")

    def allow_files_of(self, url: str | None) -> AbstractContextManager[None]:
        """Let files of the network be fetched while this is open, though *url* is on this machine."""
        return self._familiar.own_origins.allow(url)

    def bring_files(self, name: str, bring: BringFile) -> AbstractContextManager[None]:
        """While this is open, let *bring* fetch the files of attachments whose `url` is `NAME:…`.

        For networks whose own addresses hold a secret or soon end. It is given the address and the most bytes to bring;
        a `FetchError` or `DeliveryError` says why there is none.
        """

        async def bring_or_say(address: str, most: int) -> bytes:
            try:
                return await bring(address, most)
            except DeliveryError as error:
                raise FetchError(str(error)) from error

        return self._familiar.own_origins.bring(name, bring_or_say)

    async def use_command(
        self,
        channel: str,
        author: Author,
        line: str,
        place: Place,
        *,
        may_manage: bool = False,
        is_operator: bool = False,
        others_read: bool = False,
    ) -> str | None:
        """Use the slash command in *line*, such as "help" or "remind tomorrow tea"; None: there is no such one.

        *is_operator*: they may also use what only the owner may, because the network gave them charge of the place.
        *others_read*: the answer is shown to all who read the channel, so it leaves out what was said elsewhere.
        """
        name, _, words = line.strip().removeprefix("/").partition(" ")
        wanted = self.commands.find(name.lower())
        if wanted is None:
            return None
        scene = await place.scene()
        context = SlashContext(
            place=SlashPlace(channel=scene.channel or ChannelContext(channel, ChannelKind.text), scene=scene),
            channel_id=await self.number_of(channel),
            author=author,
            is_operator=is_operator or self._familiar.owner.is_owner(author),
            may_manage=may_manage,
            may_control=may_manage or getattr(self.settings, "controls", None) == "everyone",
            controls_section=self.platform if hasattr(self.settings, "controls") else None,
            words=words.strip(),
            answers_at=place,
            others_read=others_read,
        )
        if not is_offered_at(wanted, context):  # it asks for what only some of our own platforms have
            return None
        return (await run_command(wanted, context, self._familiar)).text

    def is_ignored(self, author: Author) -> bool:
        """Whether the owner wants nothing of this person answered."""
        return self._familiar.stores.ignored.is_ignored(author)

    def is_unheard(self, author: Author) -> bool:
        """Whether this person wants nothing of theirs heard or kept."""
        return self._familiar.stores.privacy.is_full(author)

    async def write_to_owner(self, sentence: str) -> None:
        """Bring the owner something, by whichever platform reaches them first."""
        await self._familiar.owner.tell(sentence)

    def tell_owner(self, sentence: str) -> None:
        """Say something where the program runs, such as what the owner has to mend."""
        is_named = self.platform in re.split(r"\W+", sentence.casefold())
        self._tell(sentence if is_named else f"{self.platform}: {sentence}")

    def wrong_setting(self, key: str, says: str) -> ConfigError:
        """What to raise where the network shows that a setting is wrong; it names the file, the section and the key."""
        file = FamiliarFolder(self._familiar.root).settings_file
        return ConfigError(f"{file}: [{self.platform}] {key}: {says}")

    async def keep_secret(self, name: str, value: str) -> None:
        """Keep a secret that the network has renewed. One that cannot be kept is lost with the program's end."""
        with suppress(ConfigError, OSError):
            await off_loop(self._keep, name, value)

    def start(self, work: Coroutine[Any, Any, None], *, name: str) -> None:
        """Do *work* beside; it is ended together with the platform, and a failure is logged."""
        self._background.start(work, name=name)

    async def aclose(self) -> None:
        """End what was started beside."""
        await self._background.aclose()

    def _subscribe(self, number: int) -> None:
        subscriptions = self._familiar.subscriptions
        if subscriptions.get(channel_id=number, kind=SubscriptionKind.text) is None:
            subscriptions.add(channel_id=number, kind=SubscriptionKind.text, guild_id=None)

    def _waiting_channels(self) -> list[str]:
        history, keys = self._familiar.history_store, self._familiar.history_store.channel_keys
        found = map(keys.key_of, sorted(history.outbox.channels_with_leftovers(self._familiar.id)))
        return [key.id for key in found if key is not None and key.platform == self.platform]

    async def _name(self, number: int) -> str | None:
        """What the platform calls the channel of that number; None: it is none of its own."""
        if self._keeps_numbers and is_large_number(number):
            return str(number)
        key = await off_loop(self._familiar.history_store.channel_keys.key_of, number)
        if key is None and self._keeps_numbers:  # heard as a number: `ServerHost` writes no name down
            return str(number)
        return key.id if key is not None and key.platform == self.platform else None
