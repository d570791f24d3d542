"""Listening to a recording: what is said in it, put together between pauses."""

from __future__ import annotations

from collections.abc import Callable

from familiar_connect.voice.hearing import Hearing
from familiar_connect.voice.protocols import HEARING_RATE, HearingCallbacks, SpeechProbability, SpeechRecognizer
from familiar_connect.voice.turn_taking import merge_finals
from familiar_connect.voice.types import TranscriptionResult

FEED_BYTES = HEARING_RATE // 5
"""A tenth of a second at a time, as a microphone would."""
ONE_SPEAKER = 1


async def understand_recording(
    sound: bytes,
    recognizer: SpeechRecognizer,
    make_probability: Callable[[], SpeechProbability],
    *,
    lull_s: float,
    on_trouble: Callable[[str], None],
) -> list[TranscriptionResult]:
    """What is said in mono *sound* at `HEARING_RATE`; a pause of *lull_s* ends what belongs together."""
    finals: list[TranscriptionResult] = []
    hearing = Hearing(
        recognizer,
        make_probability,
        HearingCallbacks(
            on_transcript=lambda _uid, result: finals.append(result),
            on_activity=lambda _uid, _event: None,
            on_trouble=on_trouble,
        ),
    )
    try:
        for at in range(0, len(sound), FEED_BYTES):
            await hearing.feed_when_ready(ONE_SPEAKER, sound[at : at + FEED_BYTES])
        await hearing.finish()
    finally:
        await hearing.aclose()
    return group_by_pauses([each for each in finals if each.text.strip()], lull_s)


def group_by_pauses(finals: list[TranscriptionResult], lull_s: float) -> list[TranscriptionResult]:
    """What stands closer together than *lull_s*, as one."""
    groups: list[list[TranscriptionResult]] = []
    for each in finals:
        if groups and each.start - groups[-1][-1].end < lull_s:
            groups[-1].append(each)
        else:
            groups.append([each])
    return [merge_finals(group) for group in groups]
