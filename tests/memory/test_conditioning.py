"""What people rewarded and punished a persona for."""

from __future__ import annotations

import pytest

from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author, FixedPrivacy, PrivacyLevel
from familiar_connect.memory.conditioning import ACTIONS, MAX_GROUPS, MAX_REASON, Conditioning, normalise_reason
from familiar_connect.support.clock import ManualClock
from tests.fakes.context import ADA, BO
from tests.fakes.short_term import NOON, SERVER


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def kept(clock: ManualClock) -> Conditioning:
    return Conditioning(HistoryStore(":memory:"), familiar_id="wren", clock=clock)


def praise(kept: Conditioning, reason: str, by: Author = ADA) -> int:
    return kept.note("reward", "praise", reason, author=by, server_id=SERVER, persona="Wren")


def test_saying_it_again_counts(kept: Conditioning) -> None:
    """G20: one row per server, persona, kind, action, reason and person."""
    assert [praise(kept, reason) for reason in ("Good tea.", "good  TEA", "good tea!")] == [1, 2, 3]
    assert praise(kept, "good tea", BO) == 1
    assert praise(kept, "a good pun") == 1


def test_the_same_reason_is_one_group_with_everybody_who_gave_it(kept: Conditioning, clock: ManualClock) -> None:
    """B80: grouped by kind, action and normalised reason, the latest first."""
    praise(kept, "Good tea.")
    clock.advance(1)
    praise(kept, "good tea", BO)
    clock.advance(1)
    kept.note("reward", "hug", "good tea", author=ADA, server_id=SERVER, persona="Wren")

    groups = kept.groups("reward", server_id=SERVER, persona="Wren")

    assert [(g.action, g.times, [who.label for who in g.people]) for g in groups] == [
        ("hug", 1, ["Ada"]),
        ("praise", 2, ["Bo", "Ada"]),
    ]
    assert kept.groups("punish", server_id=SERVER, persona="Wren") == []


def test_without_a_reason_it_is_kept_and_never_told(kept: Conditioning) -> None:
    """B80, G20: there is nothing to learn from."""
    for reason in ("", "  ", "...", "!?"):
        praise(kept, reason)

    assert praise(kept, "") == 5
    assert kept.groups("reward", server_id=SERVER, persona="Wren") == []


def test_at_most_ten_groups_are_told(kept: Conditioning, clock: ManualClock) -> None:
    """B80: the latest ten."""
    for number in range(MAX_GROUPS + 3):
        praise(kept, f"reason {number}")
        clock.advance(1)

    groups = kept.groups("reward", server_id=SERVER, persona="Wren")

    assert [group.reason for group in groups] == [f"reason {n}" for n in range(12, 2, -1)]


def test_servers_personas_and_familiars_do_not_mix(kept: Conditioning) -> None:
    """B83: scope is server and persona."""
    praise(kept, "good tea")

    assert kept.groups("reward", server_id=SERVER + 1, persona="Wren") == []
    assert kept.groups("reward", server_id=SERVER, persona="Finch") == []


def test_reasons_are_short_and_an_unknown_action_is_refused(kept: Conditioning) -> None:
    """G20: 250 characters; the actions are a closed set."""
    praise(kept, "x" * 400)

    assert len(kept.groups("reward", server_id=SERVER, persona="Wren")[0].reason) == MAX_REASON
    with pytest.raises(ValueError, match="praise, pat, hug"):
        kept.note("reward", "scold", "", author=ADA, server_id=SERVER, persona="Wren")
    assert set(ACTIONS) == {"reward", "punish"}


def test_who_is_not_heard_leaves_no_row_and_is_not_named() -> None:
    """G33: neither new nor from before they chose so."""
    levels: dict[str, PrivacyLevel] = {}
    history = HistoryStore(":memory:")
    kept = Conditioning(history, familiar_id="wren", privacy=FixedPrivacy(levels))
    praise(kept, "good tea", BO)

    levels[BO.canonical_key] = PrivacyLevel.FULL

    assert praise(kept, "more", BO) == 0
    assert kept.groups("reward", server_id=SERVER, persona="Wren") == []
    assert history.database.read("SELECT COUNT(*) FROM conditioning") == [(1,)]


def test_erasing_a_person_takes_their_feedback_along() -> None:
    """Only theirs."""
    history = HistoryStore(":memory:")
    kept = Conditioning(history, familiar_id="wren")
    praise(kept, "good tea", BO)
    praise(kept, "good tea", ADA)

    history.erase_author(familiar_id="wren", author=BO)

    assert [g.people for g in kept.groups("reward", server_id=SERVER, persona="Wren")] == [
        (Author("discord", "1", None, "Ada"),)
    ]


def test_a_reason_is_the_same_whatever_its_dress() -> None:
    """Case, width, spacing and the last mark do not count."""
    assert normalise_reason("  Ｇood\tTEA!! ") == normalise_reason("good tea") == "good tea"
