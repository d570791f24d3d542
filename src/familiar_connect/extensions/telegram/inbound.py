"""to_inbound: a message of Telegram's as an InboundMessage, with everything it holds besides its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from familiar_connect.api import Author, InboundMessage, ReferencedMessage
from familiar_connect.api.messages import ForwardedMessage
from familiar_connect.extensions.telegram.chats import Spot
from familiar_connect.extensions.telegram.files import attachments_of, stickers_of

if TYPE_CHECKING:  # the library is loaded when a bot is opened
    from telegram import Message, MessageEntity, User

PLATFORM = "telegram"
PRIVATE = "private"
GROUPS = ("group", "supergroup")


@dataclass(frozen=True)
class Heard:
    """Where a message was said, as the familiar's own records name it."""

    spot: Spot
    number: int
    """What its channel goes by here."""
    server: int | None = None
    """What its group goes by, which all of its topics share; None: a direct chat, or a group that everybody reads."""


def author_of(person: User) -> Author:
    """Somebody by their user id, which stays theirs; the name is what people see."""
    return Author(PLATFORM, str(person.id), person.username, person.full_name or None)


def sender_of(message: Message) -> Author:
    """Who wrote it: a person, or the group or channel as which somebody writes, whose account nobody is shown."""
    as_chat = message.sender_chat
    if as_chat is None and message.from_user is not None:
        return author_of(message.from_user)
    as_chat = as_chat or message.chat
    return Author(PLATFORM, str(as_chat.id), as_chat.username, as_chat.title)


def extract_text(message: Message) -> str:
    """The words of a message, or those below its picture."""
    if message.text or message.caption:
        return str(message.text or message.caption)
    if message.dice is not None:
        return f"{message.dice.emoji} {message.dice.value}"
    if message.venue is not None:
        return f"({message.venue.title}, {message.venue.address})"
    return "(a place on the map)" if message.location is not None else ""


def mentions_us(message: Message, me: User) -> bool:
    """Whether the words call the bot by its user name, or mean its account."""
    entities = message.entities or message.caption_entities or ()
    own = f"@{me.username}".casefold()
    text = message.text or message.caption or ""
    for each in entities:
        if each.type == "text_mention" and each.user is not None and each.user.id == me.id:
            return True
        if each.type == "mention" and _words_of(text, each).casefold() == own:
            return True
    return False


def _words_of(text: str, entity: MessageEntity) -> str:
    """What an entity covers; Telegram counts in units of UTF-16."""
    units = text.encode("utf-16-le")[entity.offset * 2 : (entity.offset + entity.length) * 2]
    return units.decode("utf-16-le", "replace")


def to_inbound(message: Message, where: Heard, *, me: User, album: Sequence[Message] = ()) -> InboundMessage:
    """*message* as we know messages; *me* is the bot, *album* the further messages that belong to this one."""
    author, spot = sender_of(message), where.spot
    reply_to = _reply_to(message, spot, me)
    is_dm = message.chat.type == PRIVATE
    forwards, text = _forwards(message, album), extract_text(message)
    return InboundMessage(
        platform=PLATFORM,
        channel_id=where.number,
        author=author,
        text="" if forwards else text,
        timestamp=message.date,
        message_id=spot.name_message(message.message_id),
        guild_id=where.server,
        server_name=None if is_dm else message.chat.title,
        is_mention=not is_dm and mentions_us(message, me),
        is_bot=message.sender_chat is None and message.from_user is not None and message.from_user.is_bot,
        is_dm=is_dm,
        channel_name=author.label if is_dm else topic_name(message) or message.chat.title,
        is_reply_to_us=reply_to is not None and reply_to.is_self,
        reply_to=reply_to,
        edited_at=message.edit_date,
        forwards=forwards,
        attachments=() if forwards else tuple(each for one in (message, *album) for each in attachments_of(one)),
        stickers=() if forwards else stickers_of(message),
        parent_channel_id=where.server if spot.thread_id is not None else None,
    )


def spot_thread(message: Message) -> int | None:
    """The topic; every chain of replies in a supergroup has such an id, too, and is none."""
    return message.message_thread_id if message.is_topic_message else None


def topic_name(message: Message) -> str | None:
    """What a topic is called, as its messages tell: each seems to answer the one that it began with."""
    made = message.forum_topic_created
    if made is None and message.is_topic_message and message.reply_to_message is not None:
        made = message.reply_to_message.forum_topic_created
    return made.name if made is not None else None


def _reply_to(message: Message, spot: Spot, me: User) -> ReferencedMessage | None:
    """What a message answers; where somebody quotes a part of it, that part."""
    answered = message.reply_to_message
    if answered is None or answered.forum_topic_created is not None:
        return None
    if spot.thread_id is not None and answered.message_id == spot.thread_id:
        return None
    has_author = answered.from_user is not None or answered.sender_chat is not None
    quote = message.quote.text if message.quote is not None and message.quote.is_manual else None
    return ReferencedMessage(
        message_id=spot.name_message(answered.message_id),
        author=sender_of(answered) if has_author else None,
        text=quote or extract_text(answered),
        is_self=answered.from_user is not None and answered.from_user.id == me.id,
        attachments=attachments_of(answered),
        stickers=stickers_of(answered),
    )


def _forwards(message: Message, album: Sequence[Message]) -> tuple[ForwardedMessage, ...]:
    """What was passed on, with whom it is from as far as they let it be known."""
    origin = message.forward_origin
    if origin is None:
        return ()
    chat = getattr(origin, "chat", None) or getattr(origin, "sender_chat", None)
    person, name = getattr(origin, "sender_user", None), getattr(origin, "sender_user_name", None)
    author = None
    if person is not None:
        author = author_of(person)
    elif name:
        author = Author(PLATFORM, f"name:{name}", None, name)
    elif chat is not None:
        author = Author(PLATFORM, str(chat.id), chat.username, chat.title)
    return (
        ForwardedMessage(
            author=author,
            text=extract_text(message),
            channel_name=chat.title if chat is not None else None,
            timestamp=origin.date,
            attachments=tuple(each for one in (message, *album) for each in attachments_of(one)),
            stickers=stickers_of(message),
        ),
    )


def list_joined(message: Message, where: Heard) -> list[InboundMessage]:
    """Who came into a group, one message each; other bots are none of them."""
    return [
        InboundMessage(
            platform=PLATFORM,
            channel_id=where.number,
            author=author_of(each),
            text="",
            timestamp=message.date,
            message_id=f"{where.spot.name_message(message.message_id)}/{each.id}",
            guild_id=where.server,
            server_name=message.chat.title,
            channel_name=message.chat.title,
            kind="join",
        )
        for each in message.new_chat_members or ()
        if not each.is_bot
    ]


def as_edit(message: InboundMessage, me: Author) -> InboundMessage:
    """An edit of what we said ourselves is ours."""
    return replace(message, is_self=True) if message.author.user_id == me.user_id else message
