"""What voice channels take is there or is named, and settings choose what hears and speaks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from familiar_connect.config.character import CharacterConfig
from familiar_connect.errors import SetupError
from familiar_connect.extensions.discord.voice.parts import why_no_voice
from familiar_connect.extensions.hosts.call_host import CallHost
from familiar_connect.voice.backends import libraries_for
from familiar_connect.voice.service_access import ServiceAccess
from tests.fakes.scripted_familiar import scripted_familiar


@pytest.mark.parametrize(
    ("missing", "extra"), [("av", "voice"), ("faster_whisper", "voice"), ("davey", "discord"), ("nacl", "discord")]
)
def test_what_is_not_installed_is_said_with_the_command_that_installs_it(
    missing: str, extra: str, tmp_path: Path
) -> None:
    """One sentence."""
    needed = libraries_for(CharacterConfig(), ServiceAccess.of_home(tmp_path))
    sentence = why_no_voice(needed, is_installed=lambda library: library != missing)

    assert sentence is not None
    assert f"--with {extra} " in sentence or f"familiar-connect[{extra}]" in sentence
    assert sentence.endswith(".")


def test_with_everything_installed_there_is_voice(tmp_path: Path) -> None:
    """As this development environment has it."""
    assert why_no_voice(libraries_for(CharacterConfig(), ServiceAccess.of_home(tmp_path))) is None


async def test_a_service_without_its_key_is_a_sentence(tmp_path: Path) -> None:
    """Said when the familiar is asked to come."""

    def with_service(config: CharacterConfig) -> CharacterConfig:
        return replace(config, tts=replace(config.tts, provider="openai"))

    async with scripted_familiar(tmp_path, settings=with_service) as house:
        with pytest.raises(SetupError, match="key"):
            CallHost(house.familiar).make_voice()
