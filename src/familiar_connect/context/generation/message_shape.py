"""Items as a kind of API takes them: no picture in an assistant's turn, one system message where only one may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.llm.types import ImagePart, MediaPart, TextPart, VideoPart
from familiar_connect.support.system_notes import note


def with_media_in_user_turns(items: Sequence[ContextItem]) -> Sequence[ContextItem]:
    """*items* with what an assistant's turn shows in a user's turn behind it, which names who sent it."""
    if not any(item.role == "assistant" and _media(item) for item in items):
        return items
    moved: list[ContextItem] = []
    for item in items:
        media = _media(item) if item.role == "assistant" else ()
        if not media:
            moved.append(item)
            continue
        words = tuple(part for part in item.parts if isinstance(part, TextPart))
        if item.text.strip():
            moved.append(replace(item, parts=words))
        moved.append(
            ContextItem(
                role="user",
                parts=(*media, TextPart(note(f"{_count(media)} sent by {_sender(item)}"))),
                tag=ItemTag.DATE_SPACER,
                source=item.source,
                apart=True,
            )
        )
    return moved


def with_single_system(items: Sequence[ContextItem]) -> list[ContextItem]:
    """*items* with all system text on top, in its order, so that it makes one message."""
    top = [
        replace(item, apart=False, tag=None if item.tag is ItemTag.DIALOGUE else item.tag)
        for item in items
        if item.role == "system"
    ]
    return [*top, *(item for item in items if item.role != "system")]


def _media(item: ContextItem) -> tuple[MediaPart, ...]:
    return tuple(part for part in item.parts if isinstance(part, ImagePart | VideoPart))


def _sender(item: ContextItem) -> str:
    if item.sender is not None:
        return item.sender.name
    return item.name or "you"


def _count(media: Sequence[MediaPart]) -> str:
    images = sum(1 for part in media if isinstance(part, ImagePart))
    told = ((images, "image"), (len(media) - images, "video"))
    return " and ".join(f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in told if count)
