"""Admission: where the familiar listens, which bots it hears, and the channels in which it says nothing for a while."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.admission import MAX_CHANNELS, Admission, QuietChannels
from familiar_connect.conversation.place_readers import OwnerContact
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import EVERYTHING_ALLOWED, Author
from familiar_connect.subscriptions import SubscriptionKind, SubscriptionRegistry
from familiar_connect.support.clock import ManualClock
from tests.fakes.scripted_familiar import ANA, BEN

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
TEXT, VOICE, PARENT, ELSEWHERE = 1, 2, 3, 4
ROBOT, OTHER_ROBOT = Author("discord", "77", "robot", "Robot"), Author("discord", "78", "other", "Other")


def admission_of(folder: Path, **more: Any) -> Admission:
    """One that listens to a text, a voice and a parent channel, and knows Ben for the owner."""
    subscriptions = SubscriptionRegistry(folder / "subscriptions.toml")
    for channel_id, kind in (
        (TEXT, SubscriptionKind.text),
        (VOICE, SubscriptionKind.voice),
        (PARENT, SubscriptionKind.text),
    ):
        subscriptions.add(channel_id=channel_id, kind=kind, guild_id=9)
    return Admission(subscriptions=subscriptions, privacy=EVERYTHING_ALLOWED, owner=OwnerContact(), **more)


def said(**more: Any) -> InboundMessage:
    facts: dict[str, Any] = {"author": ANA, "channel_id": TEXT, "platform": "discord"} | more
    return InboundMessage(text="hello", timestamp=NOON, **facts)


@pytest.mark.parametrize(
    ("more", "is_heard"),
    [
        ({}, True),
        ({"is_voice": True}, False),
        ({"channel_id": VOICE}, False),
        ({"channel_id": VOICE, "is_voice": True}, True),
        ({"channel_id": ELSEWHERE}, False),
        ({"channel_id": ELSEWHERE, "parent_channel_id": PARENT}, True),
        ({"channel_id": ELSEWHERE, "parent_channel_id": ELSEWHERE}, False),
        ({"channel_id": ELSEWHERE, "platform": "terminal"}, True),
    ],
)
def test_it_listens_where_it_was_asked_to_and_in_the_way_it_was_asked(
    tmp_path: Path, more: dict[str, Any], is_heard: bool
) -> None:
    """Text and speech apart; a thread follows its channel, and the owner's own doors are always open."""
    assert admission_of(tmp_path).is_subscribed(said(**more)) is is_heard


@pytest.mark.parametrize(
    ("dms", "hears_ana", "hears_owner"),
    [
        ({}, False, True),
        ({"discord": "owner"}, False, True),
        ({"discord": "everyone"}, True, True),
        ({"discord": "off"}, False, False),
        ({"twitch": "everyone"}, False, True),
    ],
)
def test_whose_direct_messages_are_heard_is_set_for_each_platform(
    tmp_path: Path, dms: dict[str, str], hears_ana: bool, hears_owner: bool
) -> None:
    """The owner's alone where nothing is set; a subscribed channel's number opens no conversation of two."""
    admission = admission_of(tmp_path, dms=dms)
    with admission.owner.connect(is_owner=lambda who: who == BEN):
        heard = [admission.is_subscribed(said(author=who, is_dm=True)) for who in (ANA, BEN)]

    assert heard == [hears_ana, hears_owner]


def test_only_bots_that_were_named_are_heard_and_never_the_familiar_itself(tmp_path: Path) -> None:
    """People are no bots, whoever is named."""
    admission = admission_of(tmp_path, bots=frozenset({ROBOT.canonical_key}))
    heard = [
        admission.is_refused_bot(said(author=author, is_bot=is_bot, is_self=is_self))
        for author, is_bot, is_self in (
            (ROBOT, True, False),
            (OTHER_ROBOT, True, False),
            (ROBOT, True, True),
            (ANA, False, False),
        )
    ]

    assert heard == [False, True, True, False]


def turns(*authors: Author | None) -> list[HistoryTurn]:
    """Turns of these, oldest first; ours where it is nobody."""
    return [
        HistoryTurn(
            id=number,
            channel_id=TEXT,
            role="user" if author is not None else "assistant",
            content="hello",
            author=author,
            timestamp=NOON,
        )
        for number, author in enumerate(authors)
    ]


@pytest.mark.parametrize(
    ("authors", "is_enough"),
    [
        ([], False),
        ([ROBOT, None, ROBOT], False),
        ([ROBOT, None, ROBOT, None, ROBOT], True),
        ([None, None, ANA, None, ROBOT], False),
        ([None, None, OTHER_ROBOT, None], False),
        ([ANA, None, None], True),
    ],
)
def test_bots_are_answered_so_often_until_somebody_else_speaks(
    tmp_path: Path, authors: list[Author | None], is_enough: bool
) -> None:
    """Whoever is not among the bots that are heard counts as a person."""
    admission = admission_of(tmp_path, bots=frozenset({ROBOT.canonical_key}), bot_reply_limit=2)

    assert admission.has_answered_bots_enough(turns(*authors)) is is_enough


def test_where_no_number_is_set_bots_are_heard_and_not_answered(tmp_path: Path) -> None:
    """Two programs that answer each other would not end."""
    admission = admission_of(tmp_path, bots=frozenset({ROBOT.canonical_key}))

    assert not admission.is_refused_bot(said(author=ROBOT, is_bot=True))
    assert admission.has_answered_bots_enough(turns(ANA, ROBOT))


def test_words_of_nobody_end_the_count_as_a_person_does(tmp_path: Path) -> None:
    """A narrator's, say."""
    admission = admission_of(tmp_path, bots=frozenset({ROBOT.canonical_key}), bot_reply_limit=2)
    *earlier, told = turns(None, None, ROBOT)
    assert not admission.has_answered_bots_enough([*earlier, replace(told, author=None)])


def test_a_channel_is_quiet_until_its_time_also_after_a_restart(tmp_path: Path) -> None:
    """To the second; what is over is over, and whoever ends it early is told that there was something to end."""
    clock, path = ManualClock(NOON), tmp_path / "quiet.toml"
    quiet = QuietChannels(path, clock)
    assert not quiet.set(1, NOON + HOUR)
    assert quiet.set(1, NOON + 2 * HOUR)
    assert not quiet.set(2, NOON + HOUR)
    again = QuietChannels(path, clock)

    assert again.until(1) == NOON + 2 * HOUR
    assert again.until(None, 9, 2, 1) == NOON + HOUR
    assert (again.until(9), again.until(None), again.until()) == (None, None, None)
    clock.advance(3600)
    assert (again.until(2), again.until(2, 1)) == (None, NOON + 2 * HOUR)
    assert not again.set(2, None)
    assert again.set(1, None)
    assert (again.until(1), "[[channel]]" in path.read_text(encoding="utf-8")) == (None, False)


def test_what_is_over_leaves_the_file_and_the_latest_of_too_many_stay(tmp_path: Path) -> None:
    """The list does not grow with the years."""
    clock, path = ManualClock(NOON), tmp_path / "quiet.toml"
    quiet = QuietChannels(path, clock)
    quiet.set(1, NOON + HOUR)
    clock.advance(3600)
    quiet.set(2, NOON + 3 * HOUR)
    assert "channel_id = 1\n" not in path.read_text(encoding="utf-8")

    row = f"[[channel]]\nchannel_id = %d\nuntil = {(NOON + 3 * HOUR).isoformat()!r}\n"
    path.write_text("".join(row % number for number in range(1, MAX_CHANNELS + 1)), encoding="utf-8")
    QuietChannels(path, clock).set(9_000, NOON + 2 * HOUR)
    kept = QuietChannels(path, clock)
    assert [bool(kept.until(each)) for each in (1, 2, 5_000, 9_000)] == [False, True, True, True]


def test_rows_of_quiet_channels_that_say_nothing_are_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Each is told of in the log; a time must say of which zone it is."""
    path = tmp_path / "quiet.toml"
    rows = ['channel_id = "1"\nuntil = "2030-01-01T00:00:00+00:00"', 'channel_id = 2\nuntil = "soon"', "channel_id = 3"]
    rows += ['channel_id = 4\nuntil = "2030-01-01T00:00:00"', 'channel_id = 5\nuntil = "2030-01-01T00:00:00+00:00"']
    path.write_text("".join(f"[[channel]]\n{row}\n" for row in rows), encoding="utf-8")
    quiet = QuietChannels(path, ManualClock(NOON))

    assert [each for each in range(1, 6) if quiet.until(each)] == [5]
    assert len([each for each in caplog.records if "names no quiet channel" in each.message]) == 4
    path.write_text("channel = [1, 2]", encoding="utf-8")
    assert QuietChannels(path, ManualClock(NOON)).until(1) is None


def test_a_thread_is_quiet_with_its_channel(tmp_path: Path) -> None:
    """And by itself; without such a list nothing is quiet."""
    quiet = QuietChannels(tmp_path / "quiet.toml", ManualClock(NOON))
    quiet.set(PARENT, NOON + HOUR)
    quiet.set(TEXT, NOON + HOUR)
    admission = admission_of(tmp_path, quiet=quiet)

    assert admission.is_quiet(said())
    assert admission.is_quiet(said(channel_id=ELSEWHERE, parent_channel_id=PARENT))
    assert not admission.is_quiet(said(channel_id=ELSEWHERE))
    assert not admission_of(tmp_path).is_quiet(said())
