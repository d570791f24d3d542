"""MediaCache: pictures and films fetched for models that see, each once, within bounds.

Nothing is fetched for a model that cannot see it. What is fetched is known by its first bytes: a file that
lies about its type is shown as what it is, or not at all, and said to lie. What cannot be had in time costs
itself only.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import Callable, Iterable

from familiar_connect.chat.types import MediaDescriptor
from familiar_connect.context.generation.media import FetchedMedia, can_see
from familiar_connect.context.types import Prompt
from familiar_connect.errors import FetchError
from familiar_connect.llm.types import Capabilities
from familiar_connect.support.aio import cancel_and_wait, off_loop
from familiar_connect.support.fetch.client import FetchLimits
from familiar_connect.support.fetch.media_type import sniff_media_type
from familiar_connect.support.fetch.protocols import Fetch
from familiar_connect.support.lru import LruCache

logger = logging.getLogger(__name__)

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

TOO_MANY = FetchedMedia(trouble="there are too many to show all of them")
TOO_LATE = FetchedMedia(trouble="it took too long to load")


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
            if (held := self._cached(descriptor.uri)) is not None:
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

    def _cached(self, uri: str) -> FetchedMedia | None:
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
