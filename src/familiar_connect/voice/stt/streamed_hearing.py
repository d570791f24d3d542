"""Hearing several people through a recogniser that listens while they speak: one stream for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from familiar_connect.support.aio import BackgroundTasks, CallLater, RestartableTimer, call_later
from familiar_connect.voice.audio import SAMPLE_BYTES
from familiar_connect.voice.protocols import HEARING_RATE, HearingCallbacks, SpeechProbability, StreamingTranscriber
from familiar_connect.voice.speech_service import SpeechServiceError
from familiar_connect.voice.types import TranscriptionResult, VoiceActivityEvent
from familiar_connect.voice.vad import SpeechSegmenter

BEFORE_BYTES = HEARING_RATE * SAMPLE_BYTES // 2
"""What is kept from before somebody was sure to speak: half a second."""
IDLE_CLOSE_S = 45.0
"""A stream of somebody who has not spoken for so long is closed; their next word opens another."""


class StreamedHearing:
    """Who speaks is told here, at once; what they say is told by the recogniser."""

    def __init__(
        self,
        make_transcriber: Callable[[], StreamingTranscriber],
        make_probability: Callable[[], SpeechProbability],
        callbacks: HearingCallbacks,
        *,
        later: CallLater = call_later,
    ) -> None:
        self._make_transcriber = make_transcriber
        self._make_probability = make_probability
        self._callbacks = callbacks
        self._later = later
        self._streams: dict[int, _SpeakerStream] = {}
        self._background = BackgroundTasks("streamed hearing")

    def feed(self, uid: int, pcm: bytes, *, speaker: str | None = None) -> None:
        """Sound of one person, mono at `HEARING_RATE`; returns at once."""
        self._stream(uid, speaker).feed(pcm)

    async def finish(self) -> None:
        """All streams have ended: wait until what was said is recognised."""
        for stream in self._streams.values():
            stream.end()
        await self._background.wait_until_idle()

    async def aclose(self) -> None:
        """End everything; nobody is told anything more."""
        streams, self._streams = list(self._streams.values()), {}
        await self._background.aclose()
        for stream in streams:
            await stream.aclose()

    def _stream(self, uid: int, speaker: str | None) -> _SpeakerStream:
        found = self._streams.get(uid)
        if found is None:
            found = _SpeakerStream(
                _Speaker(uid, speaker, self._callbacks),
                self._make_transcriber,
                self._make_probability(),
                self._background,
                self._later,
            )
            self._streams[uid] = found
        return found


@dataclass(frozen=True)
class _Speaker:
    """Whose stream it is, and who is told of it."""

    uid: int
    name: str | None
    callbacks: HearingCallbacks

    def tell(self, result: TranscriptionResult, offset_s: float) -> None:
        """Tell the words of a stream that began at *offset_s*; those that may still change are nobody's business."""
        if result.is_final:
            moved = replace(
                result,
                start=result.start + offset_s,
                end=result.end + offset_s,
                speaker=self.name or result.speaker,
            )
            self.callbacks.on_transcript(self.uid, moved)


class _SpeakerStream:
    """One person's stream: a transcriber while they speak and some time after, none while they are silent."""

    def __init__(
        self,
        speaker: _Speaker,
        make_transcriber: Callable[[], StreamingTranscriber],
        probability: SpeechProbability,
        background: BackgroundTasks,
        later: CallLater,
    ) -> None:
        self._speaker = speaker
        self._make_transcriber = make_transcriber
        self._background = background
        self._segmenter = SpeechSegmenter(probability, on_activity=self._tell_activity)
        self._idle = RestartableTimer(self._close_idle, later)
        self._transcriber: StreamingTranscriber | None = None
        self._before = bytearray()
        self._heard_bytes = 0
        self._has_spoken = False
        """Since words were asked for last."""
        self._is_refused = False
        """The service will not listen, whatever is tried."""

    def feed(self, pcm: bytes) -> None:
        self._heard_bytes += len(pcm)
        self._has_spoken = self._has_spoken or self._segmenter.is_speaking
        self._segmenter.feed(pcm)
        if self._is_refused:
            return
        if self._transcriber is None:
            self._before += pcm
            if not self._has_spoken:
                del self._before[:-BEFORE_BYTES]
                return
            pcm = bytes(self._before)
            self._before.clear()
            self._open(self._heard_bytes - len(pcm))
        if self._send(pcm) and self._has_spoken and not self._segmenter.is_speaking:
            self._settle()

    def end(self) -> None:
        """The sound has ended: have the rest recognised."""
        self._segmenter.finish()
        self._close_idle()

    async def aclose(self) -> None:
        self._idle.cancel()
        if self._transcriber is not None:
            await self._transcriber.stop()

    def _open(self, position: int) -> None:
        offset_s = position / (HEARING_RATE * SAMPLE_BYTES)
        self._transcriber = self._make_transcriber()
        self._transcriber.begin(
            lambda result: self._speaker.tell(result, offset_s), on_trouble=self._speaker.callbacks.on_trouble
        )

    def _send(self, pcm: bytes) -> bool:
        """Whether the transcriber took it."""
        assert self._transcriber is not None
        try:
            self._transcriber.feed(pcm)
            return True
        except RuntimeError as error:  # it has said so itself when it gave up; the next one begins with what is left
            self._is_refused = isinstance(error, SpeechServiceError) and error.is_final
            self._before = bytearray(b"" if self._is_refused else self._transcriber.unheard() + pcm)
            self._close_idle()
            return False

    def _settle(self) -> None:
        """They paused: have the words so far, and close the stream when no more come."""
        assert self._transcriber is not None
        self._has_spoken = False
        self._transcriber.finalize()
        self._idle.restart(IDLE_CLOSE_S)

    def _close_idle(self) -> None:
        self._idle.cancel()
        transcriber, self._transcriber = self._transcriber, None
        if transcriber is not None:
            self._background.start(transcriber.finish(), name=str(self._speaker.uid))

    def _tell_activity(self, event: VoiceActivityEvent, _at: float) -> None:
        if event is VoiceActivityEvent.started:
            self._has_spoken = True
            self._idle.cancel()
        self._speaker.callbacks.on_activity(self._speaker.uid, event)
