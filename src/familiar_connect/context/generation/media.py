"""resolve_media: a prompt's pictures and films for one model, shown where it can see them, told of where it cannot.

It changes nothing of the prompt it is given: every attempt starts from the same one. What is shown stands
before the words of its turn; a line of ours about it never stands in the assistant's mouth.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from familiar_connect.chat.types import MediaDescriptor
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.llm.types import Capabilities, ImagePart, MediaPart, TextPart, VideoPart
from familiar_connect.support.system_notes import note

logger = logging.getLogger(__name__)

YOUTUBE_MIME = "video/mp4"
"""What a film behind a YouTube address is sent as."""


@dataclass(frozen=True)
class FetchedMedia:
    """What became of one address: the thing itself and its true type, or why it is not to be had."""

    data: str | None = None
    """A `data:` URI."""
    mime: str | None = None
    trouble: str = ""


def resolve_media(
    prompt: Prompt,
    capabilities: Capabilities,
    *,
    brought: Mapping[str, FetchedMedia] | None = None,
    vision_tool: str | None = None,
) -> Prompt:
    """*prompt* with its media as this model takes them, and no descriptor left.

    *brought* is what was fetched, by address; without it a model is given the addresses themselves. *vision_tool*
    is the function, if there is one this turn, by which a blind model can have a picture described.
    """
    if not any(item.media for item in prompt.items):
        return prompt
    items: list[ContextItem] = []
    for item in prompt.items:
        items += _resolved(item, capabilities, brought, vision_tool) if item.media else (item,)
    return replace(prompt, items=tuple(items))


def can_see(descriptor: MediaDescriptor, capabilities: Capabilities) -> bool:
    return capabilities.vision if descriptor.kind == "image" else capabilities.video


def _resolved(
    item: ContextItem, capabilities: Capabilities, brought: Mapping[str, FetchedMedia] | None, vision_tool: str | None
) -> list[ContextItem]:
    shown, notices = _parts_and_notices(item.media, capabilities, brought, vision_tool)
    told = "\n".join(notices)
    parts: tuple[MediaPart | TextPart, ...] = tuple(shown)
    before: list[ContextItem] = []
    # A model that is shown bare words would lose a line among them, and no line is the assistant's.
    if told and (item.role == "assistant" or (capabilities.bare_single_speaker and item.words is not None)):
        before.append(_notice_item(item, told))
    elif told:
        parts += (TextPart(f"{told}\n"),)
    resolved = replace(item, parts=(*parts, *item.parts), media=())
    if not shown and not resolved.text.strip():
        return before
    return [*before, resolved]


def _parts_and_notices(
    media: Sequence[MediaDescriptor],
    capabilities: Capabilities,
    brought: Mapping[str, FetchedMedia] | None,
    vision_tool: str | None,
) -> tuple[list[MediaPart], list[str]]:
    outside = [each for each in media if not each.within_window]
    if outside:
        return [], [_out_of_window(outside, capabilities)]
    shown: list[MediaPart] = []
    notices: list[str] = []
    for kind in ("image", "video"):
        of_kind = [each for each in media if each.kind == kind]
        if not of_kind:
            continue
        if not can_see(of_kind[0], capabilities):
            notices.append(_unseen(of_kind, vision_tool if kind == "image" else None))
            continue
        for descriptor in of_kind:
            part, told = _part(descriptor, brought)
            shown += [part] if part is not None else []
            notices += [told] if told else []
    return shown, notices


def _part(descriptor: MediaDescriptor, brought: Mapping[str, FetchedMedia] | None) -> tuple[MediaPart | None, str]:
    """What is sent of it, and what must be said about it."""
    found = (brought or {}).get(descriptor.uri)
    if descriptor.is_youtube:
        return VideoPart(descriptor.uri, descriptor.mime or YOUTUBE_MIME, is_youtube=True), ""
    if brought is not None and (found is None or found.data is None):
        why = found.trouble if found is not None and found.trouble else "it was not loaded"
        return None, note(f"{_called([descriptor])} cannot be shown: {why}")
    mime = found.mime if found is not None else descriptor.mime
    if mime is None:
        logger.warning("a picture or film of unknown type is left out", extra={"kind": descriptor.kind})
        return None, ""
    data = found.data if found is not None else None
    told = note(f"{_called([descriptor])}: {found.trouble}") if found is not None and found.trouble else ""
    if descriptor.kind == "image":
        return ImagePart(descriptor.uri, mime, descriptor.fallback_uri, data=data), told
    return VideoPart(descriptor.uri, mime, data=data), told


def _out_of_window(media: Sequence[MediaDescriptor], capabilities: Capabilities) -> str:
    what, one = _called(media), len(media) == 1
    if any(can_see(each, capabilities) for each in media):
        return note(
            f"{what} {'is' if one else 'are'} too far back to be shown; replying to that message brings "
            f"{'it' if one else 'them'} back"
        )
    return note(f"{what} cannot be viewed")


def _unseen(media: Sequence[MediaDescriptor], vision_tool: str | None) -> str:
    hint = f"; `{vision_tool}` can describe {'it' if len(media) == 1 else 'them'}" if vision_tool else ""
    return note(f"{_called(media)}: you cannot see {'it' if len(media) == 1 else 'them'}{hint}")


def _called(media: Sequence[MediaDescriptor]) -> str:
    """How many of which kind, and the handles they go by."""
    counts = {kind: sum(1 for each in media if each.kind == kind) for kind in ("image", "video")}
    told = " and ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts.items() if count)
    handles = list(dict.fromkeys(each.media_id for each in media if each.media_id))
    return f"{told} ({', '.join(handles)})" if handles else told


def _notice_item(item: ContextItem, text: str) -> ContextItem:
    """A line before the turn it is about: no turn itself, and gone with that one."""
    return ContextItem(
        role="user",
        parts=(TextPart(text),),
        tag=ItemTag.DATE_SPACER,
        message_id=f"media_notes_{item.message_id}" if item.message_id else None,
        timestamp=item.timestamp,
        source=item.source,
    )
