"""to_inbound: a Discord message as an InboundMessage, with everything it holds besides its words."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from familiar_connect.api import Author, InboundMessage, ReferencedMessage
from familiar_connect.api.messages import (
    Attachment,
    Embed,
    EmbedField,
    ForwardedMessage,
    NoticeKind,
    Reaction,
    Sticker,
    WebhookIdentity,
)
from familiar_connect.api.support import fold_name
from familiar_connect.extensions.discord.listening.polls import RESULT, poll_of
from familiar_connect.extensions.discord.people import author_of, roles_of, visible_name

if TYPE_CHECKING:
    import discord

SAID = frozenset({"default", "reply", RESULT})
JOINED = "new_member"
NOTICE_FOOTER = "familiar notice: "
"""Begins the footer of an embed that we post and that is not the familiar speaking; its kind follows."""
PLAIN_NOTICE = "familiar notice"
"""The footer of what is said to people alone: the words above say whether something is wrong."""
FORWARD = "forward"


def application_of(message: Any) -> str | None:
    """The application that a webhook's message is of, where it is of one; see `client.keep_application`."""
    found = (message.application or {}).get("id")
    return str(found) if found is not None else None


def to_inbound(
    message: discord.Message, *, me: int, application: int | None = None, webhooks: str = "off"
) -> InboundMessage | None:
    """*message* as we know messages; None for what nobody said, like a pinned notice.

    *me* is our own id and *application* that of our application, which for most bots is the same. *webhooks* says
    which of them are people: `off`, `people` for those that an application posts for somebody, or `all`.
    """
    own = (me, application or me)
    kind = _kind(message)
    if kind is None:
        return None
    channel = message.channel
    is_result = getattr(message.type, "name", "") == RESULT
    reply_to = None if is_result else _reply_to(message, own)
    is_self = is_own_message(message, own)
    webhook = _webhook(message, is_own=is_self)
    is_person = is_webhook_person(webhooks, application_of(message))
    return InboundMessage(
        platform="discord",
        channel_id=channel.id,
        author=(webhook.bridge_user if webhook is not None else None) or author_of(message.author),
        text=message.content or "",
        timestamp=message.created_at,
        message_id=str(message.id),
        guild_id=message.guild.id if message.guild is not None else None,
        server_name=message.guild.name if message.guild is not None else None,
        author_roles=roles_of(message.author),
        is_mention=any(person.id == me for person in message.mentions),
        is_reply_to_us=reply_to is not None and reply_to.is_self,
        is_bot=bool(message.author.bot) if webhook is None else is_self or not is_person,
        is_dm=message.guild is None,
        channel_name=getattr(channel, "name", None),
        is_self=is_self,
        kind=kind,
        edited_at=message.edited_at,
        reply_to=reply_to,
        reactions=tuple(reaction_of(reaction) for reaction in message.reactions),
        forwards=_forwards(message),
        embeds=() if is_result else embeds_of(message.embeds, ours=is_self),
        poll=poll_of(message),
        attachments=attachments_of(message.attachments, is_voice=message.flags.is_voice_message),
        stickers=stickers_of(message.stickers),
        mentions=tuple(author_of(person) for person in message.mentions),
        webhook=webhook,
        parent_channel_id=_parent_id(channel),
    )


def _parent_id(channel: Any) -> int | None:
    """The channel that a thread or post is in."""
    is_thread = "thread" in getattr(channel.type, "name", "")
    return getattr(channel, "parent_id", None) if is_thread else None


def _kind(message: discord.Message) -> Literal["default", "join"] | None:
    name = getattr(message.type, "name", "")
    if name in SAID:
        return "default"
    return "join" if name == JOINED else None


def is_own_message(message: Any, own: tuple[int, int]) -> bool:
    """Whether we said it: by our account, or by a webhook of our application; a name tells nothing.

    *own* are the ids of our account and of our application.
    """
    me, application = own
    if message.webhook_id is None:
        return bool(message.author.id == me)
    return application_of(message) == str(application)


def _webhook(message: discord.Message, *, is_own: bool) -> WebhookIdentity | None:
    """Under which name a webhook spoke; each name it speaks under is somebody of their own."""
    if message.webhook_id is None:
        return None
    name = message.author.name
    if is_own:
        return WebhookIdentity(webhook_id=str(message.webhook_id), name=name)
    source = application_of(message) or message.webhook_id
    person = webhook_author(name, str(source))
    return WebhookIdentity(webhook_id=str(message.webhook_id), name=name, bridge_user=person)


def is_webhook_person(webhooks: str, application: str | None) -> bool:
    """Whether the setting *webhooks* takes what a webhook says for a person's; *application* posts through it."""
    return webhooks == "all" or (webhooks == "people" and application is not None)


def webhook_author(name: str, source: str) -> Author:
    """Who speaks under *name* through the webhooks of an application, or through one webhook, *source*."""
    key = sha256(fold_name(name).encode()).hexdigest()[:12]
    return Author(platform="discord", user_id=f"webhook-{source}-{key}", username=None, display_name=visible_name(name))


def _reply_to(message: discord.Message, own: tuple[int, int]) -> ReferencedMessage | None:
    """What the message answers; only its id where the platform does not say more."""
    reference = message.reference
    if reference is None or _is_forward(message) or reference.message_id is None:
        return None
    answered: Any = reference.resolved
    if answered is None or getattr(answered, "author", None) is None:
        return ReferencedMessage(message_id=str(reference.message_id))
    return ReferencedMessage(
        message_id=str(answered.id),
        author=author_of(answered.author),
        text=answered.content or "",
        is_self=is_own_message(answered, own),
        webhook=_webhook(answered, is_own=is_own_message(answered, own)),
        attachments=attachments_of(answered.attachments, is_voice=answered.flags.is_voice_message),
        embeds=embeds_of(answered.embeds, ours=is_own_message(answered, own)),
        stickers=stickers_of(answered.stickers),
    )


def _is_forward(message: discord.Message) -> bool:
    return getattr(getattr(message.reference, "type", None), "name", None) == FORWARD


def _forwards(message: discord.Message) -> tuple[ForwardedMessage, ...]:
    return tuple(_forward(snapshot.message, message) for snapshot in message.snapshots if snapshot.message is not None)


def _forward(snapshot: Any, message: discord.Message) -> ForwardedMessage:
    """A snapshot. Who wrote it is known only where we heard the original ourselves."""
    reference = message.reference
    writer = getattr(getattr(snapshot, "original_message", None), "author", None)
    guild = message.guild
    source = guild.get_channel_or_thread(reference.channel_id) if guild is not None and reference is not None else None
    return ForwardedMessage(
        author=author_of(writer) if writer is not None else None,
        text=snapshot.content or "",
        channel_name=getattr(source, "name", None),
        timestamp=snapshot.created_at,
        attachments=attachments_of(snapshot.attachments, is_voice=False),
        embeds=embeds_of(snapshot.embeds, ours=False),
        stickers=stickers_of(snapshot.stickers),
        is_reachable=source is not None,
    )


def reaction_of(reaction: Any) -> Reaction:
    """A reaction as we know them; who reacted is asked for where it matters."""
    emoji = reaction.emoji
    emoji_id = getattr(emoji, "id", None)
    return Reaction(
        label=emoji if isinstance(emoji, str) else str(emoji.name),
        count=reaction.count,
        emoji_id=str(emoji_id) if emoji_id is not None else None,
        is_custom=emoji_id is not None,
        users=None,
        by_us=bool(reaction.me),
    )


def attachments_of(attachments: Iterable[Any], *, is_voice: bool) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(
            url=each.url,
            filename=each.filename,
            mime=each.content_type,
            proxy_url=each.proxy_url,
            attachment_id=str(each.id),
            size_bytes=each.size,
            is_voice=is_voice,
            duration_s=each.duration_secs,
        )
        for each in attachments
    )


def stickers_of(stickers: Iterable[Any]) -> tuple[Sticker, ...]:
    return tuple(
        Sticker(
            name=each.name,
            sticker_id=str(each.id),
            url=each.url,
            description=getattr(each, "description", None) or None,
        )
        for each in stickers
    )


def embeds_of(embeds: Iterable[Any], *, ours: bool) -> tuple[Embed, ...]:
    return tuple(_embed(each, ours=ours) for each in embeds)


def previews_of(data: Iterable[Any]) -> tuple[Embed, ...]:
    """Previews as they stand on the wire."""
    import discord

    return embeds_of((discord.Embed.from_dict(each) for each in data), ours=False)


def _embed(embed: Any, *, ours: bool) -> Embed:
    return Embed(
        notice=_notice(getattr(embed.footer, "text", None)) if ours else None,
        site=getattr(embed.provider, "name", None),
        author=getattr(embed.author, "name", None),
        title=embed.title or None,
        description=embed.description or None,
        fields=tuple(EmbedField(name=str(field.name), value=str(field.value)) for field in embed.fields),
        url=embed.url or None,
        image_url=_proxied(embed.image),
        thumbnail_url=_proxied(embed.thumbnail),
    )


def _proxied(picture: Any) -> str | None:
    """Where Discord itself shows the picture of a preview: the site of a link is never asked for anything."""
    return getattr(picture, "proxy_url", None) or None


def _notice(footer: str | None) -> NoticeKind | None:
    if footer == PLAIN_NOTICE:
        return "error"  # the kind that no prompt shows
    kind = (footer or "").removeprefix(NOTICE_FOOTER)
    known = kind in get_args(NoticeKind) and footer != kind
    return cast("NoticeKind", kind) if known else None
