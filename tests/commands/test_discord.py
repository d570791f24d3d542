"""`familiar discord invite`, and what `familiar doctor` says of a bot, as processes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from familiar_connect.extensions.discord.setup.invite import INTENTS, PERMISSIONS, SCOPES, WITH_ALTERS, WITH_VOICE
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.program import make_home, run_program, set_model

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "discord.md"
TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4.abc.def"
"""Of application 123456789012345678."""
LINK = (
    "https://discord.com/oauth2/authorize?client_id=123456789012345678"
    "&scope=bot+applications.commands&permissions=274878024704"
)


def test_the_invite_link_is_made_from_the_token(tmp_path: Path) -> None:
    """Alone on its line; each permission and intent follows with its reason, and the token is shown nowhere."""
    make_home(tmp_path)
    (tmp_path / "secrets.env").write_text(f"DISCORD_BOT={TOKEN}\n", encoding="utf-8")
    (tmp_path / "secrets.env").chmod(0o600)
    done = run_program(tmp_path, "discord", "invite")
    as_data = run_program(tmp_path, "discord", "invite", "--json")

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == LINK
    assert all(each.title in done.stdout and each.reason in done.stdout for each in (*PERMISSIONS, *INTENTS))
    assert TOKEN not in done.stdout
    assert json.loads(as_data.stdout)["url"] == LINK


def test_further_personas_take_webhooks(tmp_path: Path) -> None:
    """So the link of a familiar that has any asks for them, too."""
    settings = make_home(tmp_path) / "character.toml"
    rows = settings.read_text(encoding="utf-8") + '\n[[alters]]\nname = "Moss"\n'
    settings.write_text(rows, encoding="utf-8")
    done = run_program(tmp_path, "discord", "invite", "--json", env={"DISCORD_BOT": TOKEN})

    found = json.loads(done.stdout)
    assert found["permissions"][-1] == "Manage Webhooks"
    assert int(found["url"].rpartition("=")[2]) == 274878024704 + (1 << 29)


def test_voice_channels_take_two_permissions_more(tmp_path: Path) -> None:
    """Asked for by who wants them."""
    done = run_program(tmp_path, "discord", "invite", "--voice", "--json", "--application-id", "123456789012345678")

    found = json.loads(done.stdout)
    assert found["permissions"][-2:] == ["Connect", "Speak"]
    assert int(found["url"].rpartition("=")[2]) == 274878024704 + (1 << 20) + (1 << 21)


def test_the_invite_link_needs_no_token_and_no_familiar(tmp_path: Path) -> None:
    """Where the application is named."""
    done = run_program(tmp_path, "discord", "invite", "--application-id", "123456789012345678")
    wrong = run_program(tmp_path, "discord", "invite", "--application-id", "my bot")
    nothing = run_program(tmp_path, "discord", "invite")

    assert done.stdout.splitlines()[0] == LINK
    assert wrong.returncode == nothing.returncode == 1
    assert "is not an application id" in wrong.stderr
    assert "there is no DISCORD_BOT in" in nothing.stderr
    assert "keys set discord" in nothing.stderr


def test_a_token_that_is_none_is_told(tmp_path: Path) -> None:
    """Without being shown."""
    done = run_program(tmp_path, "discord", "invite", env={"DISCORD_BOT": "hunter2"})

    assert done.returncode == 1
    assert "does not look like a bot's token" in done.stderr
    assert "hunter2" not in done.stderr


def test_the_guide_lists_every_intent_and_permission_with_its_reason() -> None:
    """And nothing that the link does not ask for."""
    guide = GUIDE.read_text(encoding="utf-8")
    rows = [line.strip().strip("|").split("|") for line in guide.splitlines() if line.strip().startswith("|")]
    told = {cells[0].strip(): cells[1].strip() for cells in rows if len(cells) == 2}

    every = (*PERMISSIONS, *WITH_VOICE, WITH_ALTERS)
    assert {each.title: told.get(each.title) for each in every} == {each.title: each.reason for each in every}
    assert {each.title: told.get(each.title) for each in INTENTS} == {
        each.title: f"needed: {each.reason}" if each.is_needed else each.reason for each in INTENTS
    }
    assert all(f"`{scope}`" in guide for scope in SCOPES)


async def test_doctor_asks_discord_about_the_bot(tmp_path: Path) -> None:
    """With the real library; not with --offline."""
    pytest.importorskip("discord", reason="the Discord library is an extra")
    from familiar_connect.extensions.discord.demo.rights import SEND_MESSAGES
    from familiar_connect.extensions.discord.demo.server import DiscordServer
    from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry

    root = make_home(tmp_path)
    registry = SubscriptionRegistry(root / "subscriptions.toml")
    registry.add(channel_id=1003, kind=SubscriptionKind.text, guild_id=1001)
    registry.add(channel_id=500, kind=SubscriptionKind.text, guild_id=None)
    async with DiscordServer() as server, ModelServer([stream_answer("Yes.")]) as model:
        set_model(root / "character.toml", model)  # doctor asks it, too, and the embedded one takes seconds
        guild = server.world.guild("The Burrow", id=1001)
        server.world.room(guild, "mute", id=1003, denied=SEND_MESSAGES)
        env = {"DISCORD_BOT": server.token, "DISCORD_API_URL": server.api_url}
        silent = await asyncio.to_thread(run_program, tmp_path, "doctor", "--all", "--offline", env=env)
        asked_before = bool(server.notes)
        done = await asyncio.to_thread(run_program, tmp_path, "doctor", "--all", env=env)
        wrong = await asyncio.to_thread(run_program, tmp_path, "doctor", "--all", env={**env, "DISCORD_BOT": "x.y.z"})

    assert "✓ discord   set up, and its library is installed" in silent.stdout
    assert not asked_before
    assert "✓ discord   the token is familiar's, Message Content Intent is on, 1 server" in done.stdout
    assert "✗ discord   in #mute on 'The Burrow' the bot lacks Send Messages (to answer)" in done.stdout
    assert "channel 500" not in done.stdout
    assert done.returncode == wrong.returncode == 1
    assert "✗ discord   Discord does not accept the token in DISCORD_BOT" in wrong.stdout


DOCTOR_WITHOUT = """
import importlib.util, sys
from familiar_connect.cli import end_program, main
find = importlib.util.find_spec
def find_another(name, *more):
    return None if name == {!r} else find(name, *more)
for module in [each for each in sys.modules.values() if getattr(each, "find_spec", None) is find]:
    module.find_spec = find_another
end_program(main())
"""
"""The program on a computer that has not got a package."""


async def test_doctor_says_what_voice_channels_lack(tmp_path: Path) -> None:
    """The permissions where it was asked to come, and the packages on this computer."""
    pytest.importorskip("discord", reason="the Discord library is an extra")
    pytest.importorskip("hibari", reason="voice is an extra")
    from familiar_connect.extensions.discord.demo.rights import SPEAK
    from familiar_connect.extensions.discord.demo.server import DiscordServer
    from familiar_connect.extensions.discord.demo.world import VOICE
    from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry

    home = tmp_path / "home"
    root = make_home(home)
    async with DiscordServer() as server, ModelServer([stream_answer("Yes.")]) as model:
        set_model(root / "character.toml", model)
        guild = server.world.guild("The Burrow", id=1001)
        server.world.room(guild, "lounge", id=1003, kind=VOICE, denied=SPEAK)
        env = {"DISCORD_BOT": server.token, "DISCORD_API_URL": server.api_url}

        async def look(missing: str | None = None) -> list[str]:
            code = DOCTOR_WITHOUT.format(missing)
            done = await asyncio.to_thread(run_program, home, "doctor", "--json", env=env, code=code)
            return [f"{each['state']}: {each['says']}" for each in json.loads(done.stdout) if each["area"] == "discord"]

        _, unasked = await look()
        _, not_wanted = await look("av")
        SubscriptionRegistry(root / "subscriptions.toml").add(
            channel_id=1003, kind=SubscriptionKind.voice, guild_id=1001
        )
        _, lacking, ready = await look()
        _, _, unsafe = await look("davey")

    assert unasked == ready
    assert ready.startswith("ok: what voice channels take is there (Opus, the encryption of calls)")
    assert not_wanted.startswith(
        "ok: no voice channels without hearing, speaking and Opus: its library is not installed; "
    )
    assert lacking.startswith("bad: in the voice channel 'lounge' on 'The Burrow' the bot lacks Speak (")
    assert unsafe.startswith("bad: no voice channels without the encryption of calls: its library is not installed; ")
