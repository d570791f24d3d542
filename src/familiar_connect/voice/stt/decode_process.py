"""The child process that decodes a sound file of outside origin: bytes in, PCM at `HEARING_RATE` out.

Codecs are native code; in a child a damaged or hostile file costs what the child may use and nothing else.
"""

from __future__ import annotations

import base64
import io
import itertools
import sys

from familiar_connect.support.bounded_process import limit_this_process, print_answer, read_given
from familiar_connect.voice.protocols import HEARING_RATE

SAMPLE_BYTES = 2

MAX_HEARD_SECONDS = 120
"""More of a recording is not listened to: a reply waits for its words."""


def decode_sound(data: bytes) -> bytes:
    """Mono PCM of whatever sound *data* is."""
    import av

    pcm = bytearray()
    most = MAX_HEARD_SECONDS * HEARING_RATE * SAMPLE_BYTES
    with av.open(io.BytesIO(data), mode="r", metadata_errors="ignore") as container:
        resampler = av.AudioResampler(format="s16", layout="mono", rate=HEARING_RATE)
        for frame in itertools.chain(container.decode(audio=0), [None]):
            for made in resampler.resample(frame):
                pcm += bytes(made.planes[0])[: made.samples * SAMPLE_BYTES]
            if len(pcm) >= most:
                break
    return bytes(pcm[:most])


def run_decoder(budget: str, length: str) -> None:
    """Decode what is given and print it."""
    import av  # noqa: F401  # its libraries must not count against what a file takes

    limit_this_process(budget)
    try:
        print_answer({"pcm": base64.b64encode(decode_sound(read_given(length))).decode("ascii")})
    except MemoryError:
        print_answer({"excess": "memory"})
    except Exception as error:  # whatever a damaged file makes of its codec
        print_answer({"problem": type(error).__name__})


if __name__ == "__main__":
    run_decoder(*sys.argv[1:])
