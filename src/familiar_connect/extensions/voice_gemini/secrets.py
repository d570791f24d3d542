"""The secrets of Gemini's speech: its key goes by two names."""

from __future__ import annotations

KEY = "GOOGLE_API_KEY"
OTHER_KEY = "GEMINI_API_KEY"

SECRETS = {
    KEY: "Key for Gemini speech.",
    OTHER_KEY: f"Stands in for `{KEY}`.",
}
MAIN_SECRET = OTHER_KEY
