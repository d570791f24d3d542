"""A reply is spoken while it is written, and what was heard of it is known at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from familiar_connect.voice.speech import SpokenReply, estimate_timestamps
from familiar_connect.voice.types import TTSResult

MS_PER_LETTER = 10
RATE = 1_000


class LetterVoice:
    """Speaks every letter for ten milliseconds."""

    sample_rate = RATE

    def __init__(self, *, fails_at: str | None = None) -> None:
        self.asked: list[str] = []
        self._fails_at = fails_at

    async def synthesize(self, text: str) -> TTSResult:
        self.asked.append(text)
        if self._fails_at is not None and self._fails_at in text:
            raise RuntimeError("no voice today")
        letters = sum(len(word) + 1 for word in text.split())
        return TTSResult(bytes(2 * MS_PER_LETTER * letters))


class StepOut:
    """Plays until it is told how much was heard."""

    def __init__(self) -> None:
        self.playing = asyncio.Event()
        self.may_end = asyncio.Event()
        self.clips = 0
        self.ms = 0.0

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        self.clips += 1
        self.ms = 0.0
        self.playing.set()
        await self.may_end.wait()
        self.ms = len(pcm) / 2 / sample_rate * 1000

    def position_ms(self) -> float:
        return self.ms


async def pieces(*texts: str) -> AsyncIterator[str]:
    for text in texts:
        yield text


class Spoken:
    """A reply being spoken, and what was told of it."""

    def __init__(self, voice: LetterVoice | None = None) -> None:
        self.voice = voice or LetterVoice()
        self.out = StepOut()
        self.heard: list[str] = []
        self.unspoken: list[str] = []
        self.reply = SpokenReply(self.voice, self.out, on_heard=self.heard.append, on_unspoken=self.unspoken.append)

    @property
    def text(self) -> str:
        return "".join(self.heard).strip()


async def test_the_first_sentence_sounds_while_the_second_is_written() -> None:
    """The stream waits for nobody but its writer."""
    spoken, written = Spoken(), asyncio.Event()

    async def slow() -> AsyncIterator[str]:
        yield "Hello there. "
        await written.wait()
        yield "How are you?"

    task = asyncio.create_task(spoken.reply.speak(slow()))
    await spoken.out.playing.wait()
    assert spoken.voice.asked == ["Hello there."]
    written.set()
    spoken.out.may_end.set()
    await task
    assert spoken.text == "Hello there. How are you?"


async def test_ended_in_the_middle_only_what_was_heard_is_told() -> None:
    """Word by word."""
    spoken = Spoken()
    task = asyncio.create_task(spoken.reply.speak(pieces("One two three four. ", "Never heard.")))
    await spoken.out.playing.wait()
    spoken.out.ms = 85.0  # one: 0-40, two: 40-80, three: 80-140
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert spoken.text == "One two three"


async def test_paused_and_resumed_it_goes_on_with_the_rest() -> None:
    """Nothing is said twice and nothing is left out."""
    spoken = Spoken()
    task = asyncio.create_task(spoken.reply.speak(pieces("One two three four. ", "Five.")))
    await spoken.out.playing.wait()
    spoken.out.ms = 41.0
    spoken.out.playing.clear()
    spoken.reply.pause()
    for _ in range(20):
        await asyncio.sleep(0)
    assert spoken.text == "One two"
    assert not spoken.out.playing.is_set()
    spoken.out.may_end.set()
    spoken.reply.resume()
    await task
    assert spoken.text == "One two three four. Five."
    assert "three four." in spoken.voice.asked


async def test_a_sentence_that_cannot_be_spoken_is_shown_and_counts() -> None:
    """The ones around it are spoken."""
    spoken = Spoken(LetterVoice(fails_at="Two"))
    spoken.out.may_end.set()
    await spoken.reply.speak(pieces("One. Two. Three."))
    assert spoken.unspoken == ["Two."]
    assert spoken.text == "One. Two. Three."
    assert spoken.out.clips == 2


async def test_a_sentence_that_nothing_plays_any_more_is_shown_and_counts() -> None:
    """As when the speakers were unplugged."""

    class GoneOut(StepOut):
        async def play(self, pcm: bytes, sample_rate: int) -> None:
            raise OSError("there are no speakers")

    spoken = Spoken()
    reply = SpokenReply(spoken.voice, GoneOut(), on_heard=spoken.heard.append, on_unspoken=spoken.unspoken.append)
    await reply.speak(pieces("One. Two."))
    assert spoken.unspoken == ["One.", "Two."]
    assert spoken.text == "One. Two."


async def test_a_reply_that_breaks_off_is_spoken_as_far_as_it_came() -> None:
    """And its failure is not hidden."""

    async def broken() -> AsyncIterator[str]:
        yield "One. Two"
        raise ConnectionError("gone")

    spoken = Spoken()
    spoken.out.may_end.set()
    with pytest.raises(ConnectionError):
        await spoken.reply.speak(broken())
    assert spoken.text == "One."


def test_words_share_the_time_by_their_letters() -> None:
    """The last ends with the sound."""
    words = estimate_timestamps("a bbb", 600)
    assert [(each.start_ms, each.end_ms) for each in words] == [(0, 200), (200, 600)]
    assert estimate_timestamps("", 600) == ()


async def test_ended_early_whoever_writes_ends_too() -> None:
    """A model's call is not left open behind a reply that nobody hears."""
    ended = asyncio.Event()

    async def writes() -> AsyncIterator[str]:
        try:
            while True:
                yield "One two three. "
        finally:
            ended.set()

    spoken = Spoken()
    task = asyncio.create_task(spoken.reply.speak(writes()))
    await spoken.out.playing.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_paused_before_its_first_sound_it_stays_silent() -> None:
    """And counts no word of it as heard, though the last clip was heard to its end."""
    spoken = Spoken()

    def pause() -> None:
        spoken.reply.pause()

    spoken.reply = SpokenReply(
        spoken.voice,
        spoken.out,
        on_heard=spoken.heard.append,
        on_unspoken=spoken.unspoken.append,
        on_first_audio=pause,
    )
    spoken.out.ms = 10_000.0
    task = asyncio.create_task(spoken.reply.speak(pieces("One two three.")))
    for _ in range(30):
        await asyncio.sleep(0)
    assert (spoken.out.clips, spoken.text) == (0, "")
    spoken.out.may_end.set()
    spoken.reply.resume()
    await task
    assert spoken.text == "One two three."
