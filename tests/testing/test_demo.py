"""The demonstration: several people and a familiar on a Discord of our own, from one terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

pytest.importorskip("discord", reason="the Discord library is an extra")

from familiar_connect.platforms.terminal.line_input import PipeReader
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.testing.discord_server.demo import CHANNEL_ID, run_demo
from tests.fakes.scripted_familiar import NO_TYPING_DELAY, scripted_familiar


async def shown(tmp_path: Path, *lines: str, replies: tuple[str, ...] = ("Hello there.",)) -> list[str]:
    """What the terminal shows after the lines were typed."""
    said: list[str] = []
    async with scripted_familiar(tmp_path, replies, subscribed=False) as house:
        house.familiar.root.joinpath("channels", f"{CHANNEL_ID}.toml").write_text(NO_TYPING_DELAY, encoding="utf-8")
        typed = io.StringIO("".join(f"{line}\n" for line in lines))
        await run_demo(house.familiar, reader=PipeReader(typed), say=said.append)
        left = house.familiar.subscriptions.get(channel_id=CHANNEL_ID, kind=SubscriptionKind.text)

    assert left is None
    return said


async def test_a_typed_line_is_said_and_answered(tmp_path: Path) -> None:
    """Until the input ends; nothing is left subscribed."""
    said = await shown(tmp_path, "ada: hello @Ember")

    assert said[-1] == "Ember: Hello there."


async def test_a_command_is_answered_to_its_user(tmp_path: Path) -> None:
    """Under the name of whoever used it."""
    said = await shown(tmp_path, "ada: /privacy partial", "/nonsense")

    assert any(line.startswith("(only Ada sees) Your privacy is partial now") for line in said)
    assert any(line.startswith("There is no /nonsense here.") for line in said)


async def test_how_it_works_is_said_first(tmp_path: Path) -> None:
    """With the familiar's name in the example."""
    said = await shown(tmp_path)

    assert "ada: hello Ember" in said[0]


async def test_someone_may_reply_to_what_it_said(tmp_path: Path) -> None:
    """Once it has said something."""
    said = await shown(tmp_path, "ada: > really?")

    assert said[-1] == "Ember has said nothing yet that could be replied to."


async def test_an_address_is_said_by_you(tmp_path: Path) -> None:
    """There is nobody called http."""
    said = await shown(tmp_path, "https://example.org is nice, @Ember")

    assert said[-1] == "Ember: Hello there."


async def test_the_bot_is_yours(tmp_path: Path) -> None:
    """So you may look into its memory, and others may not."""
    said = await shown(tmp_path, "/memory", "ada: /memory")

    assert any(line.startswith("(only you see) Memory is plain Markdown") for line in said)
    assert any(line.startswith("(only Ada sees) Only the familiar's operator") for line in said)
