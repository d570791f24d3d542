"""A reminder is told as soon as its platform is there, whatever went on while it was away."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.history.orders.reminders import StoredReminder
from familiar_connect.support.clock import ManualClock
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
        look, gate = book.due, threading.Event()
        told: list[str] = []

        async def tell(words: str) -> None:
            told.append(words)

        def look_late(platforms: Any) -> list[StoredReminder]:
            gate.wait()
            return look(platforms)

        monkeypatch.setattr(book, "due", look_late)
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
