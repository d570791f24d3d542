"""TwitchWatcher: what to listen for on a channel, and what each thing heard means.

It asks for nothing the owner switched off, and a subscription that was a gift is told once, by its giver's event.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from familiar_connect.api import Author
from familiar_connect.extensions.twitch.event_types import (
    PLATFORM,
    Kind,
    Notification,
    Topic,
    TwitchEvent,
    TwitchWatcherConfig,
)
from familiar_connect.extensions.twitch.events import (
    build_ads_begun_event,
    build_ads_ended_event,
    build_cheer_event,
    build_follow_event,
    build_gift_event,
    build_raid_event,
    build_redemption_event,
    build_resubscription_event,
    build_subscription_event,
)

LONGEST_AD_S = 600
"""An ad break that claims to be longer is not believed."""

_DONE_BY_SOMEONE = (Kind.redemption, Kind.subscription, Kind.resubscription, Kind.follow)
"""Told only with the name of whoever did it."""


class TwitchWatcher:
    """The events of one channel."""

    def __init__(
        self, *, config: TwitchWatcherConfig, broadcaster_id: str, channel: str, moderator_id: str | None = None
    ) -> None:
        self.config = config
        self.broadcaster_id = broadcaster_id
        self.channel = channel
        self.moderator_id = moderator_id or broadcaster_id

    def topics(self) -> tuple[Topic, ...]:
        """What to ask EventSub for."""
        here = {"broadcaster_user_id": self.broadcaster_id}
        config = self.config
        wanted: list[Topic] = []
        if config.redemption_names:
            wanted.append(Topic(kind=Kind.redemption, condition=here, scope="channel:read:redemptions"))
        if config.subscriptions_enabled:
            kinds = (Kind.subscription, Kind.gift, Kind.resubscription)
            wanted += [Topic(kind=kind, condition=here, scope="channel:read:subscriptions") for kind in kinds]
        if config.cheers_enabled:
            wanted.append(Topic(kind=Kind.cheer, condition=here, scope="bits:read"))
        if config.follows_enabled:
            seen_by = {**here, "moderator_user_id": self.moderator_id}
            wanted.append(Topic(kind=Kind.follow, condition=seen_by, scope="moderator:read:followers", version="2"))
        if config.raids_enabled:
            raided = {"to_broadcaster_user_id": self.broadcaster_id}
            wanted.append(Topic(kind=Kind.raid, condition=raided, scope=""))
        if config.ads_enabled:
            wanted.append(Topic(kind=Kind.ads_begin, condition=here, scope="channel:read:ads"))
        return tuple(wanted)

    def event_of(self, notification: Notification) -> TwitchEvent | None:
        """What a notification tells, or None where there is nothing to tell."""
        facts, when = notification.event, notification.timestamp
        if notification.kind in _DONE_BY_SOMEONE and viewer_of(facts) is None:
            return None
        match notification.kind:
            case Kind.redemption:
                return build_redemption_event(
                    **self._of(facts, when),
                    reward=str(facts["reward"]["title"]),
                    user_input=facts.get("user_input"),
                )
            case Kind.subscription:
                is_gift = bool(facts.get("is_gift"))
                return build_subscription_event(**self._of(facts, when), tier=facts["tier"], is_gift=is_gift)
            case Kind.resubscription:
                return build_resubscription_event(
                    **self._of(facts, when),
                    months=int(facts["cumulative_months"]),
                    tier=facts["tier"],
                    message=(facts.get("message") or {}).get("text"),
                )
            case Kind.cheer:
                return build_cheer_event(**self._of(facts, when), bits=int(facts["bits"]), message=facts.get("message"))
            case Kind.follow:
                return build_follow_event(**self._of(facts, when))
            case Kind.gift:
                return build_gift_event(
                    config=self.config,
                    channel=self.channel,
                    gifter=viewer_of(facts),
                    count=int(facts["total"]),
                    tier=facts["tier"],
                    timestamp=when,
                )
            case Kind.raid:
                return build_raid_event(
                    config=self.config,
                    channel=self.channel,
                    raider=viewer_of(facts, "from_broadcaster_user"),
                    viewers=int(facts["viewers"]),
                    timestamp=when,
                )
            case Kind.ads_begin:
                return build_ads_begun_event(config=self.config, channel=self.channel, timestamp=when)
        return None

    def ads_ended(self, when: datetime) -> TwitchEvent | None:
        """The end of a break, which EventSub does not tell by itself."""
        return build_ads_ended_event(config=self.config, channel=self.channel, timestamp=when)

    def _of(self, facts: Mapping[str, Any], when: datetime) -> dict[str, Any]:
        return {"config": self.config, "channel": self.channel, "viewer": viewer_of(facts), "timestamp": when}


def viewer_of(facts: Mapping[str, Any], prefix: str = "user") -> Author | None:
    """Who did it; None where they stay anonymous."""
    user_id = facts.get(f"{prefix}_id")
    if facts.get("is_anonymous") or not user_id:
        return None
    login = str(facts.get(f"{prefix}_login") or user_id)
    return Author(PLATFORM, str(user_id), login, str(facts.get(f"{prefix}_name") or login))


def ad_seconds(facts: Mapping[str, Any]) -> float:
    """How long a break lasts."""
    return min(max(float(facts.get("duration_seconds") or 0), 0.0), LONGEST_AD_S)
