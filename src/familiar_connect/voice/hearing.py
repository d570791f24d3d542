"""Hearing several people: each has a stream of sound, which becomes transcripts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from familiar_connect.support.aio import BackgroundTasks
from familiar_connect.voice.clarity import SpeechUnclearError
from familiar_connect.voice.protocols import HearingCallbacks, SpeechProbability, SpeechRecognizer
from familiar_connect.voice.types import TranscriptionResult, VoiceActivityEvent
from familiar_connect.voice.vad import SpeechSegment, SpeechSegmenter

MAX_WAITING = 8
"""Stretches of one person's speech that wait for the recogniser; the oldest of more are given up, and that is said."""
RECOGNITION_TIMEOUT_S = 60.0

logger = logging.getLogger(__name__)


class Hearing:
    """Cuts each person's stream into stretches of speech and has them recognised, in their order."""

    def __init__(
        self,
        recognizer: SpeechRecognizer,
        make_probability: Callable[[], SpeechProbability],
        callbacks: HearingCallbacks,
    ) -> None:
        self._recognizer = recognizer
        self._make_probability = make_probability
        self._callbacks = callbacks
        self._listeners: dict[int, _Listener] = {}
        self._background = BackgroundTasks("hearing")

    def feed(self, uid: int, pcm: bytes, *, speaker: str | None = None) -> None:
        """Sound of one person, mono at `HEARING_RATE`."""
        self._listener(uid, speaker).feed(pcm)

    async def finish(self) -> None:
        """All streams have ended: wait until what was said is recognised."""
        for listener in self._listeners.values():
            listener.finish()
        await self._background.wait_until_idle()

    async def aclose(self) -> None:
        await self._background.aclose()
        self._listeners.clear()

    def _listener(self, uid: int, speaker: str | None) -> _Listener:
        found = self._listeners.get(uid)
        if found is None:
            found = _Listener(uid, speaker, self._recognizer, self._make_probability(), self._callbacks)
            self._listeners[uid] = found
            self._background.start(found.run(), name=str(uid))
        return found


class _Listener:
    """One person's stream."""

    def __init__(
        self,
        uid: int,
        speaker: str | None,
        recognizer: SpeechRecognizer,
        probability: SpeechProbability,
        callbacks: HearingCallbacks,
    ) -> None:
        self._uid = uid
        self._speaker = speaker
        self._recognizer = recognizer
        self._callbacks = callbacks
        self._segmenter = SpeechSegmenter(probability, on_activity=self._tell_activity)
        self._segments: asyncio.Queue[SpeechSegment | None] = asyncio.Queue()

    def feed(self, pcm: bytes) -> None:
        for segment in self._segmenter.feed(pcm):
            self._put(segment)

    def finish(self) -> None:
        for segment in self._segmenter.finish():
            self._put(segment)
        self._segments.put_nowait(None)

    async def run(self) -> None:
        while (segment := await self._segments.get()) is not None:
            text = await self._recognize(segment)
            result = TranscriptionResult(text, True, segment.start, segment.end, speaker=self._speaker)
            self._callbacks.on_transcript(self._uid, result)

    async def _recognize(self, segment: SpeechSegment) -> str:
        try:
            async with asyncio.timeout(RECOGNITION_TIMEOUT_S):
                return await self._recognizer.recognize(segment.pcm)
        except SpeechUnclearError as error:
            logger.info("speech was not clear", extra={"reason": str(error)})
            self._callbacks.on_unclear(self._uid)
            return ""
        except Exception as error:  # whatever a recogniser dies of, the next stretch is recognised
            logger.warning("speech could not be recognised", extra={"error": str(error) or type(error).__name__})
            self._callbacks.on_trouble(
                f"{self._speaker or 'Someone'} said something that could not be made out "
                f"({segment.end - segment.start:.0f} s of speech)."
            )
            return ""

    def _put(self, segment: SpeechSegment) -> None:
        if self._segments.qsize() >= MAX_WAITING:
            self._segments.get_nowait()
            self._callbacks.on_trouble("People speak faster than I can make out; the oldest of it is lost.")
        self._segments.put_nowait(segment)

    def _tell_activity(self, event: VoiceActivityEvent, _at: float) -> None:
        self._callbacks.on_activity(self._uid, event)
