"""The secret of Cartesia, with what it is for."""

from __future__ import annotations

KEY = "CARTESIA_API_KEY"

SECRETS = {KEY: "Key for Cartesia speech."}
MAIN_SECRET = KEY
