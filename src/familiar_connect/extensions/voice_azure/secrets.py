"""The secrets of Azure's speech, each with what it is for."""

from __future__ import annotations

KEY = "AZURE_SPEECH_KEY"
REGION = "AZURE_SPEECH_REGION"

SECRETS = {
    KEY: "Key for Azure speech.",
    REGION: "Region of the Azure speech service.",
}
MAIN_SECRET = KEY
