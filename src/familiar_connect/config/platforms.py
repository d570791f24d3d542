"""The sections of the platforms a familiar can be met on."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.config.toml import Key, choice


@dataclass(frozen=True)
class DiscordConfig:
    """How the familiar behaves on Discord."""

    dms: str = "owner"


DISCORD_KEYS = (
    Key(
        name="discord.dms",
        field="discord.dms",
        rule=choice("off", "owner", "everyone"),
        meaning="Whose direct messages are answered: nobody's, the operator's or everyone's.",
    ),
)
