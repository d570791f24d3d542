"""CallClock: how long one call may take to its first token, between two pieces and as a whole.

The time to the first token counts from asking to the first sign that the model writes, be it words or thoughts,
loading of the model and further tries included. While the same server works on an earlier reply of ours it does
not count: who waits in a queue is not slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from familiar_connect.errors import ModelTimeoutError
from familiar_connect.llm.request_limit import Reservation, request_semaphore
from familiar_connect.llm.types import Sampling

REFUSED_SHARE = 1 / 3
"""The part of the time to the first token that is spent on a server where nobody listens yet."""
LOOK_EVERY_S = 1.0
"""How often it is looked whether the server still works on an earlier reply."""


@dataclass(frozen=True, kw_only=True)
class CallLimits:
    """How much one call may take; None: what suits the endpoint."""

    max_output_tokens: int | None = None
    first_token_s: float | None = None
    """Longest wait for the first token, loading and further tries included. Where only `timeout_s` is given, each
    try has that time."""
    timeout_s: float | None = None
    """Longest silence between two pieces of a stream."""
    reply_timeout_s: float | None = None
    """Longest reply from asking to its last word, further tries included."""
    sampling: Sampling = Sampling()
    """How words are chosen besides the temperature."""
    slot: str = ""
    """For which work the call is made."""
    at_once: int | None = None
    """Calls for this work that its endpoint is given at a time; None: as many as the whole process has places for."""


class CallClock:
    """The time of one call. Made in the loop that makes the call."""

    def __init__(self, *, model: str, first_token_s: float | None, timeout_s: float, reply_timeout_s: float) -> None:
        """Without *first_token_s* every try may be silent for *timeout_s* before its first piece."""
        self._model = model
        self._first_token_s = first_token_s
        self._timeout_s = timeout_s
        self._reply_timeout_s = reply_timeout_s
        self._now = asyncio.get_running_loop().time
        self._began = self._heard_at = self._now()
        self._reservation: Reservation | None = None
        self.has_begun = False
        """Whether the model has given a sign that it writes."""
        self.waited_s = 0.0
        """Time spent in pauses for a server that comes up."""

    def begin_try(self, reservation: Reservation) -> None:
        self._reservation, self._heard_at = reservation, self._now()

    def note_event(self) -> None:
        """The server sent something that counts."""
        self._heard_at = self._now()

    def note_token(self) -> None:
        """The model writes, words or thoughts."""
        self.has_begun = True
        self.note_event()

    def note_pause(self, seconds: float) -> None:
        """So long is waited for a server that comes up."""
        self.waited_s += seconds

    def may_wait_for_server(self, pause_s: float, *, is_listening: bool) -> bool:
        """Whether the time to the first token has room for another pause of *pause_s*.

        Where nobody listens, more often than not nobody will: only a part of the time is spent on that.
        """
        if self.has_begun or self._first_token_s is None:
            return False
        spent = max(self._now() - self._began, self.waited_s)
        limit_s = self._first_token_s if is_listening else self._first_token_s * REFUSED_SHARE
        return spent + pause_s < min(limit_s, self._reply_timeout_s)

    @asynccontextmanager
    async def limit_reply(self) -> AsyncIterator[None]:
        """Break off what goes on when the reply takes too long as a whole."""
        try:
            async with asyncio.timeout_at(self._began + self._reply_timeout_s):
                yield
        except TimeoutError as error:
            raise ModelTimeoutError(
                f"{self._model!r} took longer than {self._reply_timeout_s:g} s for one reply: "
                "raise `reply_timeout_s` under [llm], or lower `max_output_tokens`."
            ) from error

    @asynccontextmanager
    async def limit_silence(self, where: str) -> AsyncIterator[None]:
        """Break off when the server is silent for too long: before the first token, or between two pieces."""
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout_at(self._silence_ends_at())
        handle: asyncio.TimerHandle | None = None

        def look() -> None:
            nonlocal handle
            if not limit.expired():
                limit.reschedule(self._silence_ends_at())
                handle = loop.call_later(LOOK_EVERY_S, look)

        try:
            async with limit:
                if self._is_before_first_token:
                    handle = loop.call_later(LOOK_EVERY_S, look)
                try:
                    yield
                finally:
                    if handle is not None:
                        handle.cancel()
        except TimeoutError as error:
            if not limit.expired() or not self._is_before_first_token:
                raise
            raise ModelTimeoutError(
                f"{where} said nothing for {self._model!r} within {self._first_token_s:g} s: it may still be loading, "
                "or be slow with so long a prompt. Ask again, or raise `first_token_s` under [llm]."
            ) from error

    @property
    def _is_before_first_token(self) -> bool:
        return not self.has_begun and self._first_token_s is not None

    def _silence_ends_at(self) -> float | None:
        """By the loop's clock; None while the server works on an earlier reply."""
        if self.has_begun or self._first_token_s is None:
            return self._heard_at + self._timeout_s
        counts_from = self._began
        if self._reservation is not None:
            if request_semaphore().is_busy_with_reply(self._reservation):
                return None
            counts_from = max(counts_from, self._reservation.server_free_at or 0.0)
        return counts_from + self._first_token_s
