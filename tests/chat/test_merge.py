"""Runs of messages by one author as one entry."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.message_parts import Attachment, Emoji
from familiar_connect.chat.simplify import merge
from familiar_connect.chat.types import SimplifiedMessage
from tests.fakes.chat import NOON, TEA_HOUSE, a_turn, entry_contents, message_by, minutes, our_message, with_settings
from tests.fakes.context import ADA, BO

PNG = Attachment(url="https://x/a.png", mime="image/png")


async def test_the_worked_example() -> None:
    """E20, E22, E23: same author, same debug kind, no media on either side."""
    turn = await a_turn(
        message_by("wait", ADA, 101),
        message_by("before you go", ADA, 102),
        message_by("$: probe", ADA, 103),
        message_by("sorry, testing", ADA, 104),
        message_by("look at this", ADA, 105, attachments=(PNG,)),
        message_by("nice right?", ADA, 106),
        message_by("very", BO, 107),
        is_owner=ADA.__eq__,
    )
    first = turn.messages[0]

    assert [entry.id for entry in turn.messages] == ["101", "103", "104", "105", "106", "107"]
    assert (first.content, first.combined_message_ids, first.individual_contents, first.combined_created_ats) == (
        "wait\nbefore you go",
        ("101", "102"),
        ("wait", "before you go"),
        (minutes(101), minutes(102)),
    )
    assert first.created_at == minutes(101)


async def test_merging_is_greedy() -> None:
    """E23: the merged entry is what the next message is compared with."""
    turn = await a_turn(*(message_by(f"{n}", ADA, n) for n in range(1, 5)))

    assert [entry.combined_message_ids for entry in turn.messages] == [("1", "2", "3", "4")]


async def test_a_renamed_author_starts_anew() -> None:
    """E21: the name before the words must stay true."""
    renamed = ADA.__class__(ADA.platform, ADA.user_id, ADA.username, "Countess")

    assert await entry_contents(message_by("a", ADA, 1), message_by("b", renamed, 2)) == ["a", "b"]


async def test_with_time_awareness_days_stay_apart() -> None:
    """E21: a date spacer needs a place to stand."""
    late = message_by("late", ADA, 1, timestamp=NOON + timedelta(hours=11, minutes=45))
    early = message_by("early", ADA, 2, timestamp=NOON + timedelta(hours=12, minutes=15))

    assert await entry_contents(late, early) == ["late\nearly"]
    assert await entry_contents(late, early, settings=with_settings(time_awareness=True)) == ["late", "early"]


async def test_custom_emojis_do_not_keep_messages_apart() -> None:
    """E25: they are no media."""
    scene = TEA_HOUSE.__class__(emojis=(Emoji(name="tea", url="https://x/tea.png"),))
    turn = await a_turn(message_by("<:tea:11>", ADA, 1), message_by("more", ADA, 2), scene=scene)

    assert [entry.content for entry in turn.messages] == [":tea:\nmore"]
    assert [image.is_emoji for image in turn.messages[0].image_attachments] == [True]


async def test_our_own_pieces_are_one_entry() -> None:
    """A reply sent in pieces reads as one."""
    assert await entry_contents(our_message("First.", 1), our_message("Second.", 2), message_by("ok", ADA, 3)) == [
        "First.\nSecond.",
        "ok",
    ]


async def test_ids_of_different_kinds_never_meet() -> None:
    """B57: a webhook and a person under the same number and name are two."""
    entries = [
        SimplifiedMessage(id="1", author_id="5", author_name="Ada", author_type="user", content="a"),
        SimplifiedMessage(
            id="2", author_id="5", author_name="Ada", author_type="user", author_kind="webhook", content="b"
        ),
    ]

    assert len(merge(entries)) == 2


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans(), st.text(max_size=5)), max_size=12))
def test_merging_loses_nothing(written: list[tuple[str, bool, str]]) -> None:
    """E22: every id, text and time is still there, in order; merging again changes nothing."""
    entries = [
        SimplifiedMessage(
            id=str(n), author_id=who, author_name=who, author_type="user", is_debug=debug, content=text, created_at=NOON
        )
        for n, (who, debug, text) in enumerate(written)
    ]
    merged = merge(entries)

    ids = [id_ for entry in merged for id_ in entry.combined_message_ids or (entry.id,)]
    texts = [text for entry in merged for text in entry.individual_contents or (entry.content,)]
    assert (ids, texts) == ([entry.id for entry in entries], [entry.content for entry in entries])
    assert merge(merged) == merged
