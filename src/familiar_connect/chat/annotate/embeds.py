"""Embeds: our own notices told as System text, link previews as one line."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.chat.annotate.context import AnnotationContext
from familiar_connect.chat.annotate.media import Media, image_type_of, with_media_ids
from familiar_connect.chat.message_parts import Embed, ImageAttachment
from familiar_connect.support.system_notes import note, without_fake_notes

SYSTEM = "System"
SYSTEM_EMBED_ID = "system-embed"
"""Author of every notice of ours, so that notices merge with each other."""
MOST_EMBEDS = 10
MOST_FIELDS = 25
DESCRIPTION_CHARS = 500
FIELD_CHARS = 1_000
NOTICE_CHARS = 4_000


def is_notice(embed: Embed, *, ours: bool, reading: AnnotationContext) -> bool:
    """Whether *embed* is a notice of ours that is shown: only what we posted ourselves counts."""
    return ours and embed.notice is not None and (embed.notice != "error" or reading.settings.self_debug)


def notice_lines(embeds: Sequence[Embed], reading: AnnotationContext) -> list[str]:
    """The notices, a System line each."""
    return [note(line) for embed in embeds[:MOST_EMBEDS] if (line := _embed_text(embed, reading, NOTICE_CHARS))]


def preview_lines(embeds: Sequence[Embed], reading: AnnotationContext) -> list[str]:
    """Link previews, a System line each."""
    return [
        note(f"link preview: {line}")
        for embed in embeds[:MOST_EMBEDS]
        if (line := _embed_text(embed, reading, DESCRIPTION_CHARS))
    ]


def preview_media(embeds: Sequence[Embed], reading: AnnotationContext, *, source: str) -> Media:
    """The picture of each preview, or its thumbnail."""
    pictures = (embed.image_url or embed.thumbnail_url for embed in embeds[:MOST_EMBEDS])
    found = Media(images=tuple(ImageAttachment(url=url, mime=image_type_of(url)) for url in pictures if url))
    return with_media_ids(found, reading, source=source, origin="own")


def _embed_text(embed: Embed, reading: AnnotationContext, limit: int) -> str:
    pieces = [embed.author, embed.title, _cut(embed.description, limit)]
    for field in embed.fields[:MOST_FIELDS]:
        pieces.append(": ".join(filter(None, (_cut(field.name, FIELD_CHARS), _cut(field.value, FIELD_CHARS)))))
    return " - ".join(
        without_fake_notes(reading.readable(piece.strip())) for piece in pieces if piece and piece.strip()
    )


def _cut(text: str | None, limit: int) -> str:
    text = text or ""
    return text if len(text) <= limit else f"{text[:limit].rstrip()}…"
