"""ChangeSignal: what waits on a stand-in for a network looks again whenever something happened there."""

from __future__ import annotations

from collections.abc import Callable

# asyncio is imported where it is needed: every verb finds this module behind the built-in extensions, few run a loop.


class ChangeSignal:
    """Wakes all who wait whenever it is told of a change."""

    def __init__(self) -> None:
        import asyncio

        self._changed = asyncio.Event()

    def notify(self) -> None:
        """Something has changed: whoever waits looks again."""
        import asyncio

        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_until(self, condition: Callable[[], object], *, within_s: float | None = 200.0) -> None:
        """Wait until *condition* holds; TimeoutError when that takes longer than *within_s*."""
        import asyncio

        async with asyncio.timeout(within_s):
            while not condition():
                await self._changed.wait()
