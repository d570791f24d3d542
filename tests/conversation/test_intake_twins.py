"""What the intake makes of a message that is said again under another name, and of one that an edit makes a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from familiar_connect.chat.message_parts import ReferencedMessage, WebhookIdentity
from familiar_connect.conversation import twins
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.identity import Author
from tests.conversation.test_intake_parts import (
    ADA,
    BO,
    HERE,
    PRIVATE,
    WREN,
    Here,
    HereOnce,
    House,
    NotingLimits,
    a_message,
    house,
)

__all__ = ["house"]
LUNA = Author("discord", "900", "luna", "Luna")
HOOK = WebhookIdentity(webhook_id="9", name="Luna", bridge_user=LUNA)


async def say_again(house: House, *, place: Here | None = None, gone: bool = True, **asked: Any) -> None:
    """Ada says a thing, an application says it as Luna, and Ada's is deleted."""
    place = place or HereOnce()
    text = asked.pop("text", "tell me of tea")
    await house.hear(text, place=place, **asked)
    assert await house.hear(text, place=place, author=LUNA, webhook=HOOK) is IntakeResult.considering
    if gone:
        house.intake.revise(HERE, 1, None)
    await house.intake.wait_until_idle()


@pytest.mark.parametrize(("asked", "is_for_us"), [({"is_mention": True}, True), ({"is_dm": True}, True), ({}, False)])
async def test_a_twin_asks_what_its_original_asked(house: House, asked: dict[str, Any], is_for_us: bool) -> None:
    """It is owed the answer in its place; chatter said again is chatter."""
    await say_again(house, **asked)
    last = house.monitor.heard[-1]

    assert [each["history_id"] for each in house.monitor.heard] == [1, 2]
    assert (last["author"], last["is_mention"], last["is_old_news"]) == (LUNA, is_for_us, False)
    assert [row for row in house.owed() if row[0] == 2] == ([(2, 1)] if is_for_us else [])
    undone = house.history.database.read("SELECT mark FROM turns ORDER BY id")
    assert undone == [("undone",), (None,)]


async def test_a_twin_of_what_was_answered_is_owed_nothing(house: House) -> None:
    """Its answer was given already, and the next start must not give it again."""
    house.queue.answered.add(1)
    await say_again(house, text="wren, tea?")

    assert [each["history_id"] for each in house.monitor.heard] == [1]
    assert [row for row in house.owed() if row[0] == 2] == []


async def test_what_is_said_again_by_another_is_two_questions(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was deleted."""
    monkeypatch.setattr(twins, "DELETION_WITHIN_S", 0.0)
    await say_again(house, gone=False, is_mention=True)

    assert [(each["history_id"], each["is_mention"]) for each in house.monitor.heard] == [(1, True), (2, False)]
    assert house.owed() == [(1, 1)]


async def test_closing_ends_the_wait_for_a_deletion(house: House) -> None:
    """Nothing more is handed on; what was heard is in the history."""
    await house.hear("tell me of tea", is_mention=True)
    await house.hear("tell me of tea", author=LUNA, webhook=HOOK)
    await house.intake.aclose()
    house.intake.revise(HERE, 1, None)
    await house.intake.wait_until_idle()

    assert [each["history_id"] for each in house.monitor.heard] == [1]


@pytest.mark.parametrize(("keeps", "owed"), [(True, 1), (False, 0)])
async def test_a_twin_is_owed_an_answer_where_the_place_keeps_questions(house: House, keeps: bool, owed: int) -> None:
    """As every message is."""

    class Keeping(Here):
        features = Here.features.__class__(limit=100, keeps_owed=keeps)

    await say_again(house, place=Keeping(), is_mention=True)
    assert len([row for row in house.owed() if row[0] == 2]) == owed


@pytest.mark.parametrize(
    ("before", "after", "result"),
    [
        ({"text": "tea?"}, {"text": "tea?", "is_mention": True}, IntakeResult.considering),
        ({"text": "tea?"}, {"text": "the wren sings"}, IntakeResult.considering),
        ({"text": "the wren sings"}, {"text": "wren, sing"}, IntakeResult.considering),
        ({"text": "tea?"}, {"text": "coffee?"}, None),
        ({"text": "wren, sing"}, {"text": "wren, sing loud"}, None),
        ({"text": "wren, sing"}, {"text": "the wren sings"}, None),
        ({"text": "tea?"}, {"text": "wren, tea?", "is_past": True}, None),
        ({"text": "tea?"}, {"text": "wren, tea?", "is_bot": True}, None),
        ({"text": "tea?"}, {"text": "wren, tea?", "channel_id": 99}, None),
    ],
)
async def test_an_edit_that_calls_is_answered_once(
    house: House, before: dict[str, Any], after: dict[str, Any], result: IntakeResult | None
) -> None:
    """One that calls no louder than before is not, nor one of whom nothing is heard; it waits as it reads now alone."""
    await house.hear(place=Here(), **before)
    (turn,) = house.history.recent(familiar_id=WREN, channel_id=HERE, limit=9)
    place = HereOnce()
    heard = await house.intake.hear_edit(a_message(**after), a_message(**before), turn, cast(Any, place))
    await house.intake.wait_until_idle()

    assert heard is result
    assert [each["text"] for each in house.monitor.heard] == [before["text"], *([after["text"]] if result else [])]
    assert house.monitor.revised == house.queue.revised == ([(HERE, turn.id, None)] if result else [])
    assert house.owed() == ([(turn.id, int(bool(after.get("is_mention"))))] if result else [])


async def test_an_edit_of_somebody_refused_is_settled(tmp_path: Path) -> None:
    """Neither answered now nor at the next start."""
    house = House(tmp_path, limits=NotingLimits(BO))
    await house.hear("tea?", author=BO)
    (turn,) = house.history.recent(familiar_id=WREN, channel_id=HERE, limit=9)
    edited, before = (a_message(text, author=BO) for text in ("wren, tea?", "tea?"))
    heard = await house.intake.hear_edit(edited, before, turn, cast(Any, HereOnce()))
    await house.intake.aclose()

    assert (heard, house.monitor.heard, house.owed()) == (IntakeResult.not_answered, [], [])
    house.history.close()


async def test_an_edited_call_quotes_nobody_who_is_not_to_be_heard(house: House) -> None:
    """As in every message."""
    await house.hear("tea?")
    (turn,) = house.history.recent(familiar_id=WREN, channel_id=HERE, limit=9)
    quoted = ReferencedMessage(message_id="5", author=PRIVATE, text="a secret")
    edited = a_message("wren, tea?", author=ADA, reply_to=quoted)
    await house.intake.hear_edit(edited, a_message("tea?"), turn, cast(Any, Here()))
    await house.intake.wait_until_idle()

    assert [each["message"].reply_to for each in house.monitor.heard] == [None, None]
