"""A prompt's pictures and films for one model: fetched once, shown where it can see them, told of where it cannot.

`resolve_media` changes nothing of the prompt it is given: every attempt starts from the same one. What is shown stands
before the words of its turn; a line of ours about it never stands in the assistant's mouth.

`MediaCache` fetches nothing for a model that cannot see it. What is fetched is known by its first bytes: a file that
lies about its type is shown as what it is, or not at all, and said to lie. What cannot be had in time costs
itself only.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from familiar_connect.chat.types import MediaDescriptor
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.errors import FetchError
from familiar_connect.llm.types import Capabilities, ImagePart, MediaPart, TextPart, VideoPart
from familiar_connect.support.aio import cancel_and_wait, off_loop
from familiar_connect.support.fetch.attachments import sniff_media_type
from familiar_connect.support.fetch.client import FetchLimits
from familiar_connect.support.fetch.protocols import Fetch
from familiar_connect.support.lru import LruCache
from familiar_connect.support.system_notes import note

logger = logging.getLogger(__name__)

YOUTUBE_MIME = "video/mp4"
"""What a film behind a YouTube address is sent as."""

IMAGE_LIMITS = FetchLimits(max_bytes=5 * 1024 * 1024, kinds=("image/",))
VIDEO_LIMITS = FetchLimits(max_bytes=16 * 1024 * 1024, timeout_s=12.0, kinds=("video/",))
MOST_AT_ONCE = 12
"""Things shown in one prompt; the newest come first."""
MOST_BYTES_AT_ONCE = 24 * 1024 * 1024
CACHE_BYTES = 48 * 1024 * 1024
MOST_CACHED = 1_000
CONNECTIONS = 4
FETCH_LIMIT_S = 15.0
RETRY_AFTER_S = 120.0
"""What could not be had is asked for again so much later, not with every reply."""


@dataclass(frozen=True)
class FetchedMedia:
    """What became of one address: the thing itself and its true type, or why it is not to be had."""

    data: str | None = None
    """A `data:` URI."""
    mime: str | None = None
    trouble: str = ""


TOO_MANY = FetchedMedia(trouble="there are too many to show all of them")
TOO_LATE = FetchedMedia(trouble="it took too long to load")


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
        items += _resolve(item, capabilities, brought, vision_tool) if item.media else (item,)
    return replace(prompt, items=tuple(items))


def can_see(descriptor: MediaDescriptor, capabilities: Capabilities) -> bool:
    return capabilities.vision if descriptor.kind == "image" else capabilities.video


def _resolve(
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
        return None, note(f"{_call_kinds([descriptor])} cannot be shown: {why}")
    mime = found.mime if found is not None else descriptor.mime
    if mime is None:
        logger.warning("a picture or film of unknown type is left out", extra={"kind": descriptor.kind})
        return None, ""
    data = found.data if found is not None else None
    told = note(f"{_call_kinds([descriptor])}: {found.trouble}") if found is not None and found.trouble else ""
    if descriptor.kind == "image":
        return ImagePart(descriptor.uri, mime, descriptor.fallback_uri, data=data), told
    return VideoPart(descriptor.uri, mime, data=data), told


def _out_of_window(media: Sequence[MediaDescriptor], capabilities: Capabilities) -> str:
    what, one = _call_kinds(media), len(media) == 1
    if any(can_see(each, capabilities) for each in media):
        return note(
            f"{what} {'is' if one else 'are'} too far back to be shown; replying to that message brings "
            f"{'it' if one else 'them'} back"
        )
    return note(f"{what} cannot be viewed")


def _unseen(media: Sequence[MediaDescriptor], vision_tool: str | None) -> str:
    hint = f"; `{vision_tool}` can describe {'it' if len(media) == 1 else 'them'}" if vision_tool else ""
    return note(f"{_call_kinds(media)}: you cannot see {'it' if len(media) == 1 else 'them'}{hint}")


def _call_kinds(media: Sequence[MediaDescriptor]) -> str:
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


class MediaCache:
    """What was fetched lately. Built anywhere, used from whichever loop is running."""

    def __init__(
        self,
        fetch: Fetch,
        *,
        limit_s: float = FETCH_LIMIT_S,
        shelf_bytes: int = CACHE_BYTES,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._monotonic = monotonic
        self._limit_s = limit_s
        self._held: LruCache[str, FetchedMedia] = LruCache(MOST_CACHED, size=shelf_bytes, size_of=_size_of)
        self._again_at: LruCache[str, tuple[float, FetchedMedia]] = LruCache(MOST_CACHED)

    async def fetch_all(self, prompt: Prompt, capabilities: Capabilities) -> dict[str, FetchedMedia]:
        """For every address of *prompt* that this model can be shown: what is behind it, or why not."""
        wanted = media_to_fetch(prompt, capabilities)
        found: dict[str, FetchedMedia] = {each.uri: TOO_MANY for each in wanted[MOST_AT_ONCE:]}
        missing: list[MediaDescriptor] = []
        for descriptor in wanted[:MOST_AT_ONCE]:
            if (held := self._read_cache(descriptor.uri)) is not None:
                found[descriptor.uri] = held
            else:
                missing.append(descriptor)
        if missing:
            found |= await self._fetch_missing(missing)
        return _within_bytes(found, (each.uri for each in wanted))

    async def _fetch_missing(self, missing: list[MediaDescriptor]) -> dict[str, FetchedMedia]:
        places = asyncio.Semaphore(CONNECTIONS)
        tasks = {
            each.uri: asyncio.get_running_loop().create_task(self._one(each, places), name="media") for each in missing
        }
        try:
            await asyncio.wait(tasks.values(), timeout=self._limit_s)
        finally:
            for task in tasks.values():
                if not task.done():
                    await cancel_and_wait(task)
        found = {uri: TOO_LATE if task.cancelled() else task.result() for uri, task in tasks.items()}
        for uri, brought in found.items():
            if brought.data is None and uri not in self._held:
                self._again_at.put(uri, (self._monotonic() + RETRY_AFTER_S, brought))
        return found

    def _read_cache(self, uri: str) -> FetchedMedia | None:
        if (held := self._held.get(uri)) is not None:
            return held
        until, trouble = self._again_at.get(uri) or (0.0, None)
        return trouble if trouble is not None and self._monotonic() < until else None

    async def _one(self, descriptor: MediaDescriptor, places: asyncio.Semaphore) -> FetchedMedia:
        limits = IMAGE_LIMITS if descriptor.kind == "image" else VIDEO_LIMITS
        trouble = ""
        for uri in filter(None, (descriptor.uri, descriptor.fallback_uri)):
            try:
                async with places:
                    fetched = await self._fetch.get(uri, limits)
            except FetchError as error:
                trouble = trouble or str(error)
            except Exception as error:  # isolation: one picture costs itself
                logger.warning("a picture or film could not be fetched", extra={"error": type(error).__name__})
                trouble = trouble or "it could not be loaded"
            else:
                brought = await off_loop(_identify, fetched.data, descriptor)
                self._again_at.pop(descriptor.uri)
                self._held.put(descriptor.uri, brought)
                return brought
        return FetchedMedia(trouble=trouble)


def _size_of(media: FetchedMedia) -> int:
    return len(media.data or "")


def media_to_fetch(prompt: Prompt, capabilities: Capabilities) -> list[MediaDescriptor]:
    """What this model can be shown and must be fetched for it, the newest first, each address once."""
    found: dict[str, MediaDescriptor] = {}
    for item in reversed(prompt.items):
        if any(not each.within_window for each in item.media):
            continue
        for each in item.media:
            if can_see(each, capabilities) and not each.is_youtube:
                found.setdefault(each.uri, each)
    return list(found.values())


def _identify(data: bytes, descriptor: MediaDescriptor) -> FetchedMedia:
    """*data* by what it really is."""
    kind = sniff_media_type(data)
    said = (descriptor.mime or "").partition(";")[0].strip().lower()
    if kind is None or not kind.startswith(f"{descriptor.kind}/"):
        return FetchedMedia(trouble=f"it is not what it says it is ({said or descriptor.kind})")
    lies = f"it says it is {said} and is {kind}" if said and not _same(said, kind) else ""
    return FetchedMedia(f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}", kind, lies)


def _same(said: str, kind: str) -> bool:
    """Whether a type that is claimed fits what was found; one container holds both kinds of film."""
    if said in (kind, "application/octet-stream") or (said, kind) == ("image/jpg", "image/jpeg"):
        return True
    return {said, kind} <= {"video/mp4", "video/quicktime"}


def _within_bytes(found: dict[str, FetchedMedia], newest_first: Iterable[str]) -> dict[str, FetchedMedia]:
    left = MOST_BYTES_AT_ONCE
    kept: dict[str, FetchedMedia] = {}
    for uri in newest_first:
        brought = found[uri]
        left -= len(brought.data or "")
        kept[uri] = brought if left >= 0 or brought.data is None else TOO_MANY
    return kept
