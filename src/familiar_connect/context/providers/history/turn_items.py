"""Turns as dialogue items: one item a message, with its role, its text as it is sent, and its media.

An item's text is final: the speaker's name before a user's words, the familiar's own words bare, with the marks of the
channel's mode. Notes of ours never stand in the familiar's own mouth; those about its words stand before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Literal
from zlib import crc32

from familiar_connect.chat.message_parts import ImageAttachment, VideoAttachment
from familiar_connect.chat.types import MediaDescriptor, Sender, SimplifiedMessage, Turn
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import sanitize_name
from familiar_connect.llm.types import Role, TextPart
from familiar_connect.support.system_notes import (
    extract_notes,
    join_speaker,
    mark_further_lines,
    note,
    speaker_name,
    split_notes,
    without_fake_notes,
)

LATER_AFTER_S = 30.0
ANCHOR_EVERY = 10
"""Every so many turns, counted from the first ever stored, one is a good place to cut at."""
SOURCE = "history:recent"


def dialogue_items(
    turns: Sequence[HistoryTurn],
    mode: ChannelMode | None,
    zone: tzinfo,
    *,
    first_ordinal: int = 0,
    between: Callable[[datetime, datetime], ContextItem | None] | None = None,
    verbatim: bool = False,
) -> tuple[ContextItem, ...]:
    """*turns* as items, oldest first. *between* may put a note before a turn that resumes after a gap.

    *verbatim*: as they were said, without notes and marks.
    """
    if verbatim:
        return tuple(_verbatim_turn(turn) for turn in turns)
    items: list[ContextItem] = []
    for position, turn in enumerate(turns):
        previous = turns[position - 1] if position else None
        if previous is not None and between is not None:
            note = between(previous.timestamp, turn.timestamp)
            items += [note] if note is not None else []
        items.append(_item(turn, previous, mode, zone, anchor=(first_ordinal + position) % ANCHOR_EVERY == 0))
    return tuple(items)


def _item(
    turn: HistoryTurn, previous: HistoryTurn | None, mode: ChannelMode | None, zone: tzinfo, *, anchor: bool
) -> ContextItem:
    role: Role = "assistant" if turn.role == "assistant" else "user" if turn.role == "user" else "system"
    author = turn.author if role == "user" else None
    who = speaker_name(author.label, author.user_id) if author else ""
    words = mark_further_lines(without_fake_notes(turn.display_text)) if author else turn.display_text
    text = _turn_mark(turn, previous, role, mode, zone) + (f"{who}: {words}" if author else words)
    return ContextItem(
        role=role,
        parts=(TextPart(text),),
        tag=ItemTag.DIALOGUE,
        name=author.openai_name if author else None,
        sender=Sender(name=who) if author else None,
        words=words,
        history_id=turn.id,
        timestamp=turn.timestamp,
        source=SOURCE,
        anchor=anchor,
    )


def _verbatim_turn(turn: HistoryTurn) -> ContextItem:
    role: Role = "assistant" if turn.role == "assistant" else "user" if turn.role == "user" else "system"
    author = turn.author if role == "user" else None
    return ContextItem(
        role=role,
        parts=(TextPart(turn.display_text),),
        tag=ItemTag.DIALOGUE,
        sender=Sender(name=author.label) if author else None,
        words=turn.display_text,
        history_id=turn.id,
        timestamp=turn.timestamp,
        source=SOURCE,
    )


def _turn_mark(
    turn: HistoryTurn, previous: HistoryTurn | None, role: Role, mode: ChannelMode | None, zone: tzinfo
) -> str:
    if mode is ChannelMode.text_conversation_rp and role == "user":
        return clock_mark(turn.timestamp, previous.timestamp if previous is not None else None, zone)
    if mode is ChannelMode.imitate_voice and previous is not None:
        gap = (turn.timestamp - previous.timestamp).total_seconds()
        return f"(about {gap_in_words(gap)} later) " if gap >= LATER_AFTER_S else ""
    return ""


def clock_mark(when: datetime, before: datetime | None, zone: tzinfo) -> str:
    """The time that stands before a message; with the date where *before*, the last such time, is of another day."""
    local = when.astimezone(zone)
    is_new_day = before is not None and before.astimezone(zone).date() != local.date()
    day = f"{local:%A, %Y-%m-%d}, " if is_new_day else ""
    return f"[{day}{local.hour:02}:{local.minute:02}] "


def gap_in_words(seconds: float) -> str:
    """*seconds* as people say it: "45 seconds", "1 minute", "3 hours", "2 days"."""
    for unit, size, limit in (("second", 1, 60), ("minute", 60, 3600), ("hour", 3600, 86_400), ("day", 86_400, None)):
        if limit is None or seconds < limit:
            count = int(seconds // size)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    raise AssertionError("the last unit has no limit")


def is_within_gap(earlier: datetime, later: datetime, moment: datetime, least_s: float) -> bool:
    """Whether at least *least_s* lie between two times and *moment* falls strictly inside."""
    return (later - earlier).total_seconds() >= least_s and earlier < moment < later


MOST_PICTURED = 3
"""Messages, the newest, whose images are shown."""
MAX_ITEMS = 2_048
"""Items that are made once, as long as they are shown as they are."""

ABOUT_OURS = note("about your own message below")

AuthorType = Literal["user", "persona"]
Between = Callable[[datetime, datetime], ContextItem | None]


def role_of(turn: Turn, message: SimplifiedMessage) -> Role:
    """Who speaks: the familiar itself, or, while it speaks for somebody, that person."""
    if turn.imitated is not None:
        person = turn.imitated.author
        return "assistant" if message.author_key == ("user", person.user_id) and not message.is_debug else "user"
    own = message.author_type == "persona" and turn.persona in ("", message.persona_name)
    return "assistant" if own else "user"


def turn_items(
    turn: Turn, mode: ChannelMode | None = None, zone: tzinfo = UTC, *, between: Between | None = None
) -> tuple[ContextItem, ...]:
    """The items of *turn*, oldest first. *between* may put a note where talk resumes after a pause."""
    pictures = _pictures(turn)
    if turn.showing.verbatim:
        return tuple(_verbatim_item(message, pictures[place][0]) for place, message in enumerate(turn.messages))
    items: list[ContextItem] = []
    previous: datetime | None = None
    timed: datetime | None = None
    """When the last message was said that shows its time."""
    for place, message in enumerate(turn.messages):
        when = message.created_at
        if previous is not None and when is not None:
            if between is not None and (told := between(previous, when)) is not None:
                items.append(told)
            if turn.showing.time_awareness and (spacer := _spacer(message, previous, when, turn, zone)) is not None:
                items.append(spacer)
        media, notes = pictures[place]
        items += _items(turn, message, _mark(turn, message, previous, mode, zone, timed), media, notes)
        previous = when or previous
        if role_of(turn, message) != "assistant":
            timed = when or timed
    return tuple(items)


def _verbatim_item(message: SimplifiedMessage, media: tuple[MediaDescriptor, ...]) -> ContextItem:
    text = message.content or ""
    return ContextItem(
        role="assistant" if message.author_type == "persona" else "user",
        parts=(TextPart(text),),
        tag=ItemTag.DIALOGUE,
        sender=Sender(name=message.author_name, kind=message.author_type),
        words=text,
        message_id=message.id,
        history_id=message.history_id,
        timestamp=message.created_at,
        source=SOURCE,
        anchor=_is_anchor(message),
        fresh=message.in_exchange,
        media=media,
        line=message.line,
    )


def _items(
    turn: Turn,
    message: SimplifiedMessage,
    mark: str,
    media: tuple[MediaDescriptor, ...],
    notes: Sequence[str],
) -> list[ContextItem]:
    role = role_of(turn, message)
    content = message.content or ""
    items: list[ContextItem] = []
    if role == "assistant":
        said, content = extract_notes(content)
        if about := "\n".join(filter(None, (said, *notes))):
            items.append(_note_item(message, f"notes_{message.id}", f"{ABOUT_OURS}\n{about}"))
        mark, name = "", message.author_name if turn.showing.own_names else ""
    else:
        content = mark_further_lines("\n".join(filter(None, (content, *notes))))
        name = message.author_name
    if not content.strip() and not media:
        return items
    said_before, words = split_notes(content)
    text = join_speaker(f"{mark}{name}", said_before, words) if name else content
    is_person = role == "user" and message.author_kind != "system"
    sender = (message.author_name, message.author_type) if is_person else None
    item = _words_item(
        (role, text, split_notes(content)[1]),
        sender,
        (message.id, message.history_id, message.created_at),
        _is_anchor(message),
        message.in_exchange,
    )
    items.append(replace(item, media=media) if media else item)
    return items


@lru_cache(maxsize=MAX_ITEMS)
def _words_item(
    said: tuple[Role, str, str],
    sender: tuple[str, AuthorType] | None,
    place: tuple[str, int | None, datetime | None],
    is_anchor: bool,
    is_fresh: bool,
) -> ContextItem:
    """What somebody said, without media; the same is shown again in every turn until it leaves the window."""
    role, text, words = said
    message_id, history_id, timestamp = place
    return ContextItem(
        role=role,
        parts=(TextPart(text),),
        tag=ItemTag.DIALOGUE,
        name=sanitize_name(sender[0]) if sender is not None else None,
        sender=Sender(name=sender[0], kind=sender[1]) if sender is not None else None,
        words=words,
        message_id=message_id,
        history_id=history_id,
        timestamp=timestamp,
        source=SOURCE,
        anchor=is_anchor,
        fresh=is_fresh,
    )


def _note_item(message: SimplifiedMessage, id_: str, text: str) -> ContextItem:
    """Something said by nobody: no turn, and gone with the entry it precedes."""
    return ContextItem(
        role="user",
        parts=(TextPart(text),),
        tag=ItemTag.DATE_SPACER,
        message_id=id_,
        timestamp=message.created_at,
        source=SOURCE,
    )


def _is_anchor(message: SimplifiedMessage) -> bool:
    """Whether the entry is a good place to cut at: by its count where that is known, else by its id."""
    if message.ordinal is None:
        return crc32(message.id.encode("utf-8", "replace")) % ANCHOR_EVERY == 0
    count = max(1, len(message.combined_message_ids))
    return -message.ordinal % ANCHOR_EVERY < count  # how far the next good place is


def _mark(
    turn: Turn,
    message: SimplifiedMessage,
    previous: datetime | None,
    mode: ChannelMode | None,
    zone: tzinfo,
    timed: datetime | None,
) -> str:
    """What stands before a name. The first time of another day than that of *timed* comes with its date."""
    when = message.created_at
    if when is None:
        return ""
    if mode is ChannelMode.imitate_voice and previous is not None:
        gap = (when - previous).total_seconds()
        return f"(about {gap_in_words(gap)} later) " if gap >= LATER_AFTER_S else ""
    shows_time = mode is ChannelMode.text_conversation_rp or (mode is None and turn.showing.include_timestamps)
    if not shows_time:
        return ""
    before = None if turn.showing.time_awareness else timed  # there a note of its own says where a day ends
    return clock_mark(when, before, zone)


def _spacer(
    message: SimplifiedMessage, previous: datetime, when: datetime, turn: Turn, zone: tzinfo
) -> ContextItem | None:
    """The day that ends here, absolute and as seen from now."""
    ended = previous.astimezone(zone).date()
    if ended == when.astimezone(zone).date():
        return None
    today = (turn.showing.now or when).astimezone(zone).date()
    ago = (today - ended).days
    seen = "today" if ago == 0 else "yesterday" if ago == 1 else f"{ago} days ago" if ago > 1 else "ahead of now"
    return _note_item(message, f"date_spacer_{message.id}", note(f"what was said above is from {ended} ({seen})"))


def _pictures(turn: Turn) -> list[tuple[tuple[MediaDescriptor, ...], list[str]]]:
    """For each entry its media and the lines about them; of a picture shown twice only the latest counts."""
    total, window = len(turn.messages), max(0, turn.showing.media_window)
    result: list[tuple[tuple[MediaDescriptor, ...], list[str]]] = []
    shown: set[str] = set()
    pictured = 0
    for back, message in enumerate(reversed(turn.messages), start=1):
        images = [image for image in message.image_attachments if not image.is_emoji]
        if not images and not message.video_attachments:
            result.append(((), []))
            continue
        counted = [image for image in images if not image.is_sticker]
        over = back <= window and bool(counted) and pictured >= MOST_PICTURED
        pictured += back <= window and bool(counted)
        omitted = len(counted) if over else 0
        kept = [image for image in images if (image.is_sticker or not over) and image.url not in shown]
        shown.update(image.url for image in kept)
        extend = max(0, back - window)
        media = (
            *(_describe(image, "image", extend) for image in kept),
            *(_describe(video, "video", extend) for video in message.video_attachments),
        )
        lines = _attributions(message, images)
        if omitted:
            lines.append(note(f"{omitted} image{'' if omitted == 1 else 's'} not shown: newer ones came since"))
        result.append((media, lines))
    return result[::-1] if total else []


def _describe(part: ImageAttachment | VideoAttachment, kind: str, extend: int) -> MediaDescriptor:
    return MediaDescriptor(
        kind="image" if kind == "image" else "video",
        uri=part.url,
        mime=part.mime,
        fallback_uri=part.proxy_url,
        media_id=part.media_id,
        within_window=extend == 0,
        extend_by=extend,
        filename=part.filename,
        is_youtube=isinstance(part, VideoAttachment) and part.is_youtube,
    )


_FROM = {
    "own": "sent by {name}",
    "reply": "from the message {name} answers",
    "forwarded": "from the message {name} forwards",
}


def _attributions(message: SimplifiedMessage, images: Sequence[ImageAttachment]) -> list[str]:
    """How many pictures and films there are, under which handle, and where each came from."""
    lines = []
    for origin, words in _FROM.items():
        groups = (
            ([i.media_id for i in images if i.origin == origin and not i.is_sticker], "image"),
            ([i.media_id for i in images if i.origin == origin and i.is_sticker], "sticker"),
            ([v.media_id for v in message.video_attachments if v.origin == origin], "video"),
        )
        told = [f"{len(ids)} {kind}{'' if len(ids) == 1 else 's'}{_handles(ids)}" for ids, kind in groups if ids]
        if told:
            lines.append(note(f"{', '.join(told)} {words.format(name=message.author_name)}"))
    return lines


def _handles(ids: Sequence[str | None]) -> str:
    named = list(dict.fromkeys(id_ for id_ in ids if id_))
    return f" ({', '.join(named)})" if named else ""
