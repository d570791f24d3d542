"""The sections of the platforms a familiar can be met on."""

from __future__ import annotations

from dataclasses import dataclass, field

from familiar_connect.config.toml import FLAG, TEXT_OR_NONE, TEXTS, Key, choice_rule


@dataclass(frozen=True)
class DiscordConfig:
    """How the familiar behaves on Discord."""

    dms: str = "owner"


DISCORD_KEYS = (
    Key(
        name="discord.dms",
        field="discord.dms",
        rule=choice_rule("off", "owner", "everyone"),
        meaning="Whose direct messages are answered: nobody's, the operator's or everyone's.",
    ),
)


@dataclass(frozen=True)
class TwitchConfig:
    """Which channel of Twitch the familiar is in, and what it is told there besides the chat."""

    channel: str | None = None
    subscriptions_enabled: bool = True
    cheers_enabled: bool = True
    follows_enabled: bool = True
    ads_enabled: bool = True
    ads_immediate: bool = True
    redemption_names: list[str] = field(default_factory=list)


TWITCH_KEYS = tuple(
    Key(name=f"twitch.{name}", field=f"twitch.{name}", rule=rule, meaning=meaning, example=example)
    for name, rule, meaning, example in (
        (
            "channel",
            TEXT_OR_NONE,
            "Login name of the channel whose chat `familiar run` joins.",
            '"a_streamer"',
        ),
        ("subscriptions_enabled", FLAG, "Whether it is told of subscriptions, gifts and resubscriptions.", ""),
        ("cheers_enabled", FLAG, "Whether it is told of cheers.", ""),
        ("follows_enabled", FLAG, "Whether it is told of new followers.", ""),
        ("ads_enabled", FLAG, "Whether it is told when ads begin and end.", ""),
        ("ads_immediate", FLAG, "Whether it speaks up at once when they do.", ""),
        ("redemption_names", TEXTS, "Rewards whose redemption it is told of, by their titles.", ""),
    )
)
