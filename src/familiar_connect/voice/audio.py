"""PCM of 16-bit little-endian samples: channels, sample rates, loudness."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # whoever only asks how long a sound is loads no numpy
    import numpy as np
    from numpy.typing import NDArray

SAMPLE_BYTES = 2

MIN_RATE, MAX_RATE = 4_000, 384_000
_TAPS_PER_PHASE = 16


def mono_to_stereo(pcm: bytes) -> bytes:
    """The same samples on both channels."""
    import numpy as np

    if len(pcm) % SAMPLE_BYTES:
        raise ValueError(f"PCM of 16-bit samples has an even length, not {len(pcm)}")
    return np.repeat(np.frombuffer(pcm, dtype="<i2"), 2).tobytes()


def stereo_to_mono(pcm: bytes) -> bytes:
    """The average of both channels, rounded down."""
    import numpy as np

    if len(pcm) % (2 * SAMPLE_BYTES):
        raise ValueError(f"stereo PCM of 16-bit samples has a length that 4 divides, not {len(pcm)}")
    pairs = np.frombuffer(pcm, dtype="<i2").reshape(-1, 2).astype(np.int32)
    return _pcm(pairs.sum(axis=1) >> 1)


def mix_to_mono(pcm: bytes, channels: int) -> bytes:
    """Any number of channels as one; what is left over of a last frame is dropped."""
    import numpy as np

    if channels < 1:
        raise ValueError(f"a sound has at least one channel, not {channels}")
    frames = np.frombuffer(pcm[: len(pcm) - len(pcm) % (SAMPLE_BYTES * channels)], dtype="<i2").reshape(-1, channels)
    return _pcm(frames.astype(np.int64).sum(axis=1) // channels)


def resample(pcm: bytes, rate: int, to: int) -> bytes:
    """Mono *pcm* of one sample rate at another, with what the lower of the two cannot hold filtered out."""
    import numpy as np

    for each in (rate, to):
        if not MIN_RATE <= each <= MAX_RATE:
            raise ValueError(f"a sample rate lies between {MIN_RATE} and {MAX_RATE} Hz, not {each}")
    samples = np.frombuffer(pcm[: len(pcm) - len(pcm) % SAMPLE_BYTES], dtype="<i2")
    if rate == to or not len(samples):
        return samples.tobytes()
    shared = gcd(rate, to)
    up, down = to // shared, rate // shared
    filtered = _low_pass(samples.astype(np.float64), up, down)
    positions = np.arange(-(-len(samples) * up // down)) * (down / up)
    made = np.interp(positions, np.arange(len(samples)), filtered)
    return _pcm(np.clip(np.rint(made), -32768, 32767))


def _low_pass(samples: NDArray[np.float64], up: int, down: int) -> NDArray[np.float64]:
    """*samples* without what lies above half of the new rate; a windowed sinc, as long as the ratio asks."""
    import numpy as np

    if down <= up:
        return samples
    ratio = up / down
    half = int(_TAPS_PER_PHASE / ratio)
    at = np.arange(-half, half + 1)
    taps = np.sinc(at * ratio) * np.hanning(2 * half + 3)[1:-1]
    return np.convolve(samples, taps / taps.sum(), mode="full")[half : half + len(samples)]


def _pcm(samples: NDArray[Any]) -> bytes:
    return bytes(samples.astype("<i2").tobytes())


def loudness(pcm: bytes) -> float:
    """Root mean square of mono *pcm*, 0 to 1."""
    import numpy as np

    samples = np.frombuffer(pcm[: len(pcm) - len(pcm) % SAMPLE_BYTES], dtype="<i2")
    return float(np.sqrt(np.mean(np.square(samples.astype(np.float64)))) / 32768) if len(samples) else 0.0


def duration_s(pcm: bytes, rate: int) -> float:
    """How long mono *pcm* lasts."""
    return len(pcm) / (SAMPLE_BYTES * rate)
