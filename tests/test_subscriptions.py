"""SubscriptionRegistry: which channels are listened to."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from familiar_connect.errors import ConfigError, HomeError
from familiar_connect.subscriptions import Subscription, SubscriptionKind, SubscriptionRegistry

TEXT, VOICE = SubscriptionKind.text, SubscriptionKind.voice


def test_no_file_means_no_subscriptions(tmp_path: Path) -> None:
    """And asking makes none."""
    registry = SubscriptionRegistry(tmp_path / "subscriptions.toml")

    registry.remove(channel_id=1, kind=TEXT)

    assert registry.all() == []
    assert list(tmp_path.iterdir()) == []


def test_every_change_is_in_the_file(tmp_path: Path) -> None:
    """A comment, then one row a subscription."""
    path = tmp_path / "familiar" / "subscriptions.toml"
    registry = SubscriptionRegistry(path)

    added = registry.add(channel_id=1, kind=TEXT, guild_id=9)
    registry.add(channel_id=2, kind=VOICE, guild_id=None)

    assert Subscription(1, TEXT, 9) == added
    header, *rows = path.read_text(encoding="utf-8").split("\n\n")
    assert header.startswith("# ")
    assert rows == [
        '[[subscription]]\nchannel_id = 1\nkind = "text"\nguild_id = 9',
        '[[subscription]]\nchannel_id = 2\nkind = "voice"\n',
    ]
    assert registry.all() == SubscriptionRegistry(path).all()


def test_a_channel_is_listened_to_once_in_each_kind(tmp_path: Path) -> None:
    """Adding again replaces; text and voice are two things."""
    registry = SubscriptionRegistry(tmp_path / "subscriptions.toml")
    for kind, guild in ((TEXT, 8), (VOICE, 8), (TEXT, 9)):
        registry.add(channel_id=1, kind=kind, guild_id=guild)

    assert [Subscription(1, TEXT, 9), Subscription(1, VOICE, 8)] == registry.all()
    assert Subscription(1, TEXT, 9) == registry.get(channel_id=1, kind=TEXT)
    assert registry.get(channel_id=2, kind=TEXT) is None
    assert Subscription(1, VOICE, 8) == registry.voice_in_guild(8)
    assert registry.voice_in_guild(9) is None


def test_removing_forgets_that_kind_alone(tmp_path: Path) -> None:
    """On disk as in memory."""
    path = tmp_path / "subscriptions.toml"
    registry = SubscriptionRegistry(path)
    registry.add(channel_id=1, kind=TEXT, guild_id=8)
    registry.add(channel_id=1, kind=VOICE, guild_id=8)

    registry.remove(channel_id=1, kind=TEXT)

    assert [Subscription(1, VOICE, 8)] == registry.all() == SubscriptionRegistry(path).all()


@pytest.mark.parametrize(
    "row",
    [
        'kind = "text"',
        "channel_id = 2",
        'channel_id = "2"\nkind = "text"',
        'channel_id = true\nkind = "text"',
        'channel_id = 2\nkind = "smoke"',
        "channel_id = 2\nkind = []",
        'channel_id = 2\nkind = "text"\nguild_id = "x"',
    ],
)
def test_a_malformed_row_is_skipped_with_a_warning_and_kept(
    tmp_path: Path, row: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are heard, and a change does not throw it away."""
    path = tmp_path / "subscriptions.toml"
    path.write_text(f'[[subscription]]\n{row}\n[[subscription]]\nchannel_id = 1\nkind = "text"\n', encoding="utf-8")

    registry = SubscriptionRegistry(path)
    registry.add(channel_id=3, kind=TEXT, guild_id=None)

    assert [Subscription(1, TEXT), Subscription(3, TEXT)] == registry.all()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert row in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["[[subscription]", "subscription = 3", "[[subscriptions]]\nchannel_id = 1", "\x00"])
def test_a_malformed_file_is_reported_by_name(tmp_path: Path, text: str) -> None:
    """Never taken for an empty one, which the next change would overwrite."""
    path = tmp_path / "subscriptions.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match=r"subscriptions\.toml"):
        SubscriptionRegistry(path)


def test_a_change_that_cannot_be_written_does_not_count(tmp_path: Path) -> None:
    """Memory and disk say the same."""
    (tmp_path / "taken").write_text("", encoding="utf-8")
    (tmp_path / "home").mkdir()
    registry = SubscriptionRegistry(tmp_path / "home" / "subscriptions.toml")
    (tmp_path / "home").rmdir()
    (tmp_path / "taken").rename(tmp_path / "home")

    with pytest.raises(HomeError, match="cannot be written"):
        registry.add(channel_id=1, kind=TEXT, guild_id=None)

    assert registry.all() == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(-3, 3), st.sampled_from(SubscriptionKind), st.none() | st.integers(-5, 5)),
        max_size=8,
    )
)
def test_memory_and_disk_agree_after_any_changes(
    tmp_path: Path, changes: list[tuple[bool, int, SubscriptionKind, int | None]]
) -> None:
    """Whatever is added and removed, a new registry reads the same."""
    path = tmp_path / "subscriptions.toml"
    registry = SubscriptionRegistry(path)
    for adds, channel_id, kind, guild_id in changes:
        if adds:
            registry.add(channel_id=channel_id, kind=kind, guild_id=guild_id)
        else:
            registry.remove(channel_id=channel_id, kind=kind)

    assert registry.all() == SubscriptionRegistry(path).all()
