"""Supervises platforms: one that crashes is started again after a while; the others go on.

What the owner must mend is not tried again: it is told as one sentence, and that platform stays down.

Platform: what an adapter has to offer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from familiar_connect.chat.place import Place
from familiar_connect.chat.place_check import check_place_class
from familiar_connect.errors import FamiliarError, SetupError
from familiar_connect.support.clock import Clock, SystemClock


class Platform(Protocol):
    """Turns its own events into ours and our replies into its own, until cancelled."""

    id: str

    @property
    def places(self) -> Sequence[type[Place]]:
        """The kinds of place it answers in; they are looked over before it runs."""

    async def run(self) -> None: ...


logger = logging.getLogger(__name__)

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 300.0
HEALTHY_AFTER_S = 120.0
"""A platform that ran this long was well: its next crash counts as the first."""

Tell = Callable[[str], None]
Sleep = Callable[[float], Awaitable[None]]


async def run_all(
    platforms: Sequence[Platform], *, tell: Tell, clock: Clock | None = None, sleep: Sleep = asyncio.sleep
) -> dict[str, SetupError]:
    """Run every platform until it ends or we are cancelled; what the owner must mend, by platform."""
    async with asyncio.TaskGroup() as group:
        tasks = {
            platform.id: group.create_task(
                run_with_restarts(platform, tell=tell, clock=clock, sleep=sleep), name=f"platform {platform.id}"
            )
            for platform in platforms
        }
    ended = {name: task.result() for name, task in tasks.items()}
    return {name: error for name, error in ended.items() if error is not None}


async def run_with_restarts(
    platform: Platform, *, tell: Tell, clock: Clock | None = None, sleep: Sleep = asyncio.sleep
) -> SetupError | None:
    """Run *platform*, again after each crash; None when it ended by itself, else what the owner must mend."""
    clock = clock or SystemClock()
    wait_s = FIRST_WAIT_S
    while True:
        began = clock.monotonic()
        try:
            for kind in platform.places:
                check_place_class(kind)
            await platform.run()
            return None
        except SetupError as error:
            logger.info("a platform is set up wrong", extra={"platform": platform.id})
            tell(f"{platform.id} stays off: {error}")
            return error
        except Exception as error:  # isolation: one door that breaks closes no other
            if clock.monotonic() - began >= HEALTHY_AFTER_S:
                wait_s = FIRST_WAIT_S
            logger.info(
                "a platform stopped and is started again",
                extra={"platform": platform.id, "error": type(error).__name__, "wait_s": wait_s},
            )
            logger.debug("why it stopped", exc_info=error)
            tell(f"{platform.id} stopped ({_why(error)}) and is started again in {wait_s:g} s.")
        await sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)


def _why(error: BaseException) -> str:
    """A crash in few words: our own errors speak for themselves, of others the kind is enough."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, FamiliarError) else type(error).__name__
