"""ExtensionStream: a stranger's recogniser that listens while somebody speaks, kept apart from everybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from familiar_connect.extensions.thread import ExtensionThread
from familiar_connect.support.aio import cancel_and_wait
from familiar_connect.voice.protocols import HEARING_RATE, StreamingTranscriber
from familiar_connect.voice.speech_service import SpeechServiceError
from familiar_connect.voice.types import TranscriptionResult

T = TypeVar("T")

STREAM_METHODS = ("begin", "feed", "finalize", "unheard", "finish", "stop")
CALL_LIMIT_S = 5.0
"""How long it may take over what it is given; it listens in the background."""
FINISH_LIMIT_S = 10.0
"""How long the last words may take."""
MAX_WAITING_BYTES = 20 * HEARING_RATE * 2
"""Sound that waits for a stream which does not take it: twenty seconds."""


class ExtensionStream:
    """Gives sound to the stream on its extension's own loop, in order; what it tells comes back to ours."""

    def __init__(self, stream: StreamingTranscriber, name: str) -> None:
        self._stream = stream
        self._thread = ExtensionThread(name)
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._waiting = bytearray()
        self._left = b""
        """What the stream had not understood when it failed."""
        self._wants_finalize = False
        self._is_finishing = False
        self._failure: RuntimeError | None = None
        self._on_trouble: Callable[[str], None] = lambda _: None

    def begin(
        self, on_result: Callable[[TranscriptionResult], None], *, on_trouble: Callable[[str], None] | None = None
    ) -> None:
        """Connect in the background."""
        loop = asyncio.get_running_loop()
        self._on_trouble = on_trouble or self._on_trouble

        def tell_result(result: object) -> None:
            if isinstance(result, TranscriptionResult):
                _call_soon(loop, on_result, result)

        def tell_trouble(says: object) -> None:
            _call_soon(loop, self._on_trouble, str(says))

        async def begin() -> None:
            self._stream.begin(tell_result, on_trouble=tell_trouble)

        self._task = loop.create_task(self._run(begin), name=f"stream of {self._thread.name}")

    def feed(self, pcm: bytes) -> None:
        """Take sound at once; a RuntimeError once it has given up."""
        if self._failure is not None:
            raise self._failure
        self._waiting += pcm
        del self._waiting[:-MAX_WAITING_BYTES]
        self._wake.set()

    def finalize(self) -> None:
        """Ask for the words so far."""
        self._wants_finalize = True
        self._wake.set()

    def unheard(self) -> bytes:
        """The sound that is kept and was not understood yet."""
        return self._left + bytes(self._waiting)

    async def finish(self) -> None:
        """Wait for the last words, then stop."""
        self._is_finishing = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=FINISH_LIMIT_S)
        await self.stop()

    async def stop(self) -> None:
        """Hang up."""
        if self._task is not None:
            await cancel_and_wait(self._task)
            with suppress(RuntimeError):
                await self._call(self._stream.stop)
        self._thread.close()

    async def _run(self, begin: Callable[[], Awaitable[None]]) -> None:
        """Hand on what comes, until it has ended or the stream has failed."""
        try:
            await self._call(begin)
            while not self._is_finishing or self._waiting:
                await self._wake.wait()
                self._wake.clear()
                await self._hand_on()
            await self._call(self._stream.finish, limit_s=FINISH_LIMIT_S)
        except RuntimeError as error:
            self._failure = error
            with suppress(RuntimeError):
                self._left = await self._call(self._take_unheard)
            self._on_trouble(str(error))

    async def _hand_on(self) -> None:
        pcm = bytes(self._waiting)
        self._waiting.clear()
        wants_finalize, self._wants_finalize = self._wants_finalize, False

        async def give() -> None:
            if pcm:
                self._stream.feed(pcm)
            if wants_finalize:
                self._stream.finalize()

        await self._call(give)

    async def _take_unheard(self) -> bytes:
        left: object = self._stream.unheard()
        return left[-MAX_WAITING_BYTES:] if isinstance(left, bytes) else b""

    async def _call(self, work: Callable[[], Awaitable[T]], *, limit_s: float = CALL_LIMIT_S) -> T:
        """What *work* comes to there; whatever goes wrong is a RuntimeError, a service's own sentence as it is."""
        try:
            async with asyncio.timeout(limit_s):
                return await self._thread.call(work)
        except SpeechServiceError:
            raise
        except TimeoutError as error:
            raise RuntimeError(f"the extension {self._thread.name} took over {limit_s:g} seconds") from error
        except Exception as error:  # isolation: told as any speech that failed
            raise RuntimeError(f"the extension {self._thread.name} failed: {type(error).__name__}: {error}") from error


def _call_soon(loop: asyncio.AbstractEventLoop, tell: Callable[..., None], told: object) -> None:
    """From another thread; nobody is told anything once the loop has closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(tell, told)
