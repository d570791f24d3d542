"""What happened on a channel, in one sentence each.

`format_*` writes the sentence, `build_*_event` makes an event of it, or None where the owner does not want to be told.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from string import ascii_letters

from familiar_connect.api import Author
from familiar_connect.extensions.twitch.event_types import Priority, TwitchEvent, TwitchWatcherConfig

ANONYMOUS_GIFTER = "An anonymous gifter"
ANONYMOUS_CHEERER = "An anonymous cheerer"
ADS_BEGUN = "An ad has begun on the channel"
ADS_ENDED = "Ads have ended"
SOMEONE = "Someone"
_CHEERMOTE = re.compile(r"[A-Za-z]{2,30}[0-9]{1,7}")


def format_redemption(viewer: Author | None, reward: str, user_input: str | None = None) -> str:
    return f"{_name(viewer)} has redeemed {reward}{_says(user_input)}"


def format_subscription(viewer: Author | None, tier: str | int) -> str:
    return f"{_name(viewer)} has subscribed at tier {format_tier(tier)}"


def format_gift(gifter: Author | None, count: int, tier: str | int) -> str:
    plural = "" if count == 1 else "s"
    return f"{_name(gifter, ANONYMOUS_GIFTER)} has gifted {count} tier {format_tier(tier)} subscription{plural}"


def format_resubscription(viewer: Author | None, months: int, tier: str | int, message: str | None = None) -> str:
    return f"{_name(viewer)} has subscribed for {months} months at tier {format_tier(tier)}{_says(message)}"


def format_cheer(viewer: Author | None, bits: int, message: str | None = None) -> str:
    words = _without_cheermotes(message or "", bits)
    return f"{_name(viewer, ANONYMOUS_CHEERER)} has cheered with {bits} bits{_says(words)}"


def _without_cheermotes(message: str, bits: int) -> str:
    """*message* without the marks that the bits were typed by, such as `cheer100`; they are no words.

    They are told from words by their numbers, which come to *bits* together.
    """
    marks = [word for word in message.split() if _CHEERMOTE.fullmatch(word)]
    if sum(int(word.lstrip(ascii_letters)) for word in marks) != bits:
        return message
    return " ".join(word for word in message.split() if word not in marks)


def format_follow(viewer: Author | None) -> str:
    return f"{_name(viewer)} has followed the channel"


def format_raid(raider: Author | None, viewers: int) -> str:
    plural = "" if viewers == 1 else "s"
    return f"{_name(raider)} has raided the channel with {viewers} viewer{plural}"


def format_ads_begun() -> str:
    return ADS_BEGUN


def format_ads_ended() -> str:
    return ADS_ENDED


def format_tier(tier: str | int) -> str:
    """A tier as people count them; Twitch counts in thousands."""
    try:
        number = int(tier)
    except ValueError:
        return str(tier)
    return str(number // 1000 if number >= 1000 else number)


def _name(viewer: Author | None, nobody: str = SOMEONE) -> str:
    return viewer.label if viewer is not None else nobody


def _says(words: str | None) -> str:
    return f" and says: {words.strip()}" if words and words.strip() else ""


def build_redemption_event(
    *,
    config: TwitchWatcherConfig,
    channel: str,
    viewer: Author | None,
    reward: str,
    user_input: str | None = None,
    timestamp: datetime | None = None,
) -> TwitchEvent | None:
    listed = {name.strip().casefold() for name in config.redemption_names}
    if reward.strip().casefold() not in listed:
        return None
    return TwitchEvent(
        channel,
        format_redemption(viewer, reward, user_input),
        config.priority_of("reward"),
        timestamp or _now(),
        viewer,
    )


def build_subscription_event(
    *,
    config: TwitchWatcherConfig,
    channel: str,
    viewer: Author | None,
    tier: str | int,
    is_gift: bool = False,
    timestamp: datetime | None = None,
) -> TwitchEvent | None:
    """None for a gifted one too: its giver's event tells of it."""
    if is_gift or not config.subscriptions_enabled:
        return None
    return TwitchEvent(
        channel, format_subscription(viewer, tier), config.priority_of("subscription"), timestamp or _now(), viewer
    )


def build_gift_event(
    *,
    config: TwitchWatcherConfig,
    channel: str,
    gifter: Author | None,
    count: int,
    tier: str | int,
    timestamp: datetime | None = None,
) -> TwitchEvent | None:
    if not config.subscriptions_enabled:
        return None
    return TwitchEvent(
        channel, format_gift(gifter, count, tier), config.priority_of("gift"), timestamp or _now(), gifter
    )


def build_resubscription_event(
    *,
    config: TwitchWatcherConfig,
    channel: str,
    viewer: Author | None,
    months: int,
    tier: str | int,
    message: str | None = None,
    timestamp: datetime | None = None,
) -> TwitchEvent | None:
    if not config.subscriptions_enabled:
        return None
    words = format_resubscription(viewer, months, tier, message)
    return TwitchEvent(channel, words, config.priority_of("resubscription"), timestamp or _now(), viewer)


def build_cheer_event(
    *,
    config: TwitchWatcherConfig,
    channel: str,
    viewer: Author | None,
    bits: int,
    message: str | None = None,
    timestamp: datetime | None = None,
) -> TwitchEvent | None:
    if not config.cheers_enabled:
        return None
    return TwitchEvent(
        channel, format_cheer(viewer, bits, message), config.priority_of("cheer"), timestamp or _now(), viewer
    )


def build_follow_event(
    *, config: TwitchWatcherConfig, channel: str, viewer: Author | None, timestamp: datetime | None = None
) -> TwitchEvent | None:
    if not config.follows_enabled:
        return None
    return TwitchEvent(channel, format_follow(viewer), config.priority_of("follow"), timestamp or _now(), viewer)


def build_raid_event(
    *,
    config: TwitchWatcherConfig,
    channel: str,
    raider: Author | None,
    viewers: int,
    timestamp: datetime | None = None,
) -> TwitchEvent | None:
    if not config.raids_enabled:
        return None
    return TwitchEvent(channel, format_raid(raider, viewers), config.priority_of("raid"), timestamp or _now(), raider)


def build_ads_begun_event(
    *, config: TwitchWatcherConfig, channel: str, timestamp: datetime | None = None
) -> TwitchEvent | None:
    return _ads(format_ads_begun(), config, channel, timestamp)


def build_ads_ended_event(
    *, config: TwitchWatcherConfig, channel: str, timestamp: datetime | None = None
) -> TwitchEvent | None:
    return _ads(format_ads_ended(), config, channel, timestamp)


def _ads(text: str, config: TwitchWatcherConfig, channel: str, timestamp: datetime | None) -> TwitchEvent | None:
    if not config.ads_enabled:
        return None
    priority: Priority = "immediate" if config.ads_immediate else "normal"
    return TwitchEvent(channel, text, priority, timestamp or _now())


def _now() -> datetime:
    return datetime.now(UTC)
