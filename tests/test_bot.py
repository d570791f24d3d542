"""Which platforms a familiar answers on, and why not the others."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.bot import Bot, check_keys, create_bot
from familiar_connect.config.secrets import Secrets
from familiar_connect.errors import ConfigError
from tests.fakes.scripted_familiar import scripted_familiar

ALL = {"TELEGRAM_BOT_TOKEN": "1:a", "DISCORD_BOT": "d", "TWITCH_CLIENT_ID": "c", "TWITCH_TOKEN": "t"}


async def bot_with(
    home: Path, keys: dict[str, str], settings: str = '[twitch]\nchannel = "ada"\n', *, installed: bool = True
) -> Bot:
    root = make_starter(home, "ember")
    (root / "character.toml").write_text(settings, encoding="utf-8")
    async with scripted_familiar(home) as house:
        secrets = Secrets(home, environ=keys)
        return create_bot(house.familiar, secrets=secrets, is_installed=lambda library: installed)


async def test_everything_that_is_set_up_is_run(tmp_path: Path) -> None:
    """In the order of the table."""
    bot = await bot_with(tmp_path, ALL)

    assert [platform.id for platform in bot.platforms] == ["discord", "twitch", "telegram"]
    assert bot.absent == {}


@pytest.mark.parametrize(
    ("lacks", "platform", "why"),
    [
        ("DISCORD_BOT", "discord", "no DISCORD_BOT; `familiar keys set DISCORD_BOT`"),
        ("TWITCH_TOKEN", "twitch", "no TWITCH_TOKEN; `familiar keys set TWITCH_TOKEN` asks"),
        ("TWITCH_CLIENT_ID", "twitch", "no TWITCH_CLIENT_ID; `familiar keys set TWITCH_CLIENT_ID` asks"),
    ],
)
async def test_what_lacks_a_key_is_named_with_the_key(tmp_path: Path, lacks: str, platform: str, why: str) -> None:
    """And the file it belongs into; the rest runs."""
    bot = await bot_with(tmp_path, {name: value for name, value in ALL.items() if name != lacks})

    assert bot.absent[platform].startswith(why)
    assert str(tmp_path / "secrets.env") in bot.absent[platform]
    assert len(bot.platforms) == 2


async def test_a_familiar_may_have_a_discord_token_of_its_own(tmp_path: Path) -> None:
    """It comes before the home's; that of another familiar is not used."""
    secrets = Secrets(tmp_path, environ={"DISCORD_BOT": "all", "DISCORD_BOT_NIGHT_OWL": "hers"})

    assert secrets.get(secrets.name_for("night-owl", "DISCORD_BOT")) == "hers"
    assert secrets.get(secrets.name_for("ember", "DISCORD_BOT")) == "all"
    bot = await bot_with(tmp_path, {"DISCORD_BOT_EMBER": "d"})
    assert [platform.id for platform in bot.platforms] == ["discord"]


async def test_twitch_waits_for_a_channel(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The file and the key are named; who does not want it is not warned."""
    bot = await bot_with(tmp_path, ALL, "")

    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []
    assert bot.absent == {"twitch": f"no channel; set `channel` under [twitch] in {bot.familiar.root}/character.toml"}


async def test_a_library_that_is_not_installed_is_named_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command fits how the program was started."""
    monkeypatch.delenv("FAMILIAR_COMMAND", raising=False)
    monkeypatch.setattr("familiar_connect.config.command.LAUNCHER", "not-there.py")
    by_pip = await bot_with(tmp_path / "a", ALL, installed=False)
    monkeypatch.setattr("familiar_connect.config.command.LAUNCHER", "run.py")
    monkeypatch.setenv("FAMILIAR_COMMAND", "python3 run.py")
    by_script = await bot_with(tmp_path / "b", ALL, installed=False)

    assert "-m pip install 'py-cord[voice]>=2.8,<3'" in by_pip.absent["discord"]
    assert "python3 run.py --with twitch run" in by_script.absent["twitch"]
    assert by_pip.platforms == by_script.platforms == []


async def test_a_slot_without_its_key_is_a_sentence(tmp_path: Path) -> None:
    """Which variable, which slot, which file."""
    root = make_starter(tmp_path, "ember")
    (root / "character.toml").write_text('[llm.default]\nmodel = "openai/gpt"\n', encoding="utf-8")
    async with scripted_familiar(tmp_path) as house:
        with pytest.raises(ConfigError, match=r"no OPENROUTER_API_KEY, although \[llm\.main_prose\]"):
            check_keys(house.familiar, tmp_path, Secrets(tmp_path, environ={}))
        check_keys(house.familiar, tmp_path, Secrets(tmp_path, environ={"OPENROUTER_API_KEY": "k"}))


@pytest.mark.parametrize(
    ("address", "kept", "is_sent"),
    [
        ("http://127.0.0.1:8080/api", False, True),
        ("https://discord.com/api/v10", False, True),
        ("https://elsewhere.example/api", False, False),
        ("https://elsewhere.example/api", True, True),
        ("http://elsewhere.example/api", True, False),
        ("https://discord.com.elsewhere.example/api", False, False),
        ("https://discord.com@elsewhere.example/api", False, False),
        ("elsewhere", True, False),
    ],
)
async def test_the_discord_token_goes_where_the_home_says(
    tmp_path: Path, address: str, kept: bool, is_sent: bool
) -> None:
    """To Discord, to this machine, and elsewhere only by the home's own file and not over plain HTTP."""
    if kept:
        (tmp_path / "secrets.env").write_text(f"DISCORD_API_URL={address}\n", encoding="utf-8")
    bot = await bot_with(tmp_path, ALL | ({} if kept else {"DISCORD_API_URL": address}))

    assert ("discord" not in bot.absent) is is_sent
    assert is_sent or "DISCORD_API_URL" in bot.absent["discord"]
