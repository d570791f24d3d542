"""Platform messages as entries of the dialogue: what each passes on, answers, says, got and carries; runs merged.

Pure. What people typed goes in between our own System lines so that it cannot pass for one.

An entry joins the one before it only if author, name and debug kind are the same, neither carries media
and less than an hour lies between them: a question after hours of silence stands for itself, also where the
one before it got no answer. What each message was is kept beside the joined text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal

from familiar_connect.chat.annotate.context import AnnotationContext, Identity, without_at
from familiar_connect.chat.annotate.media import NO_MEDIA, Media, attachment_notes, media_of
from familiar_connect.chat.annotate.notes import (
    SYSTEM,
    SYSTEM_EMBED_ID,
    forward_notes,
    is_notice,
    is_webhook_hidden,
    notice_lines,
    poll_note,
    preview_lines,
    preview_media,
    reaction_note,
    reply_note,
)
from familiar_connect.chat.message_parts import ImageAttachment, VideoAttachment
from familiar_connect.chat.types import AuthorKind, InboundMessage, SimplifiedMessage
from familiar_connect.chat.window import WindowMessage
from familiar_connect.support.system_notes import note, speaker_name, without_fake_notes

DEBUG_MARK = "$:"
MAX_ENTRIES = 2_048
"""Entries that are made once, as long as they are shown as they are."""

AuthorType = Literal["user", "persona"]

LONGEST_PAUSE = timedelta(hours=1)
"""What is written after a longer one is another matter."""


def message_key(message: InboundMessage, place: int = 0) -> str:
    """What a message goes by within a turn: the platform's id, else its row, else its *place*."""
    if message.message_id:
        return message.message_id
    return f"row-{message.history_id}" if message.history_id is not None else f"said-{place}"


def simplify(seen: WindowMessage, reading: AnnotationContext, *, place: int = 0) -> SimplifiedMessage | None:
    """The entry a message becomes; None when there is nothing in it to show."""
    message = seen.message
    key = message_key(message, place)
    if message.kind == "join":
        return _join(seen, key, reading)
    if is_webhook_hidden(message.webhook, reading):
        return None
    if any(is_notice(embed, ours=message.is_self, reading=reading) for embed in message.embeds):
        return _notice(seen, key, reading)
    return _simplify_said(seen, key, reading)


def verbatim_entry(seen: WindowMessage, reading: AnnotationContext, *, place: int = 0) -> SimplifiedMessage:
    """A message as it was typed, with what it carries."""
    message = seen.message
    by_us, persona = message.is_self, reading.settings.persona
    key = message_key(message, place)
    media = media_of(message, reading, source=key)
    return SimplifiedMessage(
        id=key,
        author_id=message.author.user_id,
        author_name=message.line.name or (persona if by_us else message.author.label),
        author_type="persona" if by_us else "user",
        persona_name=persona if by_us else None,
        content=message.display_text,
        created_at=message.timestamp,
        image_attachments=media.images,
        video_attachments=media.videos,
        history_id=message.history_id,
        in_exchange=seen.in_exchange,
        ordinal=seen.ordinal,
        line=message.line,
    )


def _join(seen: WindowMessage, key: str, reading: AnnotationContext) -> SimplifiedMessage:
    message = seen.message
    where = speaker_name(reading.scene.server_name, "the server")
    return SimplifiedMessage(
        id=key,
        author_id=f"join-{key}",
        author_name=SYSTEM,
        author_type="user",
        author_kind="system",
        content=note(f"{reading.people.name_of(message.author)} joined {where}"),
        created_at=message.timestamp,
        history_id=message.history_id,
        in_exchange=seen.in_exchange,
        ordinal=seen.ordinal,
    )


def _notice(seen: WindowMessage, key: str, reading: AnnotationContext) -> SimplifiedMessage | None:
    message = seen.message
    shown = [embed for embed in message.embeds if is_notice(embed, ours=True, reading=reading)]
    lines = notice_lines(shown, reading)
    if not lines:
        return None
    return SimplifiedMessage(
        id=key,
        author_id=SYSTEM_EMBED_ID,
        author_name=SYSTEM,
        author_type="user",
        author_kind="system",
        content="\n".join(lines),
        created_at=message.timestamp,
        history_id=message.history_id,
        in_exchange=seen.in_exchange,
        ordinal=seen.ordinal,
    )


def _simplify_said(seen: WindowMessage, key: str, reading: AnnotationContext) -> SimplifiedMessage | None:
    message = seen.message
    who = reading.people.identity(message.author, is_self=message.is_self, webhook=message.webhook)
    text, debug = _words(message, reading)
    name = reading.people.persona if debug else who.name
    if _is_bare(message):
        content, shown = text if text.strip() else "", media_of(message, reading, source=key)
        return _entry(seen, key, who, name, content, shown, debug=debug) if content or shown else None
    answered, media = ("", NO_MEDIA) if message.forwards else reply_note(key, who.name, message.reply_to, reading)
    forwarded, passed_on = forward_notes(key, who.name, message.forwards, reading)
    previews = () if message.is_bot or message.is_self else message.embeds
    own = media_of(message, reading, source=key)
    lines = [*forwarded, answered, text]
    if message.poll is not None:
        lines.append(poll_note(who.name, message.poll, reading))
    if message.reactions:
        lines.append(reaction_note(message.reactions, reading))
    if previews:
        own += preview_media(previews, reading, source=key)
        lines += preview_lines(previews, reading)
    if message.attachments or message.stickers:
        lines += attachment_notes(key, who.name, message, reading)
    content = "\n".join([line for line in lines if line and not line.isspace()])
    everything = own + media + passed_on
    if not content and not everything:
        return None
    return _entry(seen, key, who, name, content, everything, debug=debug)


def _is_bare(message: InboundMessage) -> bool:
    """Whether there is nothing but words, as in most."""
    return not (
        message.reply_to
        or message.reactions
        or message.forwards
        or message.embeds
        or message.attachments
        or message.stickers
        or message.poll
    )


def _entry(
    seen: WindowMessage, key: str, who: Identity, name: str, content: str, media: Media, *, debug: bool
) -> SimplifiedMessage:
    if not media:
        author = (who.author_id, name, "persona" if debug else who.type, who.kind, name if debug else who.persona_name)
        said = seen.message
        return _words_entry(
            key, author, content or None, said.timestamp, debug, said.history_id, seen.in_exchange, seen.ordinal
        )
    parts: tuple[ImageAttachment | VideoAttachment, ...] = (*media.images, *media.videos)
    elsewhere = tuple(dict.fromkeys(part.source_message_id for part in parts if part.source_message_id))
    origins = {part.origin for part in parts}
    return SimplifiedMessage(
        id=key,
        author_id=who.author_id,
        author_name=name,
        author_type="persona" if debug else who.type,
        author_kind=who.kind,
        persona_name=name if debug else who.persona_name,
        content=content or None,
        created_at=seen.message.timestamp,
        image_attachments=media.images,
        video_attachments=media.videos,
        media_source_message_ids=elsewhere,
        remote_media_source_kind="reply" if "reply" in origins else "forwarded" if "forwarded" in origins else None,
        is_debug=debug,
        history_id=seen.message.history_id,
        in_exchange=seen.in_exchange,
        ordinal=seen.ordinal,
    )


@lru_cache(maxsize=MAX_ENTRIES)
def _words_entry(
    key: str,
    author: tuple[str, str, AuthorType, AuthorKind, str | None],
    content: str | None,
    created_at: datetime,
    is_debug: bool,
    history_id: int | None,
    in_exchange: bool,
    ordinal: int | None,
) -> SimplifiedMessage:
    """An entry of words alone; the same ones are shown again in every turn until they leave the window."""
    author_id, author_name, author_type, author_kind, persona_name = author
    return SimplifiedMessage(
        id=key,
        author_id=author_id,
        author_name=author_name,
        author_type=author_type,
        author_kind=author_kind,
        persona_name=persona_name,
        content=content,
        created_at=created_at,
        is_debug=is_debug,
        history_id=history_id,
        in_exchange=in_exchange,
        ordinal=ordinal,
    )


def _words(message: InboundMessage, reading: AnnotationContext) -> tuple[str, bool]:
    """What was typed, made readable and harmless; and whether it is a debug message, which only the owner writes."""
    text = message.display_text
    may_mark = not message.is_self and reading.is_owner(message.author)
    marked = may_mark and text.lstrip().startswith(DEBUG_MARK)
    if marked:
        text = text.lstrip()[len(DEBUG_MARK) :].lstrip()
    text = reading.readable(text)
    if not message.is_bot and not message.is_self:
        text = without_at(text, reading.settings.triggers)
    return without_fake_notes(text), marked or (message.is_debug and may_mark)


def merge(
    entries: Iterable[SimplifiedMessage], *, time_awareness: bool = False, zone: tzinfo = UTC
) -> tuple[SimplifiedMessage, ...]:
    """*entries* in order, runs joined greedily."""
    merged: list[list[SimplifiedMessage]] = []
    for entry in entries:
        if merged and _joins(merged[-1][-1], entry, zone if time_awareness else None):
            merged[-1].append(entry)
        else:
            merged.append([entry])
    return tuple(_joined(run) for run in merged)


def _joins(previous: SimplifiedMessage, entry: SimplifiedMessage, zone: tzinfo | None) -> bool:
    return (
        previous.author_key == entry.author_key
        and previous.author_name == entry.author_name
        and previous.is_debug == entry.is_debug
        and not previous.has_media
        and not entry.has_media
        and bool(previous.content and previous.content.strip())
        and bool(entry.content and entry.content.strip())
        and not _is_after_pause(previous, entry)
        and (zone is None or _same_day(previous, entry, zone))
    )


def _is_after_pause(previous: SimplifiedMessage, entry: SimplifiedMessage) -> bool:
    if previous.created_at is None or entry.created_at is None:
        return False
    return entry.created_at - previous.created_at >= LONGEST_PAUSE


def _same_day(previous: SimplifiedMessage, entry: SimplifiedMessage, zone: tzinfo) -> bool:
    if previous.created_at is None or entry.created_at is None:
        return True
    return previous.created_at.astimezone(zone).date() == entry.created_at.astimezone(zone).date()


def _joined(run: list[SimplifiedMessage]) -> SimplifiedMessage:
    """One entry of *run*: the first one's id and time, everybody's words."""
    first = run[0]
    if len(run) == 1:
        return first
    ids = tuple(id_ for entry in run for id_ in entry.combined_message_ids or (entry.id,))
    contents = tuple(text for entry in run for text in entry.individual_contents or (entry.content or "",))
    times = tuple(when for entry in run for when in entry.combined_created_ats or (entry.created_at,))
    return replace(
        first,
        content="\n".join(contents),
        combined_message_ids=ids,
        individual_contents=contents,
        combined_created_ats=times,
        image_attachments=tuple(image for entry in run for image in entry.image_attachments),
        history_id=max((entry.history_id for entry in run if entry.history_id is not None), default=None),
        in_exchange=any(entry.in_exchange for entry in run),
    )
