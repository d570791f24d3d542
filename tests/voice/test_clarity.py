"""What a recogniser only guesses is not what was said: nothing of it is kept, and the familiar asks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from familiar_connect.testing.voice_doubles import LetterVoice
from familiar_connect.voice.clarity import SpeechUnclearError, join_clear_pieces, repeats_itself
from familiar_connect.voice.hearing import Hearing
from familiar_connect.voice.interruption import uid_of
from familiar_connect.voice.protocols import HearingCallbacks
from familiar_connect.voice.types import TranscriptionResult, TTSResult
from familiar_connect.voice.unclear_speech import AGAIN_S
from familiar_connect.voice.vad import EnergyProbability
from tests.fakes.voice_room import ANA, BEN, VoiceRoom, in_voice_room
from tests.voice.test_vad import silence, tone

INVENTED = [
    [(" I'm Morgan Farley, and my next semester, I'll come in and look.", -1.08, 0.42)],
    [(" Can't do me lagging, man, it's so cute!", -0.96, 0.13)],
    [(" So yeah. So yeah. So yeah. So yeah. So yeah.", -0.2, 0.1)],
    [(" the bus the bus the bus the bus is late", -0.3, 0.1)],
    [("ありがとうありがとうありがとうありがとう", -0.3, 0.1)],
]
"""What the recogniser that comes along made of German, and loops as such models fall into."""
SAID = [
    [(" My dog is afraid of thunder", -0.2, 0.02), (" and hides under the bed.", -0.3, 0.02)],
    [(" No, no, no, I never said that!", -0.4, 0.05)],
    [(" Ha ha ha, very funny, very very funny indeed.", -0.4, 0.05)],
]


@pytest.mark.parametrize("pieces", INVENTED)
def test_guesses_and_loops_are_no_words(pieces: list[tuple[str, float | None, float | None]]) -> None:
    """Whoever hears another language than its own guesses, and a model that is lost says the same again."""
    with pytest.raises(SpeechUnclearError):
        join_clear_pieces(pieces)


@pytest.mark.parametrize("pieces", SAID)
def test_clear_words_are_kept(pieces: list[tuple[str, float | None, float | None]]) -> None:
    """People repeat themselves, too."""
    assert join_clear_pieces(pieces) == " ".join(text.strip() for text, _, _ in pieces)


def test_noise_is_left_out_and_a_language_nobody_can_tell_is_unclear() -> None:
    """Noise alone is no words at all, and nobody is asked about it."""
    assert join_clear_pieces([(" Thank you.", -0.9, 0.8)]) == ""
    assert join_clear_pieces([("Guten Morgen.", -0.2, 0.1)], language_probability=0.9) == "Guten Morgen."
    with pytest.raises(SpeechUnclearError):
        join_clear_pieces([("Guten Morgen.", -0.2, 0.1)], language_probability=0.3)


def test_a_long_text_that_says_the_same_is_a_loop() -> None:
    """Though no words stand four times in a row."""
    assert repeats_itself("and then we went to the shop and so " * 12)
    assert not repeats_itself("We moved to Leeds two years ago for a new job, and my brother came along with his dog.")


async def test_unclear_speech_is_told_and_no_transcript_is_made_of_it() -> None:
    """What comes after is heard as ever."""

    class Unsure:
        calls = 0

        async def recognize(self, pcm: bytes) -> str:
            self.calls += 1
            return join_clear_pieces([(" Good evening.", -1.2 if self.calls == 1 else -0.2, 0.1)])

    told: list[TranscriptionResult] = []
    unclear: list[int] = []
    troubles: list[str] = []
    callbacks = HearingCallbacks(
        on_transcript=lambda uid, result: told.append(result),
        on_activity=lambda uid, event: None,
        on_trouble=troubles.append,
        on_unclear=unclear.append,
    )
    hearing = Hearing(Unsure(), EnergyProbability, callbacks)
    hearing.feed(7, tone(0.5) + silence(1) + tone(0.5) + silence(1))
    await hearing.finish()
    await hearing.aclose()

    assert unclear == [7]
    assert [each.text for each in told] == ["", "Good evening."]
    assert troubles == []


def test_the_familiar_asks_where_it_is_alone_with_somebody_and_keeps_nothing(tmp_path: Path) -> None:
    """Aloud once in a while; among several people it is only shown, as nobody knows who was meant."""
    spoken: list[str] = []

    class NotingVoice(LetterVoice):
        async def synthesize(self, text: str) -> TTSResult:
            spoken.append(text)
            return await super().synthesize(text)

    async def talk(room: VoiceRoom) -> None:
        room.session.join(ANA)
        room.session._on_unclear(uid_of(ANA))
        await room.rest()
        room.session._on_unclear(uid_of(ANA))
        await room.rest()
        await asyncio.sleep(AGAIN_S)
        room.session.join(BEN)
        room.session._on_unclear(uid_of(ANA))
        await room.rest()

        assert spoken == ["Sorry?"]
        assert room.shown == ["I could not make out what Ana said."] * 3
        assert room.turns() == []
        assert room.model.calls == []

    in_voice_room(talk, tmp_path, voice=NotingVoice())
