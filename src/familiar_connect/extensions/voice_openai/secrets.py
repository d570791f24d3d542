"""The secret of OpenAI's speech, with what it is for."""

from __future__ import annotations

KEY = "OPENAI_API_KEY"

SECRETS = {KEY: "Key for OpenAI's speech and transcription."}
MAIN_SECRET = KEY
