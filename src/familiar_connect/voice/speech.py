"""Speaking a reply while it is still being written, and knowing at any moment what of it was heard."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass, replace

from familiar_connect.support.aio import cancel_and_wait, closing_stream
from familiar_connect.voice.audio import duration_s
from familiar_connect.voice.interruption import split_at_elapsed
from familiar_connect.voice.protocols import AudioOut, SpeechSynthesizer
from familiar_connect.voice.sentences import cut_sentences
from familiar_connect.voice.types import WordTimestamp

SENTENCES_AHEAD = 2
"""How many sentences are synthesised before they are played."""
SYNTHESIS_TIMEOUT_S = 20.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Clip:
    """One sentence, ready to be played; without sound it could not be spoken."""

    text: str
    pcm: bytes
    words: tuple[WordTimestamp, ...]


def estimate_timestamps(text: str, length_ms: float) -> tuple[WordTimestamp, ...]:
    """When each word is spoken where the synthesiser does not tell: by its share of the letters."""
    words = text.split()
    letters = sum(len(word) + 1 for word in words)
    found, at = [], 0.0
    for word in words:
        end = at + length_ms * (len(word) + 1) / letters
        found.append(WordTimestamp(word, at, end))
        at = end
    return tuple(found)


class SpokenReply:
    """One reply being spoken: sentences are synthesised ahead while the one before is played.

    `pause` silences it at once and `resume` goes on with the words that were not heard. Cancelled, it is silent, and
    has told what was heard.
    """

    def __init__(
        self,
        synthesizer: SpeechSynthesizer,
        out: AudioOut,
        *,
        on_heard: Callable[[str], None],
        on_unspoken: Callable[[str], None],
        on_first_audio: Callable[[], None] | None = None,
        longest_s: float | None = None,
    ) -> None:
        """*on_heard* is told the words as they are heard, *on_unspoken* a sentence that could not be spoken.

        With the sentence that reaches *longest_s* of speech it is over, and no more of *pieces* is asked for.
        """
        self._synthesizer = synthesizer
        self._out = out
        self._on_heard = on_heard
        self._on_unspoken = on_unspoken
        self._on_first_audio = on_first_audio
        self._longest_s = longest_s
        self._may_play = asyncio.Event()
        self._may_play.set()
        self._playing: asyncio.Task[None] | None = None
        self._waits = 0
        self._has_begun = False
        """Whether the clip that is to be played has reached the output; before, its position is the last clip's."""

    @property
    def is_waiting(self) -> bool:
        """Whether the model's next words, or the sound of some, are waited for."""
        return self._waits > 0

    def pause(self) -> None:
        """Be silent now."""
        self._may_play.clear()
        if self._playing is not None:
            self._playing.cancel()

    def resume(self) -> None:
        """Go on with what was not heard."""
        self._may_play.set()

    async def speak(self, pieces: AsyncIterable[str]) -> None:
        """Speak the whole of a reply."""
        ready: asyncio.Queue[Clip | None] = asyncio.Queue(SENTENCES_AHEAD)
        making = asyncio.get_running_loop().create_task(self._synthesize_all(pieces, ready), name="voice:synthesis")
        try:
            while (clip := await ready.get()) is not None:
                await self._play(clip)
        finally:
            await cancel_and_wait(making)
        making.result()

    async def _synthesize_all(self, pieces: AsyncIterable[str], ready: asyncio.Queue[Clip | None]) -> None:
        try:
            async with closing_stream(cut_sentences(self._wait_for_words(pieces))) as sentences:
                length_s = 0.0
                async for sentence in sentences:
                    clip = await self._synthesize(sentence)
                    await ready.put(clip)
                    length_s += duration_s(clip.pcm, self._synthesizer.sample_rate)
                    if self._longest_s is not None and length_s >= self._longest_s:
                        break
        except Exception:
            await ready.put(None)
            raise
        await ready.put(None)

    async def _wait_for_words(self, pieces: AsyncIterable[str]) -> AsyncIterator[str]:
        """*pieces*, with a note of when they are waited for."""
        self._waits += 1
        try:
            async with closing_stream(pieces) as stream:
                async for piece in stream:
                    self._waits -= 1
                    try:
                        yield piece
                    finally:
                        self._waits += 1
        finally:
            self._waits -= 1

    async def _synthesize(self, text: str) -> Clip:
        self._waits += 1
        try:
            async with asyncio.timeout(SYNTHESIS_TIMEOUT_S):
                made = await self._synthesizer.synthesize(text)
        except (RuntimeError, TimeoutError, OSError) as error:
            logger.warning("a sentence could not be spoken", extra={"error": str(error) or type(error).__name__})
            return Clip(text=text, pcm=b"", words=())
        finally:
            self._waits -= 1
        length_ms = duration_s(made.audio, self._synthesizer.sample_rate) * 1000
        return Clip(text=text, pcm=made.audio, words=tuple(made.timestamps) or estimate_timestamps(text, length_ms))

    async def _play(self, clip: Clip | None) -> None:
        """Play a sentence; paused, go on later with what is left of it."""
        while clip is not None:
            await self._may_play.wait()
            if not clip.pcm:
                self._on_unspoken(clip.text)
                self._on_heard(clip.text + " ")
                return
            clip = await self._play_once(clip)

    async def _play_once(self, clip: Clip) -> Clip | None:
        if self._on_first_audio is not None:
            on_first_audio, self._on_first_audio = self._on_first_audio, None
            on_first_audio()
            if not self._may_play.is_set():  # whoever was told has paused it
                return clip
        self._has_begun = False
        self._playing = asyncio.get_running_loop().create_task(self._put_out(clip), name="voice:playback")
        try:
            await asyncio.wait({self._playing})
        except asyncio.CancelledError:
            await cancel_and_wait(self._playing)
            self._tell_heard(clip)
            raise
        played, self._playing = self._playing, None
        if not played.cancelled():
            if isinstance(played.exception(), OSError):  # nothing plays it any more
                self._on_unspoken(clip.text)
            else:
                played.result()
            self._on_heard(clip.text + " ")
            return None
        left = self._tell_heard(clip)
        return replace(await self._synthesize(left), text=left) if left else None

    async def _put_out(self, clip: Clip) -> None:
        self._has_begun = True
        await self._out.play(clip.pcm, self._synthesizer.sample_rate)

    def _tell_heard(self, clip: Clip) -> str:
        """Tell what was heard of *clip*; what was not."""
        elapsed_ms = self._out.position_ms() if self._has_begun else 0.0
        heard, left = split_at_elapsed(clip.words, elapsed_ms)
        if heard:
            self._on_heard(heard + " ")
        return left
