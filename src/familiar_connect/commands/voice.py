"""voice: talk with a familiar by speech; a recording in, a recording out."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
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
    say,
    say_json,
)
from familiar_connect.commands.conversation import TERMINAL_PLACE
from familiar_connect.commands.trust import ask_about_endpoints
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import SetupError
from familiar_connect.support.clock import machine_zone

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.chat.scene import Scene
    from familiar_connect.familiar import Familiar
    from familiar_connect.identity import Author
    from familiar_connect.voice.backends import VoiceBackends
    from familiar_connect.voice.recording_out import RecordingOut

VOICE_CHAT = "voice"
"""The chat that recordings are part of."""
EPILOG = """\b
Examples:
  familiar voice --wav question.wav --out answer.wav    ask by voice, hear the reply
  familiar voice --wav evening.wav --out replies.wav    each question is answered when there is a pause
  familiar voice --wav question.wav --json              what was understood and answered, as JSON
A pause of `voice_lull_timeout` seconds (in character.toml) ends what is asked. Nothing leaves this computer
unless the model or a speech service that the settings name, under [stt] and [tts], is elsewhere.
Exit codes: 0 answered, 1 something is set up wrong, 3 no reply came.
"""


@dataclass(frozen=True, kw_only=True)
class Spoken:
    """One thing that was said, what was answered, and how long it took."""

    said: str
    reply: str
    first_audio_s: float | None
    seconds: float


@click.command(epilog=EPILOG)
@familiar_option
@click.option("--wav", "question", required=True, type=click.Path(path_type=Path), help="A recording to listen to.")
@click.option("--out", "answer", type=click.Path(path_type=Path), help="Where the spoken reply goes, as WAV.")
@click.option("--as", "user_name", metavar="NAME", help="Who speaks in the recording.")
@json_option
@click.pass_context
def voice(
    ctx: click.Context,
    familiar_id: str | None,
    question: Path,
    answer: Path | None,
    user_name: str | None,
    as_json: bool,
) -> int:
    """Talk with a familiar by voice: it listens to a recording and speaks its reply into another."""
    home = home_of(ctx)
    root = open_or_make_root(home, familiar_id)
    require_voice_packages(root, home)
    ask_about_endpoints(root, home)
    from familiar_connect.voice.recording_out import RecordingOut
    from familiar_connect.voice.wav import read_wav, write_wav

    sound = read_wav(question)
    out = RecordingOut()
    spoken = asyncio.run(_talk(root, home, sound, out, user_name, shows_text=not as_json))
    if answer is not None and out.pcm:
        write_wav(answer, bytes(out.pcm), out.sample_rate)
    if as_json:
        say_json({"familiar": root.name, "spoken": [asdict(each) for each in spoken]})
    elif not spoken:
        say(f"Nothing was understood in {question.name}: no speech, or too faint.", err=True)
    return exit_codes.OK if any(each.reply for each in spoken) else exit_codes.NO_REPLY


def require_voice_packages(root: Path, home: Path) -> None:
    """A sentence where the packages that the familiar's settings take for voice are not installed."""
    from familiar_connect.config import load_character_config
    from familiar_connect.platforms.requirements import how_to_install
    from familiar_connect.voice.backends import libraries_for

    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    if any(find_spec(name) is None for name in libraries_for(config)):
        raise SetupError(f"voice: {how_to_install('voice')}")


async def _talk(
    root: Path, home: Path, sound: bytes, out: RecordingOut, user_name: str | None, *, shows_text: bool
) -> list[Spoken]:
    from familiar_connect.bot import load_familiar
    from familiar_connect.voice.backends import VoiceBackends
    from familiar_connect.voice.service_access import ServiceAccess

    familiar, _ = load_familiar(root, home=home, defaults_path=profile_of(home), zone=machine_zone())
    backends = VoiceBackends(familiar.config, ServiceAccess.of_home(home, file=FamiliarFolder(root).settings_file))
    try:
        await familiar.start()
        listener = await _Listener.build(familiar, backends, out, user_name)
        spoken = []
        for said in await _understand(sound, familiar, backends):
            if shows_text:
                say(f"You: {said}")
            spoken.append(await listener.answer(said))
            if shows_text and spoken[-1].reply:
                say(f"{familiar.name}: {spoken[-1].reply}")
        return spoken
    finally:
        await backends.aclose()
        await familiar.aclose()


async def _understand(sound: bytes, familiar: Familiar, backends: VoiceBackends) -> list[str]:
    """What is said in *sound*, put together between pauses."""
    from familiar_connect.voice.hear_recording import understand_recording

    utterances = await understand_recording(
        sound,
        backends.recognizer,
        backends.make_probability,
        lull_s=familiar.config.voice_lull_timeout,
        on_trouble=_tell,
    )
    return [each.text for each in utterances]


def _tell(text: str) -> None:
    say(f"familiar: {text}", err=True)


class _Listener:
    """Answers what one person says, into one recording."""

    def __init__(
        self, familiar: Familiar, backends: VoiceBackends, out: RecordingOut, user: Author, channel_id: int
    ) -> None:
        from familiar_connect.history.stored_messages import StoredMessages
        from familiar_connect.voice.place import VoicePlace

        self._familiar = familiar
        self._user = user
        self._channel_id = channel_id
        self._began = 0.0
        self._first_audio: float | None = None
        recent = StoredMessages(familiar.history_store, familiar.id, channel_id, platform="terminal")
        self._place = VoicePlace(
            backends.synthesizer,
            out,
            recent,
            show=_tell,
            scene=self._look_around,
            on_first_audio=self._note_first_audio,
        )

    @classmethod
    async def build(
        cls, familiar: Familiar, backends: VoiceBackends, out: RecordingOut, user_name: str | None
    ) -> _Listener:
        from familiar_connect.platforms.terminal.person import person_at_terminal
        from familiar_connect.support.aio import off_loop

        user = await off_loop(person_at_terminal, user_name or familiar.config.user_name, familiar)
        return cls(familiar, backends, out, user, await off_loop(_voice_channel, familiar))

    async def answer(self, said: str) -> Spoken:
        from familiar_connect.chat.types import InboundMessage

        self._began, self._first_audio = time.monotonic(), None
        message = InboundMessage(
            platform="terminal",
            channel_id=self._channel_id,
            author=self._user,
            text=said,
            timestamp=datetime.now(UTC),
            is_dm=True,
            is_mention=True,
            is_voice=True,
            channel_name="voice",
        )
        await self._familiar.intake.receive(message, self._place)
        await self._familiar.reply_path.queue.wait_until_channel_idle(self._channel_id)
        return Spoken(
            said=said,
            reply=self._place.take_heard(),
            first_audio_s=self._first_audio,
            seconds=round(time.monotonic() - self._began, 3),
        )

    async def _look_around(self) -> Scene:
        from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene

        return Scene(channel=ChannelContext("voice", ChannelKind.voice), participants=(self._user,))

    def _note_first_audio(self) -> None:
        self._first_audio = round(time.monotonic() - self._began, 3)


def _voice_channel(familiar: Familiar) -> int:
    from familiar_connect.history.chats import ChatRegistry

    registry = ChatRegistry(FamiliarFolder(familiar.root))
    chat = registry.find(TERMINAL_PLACE, VOICE_CHAT)
    return (chat or registry.start(TERMINAL_PLACE, VOICE_CHAT, make_current=False)).channel_id
