"""What [stt] says of Deepgram: nothing of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class HearingSettings:
    """Its model and how it connects are set in the environment, as its own programs have it."""

    says: ClassVar[str] = "listens while people speak"
