"""ReplyQueue: one reply at a time per channel; who asks meanwhile is answered next, each in turn; a stop cancels.

Everything in the queue is already in the history: losing the queue loses no words.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from familiar_connect.conversation.buffer import sort_by_history, with_edit, without_oldest
from familiar_connect.conversation.types import BufferedMessage, Exchange, ResponseTrigger
from familiar_connect.errors import TurnDeadlineError
from familiar_connect.identity import LOCAL_PLATFORMS
from familiar_connect.support.aio import BackgroundTasks, cancel_and_wait, wait_unless_needed
from familiar_connect.support.lru import LruCache

logger = logging.getLogger(__name__)

MAX_WAITING = 200
"""Messages of one exchange; older ones are in the history all the same."""
GIVE_UP_S = 180.0
"""Seconds after which a reply gives way to what waits behind it."""
GIVEN_UP = "The reply took longer than {seconds:g} seconds while others waited, so it was given up: ask again."
MAX_ANSWERED = 4_000
"""Rows of the history that are known to be answered; the latest."""
MAX_CHANNELS = 10_000
"""Places remembered; of those where nothing is going on the one met longest ago is forgotten first."""

Respond = Callable[[Exchange, Any], Awaitable[Any]]
"""Answers; False: a newer message ended the reply before its first word."""
OnFailed = Callable[[Exchange, Any, Exception], Awaitable[None]]
"""Told why an exchange got no reply, or not all of one."""
EndDelivery = Callable[[int], Awaitable[bool]]
"""Ends what is being sent in a channel, unless some of it has gone out; whether there was such."""
OnDone = Callable[[Sequence[BufferedMessage]], Awaitable[None]]
"""Told of messages that nothing more is done about."""


@dataclass
class _Channel:
    waiting: list[BufferedMessage] = field(default_factory=list)
    place: Any = None
    guild_id: int | None = None
    is_voice: bool = False
    trigger: ResponseTrigger = ResponseTrigger.direct_address
    may_stay_silent: bool = True
    """Of all that waits, nothing surely asks for an answer."""
    answering: tuple[BufferedMessage, ...] = ()
    revised: dict[int, str | None] = field(default_factory=dict)
    """Rows of the history, of those being answered, that read differently since; None: gone."""
    interruption_context: str | None = None
    """What the next reply is told of being talked over."""
    task: asyncio.Task[None] | None = None
    renewal: asyncio.Task[None] | None = None
    """Ends the reply under way, for it to be begun anew."""
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced by another, when the messages being answered are so no more."""

    @property
    def work(self) -> set[asyncio.Task[None]]:
        """What is under way."""
        return {each for each in (self.task, self.renewal) if each is not None and not each.done()}

    def end_answering(self) -> None:
        self.answering = ()
        self.tell_let_go()

    def tell_let_go(self) -> None:
        self.let_go.set()
        self.let_go = asyncio.Event()

    @property
    def is_idle(self) -> bool:
        return not self.waiting and not self.work

    def put_back(self, messages: Sequence[BufferedMessage]) -> list[BufferedMessage]:
        """Let *messages* wait again, as they read now; those that nobody asks with any more are given back."""
        was_asked = any(each.is_for_us for each in messages)
        for history_id, text in self.revised.items():
            messages = with_edit(messages, history_id, text)
        self.revised = {}
        if was_asked and not any(each.is_for_us for each in messages):
            return list(messages)
        self.waiting[:0] = messages
        sort_by_history(self.waiting)
        return []


class ReplyQueue:
    """The order of replies. `respond` may be replaced at run time."""

    def __init__(
        self,
        familiar_id: str,
        respond: Respond,
        *,
        on_done: OnDone | None = None,
        on_failed: OnFailed | None = None,
        end_delivery: EndDelivery | None = None,
    ) -> None:
        self._familiar_id = familiar_id
        self.respond = respond
        self._on_done = on_done
        self._on_failed = on_failed
        self._end_delivery = end_delivery
        self.give_up_s = GIVE_UP_S
        self._channels: dict[int, _Channel] = {}
        self._answered: LruCache[int, bool] = LruCache(MAX_ANSWERED)
        self._background = BackgroundTasks("replies")
        self._pauses = 0

    def set_place(self, channel_id: int, place: Any, *, guild_id: int | None = None, is_voice: bool = False) -> None:
        """Remember how the channel is met now: the next reply goes there."""
        known = self._channels.pop(channel_id, None)
        channel: _Channel = known or _Channel()
        self._channels[channel_id] = channel
        channel.place, channel.guild_id, channel.is_voice = place, guild_id, is_voice
        if len(self._channels) > MAX_CHANNELS:
            idle = next((known for known, other in self._channels.items() if other.is_idle), channel_id)
            if idle != channel_id:
                del self._channels[idle]

    def answer(
        self,
        channel_id: int,
        messages: Sequence[BufferedMessage],
        *,
        trigger: ResponseTrigger,
        may_stay_silent: bool = False,
    ) -> None:
        """Answer *messages*, now or right after the reply under way, at the place met last."""
        channel = self._channels.get(channel_id)
        if channel is None:
            logger.warning("nobody knows where to answer", extra={"channel_id": channel_id})
            return
        asked = channel.waiting and channel.trigger is ResponseTrigger.direct_address
        channel.trigger = ResponseTrigger.direct_address if asked else trigger
        channel.may_stay_silent = may_stay_silent and (channel.may_stay_silent or not channel.waiting)
        channel.waiting += messages
        sort_by_history(channel.waiting)
        if len(channel.waiting) > MAX_WAITING:
            channel.waiting = without_oldest(channel.waiting, MAX_WAITING)
            logger.warning("too many messages wait for one reply", extra={"channel_id": channel_id})
        self._start_if_idle(channel_id, channel)

    def put(
        self,
        channel_id: int,
        message: BufferedMessage,
        place: Any,
        *,
        trigger: ResponseTrigger,
        guild_id: int | None = None,
        is_voice: bool = False,
    ) -> None:
        """Answer *message* at *place*, now or right after the reply under way."""
        self.set_place(channel_id, place, guild_id=guild_id, is_voice=is_voice)
        self.answer(channel_id, [message], trigger=trigger)

    def _start_if_idle(self, channel_id: int, channel: _Channel) -> None:
        """Have what waits answered, unless somebody is at it."""
        if channel.waiting and not self._pauses and (channel.task is None or channel.task.done()):
            channel.task = self._background.start(self._answer(channel_id, channel), name=str(channel_id))

    async def _answer(self, channel_id: int, channel: _Channel) -> None:
        queued = was_cut = False
        while channel.waiting:
            messages, channel.waiting = split_batch(channel.waiting, is_voice=channel.is_voice)
            channel.answering, channel.revised = messages, {}
            exchange = Exchange(
                familiar_id=self._familiar_id,
                channel_id=channel_id,
                guild_id=channel.guild_id,
                messages=messages,
                trigger=channel.trigger,
                is_voice=channel.is_voice,
                from_queue=queued,
                asked=messages[-1].asked,
                may_stay_silent=channel.may_stay_silent,
                was_cut=was_cut,
                interruption_context=channel.interruption_context,
            )
            was_cut, channel.interruption_context = False, None
            try:
                was_cut = await self._respond_or_give_up(exchange, channel) is False
            except Exception as error:  # isolation: what waits is answered all the same
                logger.exception("reply failed", extra={"channel_id": channel_id})
                await self._tell_failed(exchange, channel, error)
            if was_cut and (_must_retry(exchange) or channel.revised):
                await self._tell_done(channel.put_back(messages))
                channel.trigger, channel.may_stay_silent = exchange.trigger, exchange.may_stay_silent
            else:
                for each in messages:
                    if each.history_id is not None:
                        self._answered.put(each.history_id, True)
                channel.end_answering()  # before anything is waited for: an edit from now on comes after the answer
                await self._tell_done(messages)
            channel.end_answering()
            queued = True

    async def _tell_failed(self, exchange: Exchange, channel: _Channel, error: Exception) -> None:
        if self._on_failed is None:
            return
        try:
            await self._on_failed(exchange, channel.place, error)
        except Exception:  # isolation: what waits is answered all the same
            logger.exception("that there is no reply could not be told")

    async def _tell_done(self, messages: Sequence[BufferedMessage]) -> None:
        if self._on_done is None or not messages:
            return
        try:
            await self._on_done(messages)
        except Exception:  # isolation: what waits is answered all the same
            logger.exception("an answered message could not be marked as such")

    async def _respond_or_give_up(self, exchange: Exchange, channel: _Channel) -> object:
        """What came of one reply, which gives way to what waits when it takes too long."""
        came: list[object] = []

        async def work() -> None:
            came.append(await self.respond(exchange, channel.place))

        if not await wait_unless_needed(work(), lambda: bool(channel.waiting), give_up_s=self.give_up_s):
            logger.warning("a reply took too long and was given up", extra={"channel_id": exchange.channel_id})
            await self._tell_failed(exchange, channel, TurnDeadlineError(GIVEN_UP.format(seconds=self.give_up_s)))
        return came[0] if came else None

    def revise(self, channel_id: int, history_id: int, text: str | None) -> None:
        """A message that waits or is being answered here reads *text* now; None: it is gone.

        Before its first word is out, the reply to it is begun anew, or ended where nobody asks any more.
        """
        channel = self._channels.get(channel_id)
        if channel is None:
            return
        channel.waiting = with_edit(channel.waiting, history_id, text)
        if any(each.history_id == history_id for each in channel.answering) and not channel.is_voice:
            is_first = not channel.revised
            channel.revised[history_id] = text
            if is_first:
                channel.renewal = self._background.start(self._renew(channel_id), name=f"renew {channel_id}")

    async def _renew(self, channel_id: int) -> None:
        if self._end_delivery is not None and await self._end_delivery(channel_id):
            return  # where nothing was out yet, the queue has it again
        if await self.withdraw(channel_id):
            self.answer_waiting(channel_id)

    def was_answered(self, history_id: int) -> bool:
        """Whether there was a reply to the message of that row, or a word why not; known of the last ones."""
        return self._answered.get(history_id) is not None

    async def wait_until_let_go(self, channel_id: int, history_id: int) -> None:
        """Wait until no reply to the message of that row is under way."""
        channel = self._channels.get(channel_id)
        while channel is not None and any(each.history_id == history_id for each in channel.answering):
            await channel.let_go.wait()

    async def wait_until_channel_idle(self, channel_id: int) -> None:
        """Wait until nothing is being answered in the channel."""
        channel = self._channels.get(channel_id)
        while channel is not None and channel.work:
            await asyncio.wait(channel.work)

    async def wait_until_idle(self) -> None:
        """Wait until nothing is being answered anywhere."""
        await self._background.wait_until_idle()

    def note_interruption(self, channel_id: int, note: str) -> None:
        """Tell the next reply in the channel how the familiar was talked over."""
        channel = self._channels.get(channel_id)
        if channel is not None:
            channel.interruption_context = note

    async def withdraw(self, channel_id: int) -> bool:
        """Cancel the reply under way; what it answered waits again, until `answer` or `answer_waiting` is called."""
        channel = self._channels.get(channel_id)
        if channel is None or channel.task is None or channel.task.done():
            return False
        dropped = channel.put_back(channel.answering)
        channel.answering = ()
        await cancel_and_wait(channel.task)
        channel.tell_let_go()
        await self._tell_done(dropped)
        return True

    @asynccontextmanager
    async def pause(self) -> AsyncIterator[None]:
        """As long as this is open, nothing is answered; replies under way are made again afterwards.

        A prompt holds what was said before it was made: whoever erases that must not meet it again in an answer.
        """
        self._pauses += 1
        try:
            for channel_id in list(self._channels):
                await self.withdraw(channel_id)
            yield
        finally:
            self._pauses -= 1
            for channel_id, channel in list(self._channels.items()):
                self._start_if_idle(channel_id, channel)

    def answer_waiting(self, channel_id: int) -> None:
        """Answer what was withdrawn, unless somebody is at it or nothing waits."""
        channel = self._channels.get(channel_id)
        if channel is not None:
            self._start_if_idle(channel_id, channel)

    async def stop(self, channel_id: int) -> bool:
        """Cancel the reply under way and forget what waited for it; says whether there was one."""
        channel = self._channels.get(channel_id)
        if channel is None or channel.task is None or channel.task.done():
            return False
        dropped = (*channel.answering, *channel.waiting)
        channel.waiting.clear()
        await cancel_and_wait(channel.task)
        await self._tell_done(dropped)
        self._start_if_idle(channel_id, channel)  # what was said while it ended
        return True

    async def aclose(self) -> None:
        for channel in self._channels.values():
            channel.waiting.clear()
        await self._background.aclose()


def split_batch(
    waiting: list[BufferedMessage], *, is_voice: bool = False
) -> tuple[tuple[BufferedMessage, ...], list[BufferedMessage]]:
    """The messages one reply answers, for the same is asked with them and one person asks; and those that wait on.

    A reply is said to whom its prompt names, so of several who ask each gets one. In a call they get one together, and
    so do those who take turns at a table on this computer.
    """
    count = next((at for at, each in enumerate(waiting) if each.asked != waiting[0].asked), len(waiting))
    askers = [(at, each.author.canonical_key) for at, each in enumerate(waiting[:count]) if _asks_alone(each)]
    others = [at for at, asker in askers if asker != askers[0][1]]
    if others and not is_voice:
        count = max(at for at, _ in askers if at < others[0]) + 1
    return tuple(waiting[:count]), waiting[count:]


def _asks_alone(message: BufferedMessage) -> bool:
    """Whether *message* asks for a reply of its own."""
    is_at_table = message.message is not None and message.message.platform in LOCAL_PLATFORMS
    return message.is_for_us and not is_at_table


def _must_retry(exchange: Exchange) -> bool:
    """Whether who asked still waits for a first word: once more, and then it is not ended before it."""
    asked = exchange.trigger is ResponseTrigger.direct_address
    return asked and not exchange.was_cut and not exchange.is_voice
