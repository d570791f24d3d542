"""The value by which Azure's voices are found."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from familiar_connect.api import Extension
from familiar_connect.api.speech import RemoteService, SynthesizerPart
from familiar_connect.extensions.voice_azure.secrets import KEY, REGION, SECRETS
from familiar_connect.extensions.voice_azure.settings import SpeakingSettings

if TYPE_CHECKING:  # whoever only asks what is missing loads no client
    from familiar_connect.api.speech import SpeechContext, SpeechSynthesizer

REGION_NAME = re.compile(r"[a-z0-9]{2,40}")
"""Of a name that may become part of an address."""


def azure_address(region: str) -> str:
    """Where the service of *region* is; a ValueError where that is no region."""
    if not REGION_NAME.fullmatch(region):
        raise ValueError(f"{REGION} must be a region such as westeurope, in small letters and digits")
    return f"https://{region}.tts.speech.microsoft.com"


def create_voice(context: SpeechContext, _: str) -> SpeechSynthesizer:
    """Speaks as the settings say."""
    from familiar_connect.api.speech import ServiceCalls
    from familiar_connect.extensions.voice_azure.client import AzureTTSClient

    return AzureTTSClient(ServiceCalls(context.service), voice=context.settings.azure_voice)


extension = Extension(
    name="voice_azure",
    synthesizer=SynthesizerPart(
        create=create_voice,
        settings=SpeakingSettings,
        secrets=tuple(SECRETS),
        service=RemoteService(title="Azure's speech", key=KEY, address=azure_address, region=REGION),
    ),
)
