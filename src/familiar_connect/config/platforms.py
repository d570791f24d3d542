"""The sections of the platforms a familiar can be met on."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.config.rules import FLAG, TEXT_OR_NONE, TEXTS, choice_rule, number_rule
from familiar_connect.config.settings import setting


@dataclass(frozen=True)
class DiscordConfig:
    """How the familiar behaves on Discord."""

    dms: str = setting(
        "owner",
        choice_rule("off", "owner", "everyone"),
        "Whose direct messages are answered: nobody's, the operator's or everyone's.",
    )
    answer_late_s: float = setting(
        900.0,
        number_rule(least=0),
        "How long ago, seconds, a question may have been asked that is still answered after the program died.",
    )


@dataclass(frozen=True)
class TwitchConfig:
    """Which channel of Twitch the familiar is in, and what it is told there besides the chat."""

    channel: str | None = setting(
        None,
        TEXT_OR_NONE,
        "Login name of the channel whose chat `familiar run` joins.",
        example='"a_streamer"',
    )
    subscriptions_enabled: bool = setting(True, FLAG, "Whether it is told of subscriptions, gifts and resubscriptions.")
    cheers_enabled: bool = setting(True, FLAG, "Whether it is told of cheers.")
    follows_enabled: bool = setting(True, FLAG, "Whether it is told of new followers.")
    ads_enabled: bool = setting(True, FLAG, "Whether it is told when ads begin and end.")
    ads_immediate: bool = setting(True, FLAG, "Whether it speaks up at once when they do.")
    redemption_names: list[str] = setting([], TEXTS, "Rewards whose redemption it is told of, by their titles.")
