"""voice: talk with a familiar by speech; a recording in, a recording out."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    json_option,
    open_or_make_root,
    profile_of,
)
from familiar_connect.commands.conversation import TERMINAL_PLACE
from familiar_connect.commands.trust import ask_about_endpoints
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import SetupError

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.familiar import Familiar

VOICE_CHAT = "voice"
"""The chat that recordings are part of."""
EPILOG = """\b
Examples:
  familiar voice --wav question.wav --out answer.wav    ask by voice, hear the reply
  familiar voice --wav evening.wav --out replies.wav    each question is answered when there is a pause
  familiar voice --wav question.wav --json              what was understood and answered, as JSON
  familiar voice --script talk.json --out talk.wav      several people, who may talk over it and each other
A pause of `voice_lull_timeout` seconds (in character.toml) ends what is asked. Nothing leaves this computer
unless the model or a speech service that the settings name, under [stt] and [tts], is elsewhere.
Exit codes: 0 answered, 1 something is set up wrong, 3 no reply came.
"""


@click.command(epilog=EPILOG)
@familiar_option
@click.option("--wav", "question", type=click.Path(path_type=Path), help="A recording to listen to.")
@click.option("--script", type=click.Path(path_type=Path), help="A talk of several people to listen to, as JSON.")
@click.option("--out", "answer", type=click.Path(path_type=Path), help="Where the spoken reply goes, as WAV.")
@click.option("--as", "user_name", metavar="NAME", help="Who speaks in the recording.")
@json_option
@click.pass_context
def voice(
    ctx: click.Context,
    familiar_id: str | None,
    question: Path | None,
    script: Path | None,
    answer: Path | None,
    user_name: str | None,
    as_json: bool,
) -> int:
    """Talk with a familiar by voice: it listens to a recording and speaks its reply into another."""
    if (question is None) == (script is None):
        raise click.UsageError("name what is listened to: either --wav FILE or --script FILE")
    home = home_of(ctx)
    root = open_or_make_root(home, familiar_id)
    require_voice_packages(root, home)
    ask_about_endpoints(root, home)
    from familiar_connect.commands.voice_files import FileDoor

    door = FileDoor(root=root, home=home, answer=answer, shows_text=not as_json, find_channel=_voice_channel)
    if script is not None:
        return door.play_script(script)
    return door.answer_recording(question, user_name) if question is not None else exit_codes.NO_REPLY


def require_voice_packages(root: Path, home: Path) -> None:
    """A sentence where the packages that the familiar's settings take for voice are not installed."""
    from familiar_connect.config import load_character_config
    from familiar_connect.platforms.requirements import how_to_install
    from familiar_connect.voice.backends import libraries_for

    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    if any(find_spec(name) is None for name in libraries_for(config)):
        raise SetupError(f"voice: {how_to_install('voice')}")


def _voice_channel(familiar: Familiar) -> int:
    from familiar_connect.history.chats import ChatRegistry

    registry = ChatRegistry(FamiliarFolder(familiar.root))
    chat = registry.find(TERMINAL_PLACE, VOICE_CHAT)
    return (chat or registry.start(TERMINAL_PLACE, VOICE_CHAT, make_current=False)).channel_id
