"""The value by which Cartesia's voices are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.api import Extension
from familiar_connect.api.speech import RemoteService, SynthesizerPart
from familiar_connect.extensions.voice_cartesia.secrets import KEY, SECRETS
from familiar_connect.extensions.voice_cartesia.settings import SpeakingSettings

if TYPE_CHECKING:  # whoever only asks what is missing loads no client
    from familiar_connect.api.speech import SpeechContext, SpeechSynthesizer


def create_voice(context: SpeechContext, _: str) -> SpeechSynthesizer:
    """Speaks as the settings say."""
    from familiar_connect.extensions.voice_cartesia.client import CartesiaTTSClient

    settings: SpeakingSettings = context.settings
    return CartesiaTTSClient(
        context.service, voice_id=settings.cartesia_voice_id or "", model=settings.cartesia_model or ""
    )


extension = Extension(
    name="voice_cartesia",
    synthesizer=SynthesizerPart(
        create=create_voice,
        settings=SpeakingSettings,
        secrets=tuple(SECRETS),
        required=("cartesia_voice_id", "cartesia_model"),
        service=RemoteService(title="Cartesia", key=KEY, address="https://api.cartesia.ai"),
    ),
)
