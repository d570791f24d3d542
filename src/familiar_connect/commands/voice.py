"""voice: talk with a familiar by speech, with microphone and speakers or by recordings."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    json_option,
    keep_log_apart,
    open_or_make_root,
    profile_of,
    say,
)
from familiar_connect.commands.conversation import TERMINAL_PLACE
from familiar_connect.commands.prepare import prepare_to_start
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import SetupError

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.commands.voice_files import FileDoor
    from familiar_connect.familiar import Familiar

VOICE_CHAT = "voice"
"""The chat that recordings are part of."""
EPILOG = """\b
Examples:
  familiar voice                                        speak and listen; you can also type
  familiar voice --say "Good evening." --out hello.wav  your own words as a recording; no model is asked
  familiar voice --headphones                           the same, and you may interrupt by speaking
  familiar voice --wav question.wav --out answer.wav    ask by voice, hear the reply
  familiar voice --wav evening.wav --out replies.wav    each question is answered when there is a pause
  familiar voice --wav question.wav --json              what was understood and answered, as JSON
  familiar voice --script talk.json --out talk.wav      several people talk with a copy of it, and over it
A pause ends your turn: a short one after a question or a whole sentence, else `voice_lull_timeout` seconds (in
character.toml). Without a microphone you can type; without speakers replies are shown, and --out FILE keeps them as
sound. Nothing leaves this computer unless the model or a speech service that the settings name, under [stt] and
[tts], is elsewhere.
Exit codes: 0 answered, or you left; 1 something is set up wrong, 2 a file cannot be read, 3 a recording got no reply.
"""


@click.command(epilog=EPILOG)
@familiar_option
@click.option(
    "--wav",
    "question",
    type=click.Path(path_type=Path),
    help="A recording to listen to, instead of the microphone.",
)
@click.option("--script", type=click.Path(path_type=Path), help="A talk of several people to listen to, as JSON.")
@click.option("--out", "answer", type=click.Path(path_type=Path), help="Where the spoken reply goes, as WAV.")
@click.option("--say", "words", metavar="TEXT", help="Speak TEXT into the file of --out, and do nothing else.")
@click.option("--as", "user_name", metavar="NAME", help="Who speaks.")
@click.option("--headphones", "has_headphones", is_flag=True, help="Listen while it speaks: you wear headphones.")
@json_option
@click.pass_context
def voice(
    ctx: click.Context,
    familiar_id: str | None,
    question: Path | None,
    script: Path | None,
    answer: Path | None,
    words: str | None,
    user_name: str | None,
    has_headphones: bool,
    as_json: bool,
) -> int:
    """Talk with a familiar by voice: through microphone and speakers, or from one recording into another."""
    if sum(each is not None for each in (question, script, words)) > 1:
        raise click.UsageError("name one of --wav FILE, --script FILE and --say TEXT")
    if words is not None and answer is None:
        raise click.UsageError("--say TEXT goes with --out FILE, where the recording is written")
    is_live = question is None and script is None and words is None
    if as_json and (is_live or words is not None):
        raise click.UsageError("--json goes with --wav FILE or --script FILE")
    if has_headphones and not is_live:
        raise click.UsageError("--headphones goes with the microphone, not with --wav, --script or --say")
    for file in (question, script):
        if file is not None and not file.is_file():  # before anything is made or loaded
            say(f"familiar: {file} cannot be read: there is no such file", err=True)
            return exit_codes.USAGE
    home = home_of(ctx)
    keep_log_apart(ctx, home)
    root = open_or_make_root(home, familiar_id)
    require_voice_packages(root, home)
    if words is not None and answer is not None:
        from familiar_connect.commands.voice_say import say_into_file

        return say_into_file(root, home, words, answer)
    prepare_to_start(root, home)
    if is_live:
        from familiar_connect.commands.voice_live import LiveWish, talk_live

        wish = LiveWish(
            user_name=user_name, has_headphones=has_headphones, recording=answer, find_channel=_voice_channel
        )
        return talk_live(root, home, wish)
    from familiar_connect.commands.voice_files import FileDoor

    door = FileDoor(root=root, home=home, answer=answer, shows_text=not as_json, find_channel=_voice_channel)
    if script is not None:
        return _play_with_copy(door, script)
    return door.answer_recording(question, user_name) if question is not None else exit_codes.NO_REPLY


def _play_with_copy(door: FileDoor, script: Path) -> int:
    """Invented people talk with a copy: the familiar itself hears nothing of it."""
    from familiar_connect.commands.trial import open_trial, say_trial

    with open_trial(door.root, door.home) as copy:
        code = replace(door, root=copy).play_script(script)
    if door.shows_text and code != exit_codes.USAGE:
        say_trial(door.root, door.home, err=True)
    return code


def require_voice_packages(root: Path, home: Path) -> None:
    """A sentence where the packages that the familiar's settings take for voice are not installed."""
    from familiar_connect.config.extras import how_to_install
    from familiar_connect.config.load import load_character_config
    from familiar_connect.voice.backends import libraries_for
    from familiar_connect.voice.service_access import ServiceAccess

    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    if any(find_spec(name) is None for name in libraries_for(config, ServiceAccess.of_home(home))):
        raise SetupError(f"voice: {how_to_install('voice')}")


def _voice_channel(familiar: Familiar) -> int:
    from familiar_connect.history.chats import ChatRegistry

    registry = ChatRegistry(FamiliarFolder(familiar.root))
    chat = registry.find(TERMINAL_PLACE, VOICE_CHAT)
    return (chat or registry.start(TERMINAL_PLACE, VOICE_CHAT, make_current=False)).channel_id
