"""ReplyRunner: makes one reply: request, generation, delivery, record."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from familiar_connect.chat.place import Place
from familiar_connect.chat.silence import CHOSE_SILENCE
from familiar_connect.chat.types import Turn
from familiar_connect.config import ChannelConfig
from familiar_connect.context.pipeline import ContextPipeline, PipelineReply
from familiar_connect.context.processors.spoken_text import SpokenTextPostProcessor
from familiar_connect.context.protocols import PostProcessor
from familiar_connect.context.types import ContextRequest
from familiar_connect.conversation.channels import ChannelLabels
from familiar_connect.conversation.place_readers import OwnerContact
from familiar_connect.conversation.types import Exchange
from familiar_connect.errors import ConfigError, DeliveryError, EmptyReplyError, SilentReplyError
from familiar_connect.history.message_metadata import alter_facts
from familiar_connect.llm.types import capabilities_of
from familiar_connect.observe.trace import TraceBuilder, TurnTrace
from familiar_connect.presets.regex_scripts import show_reply
from familiar_connect.presets.story.types import StoryState
from familiar_connect.reply.deliver import DeliveryTasks, TextDeliveryTracker
from familiar_connect.reply.failures import FailureReports
from familiar_connect.reply.outbox import OutgoingReply, ReplyOutbox
from familiar_connect.reply.outgoing_text import OutgoingText, target_of
from familiar_connect.reply.record import TurnArchive
from familiar_connect.reply.turn_builder import TurnBuilder
from familiar_connect.reply.turn_recorder import OpenTurn, TurnRecorder
from familiar_connect.support.aio import closing_stream, off_loop, run_to_end
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.text import without_escapes

logger = logging.getLogger(__name__)

PipelineFor = Callable[[ChannelConfig, ContextRequest, Place], ContextPipeline]
"""Builds the pipeline of one turn; called in a thread, for it looks at files."""


@dataclass(frozen=True, kw_only=True)
class ReplyOutcome:
    """What went out, whether it was cut short, and the trace of how it came about."""

    sent: str
    trace: TurnTrace
    interrupted: bool = False
    error: str | None = None
    silent: bool = False
    """The model chose to say nothing, and was free to."""


@dataclass(frozen=True)
class KeptReply:
    """What is stored of a reply that scripts changed."""

    words: str
    """As the model wrote it."""
    view: str | None
    """As later prompts have it; None: as it was sent."""


MAX_REMADE = 3
"""How often a reply is made before nothing is said, where more people can read the place each time."""
READERS_CHANGED = "more people could read the place than when the reply was made"


class _ReadersChangedError(Exception):
    """A reply was made for fewer people than can read the place by now."""


class ReplyRunner:
    """Answers exchanges, one call each."""

    def __init__(
        self,
        *,
        turns: TurnBuilder,
        pipeline_for: PipelineFor,
        deliveries: DeliveryTasks,
        archive: TurnArchive,
        recorder: TurnRecorder,
        outbox: ReplyOutbox | None = None,
        reports: FailureReports | None = None,
        pause_background: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Clock | None = None,
        keep_story: Callable[[int, StoryState], None] | None = None,
    ) -> None:
        """*pause_background* is open while a reply is made: whoever works in the background holds still."""
        self._turns = turns
        self._pipeline_for = pipeline_for
        self._deliveries = deliveries
        self._archive = archive
        self._recorder = recorder
        self._outbox = outbox
        self.reports = reports or FailureReports(OwnerContact(), ChannelLabels())
        self._pause_background = pause_background
        self._clock = clock or SystemClock()
        self._keep_story = keep_story

    async def respond(self, exchange: Exchange, place: Place) -> ReplyOutcome | None:
        """Answer one exchange. What stands in the way is told to the place; nothing is recorded as said then.

        A reply that was made for fewer people than can read the place by now is made again.
        """
        with place.follow_reply(exchange):
            for left in reversed(range(MAX_REMADE)):
                outcome = await self._respond(exchange, place, may_be_remade=left > 0)
                if outcome is None or outcome.error != READERS_CHANGED:
                    return outcome
            await self.reports.report_undelivered(exchange, READERS_CHANGED)
            return outcome

    async def _respond(self, exchange: Exchange, place: Place, *, may_be_remade: bool) -> ReplyOutcome | None:
        if exchange.asked.alter is not None:
            place = place.speak_as(exchange.asked.alter)
        try:
            setup = await self._turns.channel_setup(exchange.channel_id, is_voice=exchange.is_voice)
        except ConfigError as broken:
            await self.reports.report_failure(exchange, place, broken)
            return None
        if (reason := await place.why_not_writable()) is not None:
            await self.reports.report_undelivered(exchange, reason)
            return None
        channel = setup.channel
        try:
            turn, request = await self._turns.build(exchange, place, setup)
        except MemoryError as failure:
            await self.reports.report_failure(exchange, place, failure)
            return None
        answered = frozenset(person.canonical_key for person in exchange.people_answered)
        tracker = self._deliveries.begin(exchange.channel_id, answered)
        text = OutgoingText(place, target_of(exchange), must_mention=turn.flags.forced_mentions)
        outgoing = await self._begin_outgoing(turn, channel, place, text)
        seen = self._recorder.open(request, clock=self._clock, seed=request.seed)
        error: str | None = None
        kept: KeptReply | None = None
        try:
            with self._pause_background():
                check = partial(self._check_readers, request, exchange, place)
                kept = await self._answer(
                    request, channel, place, outgoing, tracker, seen, text, check, sends_first_piece=exchange.was_cut
                )
            if exchange.may_stay_silent and not tracker.sent_chunks:
                seen.trace.tag("silent", "yes")
        except _ReadersChangedError:
            error = READERS_CHANGED
        except DeliveryError as failure:
            error = str(failure)
            await self.reports.report_undelivered(exchange, error)
        except Exception as failure:  # isolation: whatever ails a model costs its reply
            error = str(failure)
            if isinstance(failure, SilentReplyError):
                seen.trace.tag("silent", "yes")
            await self.reports.report_failure(exchange, place, failure)
        finally:
            sent = text.decode(text_sent(tracker, place))
            cut = tracker.task is not None and tracker.task.cancelled()
            kept = None if cut else kept
            sent = kept.view if kept is not None and kept.view is not None else sent
            tracker.clear()
            if cut:
                seen.trace.tag("interrupted", "yes")
            if error != READERS_CHANGED or not may_be_remade:
                keeping = self._archive.keep(
                    turn,
                    sent,
                    channel,
                    seen.trace,
                    scene=request.scene,
                    outgoing=outgoing,
                    revises=exchange.asked.revises,
                    words=kept.words if kept is not None else None,
                )
                await run_to_end(keeping)
            trace = self._recorder.close(seen, channel)
        silent = exchange.may_stay_silent and not (sent or cut or error)
        return ReplyOutcome(sent=sent, trace=trace, interrupted=cut, error=error, silent=silent)

    async def _answer(
        self,
        request: ContextRequest,
        channel: ChannelConfig,
        place: Place,
        outgoing: OutgoingReply | None,
        tracker: TextDeliveryTracker,
        seen: OpenTurn,
        text: OutgoingText,
        check: Callable[[], Awaitable[None]],
        *,
        sends_first_piece: bool,
    ) -> KeptReply | None:
        """Make the reply, *check* once that it may go out, and send it.

        Where scripts have it kept or shown otherwise than it was written, what is kept.
        """
        target: Place = outgoing or place
        pipeline = await off_loop(self._pipeline_for, channel, request, place)
        free = request.turn is not None and request.turn.flags.may_stay_silent
        thinking = nullcontext if free else place.thinking  # who may say nothing is not seen typing
        rewrites = any(may_hold_back(processor, place) for processor in pipeline.post_processors)
        if self._deliveries.takes_pieces(place) and not rewrites:
            async with thinking():
                live = await pipeline.start(request, trace=seen.trace, watch=seen.prepare)
                text.prepare(live.reply.prompt)
                try:
                    pieces = _after(check, text.encode_stream(live))
                    await self._deliver(pieces, target, channel, tracker, seen.trace)
                finally:
                    seen.keep(live.reply)
            _refuse_empty(live.reply, may_be_silent=free)
            await self._keep_state(request, live.reply)
            return None
        async with thinking():
            reply = await pipeline.run(request, trace=seen.trace, watch=seen.prepare)
        seen.keep(reply)
        _refuse_empty(reply, may_be_silent=free)
        shown = without_escapes(await off_loop(show_reply, reply.text, request)) if request.story.regex else reply.text
        text.prepare(reply.prompt)
        await check()
        words = reply.text if reply.words is None else reply.words
        kept = None if shown == reply.text == words else KeptReply(words, reply.text if shown != reply.text else None)
        if kept is not None and outgoing is not None:
            outgoing.keep_words(kept.words, kept.view)
        await self._deliver(
            text.encode_whole(shown), target, channel, tracker, seen.trace, sends_first_piece=sends_first_piece
        )
        await self._keep_state(request, reply)
        return kept

    async def _check_readers(self, request: ContextRequest, exchange: Exchange, place: Place) -> None:
        if not await self._turns.may_still_tell(request, exchange, place):
            logger.info("more people can read the place by now", extra={"channel_id": exchange.channel_id})
            raise _ReadersChangedError

    async def _keep_state(self, request: ContextRequest, reply: PipelineReply) -> None:
        """Keep what lasts in the chat: variables, and the timed effects of World Info."""
        if self._keep_story is not None and reply.prompt.story is not None:
            try:
                await off_loop(self._keep_story, request.channel_id, reply.prompt.story)
            except OSError as error:
                logger.warning("the state of the chat could not be kept", extra={"error": type(error).__name__})

    async def _deliver(
        self,
        reply: str | AsyncIterable[str],
        place: Place,
        channel: ChannelConfig,
        tracker: TextDeliveryTracker,
        trace: TraceBuilder,
        *,
        sends_first_piece: bool = False,
    ) -> None:
        async with trace.span("deliver"):
            await self._deliveries.deliver(
                reply, place, channel.typing_simulation, tracker, sends_first_piece=sends_first_piece
            )

    async def _begin_outgoing(
        self, turn: Turn, channel: ChannelConfig, place: Place, text: OutgoingText
    ) -> OutgoingReply | None:
        """The reply's way out: by the outbox where the place tells what it posted; None: by the place alone."""
        if self._outbox is None or not (place.features.posts_once or place.features.posts_answers):
            return None
        outgoing = await off_loop(
            self._outbox.begin,
            place,
            channel_id=turn.channel_id,
            guild_id=turn.guild_id,
            answers=tuple(said.history_id for said in turn.said if said.history_id is not None),
            mode=channel.mode.value,
            facts=alter_facts(turn.flags.alter),
        )
        outgoing.address(text.target, text.decode)
        return outgoing


async def _after(check: Callable[[], Awaitable[None]], pieces: AsyncIterable[str]) -> AsyncIterator[str]:
    """*pieces*, the first of them only after *check*."""
    is_checked = False
    async with closing_stream(pieces) as stream:
        async for piece in stream:
            if not is_checked:
                await check()
                is_checked = True
            yield piece


def text_sent(tracker: TextDeliveryTracker, place: Place) -> str:
    """What really went out: streamed pieces as one text, sent pieces as paragraphs."""
    return ("" if place.features.streams else "\n\n").join(tracker.sent_chunks).strip()


def _refuse_empty(reply: PipelineReply, *, may_be_silent: bool) -> None:
    """Say so where a model that was to speak, and was asked again, wrote no word of a reply."""
    done = reply.completion
    if may_be_silent or reply.used_tools or reply.text.strip():
        return
    if reply.ended_by == CHOSE_SILENCE:
        raise SilentReplyError("The model chose to say nothing to someone who spoke to it: ask again.")
    if done is None:
        return
    if done.finish_reason == "length":
        raise EmptyReplyError(
            f"{done.model!r} used all the tokens it may without writing a reply; it seems to be a reasoning model: "
            "raise `max_output_tokens` under [llm]."
        )
    if done.finish_reason == "content_filter":
        raise EmptyReplyError(f"The filter of {done.model!r} blocked the reply: try other words.")
    raise EmptyReplyError(
        f"{done.model!r} answered with nothing: ask again, or choose another model with `familiar connect`."
    )


def may_hold_back(processor: PostProcessor, place: Place) -> bool:
    """Whether a reply goes out at *place* only when it is whole, for *processor* may change it.

    Where replies are spoken, each sentence is made speakable by itself.
    """
    is_done_there = processor.id == SpokenTextPostProcessor.id and place.features.speaks
    return may_rewrite(processor) and not is_done_there


def may_rewrite(processor: PostProcessor) -> bool:
    """Whether *processor* may change a reply; one whose model is too weak for side tasks lets it pass."""
    return capabilities_of(getattr(processor, "llm_client", None)).side_tasks
