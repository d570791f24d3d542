"""What people say in tests, spoken by the voice that comes along, which is loaded once in a process."""

from __future__ import annotations

from functools import cache
from typing import Any

from familiar_connect.extensions.voice_local.speaking import LocalSynthesizer


class Speaker(LocalSynthesizer):
    """The same voice for every test: loading it takes longer than a sentence."""

    def _loaded(self) -> Any:
        return load_voice()


@cache
def load_voice() -> Any:
    from hibari import Hibari

    return Hibari()
