"""UnclearSpeech: what is done about words that nobody could make out: it is said so, and nothing is made up."""

from __future__ import annotations

from familiar_connect.support.aio import BackgroundTasks
from familiar_connect.support.clock import Clock
from familiar_connect.voice.place import VoicePlace

AGAIN_S = 20.0
"""After asking once nothing is asked aloud for so long: who mumbles on is not interrupted by it."""


class UnclearSpeech:
    """Shows who could not be understood, and asks aloud where it can only have been meant for the familiar."""

    def __init__(self, place: VoicePlace, words: str, clock: Clock) -> None:
        """*words* are said aloud; none: nothing is."""
        self._place = place
        self._words = words
        self._clock = clock
        self._again_at = 0.0
        self._background = BackgroundTasks("unclear speech")

    def tell(self, who: str, *, is_meant: bool) -> None:
        """*who* said something unclear; *is_meant*: nobody else is there, and the familiar is silent."""
        self._place.show(f"I could not make out what {who} said.")
        if self._words and is_meant and self._clock.monotonic() >= self._again_at:
            self._again_at = self._clock.monotonic() + AGAIN_S
            self._background.start(self._place.say_aside(self._words), name="sorry")

    async def aclose(self) -> None:
        await self._background.aclose()
