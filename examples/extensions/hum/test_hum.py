"""The tests of this example: run them with `pytest`."""

from __future__ import annotations

import asyncio

from familiar_hum import HummingVoice, SyllableEars


def test_it_hears_what_it_hums() -> None:
    """A tone for each syllable, a sound for each tone."""
    spoken = asyncio.run(HummingVoice(440).synthesize("Good evening"))

    assert [each.word for each in spoken.timestamps] == ["Good", "evening"]
    assert asyncio.run(SyllableEars().recognize(spoken.audio)) == "la la la la"
