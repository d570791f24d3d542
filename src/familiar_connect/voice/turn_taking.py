"""When somebody has finished: what several people say is put together until nobody has spoken for a while."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import ParamSpec

from familiar_connect.support.aio import BackgroundTasks, CallLater, RestartableTimer, call_later
from familiar_connect.voice.types import TranscriptionResult, VoiceActivityEvent

MAX_FINALS = 1_000
"""Finals waiting for a lull. A room that is never quiet is answered here all the same."""

P = ParamSpec("P")

OnUtterance = Callable[[TranscriptionResult], Awaitable[None] | None]
OnActivity = Callable[[int, VoiceActivityEvent], Awaitable[None] | None]

logger = logging.getLogger(__name__)


class VoiceLullMonitor:
    """Gathers final transcripts of one voice channel and hands them on as one utterance in a lull.

    Whoever watches activity itself may report the start of speech again and again while somebody speaks: it is told
    onwards once and holds the lull back.
    """

    def __init__(
        self,
        *,
        lull_timeout: float,
        on_utterance_complete: OnUtterance,
        on_voice_activity: OnActivity | None = None,
        channel_name: str = "",
        pause_after: Callable[[str], float] | None = None,
        later: CallLater = call_later,
    ) -> None:
        """*pause_after* tells how long the lull is after some words; None: always *lull_timeout*."""
        self._lull_timeout = lull_timeout
        self._pause_after = pause_after
        self._on_utterance_complete = on_utterance_complete
        self._on_voice_activity = on_voice_activity
        self._channel_name = channel_name
        self._timer = RestartableTimer(self._expire, later)
        self._finals: list[TranscriptionResult] = []
        self._speakers: set[int] = set()
        self._background = BackgroundTasks("voice lull")

    def on_speech_start(self, uid: int) -> None:
        """Somebody speaks."""
        if uid not in self._speakers:
            self._speakers.add(uid)
            self._tell_activity(uid, VoiceActivityEvent.started)
        self._timer.restart(self._lull_timeout)

    def on_speech_end(self, uid: int) -> None:
        """They have stopped; what they said may still be on its way."""
        if uid in self._speakers:
            self._speakers.discard(uid)
            self._tell_activity(uid, VoiceActivityEvent.ended)

    def on_transcript(self, uid: int, result: TranscriptionResult) -> None:
        """A final that says something is kept and ends its speaker; anything else changes nothing."""
        if not result.is_final or not result.text.strip():
            return
        self._finals.append(result)
        self.rearm()
        self.on_speech_end(uid)
        if len(self._finals) >= MAX_FINALS:
            self._expire()

    def rearm(self) -> None:
        """The lull counts from now, and is as long as the last words have it; without any nothing happens."""
        if self._finals:
            last = self._finals[-1].text
            self._timer.restart(self._lull_timeout if self._pause_after is None else self._pause_after(last))

    def clear(self) -> None:
        """Forget what was gathered and who speaks."""
        self._timer.cancel()
        self._finals.clear()
        self._speakers.clear()

    async def wait_until_idle(self) -> None:
        """Wait until its callbacks have ended."""
        await self._background.wait_until_idle()

    async def close(self) -> None:
        """As `clear`, and end what its callbacks still do."""
        self.clear()
        await self._background.aclose()

    def _expire(self) -> None:
        self._timer.cancel()
        finals, self._finals = self._finals, []
        if finals:
            self._call(self._on_utterance_complete, merge_finals(finals))

    def _tell_activity(self, uid: int, event: VoiceActivityEvent) -> None:
        if self._on_voice_activity is not None:
            self._call(self._on_voice_activity, uid, event)

    def _call(self, callback: Callable[P, Awaitable[None] | None], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            pending = callback(*args, **kwargs)
        except Exception:
            logger.exception("a callback of the voice lull failed", extra={"channel": self._channel_name})
            return
        if inspect.iscoroutine(pending):
            self._background.start(pending, name=self._channel_name)


def merge_finals(finals: list[TranscriptionResult]) -> TranscriptionResult:
    """Several as one: the words in order, from the start of the first to the end and the speaker of the last."""
    last = finals[-1]
    return TranscriptionResult(
        text=" ".join(each.text.strip() for each in finals),
        is_final=True,
        start=finals[0].start,
        end=last.end,
        confidence=min(each.confidence for each in finals),
        speaker=last.speaker,
    )
