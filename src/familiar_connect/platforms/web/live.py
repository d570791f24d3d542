"""ChatEvents: what happens in a chat, handed to every page that shows it.

Each page has a queue of its own with an end: one that does not read is let go and comes back by itself, so that no
page ever slows a reply or another page. A reply is rendered once for all of them, and only while somebody looks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from familiar_connect.support.aio import BackgroundTasks, off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.markdown_html import markdown_to_html

MAX_WAITING = 256
"""Events a page may be behind before it is let go."""
MAX_PAGES = 64
SIGN_OF_LIFE_S = 15.0
SHOW_EVERY_S = 0.05
"""Shortest time between two states of a reply that are shown."""
RENDER_SHARE = 10
"""A reply is shown again only after so many times the time that rendering it took."""


@dataclass
class StreamedReply:
    """The reply that is being said in one chat."""

    text: str = ""
    is_busy: bool = False
    revises: int | None = None
    """The turn in whose place it is shown."""
    has_changed: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, revises: int | None, begins_with: str) -> bool:
        """Start over; says whether none was under way."""
        was_busy, self.is_busy, self.text, self.revises = self.is_busy, True, begins_with, revises
        return not was_busy

    def add(self, piece: str) -> None:
        self.text += piece
        self.has_changed.set()

    def end(self) -> None:
        self.is_busy = False
        self.has_changed.set()


class ChatEvents:
    """The pages that are open, by chat, and what each has yet to be told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pages: dict[int, set[asyncio.Queue[str | None]]] = {}
        self._replies: dict[int, StreamedReply] = {}
        self._background = BackgroundTasks("web-events")

    def reply_in(self, channel_id: int) -> StreamedReply:
        """The reply under way in a chat; an idle one where nothing is said."""
        return self._replies.get(channel_id) or StreamedReply()

    def publish(self, channel_id: int, kind: str, **facts: Any) -> None:
        """Tell every page of the chat."""
        text = format_event(kind, facts)
        for queue in list(self._pages.get(channel_id, ())):
            if queue.qsize() >= MAX_WAITING:
                self._let_go(channel_id, queue)
            else:
                queue.put_nowait(text)

    def begin_reply(self, channel_id: int, *, revises: int | None = None, begins_with: str = "") -> None:
        """A reply is being made: a new one, or another version of the turn *revises*."""
        reply = self._replies.setdefault(channel_id, StreamedReply())
        if reply.begin(revises, begins_with):
            self._background.start(self._show(channel_id, reply), name=f"show-{channel_id}")
        else:
            self.publish(channel_id, "said")  # what there was of the one before stands in the history
        self.publish(channel_id, "thinking", revises=revises, goes_on=bool(begins_with))

    def add_piece(self, channel_id: int, piece: str) -> None:
        """More of the reply."""
        self._replies.setdefault(channel_id, StreamedReply()).add(piece)

    def end_reply(self, channel_id: int, **facts: Any) -> None:
        """The reply is over; *facts* say what came of it."""
        reply = self._replies.pop(channel_id, None)
        if reply is not None:
            reply.end()
        self.publish(channel_id, "done", **facts)

    async def _show(self, channel_id: int, reply: StreamedReply) -> None:
        """Show what there is of a reply, again and again, never faster than it can be rendered and read."""
        while reply.is_busy:
            await reply.has_changed.wait()
            reply.has_changed.clear()
            if not reply.is_busy or not reply.text:
                continue
            began = self._clock.monotonic()
            if self._pages.get(channel_id):
                html = await off_loop(markdown_to_html, reply.text)
                if reply.is_busy:
                    self.publish(channel_id, "piece", html=html)
            await asyncio.sleep(max(SHOW_EVERY_S, RENDER_SHARE * (self._clock.monotonic() - began)))

    async def listen(self, channel_id: int, first: Callable[[], str]) -> AsyncIterator[str]:
        """What happens in the chat from now on, as server-sent events; *first* says how things stand now."""
        with self._page(channel_id) as queue:
            yield first()
            while True:
                try:
                    async with asyncio.timeout(SIGN_OF_LIFE_S):
                        event = await queue.get()
                except TimeoutError:
                    yield ": here\n\n"
                    continue
                if event is None:
                    return
                yield event

    @contextmanager
    def _page(self, channel_id: int) -> Iterator[asyncio.Queue[str | None]]:
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._pages.setdefault(channel_id, set()).add(queue)
        try:
            yield queue
        finally:
            self._forget(channel_id, queue)

    def _let_go(self, channel_id: int, queue: asyncio.Queue[str | None]) -> None:
        self._forget(channel_id, queue)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)

    def _forget(self, channel_id: int, queue: asyncio.Queue[str | None]) -> None:
        pages = self._pages.get(channel_id, set())
        pages.discard(queue)
        if not pages:
            self._pages.pop(channel_id, None)

    @property
    def is_full(self) -> bool:
        """Whether as many pages are open as are served."""
        return sum(map(len, self._pages.values())) >= MAX_PAGES

    async def aclose(self) -> None:
        """Let every page go."""
        for channel_id, queues in list(self._pages.items()):
            for queue in list(queues):
                self._let_go(channel_id, queue)
        await self._background.aclose()


def format_event(kind: str, facts: dict[str, Any]) -> str:
    """One server-sent event; JSON keeps it on one line."""
    return f"event: {kind}\ndata: {json.dumps(facts, ensure_ascii=True)}\n\n"
