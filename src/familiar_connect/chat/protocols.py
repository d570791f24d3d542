"""What reading messages needs from outside."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Transcriber(Protocol):
    """Writes down what is said in a recording."""

    async def transcribe(self, audio: bytes, media_type: str) -> str:
        """The words in *audio*, empty where there are none; raises when it cannot listen."""
