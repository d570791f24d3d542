"""ContextPipeline: the one path from a request to a reply, for text and voice.

Providers and the pre-processor chain run at the same time; what they bring is budgeted, rendered,
arranged and closed by the tail; where thinking is on, the finished prompt is thought over; a model
writes; post-processors run over the whole text. The request's deadline is real: assembly, thinking
included, gets at most its share, a provider can never use up more, and post-processors have the rest.
A model whose client keeps its own time has that beside the deadline; of any other model the first
piece is awaited until the deadline.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from familiar_connect.chat.directives import collect_directives, place_tail
from familiar_connect.context.budget import Budgeter, fit_to_request
from familiar_connect.context.confidence_gate import withhold
from familiar_connect.context.gather import gather
from familiar_connect.context.generate import (
    Generation,
    blocks_of,
    call_facts,
    models_to_try,
    turn_capabilities,
)
from familiar_connect.context.media import MediaCache
from familiar_connect.context.messages import to_messages
from familiar_connect.context.processors.output_filter import (
    SilenceAwareOutputFilter,
    own_name,
    speakers_of,
    tags_in_scripts,
)
from familiar_connect.context.protocols import (
    Arranger,
    ContextProvider,
    PostProcessor,
    PreProcessor,
    PreProcessorError,
    PromptThinker,
    ToolSet,
    ViewProcessor,
)
from familiar_connect.context.render import RenderOptions, native_prompt
from familiar_connect.context.slots import in_prompt_order
from familiar_connect.context.small_model import retell_earlier
from familiar_connect.context.types import (
    ASSEMBLY_SHARE,
    NO_DEADLINE,
    BudgetResult,
    ContextRequest,
    Contribution,
    DroppedNote,
    Layer,
    PipelineOutput,
    Prompt,
    ProviderOutcome,
    WithheldNote,
)
from familiar_connect.errors import ModelTimeoutError, TurnDeadlineError
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.types import Completion, Message, capabilities_of
from familiar_connect.observe.trace import TraceBuilder
from familiar_connect.presets.macro_context import NativeArranger, expand_authored
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import without_escapes
from familiar_connect.support.tokens import counting_for, is_vocabulary_ready, load_vocabulary

__all__ = ["ContextPipeline", "LiveReply", "PipelineOutput", "PipelineReply", "ProviderOutcome", "TurnDeadlineError"]

logger = logging.getLogger(__name__)

ToolsFor = Callable[[ContextRequest], ToolSet | None]
"""Which tools the model has for one request; None: it has none."""

PLAIN_PROVIDERS = ("character", "history")
"""Whom a prompt as in SillyTavern is made from."""


@dataclass(frozen=True, kw_only=True)
class GenerationResources:
    """What a model may use while it writes."""

    media: MediaCache | None = None
    """Where pictures and films are fetched; None: models are given their addresses."""
    tools: ToolsFor | None = None


@dataclass(frozen=True)
class _Gathered:
    """What providers and the chain brought, before the budget."""

    request: ContextRequest
    found: list[Contribution]
    outcomes: list[ProviderOutcome]
    withheld: list[WithheldNote]


@dataclass
class PipelineReply:
    """A finished reply and everything that led to it."""

    text: str
    output: PipelineOutput
    prompt: Prompt
    messages: list[Message] = field(default_factory=list)
    completion: Completion | None = None
    used_tools: bool = False
    words: str | None = None
    """The text before scripts made their view of it; None: no script had a say."""
    ended_by: str | None = None
    """Why the program ended it before the model did."""


PromptWatcher = Callable[[PipelineOutput, Generation], None]
"""Is told of a prompt that is about to be sent."""


def _watch_nothing(output: PipelineOutput, generation: Generation) -> None:
    """For a caller that does not want to see the prompt."""


class LiveReply:
    """A reply still being written: iterate the pieces; afterwards `reply` holds all that is known."""

    def __init__(
        self, output: PipelineOutput, generation: Generation, first_piece_s: float | None, trace: TraceBuilder
    ) -> None:
        self._generation = generation
        self._first_piece_s = first_piece_s
        self._trace = trace
        self.output = output

    async def __aiter__(self) -> AsyncIterator[str]:
        async with self._trace.span("model") as span_facts:
            pieces = self._generation.pieces()
            try:
                piece = await _first(pieces, self._first_piece_s)
                while piece is not None:
                    yield piece
                    piece = await anext(pieces, None)
            finally:
                await pieces.aclose()
                span_facts.update(call_facts(self._generation, self.output))

    @property
    def reply(self) -> PipelineReply:
        made = self._generation
        return _reply_of(made, made.text, self.output)


class ContextPipeline:
    """Long-lived parts, put together for one channel's mode."""

    def __init__(
        self,
        providers: Sequence[ContextProvider],
        pre_processors: Sequence[PreProcessor] = (),
        post_processors: Sequence[PostProcessor] = (),
        budgeter: Budgeter | None = None,
        *,
        model: ChatModel | None = None,
        budget_by_layer: Mapping[Layer, int] | None = None,
        options: RenderOptions | None = None,
        arranger: Arranger | None = None,
        persona: str = "",
        resources: GenerationResources | None = None,
    ) -> None:
        self.providers = tuple(providers)
        self.pre_processors = tuple(pre_processors)
        self.post_processors = tuple(post_processors)
        self._thinkers = tuple(p for p in self.pre_processors if isinstance(p, PromptThinker))
        self._chain = tuple(p for p in self.pre_processors if not isinstance(p, PromptThinker))
        self._model_name: str | None = getattr(model, "model", None)
        self._budgeter = budgeter or Budgeter(self._model_name)
        self._model = model
        self._budget_by_layer = dict(budget_by_layer or {})
        self._options = options or RenderOptions()
        self._arranger = arranger or NativeArranger()
        self._persona = persona
        self._resources = resources or GenerationResources()

    # Assembly

    async def assemble(self, request: ContextRequest, budget_by_layer: Mapping[Layer, int]) -> PipelineOutput:
        """Ask everyone at once, then pack what came. Ends within the request's deadline."""
        return self._pack(await self._gather(request, _limit(request.deadline_s)), budget_by_layer)

    async def _gather(self, request: ContextRequest, limit_s: float | None) -> _Gathered:
        if not is_vocabulary_ready(self._model_name):
            await off_loop(load_vocabulary, self._model_name)
        with counting_for(self._model_name):
            return await self._ask_providers(request, limit_s)

    async def _ask_providers(self, request: ContextRequest, limit_s: float | None) -> _Gathered:
        as_there = request.is_exact
        providers = [p for p in self.providers if p.id in PLAIN_PROVIDERS] if as_there else self.providers
        if as_there or not self._chain:
            outcomes = await gather(providers, request, time_left_s=limit_s)
        else:
            outcomes, request = await self._gather_beside_chain(providers, request, limit_s)
        found = list(request.preprocessor_contributions)
        for outcome in outcomes:
            found += outcome.contributions
        if request.card is not None:
            found = await off_loop(expand_authored, found, request)
        found, withheld = withhold(found, request)
        return _Gathered(request, found, outcomes, withheld)

    async def _gather_beside_chain(
        self, providers: Sequence[ContextProvider], request: ContextRequest, limit_s: float | None
    ) -> tuple[list[ProviderOutcome], ContextRequest]:
        """What *providers* brought, and *request* after the chain, which ran meanwhile."""
        try:
            async with asyncio.TaskGroup() as group:
                asked = group.create_task(gather(providers, request, time_left_s=limit_s))
                chain = group.create_task(self.run_pre_processors(request, time_left_s=limit_s))
        except BaseExceptionGroup as several:  # only the chain can raise; its error leaves as itself
            raise several.exceptions[0] from several.exceptions[0].__cause__
        return asked.result(), chain.result()

    def _pack(self, gathered: _Gathered, budget_by_layer: Mapping[Layer, int]) -> PipelineOutput:
        request = gathered.request
        found = [each for each in gathered.found if each.text or not each.quotable]
        directives = collect_directives(found, request)
        if request.is_exact:  # the preset's own context is the only limit
            everything = BudgetResult(kept=in_prompt_order(found))
            return PipelineOutput(request, everything, gathered.outcomes, directives, gathered.withheld)
        with counting_for(self._model_name):
            unseen: list[DroppedNote] = []
            if request.preset is None and capabilities_of(self._model).imitates_itself:
                found, budget_by_layer, unseen = retell_earlier(
                    found, budget_by_layer, request.budget_tokens, self._model_name, is_preview=request.turn is None
                )
            budget = self._budgeter.fill(found, budget_by_layer)
            budget.dropped.extend(unseen)
            output = PipelineOutput(request, budget, gathered.outcomes, directives, gathered.withheld)
            return fit_to_request(output, self._model_name)

    async def run_pre_processors(self, request: ContextRequest, *, time_left_s: float | None = None) -> ContextRequest:
        """The chain, one after another; out of time, it ends after its last finished member."""
        limit = asyncio.timeout(None if time_left_s == NO_DEADLINE else time_left_s)
        try:
            async with limit:
                for processor in self._chain:
                    try:
                        request = await processor.process(request)
                    except PreProcessorError as error:
                        logger.warning("pre-processor %s skipped", processor.id, extra={"error": type(error).__name__})
        except TimeoutError:
            if not limit.expired():
                raise
            logger.warning("pre-processors cut short by the deadline", extra={"limit_s": time_left_s})
        return request

    async def build_prompt(self, request: ContextRequest) -> Prompt:
        """Everything but the tail: what the model will be shown, with the directives beside it."""
        return await self._arrange_off_loop(await self.assemble(self._offering(request)[0], self._budget_by_layer))

    def arrange(self, output: PipelineOutput) -> Prompt:
        return self._arranger.arrange(native_prompt(output, self._options), output.request)

    async def _arrange_off_loop(self, output: PipelineOutput) -> Prompt:
        """A preset of hundreds of macros takes its time: in a thread."""
        return self.arrange(output) if output.request.preset is None else await off_loop(self.arrange, output)

    # The whole path

    async def run(
        self, request: ContextRequest, *, trace: TraceBuilder | None = None, watch: PromptWatcher = _watch_nothing
    ) -> PipelineReply:
        """From request to finished text, within the deadline and the model's own time.

        *watch* is told of the prompt before a model is asked.
        """
        started = _loop_time()
        trace = trace or _trace_of(request)
        output, generation = await self._prepare(request, trace)
        watch(output, generation)
        asked = _loop_time()
        async with trace.span("model") as span_facts:
            try:
                await self._collect(generation, self._model_limit(request, started))
            finally:
                span_facts.update(call_facts(generation, output))
        words = text = generation.text
        if self.post_processors:
            async with trace.span("post"):
                if _keeps_own_time(self._model):
                    started += _loop_time() - asked
                made, views = _split_views(self.post_processors)
                words = without_escapes(await self._process(made, text, request, _left(request, started)))
                text = without_escapes(await self._process(views, words, request, _left(request, started)))
        return replace(_reply_of(generation, text, output), words=words)

    async def start(
        self, request: ContextRequest, *, trace: TraceBuilder | None = None, watch: PromptWatcher = _watch_nothing
    ) -> LiveReply:
        """As `run`, but the pieces are handed on as they come; the deadline bounds the time to the first."""
        started = _loop_time()
        trace = trace or _trace_of(request)
        output, generation = await self._prepare(request, trace)
        watch(output, generation)
        return LiveReply(output, generation, self._model_limit(request, started), trace)

    async def preview(self, request: ContextRequest) -> tuple[PipelineReply, list[dict[str, Any]]]:
        """What the first model would be shown, made as for a reply, without asking it; and its blocks.

        Nobody waits for a reply, so every provider is waited for: the same request gives the same prompt.
        """
        request = replace(request, deadline_s=NO_DEADLINE)
        output, generation = await self._prepare(request, _trace_of(request))
        await generation.prepare()
        reply = PipelineReply("", output, generation.prompt, generation.messages)
        return reply, blocks_of(generation, output)

    async def prompt_prefix(self, request: ContextRequest) -> list[Message]:
        """The messages that stand before what *request* is about to say: what a model can work ahead."""
        output = await self.assemble(self._offering(request)[0], self._budget_by_layer)
        prompt = await self._arrange_off_loop(output)
        first = next((i for i, item in enumerate(prompt.items) if item.source == "pending"), len(prompt.items))
        return to_messages(prompt.items[:first], capabilities_of(self._model), squash=prompt.squash)

    def _offering(self, request: ContextRequest) -> tuple[ContextRequest, ToolSet | None]:
        """*request* with what its model may use, which authored text asks for by name; and the tools themselves."""
        tools = self._resources.tools(request) if self._resources.tools is not None else None
        with counting_for(self._model_name if is_vocabulary_ready(self._model_name) else None):
            return replace(request, offered=turn_capabilities(tools, capabilities_of(self._model))), tools

    async def _prepare(self, request: ContextRequest, trace: TraceBuilder) -> tuple[PipelineOutput, Generation]:
        started = _loop_time()
        request, tools = self._offering(request)
        limit = _limit(request.deadline_s)
        share = limit * ASSEMBLY_SHARE if limit is not None else None
        async with trace.span("assemble") as span_facts:
            gathered = await self._gather(request, share)
            output = self._pack(gathered, self._budget_by_layer)
            trace.add_provider_outcomes(span_facts, output.outcomes)
            span_facts["withheld"] = [note.facts() for note in output.withheld]
        async with trace.span("render") as span_facts:
            prompt = place_tail(await self._arrange_off_loop(output))
            span_facts["dropped"] = [note.facts() for note in prompt.dropped]
            if prompt.reasons:
                span_facts["world_info"] = [{"entry": entry, "reason": reason} for entry, reason in prompt.reasons]
        if self._thinkers and not request.is_exact:
            async with trace.span("think"):
                left = None if share is None else share - (_loop_time() - started)
                thought = await self._think(gathered, self._generation(prompt, output, tools), left)
            if thought is not gathered:
                gathered = thought
                output = self._pack(thought, self._budget_by_layer)
                prompt = place_tail(await self._arrange_off_loop(output))
        return output, self._generation(prompt, output, tools, [each.quotable for each in gathered.found])

    def _generation(
        self, prompt: Prompt, output: PipelineOutput, tools: ToolSet | None, quotable: Sequence[str] = ()
    ) -> Generation:
        request = output.request
        tidy = SilenceAwareOutputFilter(  # whether it may or not: nobody is shown the mark
            [own_name(request) or self._persona], speakers_of(prompt, request), tags_in_scripts(request.story.regex)
        )
        models = models_to_try(self._model)
        return Generation(
            prompt,
            models,
            tidy=tidy,
            media=self._resources.media,
            tools=tools,
            turn=request.turn,
            quotable=[text for text in quotable if text],
        )

    async def _think(self, gathered: _Gathered, draft: Generation, left_s: float | None) -> _Gathered:
        """*gathered* with what the thinkers note on the finished prompt; what is late is not waited for."""
        request = gathered.request
        own, speakers = own_name(request) or self._persona, speakers_of(draft.prompt, request)
        await draft.prepare()
        for thinker in self._thinkers:
            try:
                async with asyncio.timeout(left_s):
                    note = await thinker.think(draft.messages, request, own_name=own, speakers=speakers)
            except TimeoutError:
                logger.warning("%s cut short by the deadline", thinker.id, extra={"limit_s": left_s})
                break
            if note is not None:
                request = replace(request, preprocessor_contributions=(*request.preprocessor_contributions, note))
                gathered = replace(gathered, request=request, found=[note, *gathered.found])
        return gathered

    def _model_limit(self, request: ContextRequest, started: float) -> float | None:
        """How long the model is awaited here; None: its client keeps the time, or nobody does."""
        return None if _keeps_own_time(self._model) else _left(request, started)

    async def _collect(self, generation: Generation, left_s: float | None) -> None:
        """Take in the whole reply; what was written when the time is over is cut at its last sentence and used."""
        limit = asyncio.timeout(left_s)
        pieces = generation.pieces()
        try:
            async with limit:
                async for _ in pieces:
                    pass
        except (TimeoutError, ModelTimeoutError) as error:
            if isinstance(error, TimeoutError) and not limit.expired():
                raise
            if not generation.text.strip():
                raise _silence(error) from error
            generation.cut_at_sentence()
            logger.warning("reply cut for lack of time", extra={"characters": len(generation.text)})
        finally:
            await pieces.aclose()

    async def run_post_processors(
        self, reply_text: str, request: ContextRequest, *, time_left_s: float | None = None
    ) -> str:
        """In reverse registration order; one that fails or is late is skipped and the text passes through."""
        return await self._process(self.post_processors, reply_text, request, time_left_s)

    async def _process(
        self, processors: Sequence[PostProcessor], reply_text: str, request: ContextRequest, time_left_s: float | None
    ) -> str:
        ends = None if time_left_s is None else _loop_time() + time_left_s
        for processor in reversed(processors):
            left = None if ends is None else ends - _loop_time()
            if left is not None and left <= 0:
                logger.warning("post-processor %s skipped", processor.id, extra={"reason": "no time left"})
                continue
            try:
                async with asyncio.timeout(left):
                    reply_text = await processor.process(reply_text, request)
            except Exception as error:  # isolation: the reply is worth more than its polish
                logger.warning("post-processor %s skipped", processor.id, extra={"error": type(error).__name__})
        return reply_text


def _split_views(processors: Sequence[PostProcessor]) -> tuple[list[PostProcessor], list[PostProcessor]]:
    """Those that make the words, and those that make a view of them, which run last."""
    views: list[PostProcessor] = [each for each in processors if isinstance(each, ViewProcessor)]
    return [each for each in processors if each not in views], views


async def _first(pieces: AsyncIterator[str], limit_s: float | None) -> str | None:
    limit = asyncio.timeout(limit_s)
    try:
        async with limit:
            return await anext(pieces, None)
    except TimeoutError:
        if limit.expired():
            raise _silence(None) from None
        raise
    except ModelTimeoutError as error:
        raise _silence(error) from error


def _reply_of(made: Generation, text: str, output: PipelineOutput) -> PipelineReply:
    used_tools = bool(made.tool_turns)
    return PipelineReply(text, output, made.prompt, made.messages, made.completion, used_tools, ended_by=made.ended_by)


def _silence(error: Exception | None) -> TurnDeadlineError:
    """The model was silent for too long: as its client says it, or for the turn's deadline."""
    if isinstance(error, ModelTimeoutError):
        return TurnDeadlineError(str(error))
    return TurnDeadlineError(
        "The model said nothing within the turn's deadline: ask again, or raise `deadline_s` for the familiar or the "
        "channel."
    )


def _keeps_own_time(model: ChatModel | None) -> bool:
    """Whether the client of *model* ends a call that takes too long, as its settings say."""
    return capabilities_of(model).first_token_s is not None


def _limit(deadline_s: float) -> float | None:
    return deadline_s if deadline_s > 0 else None


def _loop_time() -> float:
    """Now, as the deadlines of the running loop count it."""
    return asyncio.get_running_loop().time()


def _left(request: ContextRequest, started: float) -> float | None:
    if request.deadline_s <= 0:
        return None
    return max(0.0, request.deadline_s - (_loop_time() - started))


def _trace_of(request: ContextRequest) -> TraceBuilder:
    return TraceBuilder(
        familiar_id=request.familiar_id,
        channel_id=request.channel_id,
        guild_id=request.guild_id,
        modality=request.modality.value,
    )
