"""Deepgram: speech recognised while it is spoken, over a websocket for each speaker.

A connection that ends is made anew, with pauses that grow to a limit, and what was not understood yet is sent
again. A refusal (a wrong key, an unknown model) is final, and nothing is tried after the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from familiar_connect.api.speech import (
    ServiceSockets,
    SpeechService,
    SpeechServiceError,
    TranscriptionResult,
    WebSocket,
    WebSocketClosedError,
)
from familiar_connect.api.support import cancel_and_wait
from familiar_connect.extensions.voice_deepgram.messages import CLOSE, FINALIZE, KEEP_ALIVE, is_metadata, read_result
from familiar_connect.extensions.voice_deepgram.secrets import KEY, LANGUAGE, MODEL
from familiar_connect.extensions.voice_deepgram.service import SERVICE

SAMPLE_BYTES = 2
NORMAL_CLOSURE = 1000
DEFAULT_MODEL = "nova-3"
DEFAULT_LANGUAGE = "en"
CHUNK_BYTES = 8 * 1024
FIRST_PAUSE_S = 0.5
FINISH_TIMEOUT_S = 10.0
"""How long the last words may take after the end of the sound."""

logger = logging.getLogger(__name__)

OnResult = Callable[[TranscriptionResult], None]


@dataclass(frozen=True, kw_only=True)
class LinkSettings:
    """How a connection is kept, and made anew."""

    keepalive_interval_s: float = 5.0
    """Between signs of life while there is no sound; Deepgram hangs up after ten seconds without."""
    reconnect_max_attempts: int = 5
    reconnect_backoff_cap_s: float = 8.0
    base_url: str = str(SERVICE.address)
    key_name: str | None = KEY
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class ReplayBuffer:
    """Keeps the newest *max_bytes* of a stream that are not confirmed. Positions are bytes of the whole stream."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max(2, max_bytes - max_bytes % 2)
        self._kept = bytearray()
        self._start = 0
        self._sent = 0
        """Position of what is sent next."""

    @property
    def start(self) -> int:
        """Position of the oldest sound that is kept, where a replay begins."""
        return self._start

    @property
    def end(self) -> int:
        """Position after the newest sound."""
        return self._start + len(self._kept)

    @property
    def unsent(self) -> int:
        """Bytes that were never sent, or are to be sent again."""
        return self.end - self._sent

    def append(self, sound: bytes) -> int:
        """Keep *sound*; how many bytes were given up unsent for want of room."""
        self._kept += sound
        excess = len(self._kept) - self._max_bytes
        if excess <= 0:
            return 0
        excess += excess % 2  # samples stay whole
        lost = max(0, self._start + excess - self._sent)
        self._drop(excess)
        return lost

    def take(self, size: int) -> bytes:
        """The next unsent sound, at most *size* bytes; it counts as sent."""
        at = self._sent - self._start
        found = bytes(self._kept[at : at + size])
        self._sent += len(found)
        return found

    def confirm(self, position: int) -> None:
        """What lies before *position* was understood and is never sent again."""
        self._drop(min(max(0, position - position % 2 - self._start), self._sent - self._start))

    def all_sound(self) -> bytes:
        """Everything that is kept."""
        return bytes(self._kept)

    def rewind(self) -> None:
        """Send again from the oldest that is kept."""
        self._sent = self._start

    def _drop(self, size: int) -> None:
        del self._kept[:size]
        self._start += size
        self._sent = max(self._sent, self._start)


class DeepgramTranscriber:
    """One speaker's stream: sound in, results out as they come. Bound to no loop before `start`."""

    def __init__(
        self,
        *,
        api_key: str,
        model: str = DEFAULT_MODEL,
        language: str = DEFAULT_LANGUAGE,
        sample_rate: int = 48_000,
        channels: int = 1,
        diarize: bool = False,
        interim_results: bool = True,
        utterance_end_ms: int = 1_000,
        vad_events: bool = False,
        endpointing_ms: int = 300,
        replay_buffer_s: float = 5.0,
        link: LinkSettings | None = None,
    ) -> None:
        self._link = link or LinkSettings()
        self._service = SpeechService(
            name=SERVICE.title, base_url=self._link.base_url, api_key=api_key or None, key_name=self._link.key_name
        )
        wanted: dict[str, object] = {
            "model": model,
            "language": language,
            "encoding": "linear16",
            "sample_rate": sample_rate,
            "channels": channels,
            "punctuate": "true",
            "smart_format": "true",
            "diarize": _flag(diarize),
            "interim_results": _flag(interim_results),
            "vad_events": _flag(vad_events),
            "endpointing": endpointing_ms,
        }
        if interim_results:  # the service refuses it without
            wanted["utterance_end_ms"] = utterance_end_ms
        self._query = urlencode(wanted)
        self._bytes_per_s = sample_rate * channels * SAMPLE_BYTES
        self._buffer = ReplayBuffer(int(replay_buffer_s * self._bytes_per_s))
        self._sockets = ServiceSockets(self._service)
        self._on_result: OnResult = _ignore
        self._on_trouble: Callable[[str], None] = _ignore_trouble
        self._task: asyncio.Task[None] | None = None
        self._socket: WebSocket | None = None
        self._wake = asyncio.Event()
        self._has_room = asyncio.Event()
        self._wants_finalize = False
        self._is_finishing = False
        self._is_stopped = False
        self._has_heard = False
        """Whether this connection brought anything."""
        self._has_told_loss = False
        self._is_over = False
        """The service has said its last word."""
        self.failure: SpeechServiceError | None = None
        """Why it gave up, if it did."""

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def start(self, on_result: OnResult, *, on_trouble: Callable[[str], None] | None = None) -> None:
        """As `begin`."""
        self.begin(on_result, on_trouble=on_trouble)

    def begin(self, on_result: OnResult, *, on_trouble: Callable[[str], None] | None = None) -> None:
        """Connect, and tell *on_result* what is understood, *on_trouble* what cannot be mended here, in sentences.

        Sound that comes before the connection stands is kept, as far as the buffer reaches.
        """
        if self._is_stopped or self._task is not None:
            raise RuntimeError("a transcriber is started once")
        self._on_result = on_result
        self._on_trouble = on_trouble or _ignore_trouble
        self._has_room.set()
        self._task = asyncio.get_running_loop().create_task(self._run(), name="deepgram")

    async def send_audio(self, pcm: bytes) -> None:
        """Give it sound: 16-bit linear PCM; waits while more is unsent than the buffer is good for."""
        self._check_running()
        await self._has_room.wait()
        self.feed(pcm)

    def feed(self, pcm: bytes) -> None:
        """As `send_audio`, at once: the oldest unsent sound goes where there is no room, and that is said."""
        self._check_running()
        if not pcm:
            return  # an empty frame would tell the service that the stream has ended
        if self._buffer.append(pcm) and not self._has_told_loss:
            self._has_told_loss = True
            logger.warning("sound is being lost on its way to be recognised")
            self._on_trouble("Some of what is said is lost: Deepgram cannot be reached.")
        self._update_room()
        self._wake.set()

    def finalize(self) -> None:
        """Somebody paused: ask for the words so far now."""
        self._wants_finalize = True
        self._wake.set()

    def unheard(self) -> bytes:
        """The sound that is kept and was not understood yet."""
        return self._buffer.all_sound()

    async def finish(self) -> None:
        """The sound has ended: wait for the last words, then stop. A connection that breaks is still made anew."""
        self._is_finishing = True
        self._wake.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=FINISH_TIMEOUT_S)
            if not self._task.done() and self._buffer.unsent:
                self._on_trouble("The last words could not be made out: Deepgram did not answer in time.")
        await self.stop()

    async def stop(self) -> None:
        """Hang up; nothing is told or tried after it. A second time is nothing."""
        self._is_stopped = True
        if self._task is not None:
            await cancel_and_wait(self._task)
        await self._hang_up()
        await self._sockets.aclose()

    def _check_running(self) -> None:
        if self.failure is not None:
            raise self.failure
        if not self.is_running:
            raise RuntimeError("Deepgram is not connected: start the transcriber first")

    # The connection

    async def _run(self) -> None:
        """Connect and talk until the sound has ended, or it makes no sense to go on."""
        attempts = 0
        while True:
            self._has_heard = False
            try:
                await self._talk(await self._connect())
                return
            except SpeechServiceError as error:
                problem = error
            except (ConnectionError, TimeoutError, OSError) as error:
                problem = self._service.error_of_transport(error)
            finally:
                await self._hang_up()
            attempts = 1 if self._has_heard else attempts + 1
            if problem.is_final or attempts > self._link.reconnect_max_attempts:
                self._give_up(problem)
                return
            logger.info("reconnecting to Deepgram", extra={"attempt": attempts})
            await self._link.sleep(min(self._link.reconnect_backoff_cap_s, FIRST_PAUSE_S * 2 ** (attempts - 1)))

    def _give_up(self, problem: SpeechServiceError) -> None:
        self.failure = problem
        self._has_room.set()
        self._on_trouble(str(problem))

    async def _connect(self) -> WebSocket:
        headers = {"Authorization": f"Token {self._service.api_key}"} if self._service.api_key else {}
        return await self._sockets.open(f"listen?{self._query}", headers)

    async def _talk(self, socket: WebSocket) -> None:
        """Send and receive on one connection until the service has told the last words."""
        self._socket = socket
        self._buffer.rewind()
        self._has_told_loss = self._is_over = False
        base = self._buffer.start
        sending = asyncio.get_running_loop().create_task(self._send_all(socket), name="deepgram:send")
        try:
            while True:
                message = await socket.receive()
                if isinstance(message, str):
                    self._take(message, base)
        except WebSocketClosedError as error:
            has_sent_all = sending.done() and not sending.cancelled() and sending.exception() is None
            if not (has_sent_all and (self._is_over or error.code == NORMAL_CLOSURE)):
                raise
        finally:
            await cancel_and_wait(sending)

    async def _send_all(self, socket: WebSocket) -> None:
        """Send sound as it comes, signs of life while there is none, and the end."""
        self._wake.set()
        while True:
            try:
                async with asyncio.timeout(self._link.keepalive_interval_s):
                    await self._wake.wait()
            except TimeoutError:
                await socket.send(KEEP_ALIVE)
                continue
            self._wake.clear()
            while chunk := self._buffer.take(CHUNK_BYTES):
                await socket.send(chunk)
                self._update_room()
            if self._is_finishing:
                await socket.send(CLOSE)
                return
            if self._wants_finalize:
                self._wants_finalize = False
                await socket.send(FINALIZE)

    def _take(self, message: str, base: int) -> None:
        """Tell what *message* says; times in it count from where this connection began."""
        self._has_heard = True
        found = read_result(message, base / self._bytes_per_s)
        if found is None:
            self._is_over = self._is_over or is_metadata(message)
            return
        if found.transcript.is_final:
            self._buffer.confirm(round(found.understood_s * self._bytes_per_s))
            self._update_room()
        if found.transcript.text or found.is_asked_for:  # an empty one says that no more words are on their way
            self._on_result(found.transcript)

    def _update_room(self) -> None:
        if self._buffer.unsent < CHUNK_BYTES:
            self._has_room.set()
        else:
            self._has_room.clear()

    async def _hang_up(self) -> None:
        if self._socket is not None:
            socket, self._socket = self._socket, None
            await socket.close()


def create_transcriber(
    get: Callable[[str], str | None],
    *,
    sample_rate: int = 48_000,
    language: str | None = None,
    service: SpeechService | None = None,
) -> DeepgramTranscriber:
    """A transcriber with the key and the settings of the environment; a ValueError names what is missing or wrong.

    *get* reads a variable. *language* comes before the variable of it, *service* before the one of the key.
    """
    defaults = LinkSettings()
    if service is None:
        key = get(KEY)
        if not key:
            raise ValueError("Deepgram needs a key: `familiar keys set deepgram` keeps DEEPGRAM_API_KEY")
        service = SpeechService(name=SERVICE.title, base_url=defaults.base_url, api_key=key, key_name=defaults.key_name)
    link = LinkSettings(
        keepalive_interval_s=_number(get, "DEEPGRAM_KEEPALIVE_INTERVAL_S", defaults.keepalive_interval_s, least=0.01),
        reconnect_max_attempts=int(_number(get, "DEEPGRAM_RECONNECT_MAX_ATTEMPTS", defaults.reconnect_max_attempts)),
        reconnect_backoff_cap_s=_number(get, "DEEPGRAM_RECONNECT_BACKOFF_CAP_S", defaults.reconnect_backoff_cap_s),
        base_url=service.base_url,
        key_name=service.key_name,
    )
    return DeepgramTranscriber(
        api_key=service.api_key or "",
        model=get(MODEL) or DEFAULT_MODEL,
        language=language or get(LANGUAGE) or DEFAULT_LANGUAGE,
        sample_rate=sample_rate,
        replay_buffer_s=_number(get, "DEEPGRAM_REPLAY_BUFFER_S", 5.0, most=60.0),
        link=link,
    )


def _number(
    get: Callable[[str], str | None], name: str, default: float, *, least: float = 0.0, most: float = 3600.0
) -> float:
    text = get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}")
    return value


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _ignore(_: TranscriptionResult) -> None:
    pass


def _ignore_trouble(_: str) -> None:
    pass
