"""Speech synthesised on this machine, with the voice that comes with the voice extra."""

from __future__ import annotations

import asyncio
from typing import Any

from familiar_connect.api.speech import TTSResult
from familiar_connect.api.support import off_loop

LOCAL_SAMPLE_RATE = 24_000


class LocalSynthesizer:
    """Loads the voice with the first sentence. One sentence at a time."""

    sample_rate = LOCAL_SAMPLE_RATE

    def __init__(self) -> None:
        self._voice: Any = None
        self._alone = asyncio.Lock()

    async def load(self) -> None:
        """Load the voice now, so that the first sentence does not wait for it."""
        async with self._alone:
            await off_loop(self._loaded)

    async def synthesize(self, text: str) -> TTSResult:
        async with self._alone:
            return await off_loop(self._synthesize, text)

    def _synthesize(self, text: str) -> TTSResult:
        import numpy as np

        try:
            made = np.asarray(self._loaded()(text), dtype=np.float32).reshape(-1)
        except (ValueError, KeyError, IndexError) as error:
            raise RuntimeError(f"the voice could not speak {text[:40]!r}") from error
        return TTSResult((np.clip(made, -1, 1) * 32767).astype("<i2").tobytes())

    def _loaded(self) -> Any:
        if self._voice is None:
            from hibari import Hibari

            self._voice = Hibari()
        return self._voice
