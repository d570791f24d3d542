"""`familiar voice --say TEXT`: words as a recording, spoken by the familiar's voice. No model is asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import profile_of, say
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import SetupError


def say_into_file(root: Path, home: Path, text: str, target: Path) -> int:
    """Speak *text* into *target*, a WAV file; the exit code."""
    from familiar_connect.voice.audio import duration_s
    from familiar_connect.voice.wav import write_wav

    pcm, rate = asyncio.run(_speak(root, home, text))
    if not pcm:
        raise SetupError("voice: there is nothing in that text that can be spoken; write some words after --say")
    write_wav(target, pcm, rate)
    say(f"{target}: {duration_s(pcm, rate):.1f} seconds of speech")
    return exit_codes.OK


async def _speak(root: Path, home: Path, text: str) -> tuple[bytes, int]:
    from familiar_connect.config.load import load_character_config
    from familiar_connect.extensions.speech import open_speech_access
    from familiar_connect.voice.backends import VoiceBackends
    from familiar_connect.voice.sentences import SentenceCutter

    file = FamiliarFolder(root).settings_file
    config = load_character_config(file, defaults_path=profile_of(home))
    backends = VoiceBackends(config, open_speech_access(root, home, config))
    cutter, voice = SentenceCutter(), backends.synthesizer
    try:
        sentences = [*cutter.feed(text), *cutter.finish()]
        spoken = [(await voice.synthesize(each)).audio for each in sentences]
    except RuntimeError as error:
        raise SetupError(f"voice: that could not be spoken: {error}") from error
    finally:
        await backends.aclose()
    return b"".join(spoken), voice.sample_rate
