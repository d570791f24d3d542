"""A reminder is told as soon as its platform is there, whatever went on while it was away."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.history.reminders import StoredReminder
from familiar_connect.identity import PrivacyLevel
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.recurrence import Recurrence
from tests.fakes.scripted_familiar import ANA, CHANNEL, NOON, ScriptedFamiliar, scripted_familiar
from tests.fakes.waiting import until

KETTLE = "take the kettle off"


async def set_reminder(house: ScriptedFamiliar) -> None:
    due = NOON + timedelta(minutes=20)
    await house.familiar.stores.reminders.set(ANA, KETTLE, due, channel_id=CHANNEL, guild_id=None)


async def test_a_platform_that_is_back_is_told_what_fell_due_as_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looked what is due found nobody left to tell; that counts as no try."""
    clock = ManualClock(NOON)
    async with scripted_familiar(tmp_path, clock=clock) as house:
        book, timer = house.familiar.stores.reminders, house.familiar.reply_path.reminders
        look, gate = book.due_and_upcoming, threading.Event()
        told: list[str] = []

        async def tell(words: str) -> None:
            told.append(words)

        def look_late(platforms: Any) -> tuple[list[StoredReminder], datetime | None]:
            gate.wait()
            return look(platforms)

        monkeypatch.setattr(book, "due_and_upcoming", look_late)
        with timer.connect(ANA.platform, tell=tell):
            await set_reminder(house)
        clock.advance(3600)
        gate.set()
        await timer.wait_until_idle()
        assert told == []

        with timer.connect(ANA.platform, tell=tell):
            await timer.wait_until_idle()
        assert told == [f"Reminder for Ana: {KETTLE} (late: it was due on 2025-06-01 at 12:20)"]


async def test_a_platform_that_is_back_is_not_kept_waiting_for_a_try_from_before(tmp_path: Path) -> None:
    """The connection that was lost reaches nobody, and says so only when the new one is there."""
    clock = ManualClock(NOON)
    async with scripted_familiar(tmp_path, clock=clock) as house:
        timer = house.familiar.reply_path.reminders
        lost = asyncio.Event()
        tries: list[StoredReminder] = []
        told: list[str] = []

        async def reach_nobody(reminder: StoredReminder) -> None:
            tries.append(reminder)
            await lost.wait()

        async def tell(words: str) -> None:
            told.append(words)

        await set_reminder(house)
        clock.advance(3600)
        with timer.connect(ANA.platform, place_at=reach_nobody):
            await until(lambda: tries)
        with timer.connect(ANA.platform, tell=tell):
            lost.set()
            await timer.wait_until_idle()
        assert len(tries) == len(told) == 1


async def test_a_look_that_began_before_a_reminder_was_told_does_not_tell_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it found is over by the time it acts on it."""
    clock = ManualClock(NOON)
    told: list[str] = []

    async def tell(words: str) -> None:
        told.append(words)

    async with scripted_familiar(tmp_path, clock=clock) as house:
        book, timer = house.familiar.stores.reminders, house.familiar.reply_path.reminders
        await set_reminder(house)
        clock.advance(3600)
        found_before = book.due_and_upcoming([ANA.platform])
        with timer.connect(ANA.platform, tell=tell):
            await timer.wait_until_idle()
            monkeypatch.setattr(book, "due_and_upcoming", lambda platforms: found_before)
            await timer.tell_due()
        assert (len(found_before[0]), len(told)) == (1, 1)


async def test_whoever_wants_what_is_due_told_waits_for_who_tells_it_already(tmp_path: Path) -> None:
    """The end of a chat comes while the timer tells: the words stand there, and the reminder is over."""
    clock = ManualClock(NOON)
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def tell(words: str) -> None:
        begun.set()
        await may_end.wait()

    async with scripted_familiar(tmp_path, clock=clock) as house:
        book, timer = house.familiar.stores.reminders, house.familiar.reply_path.reminders
        await set_reminder(house)
        clock.advance(3600)
        with timer.connect(ANA.platform, tell=tell):
            await begun.wait()
            asyncio.get_running_loop().call_later(0.01, may_end.set)
            await timer.tell_due()
            assert (may_end.is_set(), book.of_person(ANA)) == (True, [])


class RunningClock(ManualClock):
    """Whoever asks for the time costs *step_s* of it."""

    step_s = 0.0

    def now(self) -> datetime:
        now = super().now()
        self.advance(self.step_s)
        return now


async def test_a_reminder_that_falls_due_while_somebody_looks_is_told(tmp_path: Path) -> None:
    """At the first look at the time it is not due, and at the second it was: it is told all the same."""
    clock = RunningClock(NOON)
    told: list[str] = []

    async def tell(words: str) -> None:
        told.append(words)

    async with scripted_familiar(tmp_path, clock=clock) as house:
        await set_reminder(house)
        clock.advance(15 * 60)
        clock.step_s = 6 * 60
        with house.familiar.reply_path.reminders.connect(ANA.platform, tell=tell):
            await until(lambda: told)
        clock.step_s = 0
        assert len(told) == 1


async def test_a_place_that_is_out_of_reach_is_tried_again_later(tmp_path: Path) -> None:
    """Not at once, and not only after the next start."""
    clock = ManualClock(NOON)
    async with scripted_familiar(tmp_path, clock=clock) as house:
        timer = house.familiar.reply_path.reminders
        tries: list[StoredReminder] = []

        async def reach_nobody(reminder: StoredReminder) -> None:
            tries.append(reminder)

        await set_reminder(house)
        clock.advance(3600)
        with timer.connect(ANA.platform, place_at=reach_nobody):
            await timer.wait_until_idle()
            await timer.tell_due()
            assert len(tries) == 1
            clock.advance(301)
            await timer.tell_due()
            assert len(tries) == 2


async def test_what_comes_again_ends_with_full_privacy_and_when_nobody_is_reached_for_a_month(tmp_path: Path) -> None:
    """A place that is gone for good is not tried for ever."""
    clock = ManualClock(NOON)
    async with scripted_familiar(tmp_path, clock=clock) as house:
        timer, book = house.familiar.reply_path.reminders, house.familiar.stores.reminders

        async def reach_nobody(reminder: StoredReminder) -> None:
            return None

        async def set_daily() -> None:
            due = clock.now() + timedelta(hours=1)
            await book.set(ANA, KETTLE, due, channel_id=CHANNEL, guild_id=None, repeats=Recurrence(step_days=1))

        await set_daily()
        with timer.connect(ANA.platform, place_at=reach_nobody):
            for days, left in ((8, 1), (23, 0)):
                clock.advance(days * 86400)
                await timer.tell_due()
                await timer.wait_until_idle()
                assert len(book.of_person(ANA)) == left
            await set_daily()
            house.familiar.stores.privacy.set(ANA, PrivacyLevel.FULL)
            clock.advance(7200)
            await timer.tell_due()
            assert book.of_person(ANA) == []
