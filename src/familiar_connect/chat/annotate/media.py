"""Pictures, films, voice messages, files and stickers of a message: what there is to see, and lines for the rest.

How a file stands in the dialogue: a line that it was sent, and what it says as material, where it was read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from familiar_connect.chat.annotate.context import AnnotationContext, emoji_uses
from familiar_connect.chat.message_parts import (
    Attachment,
    Embed,
    ImageAttachment,
    MediaOrigin,
    Sticker,
    VideoAttachment,
)
from familiar_connect.chat.types import InboundMessage
from familiar_connect.support.system_notes import MATERIAL, note, quote_inline, speaker_name, without_fake_notes

MOST_SHOWN = 3
"""Files whose text stands in one prompt: the newest."""
_BACKTICKS = re.compile("`{3,}")


def only_newest_texts(messages: Sequence[InboundMessage]) -> list[InboundMessage]:
    """*messages* in which the newest files alone have their text; of those before, that there were some is told."""
    left, shown = MOST_SHOWN, []
    for message in reversed(messages):
        if any(each.text is not None and each.text.text for each in message.attachments):
            kept = []
            for each in message.attachments:
                has_text = each.text is not None and bool(each.text.text)
                kept.append(replace(each, text=None) if has_text and left <= 0 else each)
                left -= has_text
            message = replace(message, attachments=tuple(kept))
        shown.append(message)
    return shown[::-1]


def file_lines(author: str, attachment: Attachment, handle: str) -> list[str]:
    """What a file that was read says, between two lines of ours, in a fence that nothing in it closes."""
    name = speaker_name(attachment.filename, "a file").replace("`", "'")
    read = attachment.text
    if read is None:
        return [note(f"{author} sent the file {name}{handle}")]
    if read.refused:
        return [note(f"{author} sent the file {name}{handle}, which was not read: {read.refused}")]
    head = note(f"{author} sent the file {name}{handle}; its text follows")
    fence = "`" * max(3, max(map(len, _BACKTICKS.findall(read.text)), default=0) + 1)
    whole = "" if not read.of_lines else f" of {read.of_lines:,}"
    end = (
        f"the file {name} is cut here, after {read.lines:,}{whole} lines" if read.is_cut else f"end of the file {name}"
    )
    begin = f"{fence}{name} ({MATERIAL})"  # said here too: a small model is shown no notes
    return [head, begin, *without_fake_notes(read.text).split("\n"), fence, note(end)]


IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
VIDEO_TYPES = frozenset({"video/mp4", "video/webm", "video/quicktime", "video/mpeg"})
_BY_ENDING = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mov": "video/quicktime",
    "mpeg": "video/mpeg",
    "ogg": "audio/ogg",
    "oga": "audio/ogg",
    "opus": "audio/ogg",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "m4a": "audio/mp4",
    "flac": "audio/flac",
    "txt": "text/plain",
    "md": "text/markdown",
    "pdf": "application/pdf",
}
MOST_ATTACHMENTS = 20
MOST_STICKERS = 10
MOST_EMOJIS = 50
MOST_SECONDS = 86_400.0

_YOUTUBE = re.compile(
    r"https?://(?:(?:www|m)\.)?(?:youtube\.com/(?:watch\?[^\s<>]{0,200}?\bv=|shorts/|live/)|youtu\.be/)"
    r"([\w-]{11})(?![\w-])"
)


class MessageContent(Protocol):
    """A message, or what is known of one."""

    @property
    def text(self) -> str: ...
    @property
    def attachments(self) -> tuple[Attachment, ...]: ...
    @property
    def embeds(self) -> tuple[Embed, ...]: ...
    @property
    def stickers(self) -> tuple[Sticker, ...]: ...


@dataclass(frozen=True)
class Media:
    """What can be shown."""

    images: tuple[ImageAttachment, ...] = ()
    videos: tuple[VideoAttachment, ...] = ()

    def __add__(self, other: Media) -> Media:
        if not other or not self:
            return self or other
        return Media(self.images + other.images, self.videos + other.videos)

    def __bool__(self) -> bool:
        return bool(self.images or self.videos)


NO_MEDIA = Media()


def mime_of(attachment: Attachment) -> str:
    """The type it is said to have; where nothing is said, the one its name suggests."""
    said = (attachment.mime or "").partition(";")[0].strip().lower()
    if said and said != "application/octet-stream":
        return said
    name = (attachment.filename or attachment.url).partition("?")[0]
    return _BY_ENDING.get(name.rpartition(".")[2].lower(), said or "application/octet-stream")


def image_type_of(url: str) -> str | None:
    """The type the end of *url* suggests, if it is a picture's."""
    suggested = _BY_ENDING.get(url.partition("?")[0].partition("#")[0].rpartition(".")[2].lower())
    return suggested if suggested in IMAGE_TYPES else None


def media_of(holding: MessageContent, reading: AnnotationContext, *, source: str, origin: MediaOrigin = "own") -> Media:
    """Everything of *holding* that can be shown. Its handle leads to the message *source*."""
    media = NO_MEDIA
    for attachment in holding.attachments[:MOST_ATTACHMENTS] if holding.attachments else ():
        media += _show(attachment)
    for sticker in holding.stickers[:MOST_STICKERS] if holding.stickers else ():
        if sticker.url:
            media += Media(
                images=(ImageAttachment(url=sticker.url, mime="image/png", filename=sticker.name, is_sticker=True),)
            )
    if origin == "own" and reading.emoji_urls:
        media += _emojis(holding.text, reading)
    if "youtu" in holding.text and (video := _YOUTUBE.search(holding.text)) is not None:
        media += Media(videos=(VideoAttachment(url=f"https://www.youtube.com/watch?v={video[1]}", is_youtube=True),))
    return with_media_ids(media, reading, source=source, origin=origin) if media is not NO_MEDIA else media


def with_media_ids(media: Media, reading: AnnotationContext, *, source: str, origin: MediaOrigin) -> Media:
    """*media* with the message it belongs to and the handle it goes by; emojis have none."""
    if not media or not (media.videos or any(not image.is_emoji for image in media.images)):
        return media
    media_id = None if reading.is_voice else reading.ids.register(source, "media")
    from_elsewhere = None if origin == "own" else source
    return Media(
        tuple(
            image
            if image.is_emoji
            else replace(image, source_message_id=from_elsewhere, origin=origin, media_id=media_id)
            for image in media.images
        ),
        tuple(
            replace(video, source_message_id=from_elsewhere, origin=origin, media_id=media_id) for video in media.videos
        ),
    )


def _show(attachment: Attachment) -> Media:
    mime = mime_of(attachment)
    url, proxy, name = attachment.url, attachment.proxy_url, attachment.filename
    if mime in IMAGE_TYPES:
        return Media(images=(ImageAttachment(url=url, proxy_url=proxy, mime=mime, filename=name),))
    if mime in VIDEO_TYPES:
        return Media(videos=(VideoAttachment(url=url, proxy_url=proxy, mime=mime, filename=name),))
    return NO_MEDIA


def _emojis(text: str, reading: AnnotationContext) -> Media:
    used = emoji_uses(text)[:MOST_EMOJIS]
    if not used:
        return NO_MEDIA
    known = reading.emoji_urls
    return Media(images=tuple(ImageAttachment(url=known[n], filename=n, is_emoji=True) for n in used if n in known))


def attachment_notes(message_id: str, author: str, holding: MessageContent, reading: AnnotationContext) -> list[str]:
    """A line for everything that cannot be shown: voice messages, files, stickers by name."""
    lines: list[str] = []
    for attachment in holding.attachments[:MOST_ATTACHMENTS]:
        mime = mime_of(attachment)
        if attachment.is_voice or mime.startswith("audio/"):
            lines += _voice(author, attachment, reading)
        elif mime not in IMAGE_TYPES and mime not in VIDEO_TYPES:
            handle = "" if reading.is_voice else f" ({reading.ids.register(message_id, 'media')})"
            lines += file_lines(author, attachment, handle)
    if (more := len(holding.attachments) - MOST_ATTACHMENTS) > 0:
        lines.append(note(f"{author} sent {more} more files"))
    lines += [
        note(f"{author} sent the sticker {quote_inline(speaker_name(sticker.name, 'sticker'))}")
        for sticker in holding.stickers[:MOST_STICKERS]
    ]
    return lines


def _voice(author: str, attachment: Attachment, reading: AnnotationContext) -> list[str]:
    if reading.settings.chat_only:
        return []
    length = f" ({_minutes(attachment.duration_s)})" if attachment.duration_s else ""
    if attachment.transcript and attachment.transcript.strip():
        return [note(f"this was a voice message of {author}{length}: {quote_inline(attachment.transcript)}")]
    return [note(f"{author} sent a voice message{length} that was not transcribed")]


def _minutes(seconds: float) -> str:
    """A length as a player shows it, such as 0:07; at least a second."""
    whole = max(1, round(min(seconds, MOST_SECONDS)))
    return f"{whole // 60}:{whole % 60:02d}"


def media_counts(media: Media) -> str:
    """How many pictures and films: "2 images and 1 video"; empty for none."""
    if not media:
        return ""
    images = sum(1 for image in media.images if not image.is_emoji and not image.is_sticker)
    stickers = sum(1 for image in media.images if image.is_sticker)
    parts = [
        f"{count} {kind}{'' if count == 1 else 's'}"
        for count, kind in ((images, "image"), (stickers, "sticker"), (len(media.videos), "video"))
        if count
    ]
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
