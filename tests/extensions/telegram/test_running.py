"""`familiar run` on a Telegram of our own, as a process that dies; and what `familiar doctor` is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("telegram", reason="the Telegram library is an extra")

from familiar_connect.errors import SetupError
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.parts import PlatformQuestion
from familiar_connect.extensions.telegram.demo.server import TelegramServer
from familiar_connect.extensions.telegram.settings import Settings
from familiar_connect.extensions.telegram.setup_check import ask_telegram
from familiar_connect.support.clock import SystemClock
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.program_process import PROGRAM, environment

OWNER_ID = 501


async def test_a_program_that_was_killed_answers_what_came_meanwhile(tmp_path: Path) -> None:
    """Each message is stored once and answered once, the one before the kill and the one after it."""
    async with TelegramServer() as there:
        with model_endpoint(stream_answer("One."), stream_answer("Two.")) as model:
            settings = make_home(tmp_path, model) / "character.toml"
            text = settings.read_text(encoding="utf-8")
            settings.write_text(text.replace("[telegram]\n", f'[telegram]\nowner = "{OWNER_ID}"\n'), encoding="utf-8")
            secrets = {"TELEGRAM_BOT_TOKEN": there.token, "TELEGRAM_API_URL": there.url}
            environs = environment(tmp_path) | secrets
            you = there.world.user("you", OWNER_ID)
            first = await start(environs)
            there.say(you, "before")
            await there.until(lambda: len(there.list_sent()) == 1, within_s=60)
            first.kill()
            await first.wait()
            there.say(you, "while nobody listened")
            second = await start(environs)
            await there.until(lambda: "Two." in there.list_sent(), within_s=60)
            second.terminate()
            _, errors = await second.communicate()

    answers = [each for each in there.list_sent() if not each.startswith("I was stopped while I answered you.")]
    assert answers == ["One.", "Two."]
    assert second.returncode == 0, errors.decode()
    assert there.token not in errors.decode()
    asked = str(model.requests[-1].payload["messages"])
    assert asked.count("while nobody listened") == 1


async def start(environs: dict[str, str]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *PROGRAM, "run", stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environs
    )


async def test_the_doctor_is_told_what_telegram_says_of_the_bot(tmp_path: Path) -> None:
    """Who it is, that nobody is its owner, and that privacy mode keeps it from hearing a group."""
    async with TelegramServer() as there:
        secrets = {"TELEGRAM_BOT_TOKEN": there.token, "TELEGRAM_API_URL": there.url}
        part = PartContext(settings=Settings(), secrets=secrets, clock=SystemClock(), folder=tmp_path)
        found = await ask_telegram(PlatformQuestion(part=part))
        there.world.set_privacy(is_on=False)
        owned = PartContext(settings=Settings(owner="501"), secrets=secrets, clock=SystemClock(), folder=tmp_path)
        fine = await ask_telegram(PlatformQuestion(part=owned))
        wrong = PartContext(
            settings=Settings(), secrets=secrets | {"TELEGRAM_BOT_TOKEN": "1:2"}, clock=SystemClock(), folder=tmp_path
        )
        with pytest.raises(SetupError, match="does not accept the token"):
            await ask_telegram(PlatformQuestion(part=wrong))

    assert [each.state for each in found] == ["ok", "warn", "warn"]
    assert "https://t.me/ember_bot" in found[0].says
    assert [each.state for each in fine] == ["ok"]
