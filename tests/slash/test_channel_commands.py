"""Commands about channels: where the familiar listens, and how it talks there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.scene import ChannelContext, ChannelKind
from familiar_connect.config.types import ChannelMode
from familiar_connect.errors import ConfigError
from familiar_connect.familiar import Familiar
from familiar_connect.slash.command import (
    MAY_NOT_MANAGE,
    SlashCommand,
    SlashContext,
    SlashPlace,
    SlashReply,
    run_command,
)
from familiar_connect.slash.registry import COMMANDS, find_command
from familiar_connect.subscriptions import SubscriptionKind
from tests.fakes.scripted_familiar import ANA, ScriptedFamiliar, scripted_familiar

ROOM = 70
GUILD = 700


@dataclass
class Door:
    """A voice channel that can be entered and left, or not."""

    caller_channel: ChannelContext | None = field(default_factory=lambda: ChannelContext("lounge", ChannelKind.voice))
    caller_channel_id: int | None = 77
    connected_channel_id: int | None = None
    may_connect: bool = True
    may_speak: bool = True
    fails: bool = False
    did: list[str] = field(default_factory=list)

    async def connect(self) -> None:
        if self.fails:
            raise OSError("no route")
        self.did.append("connect")

    async def greet(self) -> None:
        self.did.append("greet")

    async def disconnect(self) -> None:
        self.did.append("disconnect")


def a_place(kind: ChannelKind = ChannelKind.text, **facts: Any) -> SlashPlace:
    return SlashPlace(channel=ChannelContext("den", kind), guild_id=GUILD, **facts)


async def ask(house: ScriptedFamiliar, name: str, words: str = "", **facts: Any) -> SlashReply:
    found = find_command(name)
    assert found is not None
    about = {"place": a_place(), "is_operator": True, **facts}
    return await run_command(found, SlashContext(channel_id=ROOM, author=ANA, words=words, **about), house.familiar)


def listens(house: ScriptedFamiliar, kind: SubscriptionKind = SubscriptionKind.text, channel_id: int = ROOM) -> bool:
    return house.familiar.subscriptions.get(channel_id=channel_id, kind=kind) is not None


def test_the_promised_commands_exist_and_need_no_options() -> None:
    """Seven and three; the two of old do not exist."""
    promised = [
        "subscribe-text",
        "unsubscribe-text",
        "subscribe-my-voice",
        "unsubscribe-voice",
        "channel-full-rp",
        "channel-text-conversation-rp",
        "channel-imitate-voice",
        "channel-backdrop",
        "context",
    ]

    assert [name for name in promised if find_command(name) is None] == []
    options = [option for each in COMMANDS if each.name in promised for option in each.options]
    assert [each.name for each in options if each.required] == []
    assert find_command("awaken") is None
    assert find_command("sleep") is None
    assert {"privacy", "memory", "persona", "reward", "punish"} <= {each.name for each in COMMANDS}


def test_discord_takes_every_name_and_description() -> None:
    """Short, lower case, letters and hyphens."""
    assert all(each.name.replace("-", "").isalpha() and len(each.name) <= 32 for each in COMMANDS)
    assert all(0 < len(each.description) <= 100 for each in COMMANDS)


@pytest.mark.parametrize("kind", [ChannelKind.forum_root, ChannelKind.dm, ChannelKind.voice, ChannelKind.category])
async def test_only_text_channels_and_threads_can_be_subscribed(tmp_path: Path, kind: ChannelKind) -> None:
    """Others are refused in a sentence."""
    async with scripted_familiar(tmp_path) as house:
        reply = await ask(house, "subscribe-text", place=a_place(kind))

        assert reply.text.endswith(".")
        assert not listens(house)


async def test_a_channel_we_cannot_use_is_refused(tmp_path: Path) -> None:
    """Both rights are named."""
    async with scripted_familiar(tmp_path) as house:
        reply = await ask(house, "subscribe-text", place=a_place(can_view=False, can_send=False))

        assert "view this channel and to send messages" in reply.text
        assert not listens(house)


async def test_unsubscribing_clears_what_waited_and_goes_on_without_the_writer(tmp_path: Path) -> None:
    """A writer that fails is no reason to stay."""
    acknowledged: list[bool] = []

    async with scripted_familiar(tmp_path) as house:

        async def acknowledge(text: str) -> None:
            acknowledged.append(listens(house))

        async def flush() -> None:
            raise OSError("disk")

        await ask(house, "subscribe-text")
        house.familiar.memory_writer_scheduler.flush = flush  # type: ignore[method-assign]
        reply = await ask(house, "unsubscribe-text", acknowledge=acknowledge)

        assert acknowledged == [False]
        assert "I will try again later" in reply.text


async def test_voice_is_joined_then_registered_then_greeted(tmp_path: Path) -> None:
    """And left again, cleanly."""
    door = Door()

    async with scripted_familiar(tmp_path) as house:
        joined = await ask(house, "subscribe-my-voice", place=a_place(voice=door))
        registered = listens(house, SubscriptionKind.voice, 77)
        door.connected_channel_id = 77
        twice = await ask(house, "subscribe-my-voice", place=a_place(voice=door))
        left = await ask(house, "unsubscribe-voice", place=a_place(voice=door))

        assert door.did == ["connect", "greet", "disconnect"]
        assert registered
        assert "voice:#lounge" in joined.text
        assert "already" in twice.text
        assert "left" in left.text
        assert not listens(house, SubscriptionKind.voice, 77)


@pytest.mark.parametrize(
    ("door", "says"),
    [
        (None, "I cannot speak or hear here"),
        (Door(caller_channel=None, caller_channel_id=None), "Join a voice channel first"),
        (Door(may_speak=False), "right to speak"),
        (Door(fails=True), "could not join"),
    ],
)
async def test_voice_that_cannot_be_had_leaves_nothing_registered(tmp_path: Path, door: Door | None, says: str) -> None:
    """It says what lacks."""
    async with scripted_familiar(tmp_path) as house:
        reply = await ask(house, "subscribe-my-voice", place=a_place(voice=door))

        assert says in reply.text
        assert not listens(house, SubscriptionKind.voice, 77)
        assert "not in a voice channel" in (await ask(house, "unsubscribe-voice", place=a_place(voice=None))).text


async def test_where_voice_is_not_installed_it_says_how_to_install_it(tmp_path: Path) -> None:
    """For whoever was shown the command before."""
    async with scripted_familiar(tmp_path) as house:
        reply = await ask(house, "subscribe-my-voice", place=a_place(voice=None, why_no_voice="Install it."))

        assert reply.text == "Install it."


async def test_a_backdrop_can_be_typed_where_there_are_no_forms(tmp_path: Path) -> None:
    """Without words it shows the present one, `clear` clears it."""
    async with scripted_familiar(tmp_path) as house:
        before = await ask(house, "channel-backdrop")
        await ask(house, "channel-backdrop", "A den under the oak")
        shown = await ask(house, "channel-backdrop")
        await ask(house, "channel-backdrop", "clear")

        assert "No backdrop yet" in before.text
        assert shown.text == "A den under the oak"
        assert house.familiar.channel_configs.get_backdrop(ROOM) is None


async def test_a_form_that_comes_back_empty_clears(tmp_path: Path) -> None:
    """And keeps the mode."""
    async with scripted_familiar(tmp_path) as house:
        await ask(house, "channel-full-rp")
        await ask(house, "channel-backdrop", "Somewhere")
        await ask(house, "channel-backdrop", "", from_form=True)
        config = house.familiar.channel_configs.get(ROOM)

        assert config.backdrop_override is None
        assert config.mode is ChannelMode.full_rp


async def test_rights_are_asked_for_and_the_operator_has_them_all(tmp_path: Path) -> None:
    """Whoever manages the channel may change it; nobody else."""
    async with scripted_familiar(tmp_path) as house:
        refused = await ask(house, "subscribe-text", is_operator=False)
        allowed = await ask(house, "subscribe-text", is_operator=False, may_manage=True)

        assert refused.text == MAY_NOT_MANAGE
        assert "listen" in allowed.text


async def test_a_command_that_fails_is_a_sentence(tmp_path: Path) -> None:
    """Our own errors in their own words, others by name."""

    async def broken(ctx: SlashContext, familiar: Familiar) -> SlashReply:
        raise ConfigError("channels/70.toml: line 3 is no TOML")

    async def worse(ctx: SlashContext, familiar: Familiar) -> SlashReply:
        raise ZeroDivisionError("secret")

    async with scripted_familiar(tmp_path) as house:
        ctx = SlashContext(channel_id=ROOM, author=ANA, is_operator=True)
        told = await run_command(SlashCommand(name="x", description="x", run=broken), ctx, house.familiar)
        named = await run_command(SlashCommand(name="x", description="x", run=worse), ctx, house.familiar)

        assert told.text == "channels/70.toml: line 3 is no TOML"
        assert "ZeroDivisionError" in named.text
        assert "secret" not in named.text
