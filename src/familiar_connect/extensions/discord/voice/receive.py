"""VoiceReceiver: packets from the wire in, each person's sound out, in the order it was sent (JitterBuffer).

It runs on the thread that reads the socket: opening and decoding ten people's packets would hold up the event loop.
Nothing a packet holds can raise; what cannot be opened or decoded is counted and heard as silence.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from familiar_connect.api.support import LruCache
from familiar_connect.extensions.discord.voice.opus import HEARING_FRAME_BYTES, OpusHearing
from familiar_connect.extensions.discord.voice.packets import SoundPacket

MAX_STREAMS = 100
MAX_UNKNOWN = 50
"""Frames of somebody whom the server has not named yet that are kept until it does: a second."""
FRAME_S = 0.02
QUIET_AFTER_S = 0.1
"""Nothing from somebody for so long: they stopped."""
TRAILING_S = 2.0
"""Silence that is filled in after somebody stopped: a pause can only be heard where there is sound of it."""

MAX_IN_VAIN = 250
"""Packets that nothing could be made of, one after another, before that is said: five seconds of one person."""

OnSound = Callable[[int, bytes], None]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class VoiceKeys:
    """What packets are opened with, asked anew for each: all of it changes during a call."""

    open_packet: Callable[[bytes], SoundPacket | None]
    user_of: Callable[[int], int | None]
    """Who speaks on a stream; None: the server has not said yet."""
    open_frame: Callable[[int, bytes], bytes | None]
    """What a person's frame holds; None: it cannot be opened."""


@dataclass
class ReceiveCounts:
    """What came of the packets so far."""

    packets: int = 0
    refused: int = 0
    """No sound, or not opened by the server's key."""
    lost: int = 0
    unopened: int = 0
    """Not opened by the keys of the call."""
    undecoded: int = 0


SEQUENCES = 1 << 16
DEPTH = 4
"""Packets that may wait for one that is missing: 80 ms."""
WAIT_S = 0.08
"""How long the first of them waits where nobody goes on speaking."""
MAX_GAP = 25
"""More missing at once than half a second is a new beginning, not a loss."""


@dataclass
class JitterBuffer:
    """One stream. What is in order is given out at once; a packet that never comes is given out as None."""

    depth: int = DEPTH
    wait_s: float = WAIT_S
    _next: int | None = None
    _held: dict[int, tuple[float, bytes]] = field(default_factory=dict)

    def put(self, sequence: int, payload: bytes, now: float) -> list[bytes | None]:
        """Take a packet in; what is next in order now. One that is late, or that was here before, is let go."""
        if self._next is None:
            self._next = sequence
        ahead = (sequence - self._next) % SEQUENCES
        if ahead >= SEQUENCES - MAX_GAP:
            return []
        if ahead > MAX_GAP:
            left = self._give_all()
            self._next = sequence
            return [*left, *self._hold(sequence, payload, now)]
        return self._hold(sequence, payload, now)

    def take_overdue(self, now: float) -> list[bytes | None]:
        """What has waited long enough for a packet that is missing."""
        given: list[bytes | None] = []
        while self._held and now - min(at for at, _ in self._held.values()) >= self.wait_s:
            given += self._skip()
        return given

    @property
    def is_waiting(self) -> bool:
        return bool(self._held)

    def _hold(self, sequence: int, payload: bytes, now: float) -> list[bytes | None]:
        self._held.setdefault(sequence, (now, payload))
        given = self._give()
        while len(self._held) >= self.depth:
            given += self._skip()
        return given

    def _give(self) -> list[bytes | None]:
        """What is in order."""
        given: list[bytes | None] = []
        while self._next in self._held:
            given.append(self._held.pop(self._next)[1])
            self._next = (self._next + 1) % SEQUENCES
        return given

    def _skip(self) -> list[bytes | None]:
        """Give up what is missing before the first packet that waits."""
        assert self._next is not None
        missing = min((sequence - self._next) % SEQUENCES for sequence in self._held)
        self._next = (self._next + missing) % SEQUENCES
        return [*[None] * missing, *self._give()]

    def _give_all(self) -> list[bytes | None]:
        given: list[bytes | None] = []
        while self._held:
            given += self._skip()
        return given


@dataclass
class _Stream:
    """One person's packets on their way to sound."""

    buffer: JitterBuffer = field(default_factory=JitterBuffer)
    codec: OpusHearing = field(default_factory=OpusHearing)
    unknown: deque[bytes | None] = field(default_factory=lambda: deque(maxlen=MAX_UNKNOWN))
    user_id: int | None = None
    last_packet: float = 0.0
    filled_until: float = 0.0
    """Until when silence was filled in, since somebody stopped."""


class VoiceReceiver:
    """Turns packets into sound for one connection. All but `forget` is called by one thread."""

    def __init__(self, keys: VoiceKeys, on_sound: OnSound, *, clock: Callable[[], float] = time.monotonic) -> None:
        """*on_sound* is given a person's id and mono PCM at `HEARING_RATE`, on the thread of the caller."""
        self._keys = keys
        self._on_sound = on_sound
        self._clock = clock
        self._streams: LruCache[int, _Stream] = LruCache(MAX_STREAMS)
        self._lock = threading.Lock()
        self.counts = ReceiveCounts()
        self._in_vain = 0

    def receive(self, datagram: bytes) -> None:
        """A packet has come."""
        self.counts.packets += 1
        packet = self._keys.open_packet(datagram)
        if packet is None:
            self.counts.refused += 1
            self._note_in_vain("the voice server's key does not open packets")
            return
        now = self._clock()
        with self._lock:
            stream = self._stream(packet.ssrc)
            stream.last_packet, stream.filled_until = now, 0.0
            self._hear(stream, stream.buffer.put(packet.sequence, packet.payload, now))

    def tick(self) -> None:
        """Time has passed: give up what does not come any more, and let silence be heard after speech."""
        now = self._clock()
        with self._lock:
            for ssrc, stream in list(self._streams.items()):
                if stream.user_id is None:
                    stream.user_id = self._keys.user_of(ssrc)
                self._hear(stream, stream.buffer.take_overdue(now))
                self._fill_in(stream, now)

    def forget(self, ssrc: int) -> None:
        """Somebody left: what is still to come of their stream is nobody's."""
        with self._lock:
            self._streams.pop(ssrc)

    def _stream(self, ssrc: int) -> _Stream:
        user_id = self._keys.user_of(ssrc)
        stream = self._streams.get(ssrc)
        if stream is None or (stream.user_id is not None and stream.user_id != user_id):
            stream = _Stream()
            self._streams.put(ssrc, stream)
        stream.user_id = user_id
        return stream

    def _hear(self, stream: _Stream, frames: list[bytes | None]) -> None:
        self.counts.lost += frames.count(None)
        if stream.user_id is None:
            stream.unknown.extend(frames)
            return
        for frame in (*stream.unknown, *frames):
            self._decode(stream, stream.user_id, frame)
        stream.unknown.clear()

    def _decode(self, stream: _Stream, user_id: int, frame: bytes | None) -> None:
        opened = self._keys.open_frame(user_id, frame) if frame is not None else None
        if frame is not None and opened is None:
            self.counts.unopened += 1
            self._note_in_vain("the keys of the call do not open what people say")
        elif opened is not None:
            self._in_vain = 0
        failures = stream.codec.failures
        sound = stream.codec.decode(opened)
        self.counts.undecoded += stream.codec.failures - failures
        if sound:
            self._on_sound(user_id, sound)

    def _note_in_vain(self, why: str) -> None:
        self._in_vain += 1
        if self._in_vain == MAX_IN_VAIN:
            logger.warning("nothing is heard in a voice channel", extra={"reason": why, **asdict(self.counts)})

    def _fill_in(self, stream: _Stream, now: float) -> None:
        """Silence since somebody stopped, as much as time has passed."""
        quiet_since = stream.last_packet + QUIET_AFTER_S
        if stream.user_id is None or now < quiet_since:
            return
        filled = stream.filled_until or stream.last_packet
        until = min(now, stream.last_packet + TRAILING_S)
        frames = int((until - filled) / FRAME_S + 1e-6)
        if frames > 0:
            stream.filled_until = filled + frames * FRAME_S
            self._on_sound(stream.user_id, bytes(HEARING_FRAME_BYTES * frames))
