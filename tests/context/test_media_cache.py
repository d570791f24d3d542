"""Fetching what a prompt shows, for models that see."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from familiar_connect.chat.types import MediaDescriptor
from familiar_connect.context.media import (
    MOST_AT_ONCE,
    RETRY_AFTER_S,
    TOO_LATE,
    TOO_MANY,
    MediaCache,
    media_to_fetch,
)
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.errors import FetchError
from familiar_connect.llm.types import Capabilities, TextPart
from familiar_connect.support.fetch.client import FetchLimits, FetchResult, GuardedFetch
from tests.fakes.file_server import JPEG, PNG, FileAnswer, FileServer

SEEING = Capabilities(vision=True, video=True)


class Files:
    """Gives what it holds, and remembers what was asked."""

    def __init__(self, **files: bytes | Exception) -> None:
        self._files = files
        self.asked: list[str] = []
        self.running = 0
        self.most_running = 0

    async def get(self, url: str, limits: FetchLimits | None = None) -> FetchResult:
        self.asked.append(url)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await asyncio.sleep(0)
            found = self._files.get(url, PNG)
            if isinstance(found, Exception):
                raise found
            return FetchResult(found, "image/png")
        finally:
            self.running -= 1


def picture(uri: str, **more: Any) -> MediaDescriptor:
    return MediaDescriptor(**{"kind": "image", "uri": uri, "mime": "image/png", **more})


def a_prompt(*media: MediaDescriptor) -> Prompt:
    """One item for each, oldest first."""
    return Prompt(
        items=tuple(
            ContextItem(role="user", parts=(TextPart("x"),), tag=ItemTag.DIALOGUE, media=(each,)) for each in media
        )
    )


async def test_what_is_fetched_becomes_a_data_uri() -> None:
    """Of its true type."""
    found = await MediaCache(Files()).fetch_all(a_prompt(picture("a")), SEEING)

    assert found["a"].mime == "image/png"
    assert (found["a"].data or "").startswith("data:image/png;base64,iVBORw0K")


async def test_nothing_is_fetched_for_a_model_that_cannot_see() -> None:
    """F12: nor what lies too far back, nor a film behind a YouTube address."""
    files = Files()
    prompt = a_prompt(
        picture("a"), picture("b", within_window=False), picture("c", kind="video", is_youtube=True, mime=None)
    )

    assert await MediaCache(files).fetch_all(prompt, Capabilities()) == {}
    assert [each.uri for each in media_to_fetch(prompt, SEEING)] == ["a"]
    assert files.asked == []


async def test_a_picture_is_fetched_once() -> None:
    """For two places, two attempts and two turns."""
    files = Files()
    shelf = MediaCache(files)
    await shelf.fetch_all(a_prompt(picture("a"), picture("a")), SEEING)
    await shelf.fetch_all(a_prompt(picture("a")), SEEING)

    assert files.asked == ["a"]


@pytest.mark.parametrize(
    ("data", "mime", "shown", "told"),
    [
        (JPEG, "image/png", "image/jpeg", "it says it is image/png and is image/jpeg"),
        (JPEG, "image/jpg", "image/jpeg", ""),
        (PNG, None, "image/png", ""),
        (PNG, "application/octet-stream", "image/png", ""),
        (b"<html><script>", "image/png", None, "it is not what it says it is (image/png)"),
        (b"<svg onload=", "image/webp", None, "it is not what it says it is (image/webp)"),
        (b"\x00\x00\x00\x18ftypisom", "image/png", None, "it is not what it says it is (image/png)"),
        (b"MZ\x90", None, None, "it is not what it says it is (image)"),
    ],
)
async def test_an_attachment_that_lies_about_its_type_is_found_out(
    data: bytes, mime: str | None, shown: str | None, told: str
) -> None:
    """By its first bytes."""
    found = (await MediaCache(Files(a=data)).fetch_all(a_prompt(picture("a", mime=mime)), SEEING))["a"]

    assert (found.mime, found.trouble) == (shown, told)


async def test_the_other_address_is_tried_when_the_first_gives_nothing() -> None:
    """And the first reason is told when neither does."""
    files = Files(a=FetchError("it is too large"), c=FetchError("it is gone"), d=RuntimeError("odd"))
    both = a_prompt(picture("a", fallback_uri="b"), picture("c", fallback_uri="d"))
    found = await MediaCache(files).fetch_all(both, SEEING)

    assert (found["a"].data is not None, found["c"].trouble) == (True, "it is gone")


async def test_what_could_not_be_had_is_not_asked_for_with_every_reply() -> None:
    """But again after a while."""
    clock = [0.0]
    files = Files(a=FetchError("it is gone"))
    shelf = MediaCache(files, monotonic=lambda: clock[0])
    troubles = []
    for moment in (0.0, 1.0, RETRY_AFTER_S + 1):
        clock[0] = moment
        troubles.append((await shelf.fetch_all(a_prompt(picture("a")), SEEING))["a"].trouble)

    assert (troubles, files.asked) == (["it is gone"] * 3, ["a", "a"])


async def test_the_newest_are_shown_when_there_are_too_many() -> None:
    """And few are fetched at a time."""
    files = Files()
    found = await MediaCache(files).fetch_all(a_prompt(*(picture(f"p{at}") for at in range(20))), SEEING)

    assert [uri for uri, brought in found.items() if brought is TOO_MANY] == [f"p{at}" for at in range(7, -1, -1)]
    assert len(files.asked) == MOST_AT_ONCE
    assert files.most_running <= 4


async def test_what_is_late_costs_itself_only() -> None:
    """The others are shown."""

    class Slow(Files):
        async def get(self, url: str, limits: FetchLimits | None = None) -> FetchResult:
            if url == "slow":
                await asyncio.Event().wait()
            return await super().get(url, limits)

    found = await MediaCache(Slow(), limit_s=0.05).fetch_all(a_prompt(picture("slow"), picture("a")), SEEING)

    assert (found["slow"], found["a"].data is not None) == (TOO_LATE, True)


async def test_a_reply_given_up_ends_the_fetching() -> None:
    """Nothing is left running."""
    begun = asyncio.Event()

    class Hanging(Files):
        ended = False

        async def get(self, url: str, limits: FetchLimits | None = None) -> FetchResult:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended = True
            raise AssertionError

    files = Hanging()
    task = asyncio.create_task(MediaCache(files).fetch_all(a_prompt(picture("a")), SEEING))
    await begun.wait()
    task.cancel()
    await asyncio.wait({task})

    assert (task.cancelled(), files.ended) == (True, True)


async def test_the_shelf_holds_no_more_than_it_should() -> None:
    """What was not asked for longest goes first."""
    files = Files()
    shelf = MediaCache(files, shelf_bytes=150)
    for name in ("a", "b", "c", "a"):
        await shelf.fetch_all(a_prompt(picture(name)), SEEING)

    assert files.asked == ["a", "b", "c", "a"]


async def test_a_picture_comes_over_http() -> None:
    """Through the guarded client, which does not let this machine be asked."""
    async with FileServer({"/a.png": FileAnswer(), "/b.png": FileAnswer(body=b"<html>", kind="text/html")}) as server:
        uris = [server.url(path, "127.0.0.1") for path in ("/a.png", "/b.png")]
        prompt = a_prompt(*map(picture, uris))
        trusting = GuardedFetch(allowed=lambda address: True, ports=None)
        seen = await MediaCache(trusting).fetch_all(prompt, SEEING)
        guarded = await MediaCache(GuardedFetch(ports=None)).fetch_all(prompt, SEEING)

        assert [seen[uri].trouble for uri in uris] == ["", "it is of a kind that is not shown"]
        assert [guarded[uri].trouble for uri in uris] == ["its host lies in a private network"] * 2
