"""A familiar that hums: it speaks a tone for every syllable, and hears a "la" for every sound.

Chosen with `provider = "extension:hum"` under [tts] and [stt]; `extension:hum/low` hums an octave lower.
"""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass

from familiar_connect.api import Extension, PartContext
from familiar_connect.api.settings import integer_rule, setting
from familiar_connect.api.speech import (
    HEARING_RATE,
    RecognizerPart,
    SpeechRecognizer,
    SpeechSynthesizer,
    SynthesizerPart,
    TTSResult,
    WordTimestamp,
)

SAMPLE_RATE = 16_000
TONE_S, PAUSE_S = 0.15, 0.1
LOUD = 0.02
"""Of 1: what is louder than this is a sound."""
MAX_SYLLABLES = 400
VOWELS = re.compile(r"[aeiouy]+", re.IGNORECASE)


@dataclass(frozen=True)
class HumSettings:
    """The section [hum] of character.toml."""

    pitch: int = setting(440, integer_rule(least=50), "The tone that it hums, in hertz.")


class HummingVoice:
    """A tone for each syllable."""

    sample_rate = SAMPLE_RATE

    def __init__(self, pitch: float) -> None:
        self._pitch = pitch

    async def synthesize(self, text: str) -> TTSResult:
        sound = array("h")
        words: list[WordTimestamp] = []
        for word in text.split():
            begins = len(sound)
            for _ in range(min(count_syllables(word), MAX_SYLLABLES - len(words))):
                sound.extend(self._hum())
            words.append(WordTimestamp(word, _to_ms(begins), _to_ms(len(sound))))
        return TTSResult(sound.tobytes(), words)

    def _hum(self) -> array[int]:
        tone = array("h", (self._sample(at) for at in range(int(TONE_S * SAMPLE_RATE))))
        return tone + array("h", [0] * int(PAUSE_S * SAMPLE_RATE))

    def _sample(self, at: int) -> int:
        return int(8_000 * math.sin(2 * math.pi * self._pitch * at / SAMPLE_RATE))


class SyllableEars:
    """Hears no words, only how many sounds there were."""

    async def recognize(self, pcm: bytes) -> str:
        samples = array("h", pcm)
        step = HEARING_RATE // 20
        loud = [is_loud(samples[at : at + step]) for at in range(0, len(samples), step)]
        begins = sum(here and not before for before, here in zip([False, *loud], loud, strict=False))
        return " ".join(["la"] * begins)


def is_loud(samples: array[int]) -> bool:
    return max((abs(each) for each in samples), default=0) > LOUD * 32_768


def count_syllables(word: str) -> int:
    return max(1, len(VOWELS.findall(word)))


def _to_ms(samples: int) -> float:
    return 1_000 * samples / SAMPLE_RATE


def create_voice(context: PartContext, voice: str) -> SpeechSynthesizer:
    """Given what stands behind the slash."""
    settings: HumSettings = context.settings
    return HummingVoice(settings.pitch / 2 if voice == "low" else settings.pitch)


def create_ears(context: PartContext, name: str) -> SpeechRecognizer:
    return SyllableEars()


extension = Extension(
    name="hum",
    synthesizer=SynthesizerPart(create=create_voice, settings=HumSettings),
    recognizer=RecognizerPart(create=create_ears),
)
