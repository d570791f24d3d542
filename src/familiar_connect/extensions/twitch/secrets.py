"""The secrets of Twitch, each with what it is for."""

from __future__ import annotations

CLIENT_ID = "TWITCH_CLIENT_ID"
CLIENT_SECRET = "TWITCH_CLIENT_SECRET"
SPEAKER_TOKEN = "TWITCH_TOKEN"
BROADCASTER_TOKEN = "TWITCH_BROADCASTER_TOKEN"
MAIN_SECRET = SPEAKER_TOKEN
"""The one that `familiar keys set twitch` sets."""

SECRETS = {
    CLIENT_ID: "Client id of your application at Twitch.",
    CLIENT_SECRET: "Its secret, where it has one; needed to renew tokens then.",
    SPEAKER_TOKEN: "Token of the account that speaks on Twitch.",
    "TWITCH_REFRESH_TOKEN": "Renews `TWITCH_TOKEN` when it runs out.",
    BROADCASTER_TOKEN: "Token of the streamer, where another account speaks: lets it hear about events.",
    "TWITCH_BROADCASTER_REFRESH_TOKEN": "Renews `TWITCH_BROADCASTER_TOKEN`.",
}
FIRST_NEED = "[twitch] channel"
"""What the owner gives first, for the help of the command line."""


def refresh_name(token_name: str) -> str:
    """The secret that renews the token called *token_name*."""
    return token_name.replace("_TOKEN", "_REFRESH_TOKEN")
