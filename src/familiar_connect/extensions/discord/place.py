"""DiscordPlace: one channel as we meet it: typing, sending, looking back, looking around.

A message is sent under a nonce that Discord checks, so that trying again after an answer was lost never says
a thing twice. Nobody is pinged but those it mentions by a handle it was given, and whoever it answers late.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

from familiar_connect.api import (
    Author,
    DeliveryError,
    InboundMessage,
    ListedUser,
    Place,
    PlaceFeatures,
    PlatformHost,
    ReferencedMessage,
    ReplyTarget,
    Scene,
)
from familiar_connect.api.messages import MessagePiece, PostedMessage, Reaction, pack_reply, send_with_retry
from familiar_connect.api.support import cancel_and_wait
from familiar_connect.extensions.discord.channel_readers import ChannelReaders
from familiar_connect.extensions.discord.commands.reply_buttons import ReplyButtons
from familiar_connect.extensions.discord.errors import delivery_error
from familiar_connect.extensions.discord.guild_rules import may_reply
from familiar_connect.extensions.discord.inbound import PLAIN_NOTICE, is_own_message, reaction_of, to_inbound
from familiar_connect.extensions.discord.listening.text_files import with_known_texts
from familiar_connect.extensions.discord.mentions import DiscordMentions, ids_in_mentions
from familiar_connect.extensions.discord.people import author_of
from familiar_connect.extensions.discord.scene import SceneCache, scene_of, with_speakers
from familiar_connect.extensions.discord.webhooks import PersonaWebhooks, webhook_name

logger = logging.getLogger(__name__)

LIMIT = 2000
TYPING_EVERY_S = 8.0
"""Discord shows typing for ten seconds."""
EDIT_INTERVAL_S = 1.2
ANSWER_WITHIN_S = 30.0
MAX_SPEAKERS = 30
NONCE_CHARS = 25
"""The longest that Discord takes."""
NOT_FOUND = 404
LOOKED_BACK = 20
"""Messages among which one that may have arrived is looked for."""
MAX_OWN_POSTS = 500
"""Messages looked through for a reply of ours, from the question on."""


class DiscordPlace(Place):
    """A channel, thread or direct conversation."""

    features = PlaceFeatures(
        limit=LIMIT,
        edits=True,
        edit_interval_s=EDIT_INTERVAL_S,
        posts_once=True,
        keeps_owed=True,
        tells_asker=True,
        rewrites=True,
        stickers=True,
        posts_for_people=True,
    )

    def __init__(
        self,
        client: Callable[[], Any],
        channel: Any,
        host: PlatformHost,
        scenes: SceneCache,
        webhooks: PersonaWebhooks | None = None,
        readers: ChannelReaders | None = None,
        buttons: ReplyButtons | None = None,
    ) -> None:
        self._buttons = buttons or ReplyButtons(is_on=False)
        self._readers = readers or ChannelReaders(host.servers.readers)
        self._webhooks = webhooks or PersonaWebhooks(host)
        self._connected = client
        self.set_channel(channel)
        self._host = host
        self._scenes = scenes
        self._unsure: tuple[str, str] | None = None
        """Text and nonce of a message that may or may not have arrived."""
        self._own_pieces: dict[str, tuple[str, ...]] = {}
        """Messages of our own that belong together, by the first of them."""

    def set_channel(self, channel: Any) -> None:
        """Know the channel as it was met last."""
        self._channel, self._met_by = channel, self._client

    @property
    def _client(self) -> Any:
        """The client of now: a reply begun before the platform was started again goes out after."""
        return self._connected()

    @property
    def channel(self) -> Any:
        """The channel as the library knows it now; after a new beginning that is another object."""
        found = self._client.get_channel(self._channel.id)
        if found is None and self._met_by is not self._client:
            return self._client.get_partial_messageable(self._channel.id)
        return found or self._channel

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        typing = asyncio.get_running_loop().create_task(self._type(), name=f"typing:{self._channel.id}")
        try:
            yield
        finally:
            await cancel_and_wait(typing)

    async def _type(self) -> None:
        """Show that we type until cancelled. That it cannot be shown costs nothing."""
        while True:
            try:
                await self.channel.trigger_typing()
            except Exception as error:  # isolation: a courtesy is never worth a reply
                logger.debug("typing could not be shown", extra={"error": type(error).__name__})
            await asyncio.sleep(TYPING_EVERY_S)

    async def send(self, text: str) -> None:
        await self.post(text)

    async def post(self, text: str) -> object:
        nonce = self._unsure[1] if self._unsure and self._unsure[0] == text else uuid4().hex[:NONCE_CHARS]
        self._unsure = (text, nonce)
        try:
            posted = await self.post_once(text, nonce)
        except DeliveryError as failure:
            if not failure.retryable:
                self._unsure = None
            raise
        self._unsure = None
        return posted.handle

    def text_marks(self, users: Sequence[ListedUser]) -> DiscordMentions:
        guild = getattr(self.channel, "guild", None)
        usable = [each for each in (guild.emojis if guild is not None else ()) if each.available]
        return DiscordMentions(users, usable)

    async def post_once(self, text: str, nonce: str, *, target: ReplyTarget | None = None) -> PostedMessage:
        """Send one message; under a *nonce* that Discord still knows, nothing is said again."""
        shown = self._reference(target)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                posted = await self.channel.send(
                    text,
                    nonce=nonce,
                    enforce_nonce=True,
                    allowed_mentions=_pings(text, is_reply=shown is not None),
                    **({"reference": shown} if shown is not None else {}),
                    **self._buttons.draw(),
                )
        except Exception as error:  # whatever the library raises
            raise delivery_error(error) from error
        await self._buttons.on_posted(self._channel.id, posted)
        return PostedMessage(message_id=str(posted.id), text=text, nonce=nonce, handle=posted)

    def _reference(self, target: ReplyTarget | None) -> Any:
        """*target* for a reply in Discord's own form, where readers could not tell what is answered; else None."""
        import discord

        channel = self.channel
        guild = getattr(channel, "guild", None)
        if target is None or guild is None or not (target.message_id.isdigit() and target.newest_id.isdigit()):
            return None
        newest = getattr(channel, "last_message_id", None) or 0
        if not may_reply(channel):
            return None
        if not target.is_aimed and newest <= int(target.newest_id):
            return None
        return discord.MessageReference(
            message_id=int(target.message_id), channel_id=channel.id, guild_id=guild.id, fail_if_not_exists=False
        )

    def speak_as(self, persona: str) -> DiscordPlace:
        """The same channel, where what is posted is a further persona's; direct messages know only the bot."""
        if getattr(self.channel, "guild", None) is None:
            return self
        return AlterPlace(self, persona, self._host.picture_of(persona))

    async def post_for(self, person: Author, text: str) -> str:
        return await self._webhooks.post_for(self._client, self.channel, person, text)

    async def own_posts(self, after: str) -> Sequence[PostedMessage]:
        """What stands here of ours after the message with that id, oldest first."""
        import discord

        own = (self._client.user.id, self._client.application_id or self._client.user.id)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                found = [
                    message
                    async for message in self.channel.history(
                        limit=MAX_OWN_POSTS, after=discord.Object(id=int(after)), oldest_first=True
                    )
                ]
        except Exception as error:  # whatever the library raises
            raise delivery_error(error) from error
        return [
            PostedMessage(
                message_id=str(each.id),
                text=each.content or "",
                nonce=str(each.nonce) if each.nonce is not None else None,
                handle=each,
            )
            for each in found
            if is_own_message(each, own)
        ]

    async def edit(self, posted: object, text: str) -> None:
        message: Any = posted
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                await message.edit(content=text, allowed_mentions=_pings(text, is_reply=False))
        except Exception as error:  # whatever the library raises
            raise delivery_error(error) from error

    async def rewrite(self, message_ids: Sequence[str], text: str) -> list[MessagePiece]:
        """Let messages of ours read *text*: each is changed, those too many are deleted, what is too long is posted."""
        marks = self.text_marks(())
        pieces = pack_reply(marks.encode(text), limit=LIMIT)
        shown = []
        for number, message_id in enumerate(message_ids):
            try:
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    await self._rewrite_one(message_id, pieces[number] if number < len(pieces) else None)
            except Exception as error:  # whatever the library raises
                if number < len(pieces):
                    raise delivery_error(error) from error
                logger.warning("a message could not be deleted", extra={"reason": str(delivery_error(error))})
            if number < len(pieces):
                shown.append(MessagePiece(message_id=message_id, text=marks.decode(pieces[number])))
        for piece in pieces[len(message_ids) :]:
            posted = await self.post_once(piece, uuid4().hex[:NONCE_CHARS])
            shown.append(MessagePiece(message_id=posted.message_id, text=marks.decode(piece)))
        return shown

    async def _rewrite_one(self, message_id: str, text: str | None) -> None:
        """Let one message of ours read *text*; None: let it be gone."""
        message = self.channel.get_partial_message(int(message_id))
        if text is not None:
            await message.edit(content=text, allowed_mentions=_pings("", is_reply=False))
        else:
            await message.delete()

    async def send_sticker(self, name: str) -> None:
        """One of the server's own stickers, by its name; of two the later made."""
        guild = getattr(self.channel, "guild", None)
        wanted = name.strip().casefold()
        found = [each for each in (guild.stickers if guild is not None else ()) if each.name.casefold() == wanted]
        if not found:
            raise DeliveryError("this server has no sticker of that name")
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                await self.channel.send(stickers=[max(found, key=lambda each: int(each.id))])
        except Exception as error:  # whatever the library raises
            raise delivery_error(error) from error

    async def notice(self, text: str) -> None:
        """Something that is not the familiar speaking, in a frame of its own."""
        nonce = uuid4().hex[:NONCE_CHARS]
        try:
            await send_with_retry(lambda: self._show_notice(text, nonce), asyncio.sleep)
        except DeliveryError as error:  # isolation: there is nobody left to tell
            logger.warning("a notice could not be shown", extra={"channel_id": self._channel.id, "reason": str(error)})

    async def tell_asker(self, asked: InboundMessage, text: str) -> None:
        """A notice as the reply to *asked*; tried again, its nonce keeps Discord from showing it twice."""
        name = asked.message_id or ""
        target = ReplyTarget(message_id=name, newest_id=name, is_aimed=True) if name else None
        nonce = f"owed{name}"[:NONCE_CHARS] if name else uuid4().hex[:NONCE_CHARS]
        await self._show_notice(text, nonce, target)

    async def _show_notice(self, text: str, nonce: str, target: ReplyTarget | None = None) -> None:
        import discord

        framed = discord.Embed(description=text[:LIMIT]).set_footer(text=PLAIN_NOTICE)
        shown = self._reference(target)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                await self.channel.send(
                    embed=framed,
                    nonce=nonce,
                    enforce_nonce=True,
                    allowed_mentions=_pings("", is_reply=shown is not None),
                    **({"reference": shown} if shown is not None else {}),
                )
        except Exception as error:  # whatever the library raises
            raise delivery_error(error) from error

    async def why_not_writable(self) -> str | None:
        """Why nothing can be written here, as far as the library knows."""
        import discord

        channel = self.channel
        guild = getattr(channel, "guild", None)
        if guild is None:
            return None
        if self._client.get_guild(guild.id) is None:
            return "the bot is no longer on that server"
        if getattr(channel, "archived", False) and getattr(channel, "locked", False):
            return "the thread is archived and locked"
        if guild.me is None:
            return None
        try:
            rights = channel.permissions_for(guild.me)
        except discord.ClientException:  # a thread of a channel that we cannot see
            return None
        in_thread = getattr(channel, "parent", None) is not None
        may_send = rights.send_messages_in_threads if in_thread else rights.send_messages
        if not (rights.view_channel and may_send):
            return "the bot lacks the right to send messages there"
        return None

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        """The stored messages, each with what the platform shows of it now."""
        me = self._client.user
        own = author_of(me) if me is not None else None
        messages = await self._host.servers.recent(self._channel.id, limit, me=own)
        self._own_pieces = {
            message.message_id: tuple(piece.message_id for piece in message.pieces)
            for message in messages
            if message.message_id and message.pieces
        }
        wanted = {message.message_id for message in messages}.union(*self._own_pieces.values())
        # One walk over what the library has at hand: it would walk once for each message asked for.
        live = {str(each.id): each for each in self._client.cached_messages if str(each.id) in wanted}
        shown = [
            self._with_reactions(message, live)
            if message.is_self
            else self._as_shown(message, live.get(message.message_id or ""))
            for message in messages
        ]
        return await self._without_old_quotations(shown)

    async def _without_old_quotations(self, messages: Sequence[InboundMessage]) -> list[InboundMessage]:
        """The library quotes messages as they were when they were answered: those that changed since are not quoted."""
        quoted = {message.reply_to.message_id for message in messages if message.reply_to is not None}
        if not quoted:
            return list(messages)
        changed = await self._host.servers.find_changed(self._channel.id, quoted)
        return [
            replace(message, reply_to=ReferencedMessage(message_id=message.reply_to.message_id))
            if message.reply_to is not None and message.reply_to.message_id in changed
            else message
            for message in messages
        ]

    def _with_reactions(self, stored: InboundMessage, live: Mapping[str, Any]) -> InboundMessage:
        """Our own words with what people reacted to any of the messages they stand in."""
        ids = self._own_pieces.get(stored.message_id or "", (stored.message_id or "",))
        found: dict[tuple[str, str | None], Reaction] = {}
        for each in (reaction for known in ids if known in live for reaction in live[known].reactions):
            reaction = reaction_of(each)
            before = found.get((reaction.label, reaction.emoji_id))
            found[reaction.label, reaction.emoji_id] = (
                reaction if before is None else replace(before, count=before.count + reaction.count)
            )
        return replace(stored, reactions=tuple(found.values())) if found else stored

    def _as_shown(self, stored: InboundMessage, live: Any) -> InboundMessage:
        me = self._client.user
        now = (
            to_inbound(live, me=me.id, application=self._client.application_id)
            if live is not None and me is not None
            else None
        )
        if now is None:
            return stored
        return replace(
            stored,
            reply_to=now.reply_to if stored.reply_to is not None else None,  # what was taken back is not quoted
            reactions=now.reactions,
            forwards=stored.forwards or now.forwards,
            embeds=now.embeds or stored.embeds,  # previews that were told in part are kept, and not at hand
            attachments=with_known_texts(now.attachments, stored.attachments),
            stickers=now.stickers,
            mentions=now.mentions,
            edited_at=now.edited_at,
            kind=now.kind,
        )

    async def scene(self) -> Scene:
        speakers = await self._host.servers.recent_speakers(self._channel.id, MAX_SPEAKERS)
        channel = self.channel
        scene = self._scenes.get(self._channel.id)
        if scene is None:
            scene = self._scenes.put(self._channel.id, scene_of(channel, me=self._client.user))
        # Who spoke, and who can read what, is never taken from the cache: both change with every message.
        seen = await self._readers.look(with_speakers(scene, channel, speakers), channel, self._client)
        parent = getattr(channel, "parent", None)
        rules = None if parent is None else self._readers.fingerprint_of(parent) if seen.is_hidden else ""
        return replace(
            seen,
            thread_starter=await self._scenes.starters.find(channel, self._client, self._host.servers, rules),
            events=self._scenes.events.list(channel, self._readers.is_hidden),
        )

    async def message(self, message_id: str) -> InboundMessage | None:
        """One message of this channel, looked up where it is not at hand; None when it is gone."""
        if not message_id.isdigit() or self._client.user is None:
            return None
        live = self._client.get_message(int(message_id))
        if live is None:
            live = await self._looked_up(self.channel.fetch_message(int(message_id)))
        if live is None:
            return None
        return to_inbound(live, me=self._client.user.id, application=self._client.application_id)

    async def reactors(self, message_id: str, label: str, limit: int) -> Sequence[Author]:
        """Who reacted to a message at hand with one emoji; of our own, to any of the messages it stands in."""
        found: dict[str, Author] = {}
        for each in self._own_pieces.get(message_id, (message_id,)):
            live = self._client.get_message(int(each)) if each.isdigit() else None
            for reaction in live.reactions if live is not None else ():
                if label == reaction_of(reaction).label:
                    people = await self._looked_up(reaction.users(limit=limit).flatten())
                    found |= {who.user_id: who for who in map(author_of, people or ())}
        return list(found.values())[:limit]

    async def _looked_up(self, asked: Any) -> Any:
        """What Discord answers; None where it does not."""
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await asked
        except Exception as error:  # isolation: a detail is never worth a reply
            logger.debug("a message could not be looked up", extra={"error": type(error).__name__})
            return None


class AlterPlace(DiscordPlace):
    """A channel in which a further persona of the familiar posts, through a webhook, under its own name and picture.

    Discord checks no nonce there, so a message that may have arrived is looked for before it is sent again.
    """

    def __init__(self, place: DiscordPlace, persona: str, picture: str) -> None:
        super().__init__(place._connected, place._channel, place._host, place._scenes, place._webhooks, place._readers)
        self._persona = persona
        self._picture = picture
        self._tried: set[str] = set()

    def speak_as(self, persona: str) -> DiscordPlace:
        return self if persona == self._persona else super().speak_as(persona)

    async def post_once(self, text: str, nonce: str, *, target: ReplyTarget | None = None) -> PostedMessage:
        webhook = await self._webhooks.find(self._client, self.channel)
        if webhook is None:
            return await super().post_once(text, nonce, target=target)
        if nonce in self._tried and (found := await self._find_again(text)) is not None:
            return found
        self._tried.add(nonce)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                posted = await webhook.send(
                    text,
                    username=webhook_name(self._persona),
                    wait=True,
                    allowed_mentions=_pings(text, is_reply=False),
                    embeds=self._answered(target),
                    **({"avatar_url": self._picture} if self._picture else {}),
                    **self._in_thread(),
                )
        except Exception as error:  # whatever the library raises
            if getattr(error, "status", None) == NOT_FOUND:
                self._webhooks.forget(self.channel)
            raise delivery_error(error) from error
        return PostedMessage(message_id=str(posted.id), text=text, handle=posted)

    def _in_thread(self) -> dict[str, Any]:
        import discord

        in_thread = getattr(self.channel, "parent", None) is not None
        return {"thread": discord.Object(id=self.channel.id)} if in_thread else {}

    def _answered(self, target: ReplyTarget | None) -> list[Any]:
        """A webhook cannot reply in Discord's own form: where readers could not tell, a link says what is answered."""
        import discord

        shown = self._reference(target)
        if shown is None:
            return []
        link = f"https://discord.com/channels/{shown.guild_id}/{shown.channel_id}/{shown.message_id}"
        return [discord.Embed(description=f"answers [a message]({link})")]

    async def _find_again(self, text: str) -> PostedMessage | None:
        """The newest message of this persona that reads *text*; None: it did not arrive."""
        own = (self._client.user.id, self._client.application_id or self._client.user.id)
        history = self.channel.history(limit=LOOKED_BACK)
        for each in await self._looked_up(history.flatten()) or ():
            is_this = each.author.name == webhook_name(self._persona) and each.content == text
            if each.webhook_id is not None and is_this and is_own_message(each, own):
                return PostedMessage(message_id=str(each.id), text=text, handle=each)
        return None

    async def _rewrite_one(self, message_id: str, text: str | None) -> None:
        webhook = await self._webhooks.find(self._client, self.channel)
        if webhook is None:
            await super()._rewrite_one(message_id, text)
            return
        if text is not None:
            await webhook.edit_message(
                int(message_id), content=text, allowed_mentions=_pings("", is_reply=False), **self._in_thread()
            )
        else:
            where = {"thread_id": self.channel.id} if self._in_thread() else {}
            await webhook.delete_message(int(message_id), **where)


def _pings(text: str, *, is_reply: bool) -> Any:
    """Who is pinged by *text*: those it mentions, and whoever it answers; never everyone, never a role."""
    import discord

    people: list[Any] = [discord.Object(id=each) for each in ids_in_mentions(text)]
    return discord.AllowedMentions(everyone=False, users=people or False, roles=False, replied_user=is_reply)
