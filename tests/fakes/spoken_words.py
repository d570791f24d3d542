"""What people say in tests, by the voice that comes along: loaded once in a process, each sentence spoken once."""

from __future__ import annotations

from functools import cache
from typing import Any

from familiar_connect.api.speech import TTSResult
from familiar_connect.extensions.voice_local.speaking import LocalSynthesizer


class Speaker(LocalSynthesizer):
    """The same voice for every test: loading it takes longer than a sentence."""

    def _loaded(self) -> Any:
        return load_voice()

    def _synthesize(self, text: str) -> TTSResult:
        return speak_once(text)


@cache
def load_voice() -> Any:
    from hibari import Hibari

    return Hibari()


@cache
def speak_once(text: str) -> TTSResult:
    """What *text* sounds like; many tests say the same."""
    return LocalSynthesizer._synthesize(Speaker(), text)
