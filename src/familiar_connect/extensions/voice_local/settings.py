"""What [tts] and [stt] say of hearing and speaking on this computer: nothing of its own."""

from __future__ import annotations

from typing import ClassVar


class SpeakingSettings:
    """There is one voice."""

    says: ClassVar[str] = "is that voice always"


class HearingSettings:
    """There is one model, and it knows English."""

    says: ClassVar[str] = "is the recogniser on this machine"
