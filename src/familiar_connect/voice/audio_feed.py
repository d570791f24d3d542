"""AudioFeed: hands sound to the ears in small pieces, and replaces ears that break."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from familiar_connect.support.aio import BackgroundTasks
from familiar_connect.support.clock import Clock
from familiar_connect.voice.audio import SAMPLE_BYTES
from familiar_connect.voice.protocols import HEARING_RATE, Ears, EarsFactory, HearingCallbacks

PIECE_BYTES = HEARING_RATE * SAMPLE_BYTES // 10
"""A tenth of a second is looked at in one go; more waits until others had their turn."""
MAX_WAITING = 3_000
"""Pieces that wait, of everybody together: five minutes. The oldest of more are lost, and that is said."""
REOPEN_S = 1.0
"""Ears that broke are made anew no more often than this."""
BROKEN = "Speech recognition failed and was restarted; a word may be lost."

logger = logging.getLogger(__name__)


class AudioFeed:
    """Everybody's sound on its way to the ears. `feed` never waits."""

    def __init__(
        self, make_ears: EarsFactory, callbacks: HearingCallbacks, show: Callable[[str], None], clock: Clock
    ) -> None:
        self._make_ears = make_ears
        self._callbacks = callbacks
        self._show = show
        self._clock = clock
        self._ears: Ears | None = None
        self._opened_at = 0.0
        self._waiting: deque[tuple[int, bytes, str]] = deque()
        self._is_overfull = False
        self._background = BackgroundTasks("voice ears")
        self._pumping: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Make the ears."""
        self._ears, self._opened_at = self._make_ears(self._callbacks), self._clock.monotonic()

    def feed(self, uid: int, pcm: bytes, speaker: str) -> None:
        """Sound of one person; what is not looked at now waits. Nobody listening, it is gone."""
        if self._ears is None:
            return
        if not self._waiting and len(pcm) <= PIECE_BYTES:
            self._hand_on(uid, pcm, speaker)
            return
        for at in range(0, len(pcm), PIECE_BYTES):
            self._waiting.append((uid, pcm[at : at + PIECE_BYTES], speaker))
        self._drop_oldest()
        if self._pumping is None or self._pumping.done():
            self._pumping = self._background.start(self._pump(), name="sound")

    async def wait_until_idle(self) -> None:
        """Wait until the ears were given everything."""
        while self._pumping is not None and not self._pumping.done():
            await asyncio.wait({self._pumping})

    async def finish(self) -> None:
        """All streams have ended: wait until what was said is recognised."""
        await self.wait_until_idle()
        if self._ears is not None:
            await self._ears.finish()

    async def aclose(self) -> None:
        ears, self._ears = self._ears, None
        self._waiting.clear()
        if ears is not None:
            await ears.aclose()
        await self._background.aclose()

    async def _pump(self) -> None:
        while self._waiting and self._ears is not None:
            self._hand_on(*self._waiting.popleft())
            await asyncio.sleep(0)
        self._is_overfull = False

    def _hand_on(self, uid: int, pcm: bytes, speaker: str) -> None:
        try:
            if self._ears is not None:
                self._ears.feed(uid, pcm, speaker=speaker)
        except Exception:  # isolation: whatever ears die of, others may hear what follows
            logger.exception("ears broke")
            self._reopen()

    def _reopen(self) -> None:
        if self._clock.monotonic() - self._opened_at < REOPEN_S or self._ears is None:
            return
        self._background.start(self._ears.aclose(), name="broken")
        self.open()
        self._show(BROKEN)

    def _drop_oldest(self) -> None:
        if len(self._waiting) <= MAX_WAITING:
            return
        while len(self._waiting) > MAX_WAITING:
            self._waiting.popleft()
        if not self._is_overfull:
            self._is_overfull = True
            self._show("Sound comes in faster than I can listen; the oldest of it is lost.")
