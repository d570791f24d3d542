"""Ears that are told what they hear, and a voice that needs no model: for tests and benchmarks of voice."""

from __future__ import annotations

import asyncio

from familiar_connect.support.aio import BackgroundTasks
from familiar_connect.voice.protocols import HearingCallbacks
from familiar_connect.voice.types import TranscriptionResult, TTSResult, VoiceActivityEvent

MS_PER_LETTER = 60


class ScriptedEars:
    """Hears what `say` tells it, as a recogniser would: that somebody speaks, that they stopped, what it was."""

    def __init__(
        self,
        callbacks: HearingCallbacks,
        *,
        silence_s: float = 0.7,
        recognition_s: float = 0.3,
    ) -> None:
        self.callbacks = callbacks
        self.fed = 0
        """Bytes of sound that came in."""
        self._silence_s = silence_s
        self._recognition_s = recognition_s
        self._background = BackgroundTasks("scripted ears")
        self._ending: dict[int, asyncio.Task[None]] = {}
        self._unfinished: dict[int, str] = {}
        """What those said who went on before their silence was long enough."""

    def feed(self, uid: int, pcm: bytes, *, speaker: str | None = None) -> None:
        self.fed += len(pcm)

    async def finish(self) -> None:
        await self._background.wait_until_idle()

    async def aclose(self) -> None:
        await self._background.aclose()

    async def say(self, uid: int, text: str, seconds: float) -> None:
        """Somebody speaks for so long; an empty *text* could not be made out. Returns once they have stopped."""
        if (ending := self._ending.pop(uid, None)) is not None:
            ending.cancel()
        else:
            self.callbacks.on_activity(uid, VoiceActivityEvent.started)
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(seconds)
        self._unfinished[uid] = f"{self._unfinished.get(uid, '')} {text}".strip()
        self._ending[uid] = self._background.start(self._end(uid, began), name=str(uid))

    async def _end(self, uid: int, began: float) -> None:
        end = asyncio.get_running_loop().time()
        await asyncio.sleep(self._silence_s)
        del self._ending[uid]
        text = self._unfinished.pop(uid)
        self.callbacks.on_activity(uid, VoiceActivityEvent.ended)
        await asyncio.sleep(self._recognition_s)
        self.callbacks.on_transcript(uid, TranscriptionResult(text, True, began, end))


class LetterVoice:
    """Speaks every letter, and the gap after each word, for the same short time."""

    sample_rate = 1_000

    def __init__(self, *, takes_s: float = 0.0) -> None:
        self._takes_s = takes_s
        self.asked: list[str] = []

    async def synthesize(self, text: str) -> TTSResult:
        self.asked.append(text)
        if self._takes_s:
            await asyncio.sleep(self._takes_s)
        letters = sum(len(word) + 1 for word in text.split())
        return TTSResult(bytes(2 * MS_PER_LETTER * letters))
