"""DeliveryTasks: each delivery runs as a task of its own, so that a newer message can end it and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Coroutine
from typing import Any

from familiar_connect.chat.place import Place
from familiar_connect.config import TypingSimulationConfig
from familiar_connect.reply.deliver import Sleep, TextDeliveryRegistry, TextDeliveryTracker, deliver, speak
from familiar_connect.reply.live_edit import deliver_with_edits
from familiar_connect.support.aio import cancel_and_wait
from familiar_connect.support.clock import Clock, SystemClock


class DeliveryTasks:
    """Sends replies out: piece by piece, as they come where the place likes it, or in one message that grows."""

    def __init__(
        self,
        registry: TextDeliveryRegistry,
        *,
        edits_live: bool = False,
        clock: Clock | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """*edits_live*: where messages can be changed, a reply grows in one."""
        self._registry = registry
        self._edits_live = edits_live
        self._clock = clock or SystemClock()
        self._sleep = sleep

    def begin(self, channel_id: int, answered: frozenset[str] = frozenset()) -> TextDeliveryTracker:
        """The channel's tracker, with nothing sent yet; *answered* are the canonical keys of those who asked."""
        tracker = self._registry.get(channel_id)
        tracker.begin(answered)
        return tracker

    def takes_pieces(self, place: Place) -> bool:
        """Whether *place* is given a reply while it is still being written."""
        return place.features.streams or (self._edits_live and place.features.edits)

    async def deliver(
        self,
        reply: str | AsyncIterable[str],
        place: Place,
        pacing: TypingSimulationConfig,
        tracker: TextDeliveryTracker,
        *,
        insists: bool = False,
    ) -> None:
        """Send *reply* out; ended from outside, it ends its task and waits for it."""
        work: Coroutine[Any, Any, None]
        if place.features.speaks:
            work = speak(reply, place, tracker)
        elif not isinstance(reply, str) and not place.features.streams and place.features.edits:
            work = deliver_with_edits(reply, place, tracker, clock=self._clock, sleep=self._sleep)
        else:
            work = deliver(reply, place, pacing, tracker, sleep=self._sleep, insists=insists)
        task = asyncio.get_running_loop().create_task(work, name=f"deliver:{tracker.channel_id}")
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            await cancel_and_wait(task)
            raise
        if not task.cancelled():
            task.result()
