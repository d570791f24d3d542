"""What Discord needs before a familiar can answer there: its library and its token.

Nothing of a platform is loaded to say it, so that verbs which only report are quick.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from familiar_connect.config.extras import how_to_install
from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.secrets import Secrets, discord_token_name
from familiar_connect.support.web_origin import is_this_machine, may_carry_key, origin_of

DISCORD_LIBRARY = "discord"
DISCORD_ADDRESS = "DISCORD_API_URL"
DISCORD_ORIGIN = "https://discord.com"


def why_discord_absent(
    root: Path,
    *,
    home: Path,
    secrets: Secrets,
    is_installed: Callable[[str], bool] = lambda library: find_spec(library) is not None,
) -> str | None:
    """Why a familiar does not answer on Discord, with what to do about it; None: it does."""
    reason = why_discord_not_set_up(root, home=home, secrets=secrets)
    return how_to_install("discord") if reason is None and not is_installed(DISCORD_LIBRARY) else reason


def why_discord_not_set_up(root: Path, *, home: Path, secrets: Secrets) -> str | None:
    """What the owner has not given that Discord takes."""
    file = HomeFolder(home).secrets_file
    if secrets.get(discord_token_name(secrets, root.name)) is None:
        return f"no DISCORD_BOT; `familiar keys set DISCORD_BOT` asks for the bot's token and keeps it in {file}"
    return why_not_sent(secrets, file)


def why_not_sent(secrets: Secrets, file: Path) -> str | None:
    """Why the bot's token does not go to the address that DISCORD_API_URL names; None: it may.

    It goes to Discord and to this machine; to any other address only when the home's own *file* names it.
    """
    address = secrets.get(DISCORD_ADDRESS)
    if address is None or is_this_machine(address):
        return None
    try:
        origin = origin_of(address)
    except ValueError:
        return f"{DISCORD_ADDRESS} is no address; write https:// and a host, or take it out of {file}"
    if not may_carry_key(address):
        return f"{DISCORD_ADDRESS} would send the bot's token to {origin} over plain http://; use https://"
    if origin != DISCORD_ORIGIN and secrets.get_from_home(DISCORD_ADDRESS) != address:
        return (
            f"{DISCORD_ADDRESS} in the environment would send the bot's token to {origin}; "
            f"if that is meant, put that line into {file}"
        )
    return None
