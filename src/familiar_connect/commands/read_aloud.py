"""Reading a line of a chat aloud: one WAV that grows sentence by sentence, by the voice that the settings name."""

from __future__ import annotations

import struct
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Protocol, runtime_checkable

from familiar_connect.commands.common import profile_of
from familiar_connect.commands.voice import require_voice_packages
from familiar_connect.errors import SetupError
from familiar_connect.support.aio import off_loop
from familiar_connect.voice.protocols import SpeechSynthesizer

MOST_CHARS = 20_000
"""Half an hour of speech; what a line says beyond that is not read."""
ENDLESS = 0x7FFF_FF00
"""How long the sound is said to be: it is not known before the last sentence was made."""


@runtime_checkable
class _Closable(Protocol):
    async def aclose(self) -> None: ...


async def read_aloud(home: Path, root: Path, text: str) -> AsyncGenerator[bytes, None]:
    """The sound of *text* as a WAV file; what stands in the way is a `SetupError` before the first piece."""
    from familiar_connect.voice.sentences import SentenceCutter

    cutter = SentenceCutter()
    sentences = [*cutter.feed(text[:MOST_CHARS]), *cutter.finish()]
    if not sentences:
        raise SetupError("nothing in that line can be spoken")
    voice = await off_loop(_open_voice, home, root)
    try:
        for number, sentence in enumerate(sentences):
            made = await voice.synthesize(sentence)
            if not number:
                yield wav_head(voice.sample_rate)
            yield made.audio
    except RuntimeError as error:
        raise SetupError(f"voice: that could not be spoken: {error}") from error
    finally:
        if isinstance(voice, _Closable):
            await voice.aclose()


def _open_voice(home: Path, root: Path) -> SpeechSynthesizer:
    from familiar_connect.config.folders import FamiliarFolder
    from familiar_connect.config.load import load_character_config
    from familiar_connect.extensions.speech import open_speech_access
    from familiar_connect.voice.tts.factory import create_tts_client

    require_voice_packages(root, home)
    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    access = open_speech_access(root, home, config)
    try:
        return create_tts_client(access.choose_voice(config.tts), access=access)
    except ValueError as error:
        raise SetupError(str(error)) from error


def wav_head(rate: int) -> bytes:
    """The head of a WAV file of mono 16-bit samples, as long as whoever plays it likes."""
    kind = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16)
    return struct.pack("<4sI4s", b"RIFF", ENDLESS, b"WAVE") + kind + struct.pack("<4sI", b"data", ENDLESS - 36)
