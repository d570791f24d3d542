"""What [tts] says of Cartesia's voices."""

from __future__ import annotations

from typing import ClassVar

from familiar_connect.api.settings import TEXT_OR_NONE, setting


class SpeakingSettings:
    """Which voice it is, and of which model."""

    cartesia_voice_id: str | None = setting(
        None, TEXT_OR_NONE, "Cartesia voice.", example='"a0e99841-438c-4a64-b679-ae501e7d6091"'
    )
    cartesia_model: str | None = setting(None, TEXT_OR_NONE, "Cartesia model.", example='"sonic-2"')
    older_spellings: ClassVar[dict[str, str]] = {"voice_id": "cartesia_voice_id", "model": "cartesia_model"}
