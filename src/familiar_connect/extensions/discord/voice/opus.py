"""Opus, the codec of Discord's voice channels, by the libopus that comes with PyAV.

The Discord library brings a libopus for Windows alone and looks for the system's elsewhere; PyAV comes with the
packages of voice on every system.
"""

from __future__ import annotations

from typing import Any, Literal

from familiar_connect.api.speech import HEARING_RATE

DISCORD_RATE = 48_000
FRAME_S = 0.02
FRAME_SAMPLES = 960
FRAME_BYTES = 3840
"""20 ms at 48 kHz in two channels."""
HEARING_FRAME_BYTES = 640
"""20 ms at the rate of hearing, in one channel."""
BIT_RATE = 64_000
MAX_FRAME_BYTES = 1275 * 3 + 7
"""The longest packet of Opus."""


class OpusHearing:
    """Packets of one person's stream as mono PCM at `HEARING_RATE`; both codec and filter remember what came before."""

    def __init__(self) -> None:
        import av

        self._decoder: Any = _open_codec("r", sample_rate=DISCORD_RATE, layout="stereo")
        self._resampler = av.AudioResampler(format="s16", layout="mono", rate=HEARING_RATE)
        self.failures = 0

    def decode(self, payload: bytes | None) -> bytes:
        """The sound of *payload*; silence as long as a frame for one that was lost or cannot be read."""
        import av

        if not payload or len(payload) > MAX_FRAME_BYTES:
            return self._fill_in()
        try:
            frames = self._decoder.decode(av.Packet(payload))
            resampled = [made for frame in frames for made in self._resampler.resample(frame)]
        except (av.FFmpegError, ValueError):
            self.failures += 1
            return self._fill_in()
        return b"".join(bytes(made.planes[0])[: made.samples * 2] for made in resampled)

    @staticmethod
    def _fill_in() -> bytes:
        return bytes(HEARING_FRAME_BYTES)


class OpusSpeech:
    """Frames of 20 ms, 48 kHz in two channels, as packets of Opus."""

    def __init__(self) -> None:
        self._encoder: Any = _open_codec(
            "w",
            sample_rate=DISCORD_RATE,
            layout="stereo",
            format="s16",
            bit_rate=BIT_RATE,
            options={"application": "voip", "frame_duration": "20"},
        )
        self._at = 0

    def encode(self, frame: bytes) -> bytes:
        """A frame of `FRAME_BYTES` bytes as one packet."""
        import av

        if len(frame) != FRAME_BYTES:
            raise ValueError(f"a frame of sound has {FRAME_BYTES} bytes, not {len(frame)}")
        given = av.AudioFrame(format="s16", layout="stereo", samples=FRAME_SAMPLES)
        given.planes[0].update(frame)
        _set_all(given, sample_rate=DISCORD_RATE, pts=self._at)
        self._at += FRAME_SAMPLES
        return b"".join(bytes(packet) for packet in self._encoder.encode(given))


def has_opus() -> bool:
    """Whether the codec can be opened for both ways."""
    import av

    try:
        OpusHearing(), OpusSpeech()
    except (av.FFmpegError, ValueError, LookupError):
        return False
    return True


def _open_codec(mode: Literal["r", "w"], **settings: object) -> Any:
    import av

    codec = av.CodecContext.create("libopus", mode)
    _set_all(codec, **settings)
    codec.open()
    return codec


def _set_all(of: object, **settings: object) -> None:
    for name, value in settings.items():
        setattr(of, name, value)
