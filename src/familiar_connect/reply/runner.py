"""ReplyRunner: the walk of one reply, from what was said to what is remembered of it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.build import build_turn
from familiar_connect.chat.types import Turn
from familiar_connect.config import ChannelConfig
from familiar_connect.context.generate import capabilities_of
from familiar_connect.context.pipeline import ContextPipeline, PipelineReply
from familiar_connect.context.types import ContextRequest
from familiar_connect.conversation.types import Exchange
from familiar_connect.errors import FamiliarError, HistoryError, ModelError, TurnDeadlineError
from familiar_connect.history.store import HistoryStore
from familiar_connect.observe.trace import TraceBuilder
from familiar_connect.reply.deliver import TextDeliveryRegistry, TextDeliveryTracker, deliver_stream, deliver_text
from familiar_connect.reply.protocols import Place
from familiar_connect.reply.record import record
from familiar_connect.reply.request import suited_to, to_request
from familiar_connect.reply.types import ReplyOutcome
from familiar_connect.reply.witness import Witness
from familiar_connect.support.aio import cancel_and_wait, finish
from familiar_connect.support.clock import Clock, SystemClock

logger = logging.getLogger(__name__)

PipelineFor = Callable[[ChannelConfig, ContextRequest], ContextPipeline]


class ReplyRunner:
    """Answers exchanges, one call each. Collaborators are looked up when used and may be replaced."""

    def __init__(
        self,
        *,
        history: HistoryStore,
        channels: ChannelConfigStore,
        llm_clients: dict[str, Any],
        pipeline_for: PipelineFor,
        deliveries: TextDeliveryRegistry,
        witness: Witness,
        notify_turn: Callable[[], Awaitable[None]] | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._history = history
        self._channels = channels
        self._llm_clients = llm_clients
        self._pipeline_for = pipeline_for
        self._deliveries = deliveries
        self._witness = witness
        self.notify_turn = notify_turn
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()

    def channel(self, channel_id: int) -> ChannelConfig:
        """The channel's settings, within what the reply's model can work through."""
        model = self._llm_clients.get("main_prose")
        return suited_to(self._channels.get(channel_id=channel_id), capabilities_of(model))

    async def respond(self, exchange: Exchange, place: Place) -> ReplyOutcome:
        """Answer one exchange. A failing model is told to the place; nothing is recorded as said then."""
        channel = self.channel(exchange.channel_id)
        turn = await build_turn(exchange, place)
        request = to_request(turn, channel)
        seen = self._witness.open(request, clock=self._clock, seed=self._rng.getrandbits(32))
        error: str | None = None
        try:
            error = await self._answer(request, channel, turn, place, seen.trace, seen.keep)
        finally:
            tracker = self._deliveries.get(exchange.channel_id)
            sent = said(tracker, place)
            cut = tracker.task is not None and tracker.task.cancelled()
            tracker.clear()
            await finish(self._record(turn, sent, channel, seen.trace))
            trace = self._witness.close(seen, channel)
        return ReplyOutcome(sent=sent, trace=trace, interrupted=cut, error=error)

    async def _answer(
        self,
        request: ContextRequest,
        channel: ChannelConfig,
        turn: Turn,
        place: Place,
        trace: TraceBuilder,
        keep: Callable[[PipelineReply], None],
    ) -> str | None:
        pipeline = self._pipeline_for(channel, request)
        try:
            if place.streams and not pipeline.post_processors:
                async with place.thinking():
                    live = await pipeline.start(request, trace=trace)
                    try:
                        await self._deliver(deliver_stream(live, place, self._tracker(turn)), turn, trace)
                    finally:
                        keep(live.reply)
                return None
            async with place.thinking():
                reply = await pipeline.run(request, trace=trace)
            keep(reply)
            await self._deliver(self._whole(reply.text, place, channel, turn), turn, trace)
        except (ModelError, TurnDeadlineError) as error:
            logger.warning("main reply failed", extra={"error": type(error).__name__, "reason": str(error)})
            await place.notice(_for_people(error))
            return str(error)
        return None

    def _tracker(self, turn: Turn) -> TextDeliveryTracker:
        return self._deliveries.get(turn.channel_id)

    def _whole(self, text: str, place: Place, channel: ChannelConfig, turn: Turn) -> Coroutine[Any, Any, None]:
        """The delivery of a finished text; a place that streams gets it as one piece."""
        tracker = self._tracker(turn)
        if place.streams:
            return deliver_stream(_one_piece(text), place, tracker)
        return deliver_text(text, place, channel.typing_simulation, tracker)

    async def _deliver(self, work: Coroutine[Any, Any, None], turn: Turn, trace: TraceBuilder) -> None:
        """Run the delivery as a task of its own, so that a newer message can end it and nothing else."""
        async with trace.span("deliver"):
            task = asyncio.get_running_loop().create_task(work, name=f"deliver:{turn.channel_id}")
            self._tracker(turn).start(task)
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                await cancel_and_wait(task)
                raise
            if not task.cancelled():
                task.result()

    async def _record(self, turn: Turn, sent: str, channel: ChannelConfig, trace: TraceBuilder) -> None:
        async with trace.span("record"):
            try:
                await record(self._history, turn, sent, mode=channel.mode)
            except HistoryError as error:
                logger.error("reply could not be recorded", extra={"reason": str(error)})
                return
        if self.notify_turn is not None:
            await self.notify_turn()


def said(tracker: TextDeliveryTracker, place: Place) -> str:
    """What really went out: streamed pieces as one text, sent pieces as paragraphs."""
    return ("" if place.streams else "\n\n").join(tracker.sent_chunks).strip()


async def _one_piece(text: str) -> AsyncIterator[str]:
    if text:
        yield text


def _for_people(error: FamiliarError) -> str:
    if isinstance(error, TurnDeadlineError):
        return f"No reply: {error}. Ask again, or raise the channel's deadline."
    return f"No reply: {error}"
