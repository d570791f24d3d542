"""The secrets of Discord, each with what it is for."""

from __future__ import annotations

TOKEN = "DISCORD_BOT"
ADDRESS = "DISCORD_API_URL"
FIRST_NEED = TOKEN
"""What the owner gives first, for the help of the command line."""
MAIN_SECRET = TOKEN
"""The one that `familiar keys set discord` sets."""

SECRETS = {
    TOKEN: "Token of the Discord bot. `DISCORD_BOT_WREN` is that of the familiar `wren` and comes before it.",
    ADDRESS: (
        "Another Discord than the real one, such as a test server's `http://127.0.0.1:8080/api`. One that is not on "
        "this machine counts only in `secrets.env` and with `https://`."
    ),
}
