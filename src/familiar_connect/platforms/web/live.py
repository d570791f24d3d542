"""ChatEvents: what happens in a chat, handed to every page that shows it.

Each page has a queue of its own with an end: one that does not read is let go and comes back by itself, so that no
page ever slows a reply or another page. What is shown is drawn once for all of them, only while somebody looks, and
not while the familiar puts a prompt together; the pages are written to a few at a time.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from familiar_connect.support.aio import BackgroundTasks, KeyedLocks, off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.markdown_html import markdown_to_html

logger = logging.getLogger(__name__)

MAX_WAITING = 256
"""Events a page may be behind before it is let go."""
MAX_PAGES = 64
TOO_MANY_PAGES = "too many pages are open; close some"
SIGN_OF_LIFE_S = 15.0
SHOW_EVERY_S = 0.05
"""Shortest time between two states of a reply that are shown."""
FIRST_WORDS_S = 0.04
"""A reply that comes all at once is drawn once: so long is waited for more of it."""
RENDER_SHARE = 10
"""A reply is shown again only after so many times the time that rendering it took."""
SAID_WAITS_S = 0.5
"""New words are drawn with the reply to them, or so much later: its prompt comes first.

The page they were written on shows them at once.
"""
PAGES_AT_ONCE = 2
BETWEEN_PAGES_S = 0.04
"""So many pages are written to at once, the next ones so much later: twenty are no burst beside a reply."""

DrawNew = Callable[[int, bool], Awaitable[dict[str, Any]]]
"""What is new in a chat, as facts of an event: `html`, and the id `after` which it comes.

Asked with False for what was said to the familiar alone: its reply is drawn when the turn that made it is kept.
"""


@dataclass
class StreamedReply:
    """The reply that is being said in one chat."""

    text: str = ""
    is_busy: bool = False
    is_whole: bool = False
    """All of it was said; it is shown as it was kept, in a moment."""
    revises: int | None = None
    """The turn in whose place it is shown."""
    speaker: Mapping[str, str | None] | None = None
    """Who says it, in a group: `name` and `picture`; None: the familiar of the page."""
    has_changed: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, revises: int | None, begins_with: str) -> bool:
        """Start over; says whether none was under way."""
        was_busy, self.is_busy, self.text, self.revises = self.is_busy, True, begins_with, revises
        self.is_whole = False
        return not was_busy

    def add(self, piece: str) -> None:
        self.text += piece
        self.has_changed.set()

    def end(self) -> None:
        self.is_busy = False
        self.has_changed.set()


class OpenPage:
    """A page that listens: what it has yet to be told, and who draws for it."""

    def __init__(self, draw: DrawNew) -> None:
        self.draw = draw
        self._waiting: list[tuple[str, str]] = []
        self._wake = asyncio.Event()
        self._is_over = False

    def add(self, kind: str, text: str) -> bool:
        """Keep an event until it is read; False where the page is too far behind."""
        if len(self._waiting) >= MAX_WAITING:
            return False
        if kind == "piece" and self._waiting and self._waiting[-1][0] == "piece":
            self._waiting.pop()  # each holds the whole reply so far
        self._waiting.append((kind, text))
        return True

    def wake(self) -> None:
        self._wake.set()

    def end(self) -> None:
        """Tell it nothing more."""
        self._waiting.clear()
        self._is_over = True
        self._wake.set()

    async def read(self) -> str | None:
        """All that waits, or a sign of life after a while; None: it is over."""
        try:
            async with asyncio.timeout(SIGN_OF_LIFE_S):
                while not (self._waiting and self._wake.is_set()) and not self._is_over:
                    self._wake.clear()
                    await self._wake.wait()
        except TimeoutError:
            return format_event("here", {})
        self._wake.clear()
        found, self._waiting = self._waiting, []
        return None if self._is_over else "".join(text for _, text in found)


class ChatEvents:
    """The pages that are open, by chat, and what each has yet to be told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pages: dict[int, list[OpenPage]] = {}
        self._replies: dict[int, StreamedReply] = {}
        self._drawing = KeyedLocks()
        self._awaited: dict[int, asyncio.Event] = {}
        """Set when the reply is over for which new words wait."""
        self._unread: dict[OpenPage, None] = {}
        """Pages that are told something when it is their turn."""
        self._writing: asyncio.TimerHandle | None = None
        self._background = BackgroundTasks("web-events")

    def reply_in(self, channel_id: int) -> StreamedReply:
        """The reply under way in a chat; an idle one where nothing is said."""
        return self._replies.get(channel_id) or StreamedReply()

    def has_pages(self, channel_id: int) -> bool:
        """Whether somebody looks at the chat."""
        return bool(self._pages.get(channel_id))

    def start_task(self, doing: Coroutine[Any, Any, None], *, name: str) -> None:
        """Do something as long as the pages are served."""
        self._background.start(doing, name=name)

    def publish(self, channel_id: int, kind: str, **facts: Any) -> None:
        """Tell every page of the chat."""
        text = format_event(kind, facts)
        pages = list(self._pages.get(channel_id, ()))
        for page in pages:
            if not page.add(kind, text):
                self._let_go(channel_id, page)
        self._unread.update(dict.fromkeys(pages))
        if self._writing is None:
            self._write_some()

    def publish_everywhere(self, kind: str) -> None:
        """Tell every page of every chat."""
        for channel_id in list(self._pages):
            self.publish(channel_id, kind)

    def _write_some(self) -> None:
        """Let the next pages read what there is for them, and come back for the others."""
        self._writing = None
        for page in list(self._unread)[:PAGES_AT_ONCE]:
            del self._unread[page]
            page.wake()
            self._writing = asyncio.get_running_loop().call_later(BETWEEN_PAGES_S, self._write_some)

    def publish_new(self, channel_id: int, kind: str = "said", *, wait_s: float = 0.0, **facts: Any) -> None:
        """Tell every page what is new; after *wait_s*, or when the reply to it is over."""
        if self._pages.get(channel_id):
            self._background.start(self._draw_new(channel_id, kind, wait_s, facts), name=f"{kind}-{channel_id}")

    async def _draw_new(self, channel_id: int, kind: str, wait_s: float, facts: dict[str, Any]) -> None:
        async with self._drawing.lock(channel_id):
            if wait_s:
                await self._wait_for_reply(channel_id, wait_s)
            drawn: dict[str, Any] = {}
            try:
                if pages := self._pages.get(channel_id):
                    drawn = await pages[0].draw(channel_id, not wait_s)
            except Exception as error:  # isolation: each page asks for itself then
                logger.warning("new words could not be drawn", extra={"error": type(error).__name__})
            self.publish(channel_id, kind, **facts, **drawn)

    async def _wait_for_reply(self, channel_id: int, wait_s: float) -> None:
        is_over = self._awaited.setdefault(channel_id, asyncio.Event())
        try:
            async with asyncio.timeout(wait_s):
                await is_over.wait()
        except TimeoutError:
            pass
        finally:
            self._awaited.pop(channel_id, None)

    def begin_reply(
        self,
        channel_id: int,
        *,
        revises: int | None = None,
        begins_with: str = "",
        speaker: Mapping[str, str | None] | None = None,
    ) -> None:
        """A reply is being made: a new one, or another version of the turn *revises*; in a group by *speaker*."""
        reply = self._replies.setdefault(channel_id, StreamedReply())
        reply.speaker = speaker
        if reply.begin(revises, begins_with):
            self._background.start(self._show(channel_id, reply), name=f"show-{channel_id}")
        else:
            self.publish_new(channel_id)  # what there was of the one before stands in the history
        self.publish(channel_id, "thinking", revises=revises, goes_on=bool(begins_with), speaker=speaker)

    def add_piece(self, channel_id: int, piece: str) -> None:
        """More of the reply."""
        self._replies.setdefault(channel_id, StreamedReply()).add(piece)

    def mark_whole(self, channel_id: int) -> None:
        """All of the reply was said; it is over when it is kept."""
        if channel_id in self._replies:
            self._replies[channel_id].is_whole = True

    def end_reply(self, channel_id: int, **facts: Any) -> None:
        """The reply is over; *facts* say what came of it."""
        reply = self._replies.pop(channel_id, None)
        if reply is not None:
            reply.end()
        if channel_id in self._awaited:
            self._awaited[channel_id].set()
        self.publish_new(channel_id, "done", **facts)

    async def _show(self, channel_id: int, reply: StreamedReply) -> None:
        """Show what there is of a reply, again and again, never faster than it can be rendered and read."""
        await reply.has_changed.wait()
        await asyncio.sleep(FIRST_WORDS_S)
        while reply.is_busy:
            await reply.has_changed.wait()
            reply.has_changed.clear()
            if not reply.is_busy or not reply.text or reply.is_whole:
                continue
            began = self._clock.monotonic()
            if self._pages.get(channel_id):
                html = await off_loop(markdown_to_html, reply.text)
                if reply.is_busy:
                    self.publish(channel_id, "piece", html=html)
            await asyncio.sleep(max(SHOW_EVERY_S, RENDER_SHARE * (self._clock.monotonic() - began)))

    async def listen(self, channel_id: int, first: Callable[[], str], draw: DrawNew) -> AsyncIterator[str]:
        """What happens in the chat from now on, as server-sent events; *first* says how things stand now."""
        with self._page(channel_id, draw) as page:
            yield first()
            while (text := await page.read()) is not None:
                yield text

    @contextmanager
    def _page(self, channel_id: int, draw: DrawNew) -> Iterator[OpenPage]:
        page = OpenPage(draw)
        self._pages.setdefault(channel_id, []).append(page)
        try:
            yield page
        finally:
            self._forget(channel_id, page)

    def _let_go(self, channel_id: int, page: OpenPage) -> None:
        self._forget(channel_id, page)
        page.end()

    def _forget(self, channel_id: int, page: OpenPage) -> None:
        self._unread.pop(page, None)
        pages = self._pages.get(channel_id, [])
        if page in pages:
            pages.remove(page)
        if not pages:
            self._pages.pop(channel_id, None)

    @property
    def is_full(self) -> bool:
        """Whether as many pages are open as are served."""
        return sum(map(len, self._pages.values())) >= MAX_PAGES

    async def aclose(self) -> None:
        """Let every page go."""
        for channel_id, pages in list(self._pages.items()):
            for page in list(pages):
                self._let_go(channel_id, page)
        if self._writing is not None:
            self._writing.cancel()
        await self._background.aclose()


def format_event(kind: str, facts: dict[str, Any]) -> str:
    """One server-sent event; JSON keeps it on one line."""
    return f"event: {kind}\ndata: {json.dumps(facts, ensure_ascii=True)}\n\n"
