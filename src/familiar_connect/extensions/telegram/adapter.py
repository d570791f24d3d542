"""TelegramPlatform: hears direct chats and groups, and answers there.

Each update is handled before the next ones are asked for: what was not stored comes again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from familiar_connect.api import Author, DeliveryError, Place, PlatformHost, SetupError
from familiar_connect.api.support import LruCache
from familiar_connect.extensions.telegram.chats import MovedGroups, Spot
from familiar_connect.extensions.telegram.client import BotClient
from familiar_connect.extensions.telegram.commands import START, ChatCommands, TypedCommand, parse_command
from familiar_connect.extensions.telegram.errors import is_conflict
from familiar_connect.extensions.telegram.files import SCHEME, fetch_file
from familiar_connect.extensions.telegram.groups import GroupFacts
from familiar_connect.extensions.telegram.inbound import (
    GROUPS,
    PRIVATE,
    Heard,
    author_of,
    list_joined,
    sender_of,
    spot_thread,
    to_inbound,
)
from familiar_connect.extensions.telegram.noted import Noted
from familiar_connect.extensions.telegram.place import ChatPlace, DirectPlace, TelegramPlace
from familiar_connect.extensions.telegram.settings import Settings

if TYPE_CHECKING:  # the library is loaded when a bot is opened
    from telegram import ChatMemberUpdated, Message, MessageReactionUpdated, Update

logger = logging.getLogger(__name__)

MAX_PLACES = 1_000
"""Conversations that are kept open; the one used longest ago is closed first."""
HINT_EACH_S = 24 * 3600.0
"""How often somebody who is not answered is told why."""
UNREADABLE = (TypeError, AttributeError, LookupError, ValueError)
"""What an update raises that is otherwise than any we know."""
RETRY_AFTER_S = (0.5, 2.0, 8.0, 20.0)
EVERYONE, OWNER, OFF = "everyone", "owner", "off"
PRESENT = ("creator", "administrator", "member", "restricted")


class TelegramPlatform:
    """One bot."""

    places = (DirectPlace, ChatPlace)

    def __init__(self, host: PlatformHost, client: BotClient, **instead: str) -> None:
        """*instead* are settings that are taken in place of those in the file."""
        self._host = host
        self._client = client
        self._settings: Settings = replace(host.settings, **instead)
        self._moved = MovedGroups(host.folder / "moved.json")
        self._noted = Noted(GroupFacts(client, host.clock.monotonic))
        self._commands = ChatCommands(host, client, self._noted)
        self._open: LruCache[Spot, TelegramPlace] = LruCache(MAX_PLACES)
        self._hinted: LruCache[str, float] = LruCache(MAX_PLACES)
        self._handlers: dict[str, Callable[[Any], Awaitable[None]]] = {
            "edited_message": self._on_edit,
            "message_reaction": self._on_reaction,
            "my_chat_member": self._on_own_status,
            "chat_member": self._on_status,
        }

    async def run(self) -> None:
        """Hear and answer until cancelled; what the owner must mend is raised as one sentence."""
        await self._moved.load()
        async with self._client.open():
            with (
                self._host.connect(self._find_channel, is_owner=self._is_owner, tell_owner=self._tell_owner()),
                self._host.bring_files(SCHEME, self._fetch_file),
            ):
                self._say_what_is_missing()
                self._host.start(self._commands.show_menu(), name="menu")
                await self._answer_waiting()
                while True:
                    await self._handle_all(await self._poll())

    async def _fetch_file(self, address: str, most: int) -> bytes:
        return await fetch_file(self._client, address, most)

    async def _poll(self) -> Sequence[Update]:
        """What happened; a connection that was lost is made again, for half a minute or so."""
        for wait_s in RETRY_AFTER_S:
            try:
                return await self._ask()
            except DeliveryError as error:
                logger.info("Telegram is asked again", extra={"reason": str(error)})
                await asyncio.sleep(max(wait_s, error.retry_after_s or 0.0))
        return await self._ask()

    async def _ask(self) -> Sequence[Update]:
        try:
            return await self._client.updates()
        except Exception as error:
            if not is_conflict(error):
                raise
            raise SetupError(
                f"Another program reads what is said to @{self._client.username}: stop it, or have @BotFather make a"
                " new token"
            ) from None

    def _say_what_is_missing(self) -> None:
        if self._settings.owner is None:
            self._host.tell_owner(
                f"Telegram: nobody is the owner of @{self._client.username} yet. Write to it: it tells you your user"
                " id, which belongs under [telegram] as `owner`."
            )
        if self._settings.groups != OFF and not self._client.me.can_read_all_group_messages:
            self._host.tell_owner(
                f"Telegram: @{self._client.username} is in privacy mode, so in groups it hears only what mentions or"
                " answers it, unless it is an administrator there. /setprivacy of @BotFather changes that."
            )

    # Places

    async def _answer_waiting(self) -> None:
        """Whoever an earlier run left waiting is answered."""
        for channel in await self._host.waiting_channels():
            spot = self._moved.parse(channel)
            if spot is not None:
                await self._host.join(channel, self._place(spot), is_dm=spot.is_direct)

    async def _find_channel(self, channel: str) -> Place | None:
        spot = self._moved.parse(channel)
        return self._place(spot) if spot is not None else None

    def _place(self, spot: Spot) -> TelegramPlace:
        place = self._open.get(spot)
        if place is None:
            kind = DirectPlace if spot.is_direct else ChatPlace
            place = kind(self._host, self._client, spot, self._noted)
            self._open.put(spot, place)
        return place

    def _is_owner(self, author: Author) -> bool:
        return self._settings.owner is not None and author.user_id == self._settings.owner

    def _tell_owner(self) -> Callable[[str], Awaitable[None]] | None:
        """How the owner is written to; None: nobody says who they are."""
        owner = self._settings.owner
        if owner is None:
            return None

        async def tell(sentence: str) -> None:
            await self._client.call(lambda bot: bot.send_message(int(owner), sentence))

        return tell

    # Hearing

    async def _handle_all(self, updates: Sequence[Update]) -> None:
        """Updates in their order; the pictures of an album are one message, with the words of whichever has some."""
        albums: dict[str, list[Message]] = {}
        for each in updates:
            if each.message is not None and each.message.media_group_id is not None:
                albums.setdefault(each.message.media_group_id, []).append(each.message)
        for each in updates:
            album = albums.get(each.message.media_group_id or "", []) if each.message is not None else []
            if not album:
                await self._handle(each, [])
            elif each.message is album[0]:
                await self._handle(each, album[1:])

    async def _handle(self, update: Update, album: Sequence[Message]) -> None:
        """One update. What cannot be answered is logged and costs no other: else it would come again for a day."""
        try:
            if update.message is not None:
                await self._on_message(update.message, album)
            for kind, handle in self._handlers.items():
                if (content := getattr(update, kind)) is not None:
                    await handle(content)
        except DeliveryError as error:
            logger.warning("an update could not be answered", extra={"reason": str(error)})
        except UNREADABLE as error:  # isolation: what could not be stored is none of these
            logger.exception("an update could not be read", extra={"error": type(error).__name__})

    async def _on_message(self, message: Message, album: Sequence[Message]) -> None:
        old, new = message.migrate_from_chat_id, message.migrate_to_chat_id
        if old is not None or new is not None:
            await self._on_move(old or message.chat.id, new or message.chat.id)
            return
        if message.chat.type == PRIVATE:
            await self._on_direct(message, album)
        elif message.chat.type in GROUPS:
            await self._on_group(message, album)

    async def _on_move(self, old: int, new: int) -> None:
        """A group has become a supergroup: it keeps its channel, and a reply under way goes to the new id."""
        place = self._open.pop(self._moved.spot(old))
        await self._moved.add(old, new)
        if place is not None:
            place.follow(new)
            self._open.put(place.spot, place)

    def _spot(self, message: Message) -> Spot:
        return self._moved.spot(message.chat.id, spot_thread(message))

    async def _where(self, message: Message) -> Heard:
        spot = self._spot(message)
        is_closed = message.chat.type in GROUPS and not message.chat.username
        server = await self._host.number_of(spot.group) if is_closed else None
        return Heard(spot, await self._host.number_of(spot.channel), server)

    async def _on_direct(self, message: Message, album: Sequence[Message]) -> None:
        author = sender_of(message)
        if not self._hears(author):
            await self._hint_person(author, message)
            return
        where = await self._where(message)
        place = self._place(where.spot)
        place.note_closed(None)
        typed = parse_command(message.text or "")
        if typed is not None and typed.name == START:
            await place.post_text(f"This is {self._host.name}. Write as you would to anyone; /help lists commands.")
        elif typed is not None:
            self._use_command(typed, author, place, message)
        else:
            await self._receive(message, album, where, place)

    async def _on_group(self, message: Message, album: Sequence[Message]) -> None:
        self._noted.groups.note(message)
        author, typed = sender_of(message), parse_command(message.text or "")
        if typed is not None and typed.to is not None and typed.to.casefold() != self._client.username.casefold():
            return
        if typed is not None and typed.name == START:
            if self._may_join(author):
                await self._join(self._spot(message), says=f"{self._host.name} listens here now.")
            return
        where = await self._where(message)
        place = self._place(where.spot)
        if typed is not None and self._commands.name_of(typed) is not None:
            self._use_command(typed, author, place, message)
            return
        for joined in list_joined(message, where):
            await self._host.servers.receive(joined, place)
        if not message.new_chat_members:
            await self._receive(message, album, where, place)

    async def _receive(self, message: Message, album: Sequence[Message], where: Heard, place: TelegramPlace) -> None:
        words = [*album, message]
        first = next((each for each in words if each.caption), message)
        heard = to_inbound(message, where, me=self._client.me, album=album)
        if first is not message:
            heard = replace(heard, text=first.caption or "")
        if not (heard.text or heard.attachments or heard.stickers or heard.forwards):
            return  # something that happened to the group, which nobody said
        self._noted.note_person(heard.author)
        if heard.message_id is not None:
            place.note_message(heard.message_id)
        await self._host.servers.receive(heard, place)

    def _use_command(self, typed: TypedCommand, author: Author, place: TelegramPlace, message: Message) -> None:
        work = self._commands.answer(typed, author, place, message.message_id)
        self._host.start(work, name="command")

    async def _on_edit(self, message: Message) -> None:
        """Telegram edits a message, too, when it shows a preview of a link; then nothing reads otherwise."""
        where = await self._where(message)
        if message.chat.type == PRIVATE and not self._hears(sender_of(message)):
            return
        me = self._client.me
        await self._host.servers.revise(to_inbound(message, where, me=me), self._place(where.spot), me=author_of(me))

    async def _on_reaction(self, changed: MessageReactionUpdated) -> None:
        who = author_of(changed.user) if changed.user is not None else None
        if who is None or self._host.is_unheard(who):
            return
        spot = self._moved.spot(changed.chat.id)
        self._noted.reactions.note(spot.name_message(changed.message_id), who, changed.new_reaction)

    # Coming and going

    async def _on_own_status(self, changed: ChatMemberUpdated) -> None:
        """The bot was let in or sent out, or somebody blocked it."""
        is_in = changed.new_chat_member.status in PRESENT
        spot = self._moved.spot(changed.chat.id)
        if changed.chat.type == PRIVATE:
            self._place(spot).note_closed(None if is_in else "the bot was blocked")
        elif changed.chat.type in GROUPS:
            self._noted.groups.note_chat(changed.chat)
            self._noted.groups.forget_administrators(changed.chat.id)
            await self._on_group_status(changed, spot, is_in=is_in)

    async def _on_group_status(self, changed: ChatMemberUpdated, spot: Spot, *, is_in: bool) -> None:
        place, was_in = self._place(spot), changed.old_chat_member.status in PRESENT
        place.note_closed(None if is_in else "the bot is not in the group")
        if not is_in:
            await self._host.leave(spot.channel)
            self._host.tell_owner(f"Telegram: {self._host.name} is no longer in {changed.chat.title}.")
        elif not was_in and self._may_join(author_of(changed.from_user)):
            await self._join(spot)
        elif not was_in and self._settings.groups == OWNER:
            says = f"I listen here once my owner writes /{START}@{self._client.username} in this group."
            await self._client.call(lambda bot: bot.send_message(changed.chat.id, says))

    async def _on_status(self, changed: ChatMemberUpdated) -> None:
        """Somebody's rights in a group have changed."""
        self._noted.groups.forget_administrators(changed.chat.id)

    def _may_join(self, who: Author) -> bool:
        groups = self._settings.groups
        return groups == EVERYONE or (groups == OWNER and self._is_owner(who))

    async def _join(self, spot: Spot, *, says: str = "") -> None:
        """Listen in a group from now on, in all of its topics."""
        whole = self._moved.spot(spot.chat_id)
        await self._host.join(whole.channel, self._place(whole))
        if says:
            await self._place(spot).post_text(says)

    def _hears(self, author: Author) -> bool:
        return self._settings.dms == EVERYONE or (self._settings.dms == OWNER and self._is_owner(author))

    async def _hint_person(self, author: Author, message: Message) -> None:
        """Once a day, why somebody is not answered; the owner needs their user id before anybody knows them."""
        now, last = self._host.clock.monotonic(), self._hinted.get(author.user_id)
        if self._settings.dms == OFF or (last is not None and now - last < HINT_EACH_S):
            return
        self._hinted.put(author.user_id, now)
        says = f"I only answer my owner here. Your user id is {author.user_id}."
        if self._settings.owner is None:
            says += f' If I am yours, write owner = "{author.user_id}" under [telegram] in my character.toml.'
        await self._client.call(lambda bot: bot.send_message(message.chat.id, says))
