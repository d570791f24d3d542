"""SpeechContext: what hears or speaks is given when it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from familiar_connect.extensions.part_context import PartContext

if TYPE_CHECKING:
    from familiar_connect.voice.speech_service import SpeechService


@dataclass(frozen=True, kw_only=True)
class SpeechContext(PartContext):
    """What any part is given, and who is to be asked where the part names a `RemoteService`."""

    language: str | None = None
    """The language that is spoken, as a code; None: nobody has said."""
    found_service: SpeechService | None = field(default=None, repr=False)

    @property
    def service(self) -> SpeechService:
        """Where the service is by the settings, and with which key; a ValueError where the part names none."""
        if self.found_service is None:
            raise ValueError("a part that asks a service names it: `service=RemoteService(…)`")
        return self.found_service
