"""The section [twitch] of character.toml."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.api.settings import FLAG, TEXT_OR_NONE, TEXTS, InvalidValue, Rule, setting

EVENT_NAMES = ("follow", "subscription", "gift", "resubscription", "cheer", "raid", "reward")


def _events(value: object) -> list[str]:
    names = TEXTS.read(value)
    if not set(names) <= set(EVENT_NAMES):
        raise InvalidValue
    return names


EVENTS = Rule(f"a list of any of {', '.join(EVENT_NAMES)}, in quotes", _events)


@dataclass(frozen=True)
class Settings:
    """Which channel of Twitch the familiar is in, and what it is told there besides the chat."""

    channel: str | None = setting(
        None,
        TEXT_OR_NONE,
        "Login name of the channel whose chat `familiar run` joins.",
        example='"a_streamer"',
    )
    subscriptions_enabled: bool = setting(
        True, FLAG, "Whether it hears about subscriptions, gifts and resubscriptions."
    )
    cheers_enabled: bool = setting(True, FLAG, "Whether it hears about cheers.")
    follows_enabled: bool = setting(True, FLAG, "Whether it hears about new followers.")
    raids_enabled: bool = setting(True, FLAG, "Whether it hears about raids.")
    ads_enabled: bool = setting(True, FLAG, "Whether it hears when ads start and end.")
    ads_immediate: bool = setting(True, FLAG, "Whether it speaks up at once when they do.")
    redemption_names: list[str] = setting([], TEXTS, "Rewards whose redemption it hears about, by their titles.")
    immediate_events: list[str] = setting(
        [],
        EVENTS,
        "Events it answers at once, even while others talk; for the others it decides as for any message.",
        example='["raid", "reward"]',
    )
