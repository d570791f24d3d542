"""ReplyRunner: the walk of one reply, from what was said to what is remembered of it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.annotate.transcripts import TranscriptCache
from familiar_connect.chat.build import build_turn
from familiar_connect.chat.scene import Scene, Surroundings
from familiar_connect.chat.types import SaidMessage, Turn, TurnSettings
from familiar_connect.config import ChannelConfig
from familiar_connect.context.generate import capabilities_of
from familiar_connect.context.pipeline import ContextPipeline, ToolsFor
from familiar_connect.context.protocols import PostProcessor
from familiar_connect.context.types import ContextRequest
from familiar_connect.conversation.types import Exchange
from familiar_connect.errors import ConfigError, DeliveryError, FamiliarError, HistoryError, TurnDeadlineError
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.stored_messages import StoredWindow
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, Privacy
from familiar_connect.memory.short_term import ShortTermNotes
from familiar_connect.observe.trace import TraceBuilder
from familiar_connect.reply.deliver import Sleep, TextDeliveryRegistry, TextDeliveryTracker, deliver
from familiar_connect.reply.live_edit import deliver_with_edits
from familiar_connect.reply.protocols import ChecksWritable, Editable, Place
from familiar_connect.reply.record import capture_short_term, record
from familiar_connect.reply.request import to_request, with_model_limits
from familiar_connect.reply.scene_fetch import fetch_scene, scene_for_turn, with_place_settings
from familiar_connect.reply.turn_inputs import TurnInputs
from familiar_connect.reply.turn_recorder import OpenTurn, TurnRecorder
from familiar_connect.reply.types import ReplyOutcome
from familiar_connect.support.aio import cancel_and_wait, off_loop, run_to_end
from familiar_connect.support.clock import Clock, SystemClock

logger = logging.getLogger(__name__)

UNKNOWN_AUTHOR = Author(platform="history", user_id="unknown", username=None, display_name=None)

PipelineFor = Callable[[ChannelConfig, ContextRequest], ContextPipeline]
"""Builds the pipeline of one turn; called in a thread, for it looks at files."""


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
        witness: TurnRecorder,
        notify_turn: Callable[[], Awaitable[None]] | None = None,
        brings: Callable[[ChannelConfig], TurnInputs] | None = None,
        zone: tzinfo = UTC,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        turn_settings: Callable[[ChannelConfig], TurnSettings] | None = None,
        privacy: Privacy = EVERYTHING_ALLOWED,
        short_term: ShortTermNotes | None = None,
        grows: bool = False,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._history = history
        self._channels = channels
        self._llm_clients = llm_clients
        self._pipeline_for = pipeline_for
        self._deliveries = deliveries
        self._recorder = witness
        self.notify_turn = notify_turn
        self.pause_background: Callable[[], AbstractContextManager[None]] = nullcontext
        """Open while a reply is made: whoever works in the background holds still."""
        self._turn_inputs = brings
        self._zone = zone
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._turn_settings = turn_settings or _settings_of
        self._privacy = privacy
        self._short_term = short_term
        self._stored = StoredWindow(history)
        self._transcripts = TranscriptCache()
        self._edits_live = grows
        self._sleep = sleep
        self.report: Callable[[str], Awaitable[None]] | None = None
        """Tells the owner, in one sentence, of a reply that could not be sent."""
        self.tools_for_place: Callable[[Place], ToolsFor | None] | None = None
        """What the model may do in a reply at a place; None: as the pipeline has it."""

    def channel(self, channel_id: int) -> ChannelConfig:
        """The channel's settings, within what the reply's model can work through. May read its file."""
        model = self._llm_clients.get("main_prose")
        return with_model_limits(self._channels.get(channel_id=channel_id), capabilities_of(model))

    def _channel_and_inputs(self, channel_id: int) -> tuple[ChannelConfig, TurnInputs]:
        channel = self.channel(channel_id)
        return channel, self._turn_inputs(channel) if self._turn_inputs else TurnInputs()

    def _request(
        self,
        turn: Turn,
        channel: ChannelConfig,
        brought: TurnInputs,
        *,
        scene: Scene | None = None,
        seed: int | None = None,
    ) -> ContextRequest:
        return to_request(
            turn,
            channel,
            scene=scene,
            preset=brought.preset,
            card=brought.card,
            persona=brought.persona,
            seed=self._rng.getrandbits(32) if seed is None else seed,
            now=self._clock.now().astimezone(self._zone),
        )

    async def preview_request(
        self, familiar_id: str, channel_id: int, author: Author
    ) -> tuple[ChannelConfig, ContextRequest]:
        """The channel and the request of a turn nobody has begun yet: what a model can work ahead of."""
        channel, brought = await off_loop(self._channel_and_inputs, channel_id)
        blank = Turn(
            familiar_id=familiar_id,
            channel_id=channel_id,
            said=(SaidMessage(author=author, text="", timestamp=self._clock.now()),),
        )
        return channel, replace(self._request(blank, channel, brought), turn=None)

    async def request_for(
        self,
        exchange: Exchange,
        place: Surroundings,
        *,
        seed: int,
        changed: Callable[[ChannelConfig], ChannelConfig] | None = None,
    ) -> tuple[ChannelConfig, ContextRequest]:
        """The channel and the request that an exchange would be answered with; nothing is said or kept."""
        channel = await off_loop(self.channel, exchange.channel_id)
        channel = changed(channel) if changed is not None else channel
        brought = await off_loop(self._turn_inputs, channel) if self._turn_inputs is not None else TurnInputs()
        _, request = await self._make_turn(exchange, place, channel, brought, seed=seed)
        return channel, request

    async def request_again(self, request: ContextRequest) -> tuple[ChannelConfig, ContextRequest]:
        """The request of a past turn as it would be made today: what was said then, with the settings of now."""
        channel, brought = await off_loop(self._channel_and_inputs, request.channel_id)
        blank = SaidMessage(
            author=request.author or UNKNOWN_AUTHOR, text=request.utterance, timestamp=self._clock.now()
        )
        turn = request.turn or Turn(familiar_id=request.familiar_id, channel_id=request.channel_id, said=(blank,))
        today = to_request(
            turn,
            channel,
            scene=request.scene,
            preset=brought.preset,
            card=brought.card,
            persona=brought.persona,
            seed=request.seed,
            now=request.now,
        )
        said = {name: getattr(request, name) for name in ("turn", "author", "utterance", "pending_turns", "before_id")}
        return channel, replace(today, **said, interruption_context=request.interruption_context)

    async def _make_turn(
        self,
        exchange: Exchange,
        place: Surroundings,
        channel: ChannelConfig,
        brought: TurnInputs,
        *,
        seed: int | None = None,
    ) -> tuple[Turn, ContextRequest]:
        """What was said and where, as a turn and as the request that is answered."""
        settings, scene = await asyncio.gather(off_loop(self._turn_settings, channel), fetch_scene(place))
        scene = with_place_settings(scene, channel.place)
        turn = await build_turn(
            exchange,
            place,
            settings=settings,
            privacy=self._privacy,
            stored=self._stored,
            scene=scene or Scene(),
            transcripts=self._transcripts,
            now=self._clock.now(),
        )
        seen = scene_for_turn(turn, scene, self._privacy)
        return turn, self._request(turn, channel, brought, scene=seen, seed=seed)

    async def respond(self, exchange: Exchange, place: Place) -> ReplyOutcome | None:
        """Answer one exchange. What stands in the way is told to the place; nothing is recorded as said then."""
        try:
            channel, brought = await off_loop(self._channel_and_inputs, exchange.channel_id)
        except ConfigError as broken:
            await self._apologise(broken, place)
            return None
        if isinstance(place, ChecksWritable) and (reason := await place.why_not_writable()) is not None:
            await self._report_undelivered(exchange, reason)
            return None
        turn, request = await self._make_turn(exchange, place, channel, brought)
        tracker = self._deliveries.get(exchange.channel_id)
        tracker.clear()
        seen = self._recorder.open(request, clock=self._clock, seed=request.seed)
        error: str | None = None
        try:
            with self.pause_background():
                await self._answer(request, channel, place, tracker, seen, insists=exchange.was_cut)
            if exchange.may_stay_silent and not tracker.sent_chunks:
                seen.trace.tag("silent", "yes")
        except DeliveryError as failure:
            error = str(failure)
            await self._report_undelivered(exchange, error)
        except Exception as failure:  # isolation: whatever ails a model costs its reply
            error = str(failure)
            await self._apologise(failure, place)
        finally:
            sent = sent_text(tracker, place)
            cut = tracker.task is not None and tracker.task.cancelled()
            tracker.clear()
            if cut:
                seen.trace.tag("interrupted", "yes")
            await run_to_end(self._record(turn, sent, channel, seen.trace, request.scene))
            trace = self._recorder.close(seen, channel)
        silent = exchange.may_stay_silent and not (sent or cut or error)
        return ReplyOutcome(sent=sent, trace=trace, interrupted=cut, error=error, silent=silent)

    async def _answer(
        self,
        request: ContextRequest,
        channel: ChannelConfig,
        place: Place,
        tracker: TextDeliveryTracker,
        seen: OpenTurn,
        *,
        insists: bool,
    ) -> None:
        pipeline = await off_loop(self._pipeline_for, channel, request)
        if self.tools_for_place is not None:
            pipeline.tools = self.tools_for_place(place)
        live_place = place.streams or (self._edits_live and isinstance(place, Editable))
        free = request.turn is not None and request.turn.flags.may_stay_silent
        thinking = nullcontext if free else place.thinking  # who may say nothing is not seen typing
        if live_place and not any(may_rewrite(processor) for processor in pipeline.post_processors):
            async with thinking():
                live = await pipeline.start(request, trace=seen.trace)
                try:
                    await self._deliver(live, place, channel, tracker, seen.trace)
                finally:
                    seen.keep(live.reply)
            return
        async with thinking():
            reply = await pipeline.run(request, trace=seen.trace)
        seen.keep(reply)
        await self._deliver(reply.text, place, channel, tracker, seen.trace, insists=insists)

    async def _deliver(
        self,
        reply: str | AsyncIterable[str],
        place: Place,
        channel: ChannelConfig,
        tracker: TextDeliveryTracker,
        trace: TraceBuilder,
        *,
        insists: bool = False,
    ) -> None:
        """Run the delivery as a task of its own, so that a newer message can end it and nothing else."""
        async with trace.span("deliver"):
            work: Coroutine[Any, Any, None]
            if not isinstance(reply, str) and not place.streams and isinstance(place, Editable):
                work = deliver_with_edits(reply, place, tracker, clock=self._clock, sleep=self._sleep)
            else:
                work = deliver(reply, place, channel.typing_simulation, tracker, sleep=self._sleep, insists=insists)
            task = asyncio.get_running_loop().create_task(work, name=f"deliver:{tracker.channel_id}")
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError:
                await cancel_and_wait(task)
                raise
            if not task.cancelled():
                task.result()

    async def _report_undelivered(self, exchange: Exchange, reason: str) -> None:
        logger.error("reply could not be delivered", extra={"channel_id": exchange.channel_id, "reason": reason})
        if self.report is None:
            return
        try:
            await self.report(f"A reply in channel {exchange.channel_id} could not be sent: {reason}.")
        except Exception as error:  # isolation: whoever is to be told may be out of reach too
            logger.warning("the owner could not be told", extra={"error": type(error).__name__})

    async def _apologise(self, error: Exception, place: Place) -> None:
        """Say why there is no reply: in the program's own words, or, for what it did not foresee, by name only."""
        logger.warning("main reply failed", extra={"error": type(error).__name__})
        logger.debug("why the main reply failed", exc_info=error)
        if isinstance(error, TurnDeadlineError):
            words = f"{error}. Ask again, or raise the channel's deadline_s."
        elif isinstance(error, FamiliarError):
            words = str(error)
        else:
            words = f"the model failed ({type(error).__name__}). `familiar doctor --ask-models` looks for the cause."
        await place.notice(f"No reply: {words}")

    async def _record(
        self, turn: Turn, sent: str, channel: ChannelConfig, trace: TraceBuilder, scene: Scene | None
    ) -> None:
        async with trace.span("record"):
            try:
                await record(self._history, turn, sent, mode=channel.mode)
            except HistoryError as error:
                logger.error("reply could not be recorded", extra={"reason": str(error)})
                return
            if self._short_term is not None and channel.place.short_term_memory_enabled:
                await capture_short_term(self._short_term, turn, sent, scene=scene)
        if self.notify_turn is not None:
            await self.notify_turn()


def _settings_of(channel: ChannelConfig) -> TurnSettings:
    return TurnSettings(mode=channel.mode.value)


def sent_text(tracker: TextDeliveryTracker, place: Place) -> str:
    """What really went out: streamed pieces as one text, sent pieces as paragraphs."""
    return ("" if place.streams else "\n\n").join(tracker.sent_chunks).strip()


def may_rewrite(processor: PostProcessor) -> bool:
    """Whether *processor* may change a reply; one whose model is too weak for side tasks lets it pass."""
    return capabilities_of(getattr(processor, "llm_client", None)).side_tasks
