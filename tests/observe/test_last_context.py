"""The last prompt of a channel, on a page."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from familiar_connect.context.types import Modality
from familiar_connect.llm.types import ImagePart, Message
from familiar_connect.observe.last_context import LastContextCache, is_of_turn
from familiar_connect.support.clock import ManualClock
from tests.fakes.traces import NOON


@pytest.fixture
def cache(tmp_path: Path) -> LastContextCache:
    return LastContextCache(channels_root=tmp_path / "channels", clock=ManualClock(NOON))


def test_a_page_shows_every_message_as_it_was_sent(cache: LastContextCache, tmp_path: Path) -> None:
    """Header, numbered messages with role and name, rules between, in the channel's file."""
    messages = [Message("system", "You are a bird."), Message("user", "hi\nthere", name="Ana")]

    cache.put(channel_id=7, messages=messages, modality="text")

    expected = (
        "# 2025-06-01T12:00:00+00:00 modality=text 2 messages\n\n"
        "## [0] system\n\nYou are a bird.\n\n---\n\n## [1] user (Ana)\n\nhi\nthere\n"
    )
    assert (tmp_path / "channels" / "7.last-context.md").read_text(encoding="utf-8") == expected
    assert cache.get(channel_id=7) == expected.encode()


def test_a_later_prompt_takes_the_place_of_the_earlier(cache: LastContextCache) -> None:
    """One page per channel, whichever object reads it."""
    cache.put(channel_id=7, messages=[Message("user", "one")], modality=Modality.text)
    cache.put(channel_id=7, messages=[Message("user", "two")], modality=Modality.voice)

    page = cache.get(channel_id=7) or b""
    assert (b"one" in page, b"two" in page, b"modality=voice" in page) == (False, True, True)


def test_long_and_strange_content_is_not_shortened(cache: LastContextCache) -> None:
    """What the model got is on the page, to the last character."""
    content = "שלום 🐦 " * 50_000

    cache.put(channel_id=7, messages=[Message("user", content)], modality="text")

    assert content in (cache.get(channel_id=7) or b"").decode()


def test_a_broken_character_does_not_cost_the_page(cache: LastContextCache) -> None:
    """Half a surrogate pair cannot be written; the rest can."""
    cache.put(channel_id=7, messages=[Message("user", "bad \ud800 end")], modality="text")

    assert b"bad ? end" in (cache.get(channel_id=7) or b"")


def test_notes_and_pictures_follow_the_text(cache: LastContextCache) -> None:
    """Cuts stand after the messages; a picture is named, not printed."""
    message = Message("user", "look", media=(ImagePart("data:image/png;base64,AAAA", "image/png"),))

    cache.put(channel_id=7, messages=[message], modality="text", notes="2 blocks cut")

    page = (cache.get(channel_id=7) or b"").decode()
    assert page.endswith("look\n\n*[picture: image/png]*\n\n---\n\n2 blocks cut\n")


def test_a_channel_without_a_page_has_none(cache: LastContextCache) -> None:
    """Nothing was sent there yet."""
    assert cache.get(channel_id=8) is None


def test_a_page_that_cannot_be_written_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The turn goes on; the log says which channel and not what was said."""
    (tmp_path / "channels").write_text("a file where a folder should be")
    cache = LastContextCache(channels_root=tmp_path / "channels")

    with caplog.at_level(logging.WARNING, logger="familiar_connect"):
        cache.put(channel_id=7, messages=[Message("user", "garden")], modality="text")

    assert [record.getMessage() for record in caplog.records] == ["last context not written"]
    assert cache.get(channel_id=7) is None


def test_a_page_says_which_turn_it_shows(cache: LastContextCache) -> None:
    """In its header alone: what people say there counts for nothing."""
    cache.put(channel_id=7, messages=[Message("user", "# turn=t2")], modality="text", trace_id="t1")

    page = cache.get(channel_id=7) or b""
    assert (is_of_turn(page, "t1"), is_of_turn(page, "t2"), is_of_turn(b"", "t1")) == (True, False, False)
