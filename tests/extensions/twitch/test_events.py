"""Every event in its own words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from familiar_connect.extensions.twitch import events
from familiar_connect.extensions.twitch.event_types import TwitchEvent, TwitchWatcherConfig
from familiar_connect.extensions.twitch.settings import EVENT_NAMES
from familiar_connect.identity import Author

NOON = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
ADA = Author("twitch", "U99", "ada", "Ada")
ALL = TwitchWatcherConfig(True, True, True, True, redemption_names=["Hydrate"])
NONE = TwitchWatcherConfig(False, False, False, False, raids_enabled=False)
HERE: dict[str, Any] = {"channel": "ada_live", "timestamp": NOON}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (events.format_redemption(ADA, "Hydrate"), "Ada has redeemed Hydrate"),
        (events.format_redemption(ADA, "Hydrate", "now!"), "Ada has redeemed Hydrate and says: now!"),
        (events.format_subscription(ADA, "2000"), "Ada has subscribed at tier 2"),
        (events.format_gift(ADA, 1, "1000"), "Ada has gifted 1 tier 1 subscription"),
        (events.format_gift(ADA, 5, 3), "Ada has gifted 5 tier 3 subscriptions"),
        (events.format_gift(None, 2, "1000"), "An anonymous gifter has gifted 2 tier 1 subscriptions"),
        (
            events.format_resubscription(ADA, 12, "1000", "still here"),
            "Ada has subscribed for 12 months at tier 1 and says: still here",
        ),
        (events.format_resubscription(ADA, 12, "1000"), "Ada has subscribed for 12 months at tier 1"),
        (events.format_cheer(ADA, 100, "go"), "Ada has cheered with 100 bits and says: go"),
        (events.format_cheer(None, 5, "go"), "An anonymous cheerer has cheered with 5 bits and says: go"),
        (events.format_follow(ADA), "Ada has followed the channel"),
        (events.format_raid(ADA, 1), "Ada has raided the channel with 1 viewer"),
        (events.format_raid(ADA, 42), "Ada has raided the channel with 42 viewers"),
        (events.format_ads_begun(), "An ad has begun on the channel"),
        (events.format_ads_ended(), "Ads have ended"),
    ],
)
def test_each_event_has_its_sentence(text: str, expected: str) -> None:
    """Names, numbers and words stand where they belong."""
    assert text == expected


def all_of(config: TwitchWatcherConfig) -> list[TwitchEvent | None]:
    return [
        events.build_redemption_event(config=config, viewer=ADA, reward="Hydrate", **HERE),
        events.build_subscription_event(config=config, viewer=ADA, tier="1000", **HERE),
        events.build_gift_event(config=config, gifter=ADA, count=1, tier="1000", **HERE),
        events.build_resubscription_event(config=config, viewer=ADA, months=3, tier="1000", **HERE),
        events.build_cheer_event(config=config, viewer=ADA, bits=1, **HERE),
        events.build_follow_event(config=config, viewer=ADA, **HERE),
        events.build_raid_event(config=config, raider=ADA, viewers=3, **HERE),
        events.build_ads_begun_event(config=config, **HERE),
        events.build_ads_ended_event(config=config, **HERE),
    ]


def test_what_is_switched_off_is_not_told() -> None:
    """Nothing is, when everything is off; all is, when everything is on."""
    assert all_of(NONE) == [None] * 9
    assert None not in all_of(ALL)


def test_a_reward_nobody_listed_is_not_told() -> None:
    """Only the owner's choice of rewards."""
    assert events.build_redemption_event(config=ALL, viewer=ADA, reward="Emote only", **HERE) is None


def test_a_gifted_subscription_is_told_by_its_giver_alone() -> None:
    """Not again by the one who got it."""
    assert events.build_subscription_event(config=ALL, viewer=ADA, tier="1000", is_gift=True, **HERE) is None


@pytest.mark.parametrize(("immediate", "priority"), [(True, "immediate"), (False, "normal")])
def test_ads_are_immediate_where_the_owner_wants_it(immediate: bool, priority: str) -> None:
    """And have no viewer."""
    config = TwitchWatcherConfig(False, False, False, True, ads_immediate=immediate)
    begun, ended = (
        events.build_ads_begun_event(config=config, **HERE),
        events.build_ads_ended_event(config=config, **HERE),
    )

    assert begun is not None
    assert ended is not None
    assert [begun.priority, ended.priority] == [priority, priority]
    assert begun.viewer is None


def test_all_other_events_are_normal() -> None:
    """The monitor decides about them."""
    assert {event.priority for event in all_of(ALL)[:7] if event is not None} == {"normal"}


@pytest.mark.parametrize("kind", EVENT_NAMES)
def test_every_kind_in_the_settings_can_be_immediate(kind: str) -> None:
    """That one, and no other with it."""
    config = replace(ALL, immediate_events=frozenset({kind}))

    assert [event.priority for event in all_of(config)[:7] if event is not None].count("immediate") == 1


def test_an_event_becomes_a_message_of_its_viewer() -> None:
    """Or of Twitch, where there is none."""
    told = TwitchEvent("ada_live", "Ada has followed the channel", "normal", NOON, ADA).to_message()
    ads = TwitchEvent("ada_live", "Ads have ended", "normal", NOON).to_message()

    assert (told.role, told.content, told.name) == ("user", "[Twitch] Ada has followed the channel", "Ada")
    assert (ads.content, ads.name) == ("[Twitch] Ads have ended", "Twitch")
