"""Several people are heard at once, each in their own words and order."""

from __future__ import annotations

import asyncio

from familiar_connect.voice.hearing import MAX_WAITING, Hearing
from familiar_connect.voice.protocols import HearingCallbacks
from familiar_connect.voice.types import TranscriptionResult
from familiar_connect.voice.vad import EnergyProbability
from tests.voice.test_vad import silence, tone


class CountingRecognizer:
    """Says how long what it heard was; fails where it is told to."""

    def __init__(self, *, fails_at: int | None = None) -> None:
        self.calls = 0
        self._fails_at = fails_at

    async def recognize(self, pcm: bytes) -> str:
        self.calls += 1
        await asyncio.sleep(0)
        if self.calls == self._fails_at:
            raise RuntimeError("died in the middle of a word")
        return f"{len(pcm) // 3200} tenths"


class Told:
    def __init__(self) -> None:
        self.transcripts: list[tuple[int, TranscriptionResult]] = []
        self.troubles: list[str] = []
        self.callbacks = HearingCallbacks(
            on_transcript=lambda uid, result: self.transcripts.append((uid, result)),
            on_activity=lambda uid, event: None,
            on_trouble=self.troubles.append,
        )


async def test_each_person_is_heard_under_their_name() -> None:
    """Ten at once."""
    told = Told()
    hearing = Hearing(CountingRecognizer(), EnergyProbability, told.callbacks)
    for at in range(8):
        for uid in range(10):
            hearing.feed(uid, tone(0.5) if at % 4 == 0 else silence(0.5), speaker=f"Person {uid}")
    await hearing.finish()
    await hearing.aclose()
    assert len(told.transcripts) == 20
    assert {(uid, each.speaker) for uid, each in told.transcripts} == {(uid, f"Person {uid}") for uid in range(10)}
    assert not told.troubles


async def test_a_recogniser_that_dies_costs_one_stretch_and_says_so() -> None:
    """What comes after is heard."""
    told = Told()
    hearing = Hearing(CountingRecognizer(fails_at=1), EnergyProbability, told.callbacks)
    hearing.feed(1, tone(0.5) + silence(1) + tone(0.5) + silence(1), speaker="Ada")
    await hearing.finish()
    await hearing.aclose()
    assert [bool(each.text) for _, each in told.transcripts] == [False, True]
    assert len(told.troubles) == 1
    assert "Ada" in told.troubles[0]


async def test_more_than_can_be_made_out_is_said_and_bounded() -> None:
    """The oldest goes."""
    told = Told()
    hearing = Hearing(CountingRecognizer(), EnergyProbability, told.callbacks)
    hearing.feed(1, (tone(0.3) + silence(0.8)) * (MAX_WAITING + 4))
    await hearing.finish()
    await hearing.aclose()
    assert len(told.transcripts) == MAX_WAITING
    assert len(told.troubles) == 4
