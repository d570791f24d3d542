"""What [stt] says of Deepgram: nothing of its own."""

from __future__ import annotations

from typing import ClassVar


class HearingSettings:
    """Its model and how it connects are set in the environment, as its own programs have it."""

    says: ClassVar[str] = "listens while people speak"
