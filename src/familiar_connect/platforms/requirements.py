"""What each platform needs before a familiar can answer there: its library, its token, its channel.

Nothing of a platform is loaded to say it, so that verbs which only report are quick.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.command import command_to_install, command_with_extra
from familiar_connect.config.extra_sizes import EXTRA_SIZES
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.secrets import Secrets, discord_token_name
from familiar_connect.support.web_origin import is_this_machine, may_carry_key, origin_of

LIBRARIES = {"discord": "discord", "twitch": "twitchAPI"}
"""Platform → the library that its extra brings."""

DISCORD_ADDRESS = "DISCORD_API_URL"
DISCORD_ORIGIN = "https://discord.com"


def why_absent(
    platform: str,
    config: CharacterConfig,
    root: Path,
    *,
    home: Path,
    secrets: Secrets,
    is_installed: Callable[[str], bool] = lambda library: find_spec(library) is not None,
) -> str | None:
    """Why a familiar does not answer on *platform*, with what to do about it; None: it does."""
    reason = why_not_set_up(platform, config, root, home=home, secrets=secrets)
    return how_to_install(platform) if reason is None and not is_installed(LIBRARIES[platform]) else reason


def why_not_set_up(platform: str, config: CharacterConfig, root: Path, *, home: Path, secrets: Secrets) -> str | None:
    """What the owner has not given that *platform* takes."""
    file = HomeFolder(home).secrets_file
    if platform == "discord":
        if secrets.get(discord_token_name(secrets, root.name)) is None:
            return f"no DISCORD_BOT; `familiar keys set DISCORD_BOT` asks for the bot's token and keeps it in {file}"
        return why_not_sent(secrets, file)
    if config.twitch.channel is None:
        return f"no channel; set `channel` under [twitch] in {FamiliarFolder(root).settings_file}"
    lacking = [name for name in ("TWITCH_CLIENT_ID", "TWITCH_TOKEN") if secrets.get(name) is None]
    if lacking:
        commands = " and ".join(f"`familiar keys set {name}`" for name in lacking)
        what_they_do = f"ask for them and keep them in {file}" if lacking[1:] else f"asks for it and keeps it in {file}"
        return f"no {' and no '.join(lacking)}; {commands} {what_they_do}"
    return None


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


def how_to_install(extra: str) -> str:
    """The sentence for an extra that is not installed."""
    size = f"about {EXTRA_SIZES[extra].fetch} MB to fetch"
    if (command := command_with_extra(extra)) is not None:
        return f"its library is not installed; start with `{command}` once ({size})"
    return f"its library is not installed; run `{command_to_install(extra)}` ({size})"
