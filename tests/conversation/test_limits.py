"""ReplyLimits in a whole familiar: who is heard and not answered, and what they are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.config import CharacterConfig
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.conversation.limits import MAX_RATES, MINUTE_S, ReplyRate
from familiar_connect.identity import Author
from familiar_connect.support.clock import ManualClock
from tests.fakes.scripted_familiar import ANA, BEN, NOON, ChangeSettings, scripted_familiar


def with_limits(**limits: Any) -> ChangeSettings:
    def change(config: CharacterConfig) -> CharacterConfig:
        return replace(config, limits=replace(config.limits, **limits))

    return change


async def test_who_writes_too_fast_is_stored_not_answered_and_told_once(tmp_path: Path) -> None:
    """A minute later there is an answer again, and somebody else had theirs all along."""
    clock = ManualClock(NOON)
    asked = with_limits(replies_per_person_per_minute=2)
    async with scripted_familiar(tmp_path, lambda _: "Mm.", settings=asked, clock=clock) as house:
        heard = [await house.talk(f"message {number}") for number in range(5)]
        other = await house.talk("and I?", author=BEN)
        clock.advance(60)
        again = await house.talk("now?")
        stored = [text for role, text in house.roles_and_texts() if role == "user"]

    assert heard == [IntakeResult.considering] * 2 + [IntakeResult.not_answered] * 3
    assert (other, again) == (IntakeResult.considering, IntakeResult.considering)
    assert len(house.model.calls) == 4
    assert len(house.place.notices) == 1
    assert "at most 2 times a minute" in house.place.notices[0]
    assert len(stored) == 7


async def test_a_persons_cap_holds_after_a_restart_and_not_for_others(tmp_path: Path) -> None:
    """What is refused is said once in a day, whatever happens to the program; no model is asked."""
    clock = ManualClock(NOON)
    settings = with_limits(tokens_per_person_per_day=5)
    async with scripted_familiar(tmp_path, ["Hello, Ana."], settings=settings, clock=clock) as house:
        await house.talk("hi")
        refused = await house.talk("more?")
    async with scripted_familiar(tmp_path, ["Hello, Ben."], settings=settings, clock=clock) as again:
        still = await again.talk("more, please?")
        await again.talk("hi", author=BEN)
    clock.advance(24 * 3600)
    async with scripted_familiar(tmp_path, ["Good morning."], settings=settings, clock=clock) as tomorrow:
        await tomorrow.talk("good morning")

    assert (refused, still) == (IntakeResult.not_answered, IntakeResult.not_answered)
    assert (len(house.place.notices), again.place.notices) == (1, [])
    assert (again.place.sent, tomorrow.place.sent) == (["Hello, Ben."], ["Good morning."])


async def test_the_days_cap_holds_for_everyone_and_the_owner_is_told_once(tmp_path: Path) -> None:
    """By the way a platform gave, with the setting's name."""
    told: list[str] = []

    async def tell(sentence: str) -> None:
        told.append(sentence)

    async with scripted_familiar(tmp_path, ["Hello."], settings=with_limits(tokens_per_day=5)) as house:
        with house.familiar.owner.connect(is_owner=lambda who: who == BEN, tell=tell):
            await house.talk("hi")
            await house.talk("more?")
            heard = await house.talk("and me?", author=BEN)

    assert heard is IntakeResult.not_answered
    assert len(house.model.calls) == 1
    assert len(told) == 1
    assert "[limits] tokens_per_day" in told[0]


async def test_limits_for_a_person_do_not_bind_the_owner(tmp_path: Path) -> None:
    """Neither on a platform that knows them nor in the terminal."""
    settings = with_limits(tokens_per_person_per_day=1, replies_per_person_per_minute=1)
    async with scripted_familiar(tmp_path, lambda _: "Yes?", settings=settings) as house:
        with house.familiar.owner.connect(is_owner=lambda who: who == ANA):
            for number in range(3):
                await house.talk(f"message {number}")
        here = Author("terminal", "me", None, "Me")
        for number in range(3):
            await house.talk(f"line {number}", author=here, is_dm=True)

    assert len(house.place.sent) == 6


async def test_an_ignored_person_is_stored_never_answered_never_told_and_interrupts_nobody(tmp_path: Path) -> None:
    """The reply to somebody else goes on, and the next prompt shows what was said."""
    async with scripted_familiar(tmp_path, ["A long story", "I heard."], streams=True) as house:
        house.familiar.stores.ignored.add(BEN)
        pause = house.model.pause_after(1)
        await house.receive("Tell me a story.")
        await pause.reached.wait()
        heard = await house.receive("Ember! Ember!", author=BEN)
        pause.resume.set()
        await house.wait_until_idle()
        await house.talk("What did Ben say?")

    assert heard is IntakeResult.not_answered
    assert "".join(house.place.sent).startswith("A long story")
    assert house.place.notices == []
    assert any("Ember! Ember!" in message.content for message in house.model.calls[1])


async def test_a_refused_message_nobody_addressed_is_no_occasion_and_is_not_told(tmp_path: Path) -> None:
    """Only who spoke to us hears why there is no answer."""
    async with scripted_familiar(tmp_path, ["Hi."], settings=with_limits(replies_per_person_per_minute=1)) as house:
        await house.talk("hi")
        heard = await house.talk("by the way", is_mention=False)

    assert heard is IntakeResult.not_answered
    assert house.place.notices == []


@given(per_minute=st.integers(1, 30), waits=st.lists(st.floats(0, 120), max_size=60))
def test_nobody_gets_more_replies_than_the_rate_allows(per_minute: int, waits: list[float]) -> None:
    """At most one bucket at once, and as many a minute afterwards."""
    clock = ManualClock(NOON)
    rate = ReplyRate(MINUTE_S, clock)
    taken = 0
    for wait in waits:
        clock.advance(wait)
        while rate.has_reply_left("discord:1", per_minute):
            rate.take("discord:1", per_minute)
            taken += 1

    assert taken <= per_minute + sum(waits) * per_minute / 60 + 1e-6


def test_the_rates_of_many_people_take_bounded_room() -> None:
    """Whoever was met longest ago begins anew."""
    rate = ReplyRate(MINUTE_S, ManualClock(NOON))
    for number in range(MAX_RATES + 10):
        rate.take(f"discord:{number}", 1)

    assert rate.has_reply_left("discord:0", 1)
    assert not rate.has_reply_left(f"discord:{MAX_RATES}", 1)
