"""The secrets of Telegram, each with what it is for."""

from __future__ import annotations

TOKEN = "TELEGRAM_BOT_TOKEN"
ADDRESS = "TELEGRAM_API_URL"
FIRST_NEED = TOKEN
"""What the owner gives first, for the help of the command line."""
MAIN_SECRET = TOKEN
"""The one that `familiar keys set telegram` sets."""

SECRETS = {
    TOKEN: "Token of the Telegram bot. `TELEGRAM_BOT_TOKEN_WREN` is that of the familiar `wren` and comes before it.",
    ADDRESS: (
        "Another Bot API server than Telegram's own, such as `http://127.0.0.1:8081`. One that is not on this machine "
        "counts only in `secrets.env` and with `https://`."
    ),
}
