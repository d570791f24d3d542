"""TurnRecorder: opens a turn's trace, keeps what was seen, and hands it to the observers afterwards.

Observers work in the background, after the reply is out; none of them can fail a turn.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from familiar_connect.config import ChannelConfig
from familiar_connect.context.budget import NO_BUDGET, OWN_REPLIES, OWN_REPLIES_UNSEEN
from familiar_connect.context.generate import Generation, blocks_of
from familiar_connect.context.pipeline import PipelineReply
from familiar_connect.context.render import RenderOptions
from familiar_connect.context.types import ContextItem, ContextRequest, DroppedNote, PipelineOutput
from familiar_connect.llm.types import Message
from familiar_connect.observe.inspector import turn_facts
from familiar_connect.observe.last_context import NOTES, LastContextCache
from familiar_connect.observe.ledger import MetricsCollector
from familiar_connect.observe.prompt_diff import PrefixMeter
from familiar_connect.observe.replay_store import ReplayRecord, ReplayStore, hash_messages
from familiar_connect.observe.trace import StageSpan, TraceBuilder, TurnTrace
from familiar_connect.reply.prompt_replay import full_prompt, infer_fitting
from familiar_connect.support.aio import BackgroundTasks, off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.lru import LruCache
from familiar_connect.support.serialize import to_plain

logger = logging.getLogger(__name__)

MAX_OPEN = 256
"""Channels whose turn under way can be looked at."""
MAX_CUT_CHARS = 16_000
"""Of what a turn's prompt had no room for so much is kept with the turn."""
MAX_CHARS_PER_CUT = 6_000


@dataclass
class OpenTurn:
    """One turn under observation."""

    trace: TraceBuilder
    request: ContextRequest
    clock_iso: str
    seed: int
    reply: PipelineReply | None = None
    is_closed: bool = False
    prepared: tuple[PipelineOutput, Generation] | None = None
    """What is about to be sent, while the turn runs."""

    def prepare(self, output: PipelineOutput, generation: Generation) -> None:
        self.prepared = (output, generation)

    def keep(self, reply: PipelineReply) -> None:
        self.reply = reply


@dataclass(frozen=True, kw_only=True)
class RunningTurn:
    """A turn that is not over: what is known of it so far."""

    trace: TurnTrace
    record: ReplayRecord | None = None
    """What its prompt is made of; None before there is one. It cannot be replayed."""
    items: tuple[ContextItem, ...] = ()
    messages: tuple[Message, ...] = ()
    """What was sent; empty before it is."""


class TurnRecorder:
    """Fills the ledger, the last context and what a replay needs."""

    def __init__(
        self,
        *,
        last_context: LastContextCache,
        collector: MetricsCollector,
        replays: ReplayStore,
        options: RenderOptions,
        prefixes: PrefixMeter | None = None,
        on_kept: Callable[[datetime], Awaitable[None]] | None = None,
    ) -> None:
        """*on_kept* hears, once a turn is kept, when its prompt was begun: what was taken back since may be in it."""
        self.collector = collector
        self._on_kept = on_kept
        self._last_context = last_context
        self._replays = replays
        self._options = options
        self._prefixes = prefixes or PrefixMeter()
        self._open: LruCache[int, OpenTurn] = LruCache(MAX_OPEN)
        """The turn under way in each channel."""
        self._background = BackgroundTasks("witness")

    def open(self, request: ContextRequest, *, clock: Clock, seed: int) -> OpenTurn:
        trace = TraceBuilder(
            familiar_id=request.familiar_id,
            channel_id=request.channel_id,
            guild_id=request.guild_id,
            modality=request.modality,
            clock=clock,
        )
        if request.mode is not None:
            trace.tag("mode", request.mode.value)
        if request.turn is not None and request.turn.reset_at is not None:
            trace.tag("begun_anew", request.turn.reset_at.isoformat(timespec="seconds"))
        seen = OpenTurn(trace, request, clock.now().isoformat(), seed)
        self._open.put(request.channel_id, seen)
        return seen

    def find_open(self, channel_id: int) -> RunningTurn | None:
        """The turn under way in a channel, as far as it has come; None where none is."""
        seen = self._open.get(channel_id)
        if seen is None or seen.is_closed:
            return None
        trace, prepared = seen.trace.finalize(), seen.prepared
        if prepared is None:
            return RunningTurn(trace=trace)
        output, generation = prepared
        prompt = generation.prompt
        blocks = {"tokens_by_block": blocks_of(generation, output)}
        return RunningTurn(
            trace=replace(trace, stages=(*trace.stages, StageSpan("observe", trace.total_duration_s, 0.0, blocks))),
            record=ReplayRecord(
                trace_id=trace.trace_id,
                request=output.request,
                clock_iso=seen.clock_iso,
                seed=seen.seed,
                kept=tuple(output.budget.kept),
                dropped=tuple(prompt.dropped),
            ),
            items=prompt.items,
            messages=tuple(generation.messages),
        )

    def close(self, seen: OpenTurn, channel: ChannelConfig) -> TurnTrace:
        """Finish the trace, write the turn's one line, and let the observers work."""
        seen.is_closed = True
        seen.prepared = None
        reply = seen.reply
        if reply is not None and reply.messages:
            share = self._prefixes.measure(seen.request.channel_id, reply.messages)
            seen.trace.add_span("observe", seen.trace.seconds_since_start(), 0.0, share.facts())
            if reply.completion is not None:
                seen.trace.tag("model", reply.completion.model)
        trace = seen.trace.finalize()
        logger.info("turn", extra=turn_facts(trace))
        self._background.start(self._keep_and_tell(seen, trace, channel), name=trace.trace_id)
        return trace

    async def _keep_and_tell(self, seen: OpenTurn, trace: TurnTrace, channel: ChannelConfig) -> None:
        await off_loop(self._keep, seen, trace, channel)
        if self._open.get(trace.channel_id) is seen:
            self._open.pop(trace.channel_id)  # a quiet channel keeps no prompt in memory
        if self._on_kept is not None:
            await self._on_kept(datetime.fromisoformat(seen.clock_iso))

    def _keep(self, seen: OpenTurn, trace: TurnTrace, channel: ChannelConfig) -> None:
        try:
            try:
                if seen.reply is not None:
                    self._keep_prompt(seen, seen.reply, trace, channel)
            finally:
                self.collector.record(trace)  # last: whoever finds the trace finds its prompt too
        except Exception:  # isolation: observing never fails a turn
            logger.exception("turn could not be kept for inspection", extra={"trace_id": trace.trace_id})

    def _keep_prompt(self, seen: OpenTurn, reply: PipelineReply, trace: TurnTrace, channel: ChannelConfig) -> None:
        if reply.messages:
            self._last_context.put(
                channel_id=trace.channel_id,
                messages=reply.messages,
                modality=seen.request.modality,
                notes=cuts_and_timings(trace),
                trace_id=trace.trace_id,
            )
        self._replays.save(trace.trace_id, self._record(seen, reply, trace, channel))

    def _record(self, seen: OpenTurn, reply: PipelineReply, trace: TurnTrace, channel: ChannelConfig) -> ReplayRecord:
        whole = full_prompt(reply.output, self._options)
        settings = {
            "channel": to_plain(channel),
            "render": to_plain(self._options),
            "fitting": to_plain(infer_fitting(whole, reply.prompt.items, reply.messages)),
        }
        return ReplayRecord(
            trace_id=trace.trace_id,
            request=reply.output.request,
            clock_iso=seen.clock_iso,
            seed=seen.seed,
            settings=settings,
            kept=tuple(reply.output.budget.kept),
            dropped=tuple(_with_short_texts(reply.prompt.dropped)),
            directives=reply.output.directives,
            messages_hash=hash_messages(reply.messages),
        )

    async def wait_until_idle(self) -> None:
        """Wait until everything seen so far is kept."""
        await self._background.wait_until_idle()

    async def aclose(self) -> None:
        """Let what is under way finish, then close the ledger."""
        await self.wait_until_idle()
        await off_loop(self.collector.close)


def _with_short_texts(notes: Sequence[DroppedNote]) -> Iterator[DroppedNote]:
    """*notes* with as much of what was cut as is worth its room on disk."""
    left = MAX_CUT_CHARS
    for note in notes:
        text = note.text[: min(left, MAX_CHARS_PER_CUT)]
        left -= len(text)
        yield note if text == note.text else replace(note, text=text)


def cuts_and_timings(trace: TurnTrace) -> str:
    """What was cut and how long each stage took, as a short Markdown list."""
    dropped = [note for span in trace.stages for note in span.metadata.get("dropped") or ()]
    lines = [f"- cut: {_cut(note)}" for note in dropped] or ["- nothing was cut"]
    withheld = [note for span in trace.stages for note in span.metadata.get("withheld") or ()]
    lines += [f"- withheld: {note['source']}, said to {' and '.join(note['said_to'])}" for note in withheld]
    lines += [f"- {span.name}: {span.duration_s * 1000:.0f} ms" for span in trace.stages if span.name != "observe"]
    return f"{NOTES}\n\n" + "\n".join(lines)


def _cut(note: Mapping[str, object]) -> str:
    full = note["full"]
    why = f"no budget for {note['layer']} here" if full == NO_BUDGET else f"{note['layer']}; no room in the {full}"
    why = OWN_REPLIES_UNSEEN if full == OWN_REPLIES else why
    return f"{note['source']} {note['reason']}, {note['tokens_dropped']} tokens ({why})"
