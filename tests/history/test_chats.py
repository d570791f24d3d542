"""The chats of a place: the first has the place's own channel, every other one of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import HomeError
from familiar_connect.history.chats import FIRST_CHAT, HIGHEST_OWN_ID, LOWEST_OWN_ID, ChatRegistry, check_chat_name
from familiar_connect.support.clock import ManualClock

TERMINAL, ELSEWHERE = 1, 500
NOW = datetime(2026, 11, 15, 20, 0, tzinfo=UTC)


@pytest.fixture
def registry(tmp_path: Path) -> ChatRegistry:
    return ChatRegistry(FamiliarFolder(tmp_path), clock=ManualClock(NOW))


def test_a_place_without_chats_has_its_first(registry: ChatRegistry, tmp_path: Path) -> None:
    """It is the channel the place always had, and nothing is written for it."""
    (only,) = registry.all(TERMINAL)

    assert (only.name, only.channel_id, only.is_current, only.is_first) == (FIRST_CHAT, TERMINAL, True, True)
    assert list(tmp_path.iterdir()) == []


def test_a_new_chat_is_current_until_another_is_chosen(registry: ChatRegistry) -> None:
    """Each has a channel of its own, between Twitch's and Discord's numbers."""
    second, travels = registry.start(TERMINAL), registry.start(TERMINAL, " Travels ")

    assert (second.name, travels.name) == ("2", "Travels")
    assert len({TERMINAL, second.channel_id, travels.channel_id}) == 3
    assert all(LOWEST_OWN_ID <= chat.channel_id < HIGHEST_OWN_ID for chat in (second, travels))
    assert registry.current(TERMINAL).name == "Travels"
    assert registry.select(TERMINAL, "MAIN").channel_id == TERMINAL
    assert [chat.is_current for chat in registry.all(TERMINAL)] == [True, False, False]


def test_a_chat_may_be_begun_beside_the_current_one(registry: ChatRegistry) -> None:
    """A script's questions do not take the place of the conversation."""
    registry.start(TERMINAL, "ask", make_current=False)

    assert registry.current(TERMINAL).name == FIRST_CHAT


def test_places_do_not_share_chats(registry: ChatRegistry) -> None:
    """A name may be used in each."""
    here, there = registry.start(TERMINAL, "tea"), registry.start(ELSEWHERE, "tea")

    assert here.channel_id != there.channel_id
    assert registry.current(ELSEWHERE) == there
    assert [chat.name for chat in registry.all(TERMINAL)] == [FIRST_CHAT, "tea"]


def test_settings_go_along_into_a_new_chat(registry: ChatRegistry, tmp_path: Path) -> None:
    """Mode, backdrop and preset of the chat it was begun from."""
    folder = FamiliarFolder(tmp_path)
    folder.channels.mkdir()
    folder.channel_file(TERMINAL).write_text('mode = "full_rp"\n', encoding="utf-8")

    chat = registry.start(TERMINAL)

    assert folder.channel_file(chat.channel_id).read_text(encoding="utf-8") == 'mode = "full_rp"\n'


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "x" * 65, "\x1b[31m"])
def test_what_cannot_name_a_chat_is_refused(registry: ChatRegistry, name: str) -> None:
    """In one sentence, and nothing is begun."""
    with pytest.raises(HomeError, match="cannot name a chat"):
        registry.start(TERMINAL, name)
    assert len(registry.all(TERMINAL)) == 1


def test_a_name_stands_for_one_chat(registry: ChatRegistry) -> None:
    """Whatever its capitals; and one that is not there is refused with those that are."""
    registry.start(TERMINAL, "tea")

    with pytest.raises(HomeError, match="already"):
        registry.start(TERMINAL, "TEA")
    with pytest.raises(HomeError, match="there are: main, tea"):
        registry.select(TERMINAL, "coffee")


def test_a_row_that_is_no_chat_is_named(registry: ChatRegistry, tmp_path: Path) -> None:
    """The file is its owner's to mend and is not overwritten."""
    (tmp_path / "chats.toml").write_text('[[chat]]\nname = "tea"\n', encoding="utf-8")

    with pytest.raises(HomeError, match=r"chats\.toml.*number 1"):
        registry.start(TERMINAL)


@given(st.text(max_size=80))
def test_a_name_that_is_taken_stays_as_it_is(name: str) -> None:
    """Whatever is typed either names a chat, trimmed, or is refused."""
    try:
        kept = check_chat_name(name)
    except HomeError:
        return
    assert kept == name.strip() == check_chat_name(kept)
