"""The key of Deepgram, and the names by which the environment may set it up."""

from __future__ import annotations

KEY = "DEEPGRAM_API_KEY"
MODEL = "DEEPGRAM_MODEL"
LANGUAGE = "DEEPGRAM_LANGUAGE"

SECRETS = {
    KEY: "Key for Deepgram's transcription.",
    MODEL: "Deepgram model.",
    LANGUAGE: "Language Deepgram listens for.",
    "DEEPGRAM_REPLAY_BUFFER_S": "Seconds of sound sent again after a reconnect.",
    "DEEPGRAM_KEEPALIVE_INTERVAL_S": "Seconds between signs of life on a silent connection.",
    "DEEPGRAM_RECONNECT_MAX_ATTEMPTS": "Most attempts to reconnect.",
    "DEEPGRAM_RECONNECT_BACKOFF_CAP_S": "Longest wait between two attempts, seconds.",
}
MAIN_SECRET = KEY
