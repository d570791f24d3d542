"""One reply being written: attempts one after another, each from the same base prompt, each with its tools.

For every model in turn the prompt's media are resolved, it is fitted to the window, gets its first words
and is turned into messages; the base is never changed. The next model is tried only when one failed before
its first word: what a reader has already seen is never silently started again.

A round of an attempt ends with what the model wants done; it is done, the results are put behind its turn, and it is
asked again. Rounds and calls are bounded: after the last of them the model is asked once more and may only speak.
What a tool gives back is data in a turn of its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from familiar_connect.chat.silence import CHOSE_SILENCE
from familiar_connect.chat.types import Turn
from familiar_connect.context.media import MediaCache, resolve_media
from familiar_connect.context.messages import items_for_model, message_places, to_messages, with_prefill
from familiar_connect.context.processors.output_filter import OutputFilter
from familiar_connect.context.processors.reply_guard import KNOWN_REPLIES, ReplyGuard, last_replies
from familiar_connect.context.protocols import ToolSet
from familiar_connect.context.small_model import quote_memory
from familiar_connect.context.types import (
    ContextItem,
    ItemTag,
    Offered,
    PipelineOutput,
    Prompt,
)
from familiar_connect.context.window_fit import drop_oldest, fit_to_window, prompt_tokens
from familiar_connect.errors import ModelError, PromptTooLongError
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.streams import open_stream
from familiar_connect.llm.types import (
    Capabilities,
    Completion,
    CompletionRequest,
    ImagePart,
    Message,
    TextPart,
    ToolCall,
    ToolSpec,
    Usage,
    VideoPart,
    capabilities_of,
    model_name_of,
)
from familiar_connect.observe.trace import QUOTED
from familiar_connect.support.system_notes import note
from familiar_connect.support.text import last_sentence_end
from familiar_connect.support.tokens import estimate_tokens
from familiar_connect.tools.types import FAMILIES

logger = logging.getLogger(__name__)

PRESET_SOURCE = "preset:"
"""How the sources begin of what a preset brings."""

EMPTY_RETRIES = 1
"""How often a model that answered with nothing is asked again."""
FAULT_RETRIES = 2
"""How often one whose reply collapsed is."""
EXCHANGES_DROPPED = 2
"""Oldest exchanges left out for each such time, where the model ran out of room before its first word."""
OWN_WORDS = "Your last answer held no words of your own. Answer now, as yourself and in your own words."

CUT_SHORT = "…"
"""Ends a reply that the model had to leave unfinished, so that nobody takes it for whole."""

MAX_ROUNDS = 4
"""Answers of the model that may ask for tools."""
MAX_CALLS = 8
"""Tools used in one reply, over all rounds."""
CALL_LIMIT_S = 10.0
MAX_RESULT_CHARS = 8_000

BETWEEN_ROUNDS = "\n\n"
"""Stands between words said before a tool was used and those after."""

ABILITIES = ("vision", "video", "tools", "prefill", "thinking")
"""What a condition may ask of a model, by the name of what says so."""


class Generation:
    """A reply by the first model that can give one: its pieces as they come, and afterwards how it was made."""

    def __init__(
        self,
        prompt: Prompt,
        models: Sequence[ChatModel],
        *,
        tidy: OutputFilter | None = None,
        media: MediaCache | None = None,
        tools: ToolSet | None = None,
        turn: Turn | None = None,
        quotable: Sequence[str] = (),
    ) -> None:
        """*quotable*: what was found besides, for a model that is too small to be shown all of it."""
        if not models:
            raise ModelError("no model is configured for the reply: set [llm.default].model or run `familiar connect`")
        self._models = models
        self._tidy = tidy
        self._media = media
        self._tools = tools
        self._turn = turn
        self._quotable = quotable
        self.base = prompt
        self.prompt = prompt
        """What the model was shown last, pictures by their address."""
        self.messages: list[Message] = []
        """What was sent first, pictures by their address."""
        self.tool_turns: list[Message] = []
        """What followed: tools the model used, and what they gave."""
        self.capabilities = Capabilities()
        """What the model that was asked last says of itself."""
        self.completion: Completion | None = None
        self.ended_by: str | None = None
        """Why the reply was ended here before the model did; None: it was not."""
        self.fault: str | None = None
        """How the last attempt collapsed; None: it did not."""
        self.failures: list[tuple[str, str]] = []
        self.text = ""

    @property
    def model_name(self) -> str:
        """The model whose tokens the prompt was measured in: the first that is asked."""
        return model_name_of(self._models[0])

    @property
    def tools_used(self) -> list[str]:
        """Names of the tools the model called, in order; of a name it made up only that it did."""
        known = {spec.name for spec in self._tools.specs} if self._tools is not None else set()
        called = (call.name for turn in self.tool_turns for call in turn.tool_calls)
        return [name if name in known else "unknown" for name in called]

    async def pieces(self) -> AsyncGenerator[str, None]:
        """Each piece of text to show, tidied; ends when the model or the tidying says so."""
        for position, model in enumerate(self._models):
            last = position == len(self._models) - 1
            name = model_name_of(model)
            try:
                for retry in range(FAULT_RETRIES + 1):
                    async with aclosing(self._attempt(model, retry)) as attempt:
                        async for piece in attempt:
                            self.text += piece
                            yield piece
                    if not self._is_empty:
                        return
                    if self.fault is not None:
                        self.failures.append((name, f"the reply was thrown away, because {self.fault}"))
                        logger.info("a reply was thrown away", extra={"model": name, "reason": self.fault})
                        continue
                    logger.warning("a model answered with nothing", extra={"model": name, "retry": retry})
                    if retry >= EMPTY_RETRIES:
                        return
                return
            except Exception as error:  # isolation: whatever ails one model, the next may still answer
                self.failures.append((name, str(error) or type(error).__name__))
                if self.text or last:
                    if isinstance(error, PromptTooLongError) and (words := advice_on_large_preset(self.prompt, model)):
                        raise PromptTooLongError(words, status=error.status) from error
                    raise
                logger.warning(
                    "model failed, trying the next",
                    extra={"model": model_name_of(model), "error": type(error).__name__},
                )

    @property
    def _is_empty(self) -> bool:
        """Whether a model that was to speak said nothing, and may say something when it is asked again."""
        done = self.completion
        is_free = self._turn is not None and self._turn.flags.may_stay_silent
        if is_free or self.tool_turns or self.text.strip():
            return False
        if self.fault is not None:
            return True
        return self.ended_by == CHOSE_SILENCE or (done is not None and done.finish_reason != "content_filter")

    async def _attempt(self, model: ChatModel, retry: int = 0) -> AsyncGenerator[str, None]:
        tidy = self._tidy.fresh() if self._tidy else None
        has_collapsed = self.fault is not None
        self.ended_by = self.fault = None
        sent, tools = await self._prepared(model, 0 if has_collapsed else retry)
        if not retry and (quoted := self._quote()):
            self.completion = Completion(model=model_name_of(model), text=quoted, finish_reason="stop", provider=QUOTED)
            yield quoted
            return
        guard = self._guard(sent, retry)
        place = f"{self._turn.familiar_id} {self._turn.channel_id}" if self._turn is not None else ""
        attempt = retry if has_collapsed else 0
        request = CompletionRequest(
            sent, sampling=self.base.sampling, template=self.base.template, attempt=attempt, place=place
        )
        rounds = ToolLoop(model, request, tools)
        self.tool_turns = rounds.turns
        try:
            async with aclosing(rounds.pieces()) as pieces:
                async for piece in pieces:
                    self.completion = rounds.completion
                    if shown := guard.feed(tidy.feed(piece) if tidy else piece):
                        yield shown
                    if guard.fault is not None or guard.is_over:
                        break
                    if tidy and tidy.ended:
                        self.ended_by = tidy.end_reason
                        break
            if rest := guard.feed(tidy.close() if tidy else "") + guard.close():
                yield rest
            self.fault = guard.fault
            self.ended_by = self.ended_by or guard.fault or (guard.end_reason if guard.is_over else None)
            is_cut = rounds.completion is not None and rounds.completion.finish_reason == "length"
            if (is_cut or guard.fault is not None) and self.ended_by in (None, guard.fault) and self.text.strip():
                yield CUT_SHORT
        finally:
            self.completion = rounds.completion

    def _quote(self) -> str | None:
        """What a rule answers for a model that is too small to."""
        is_wanted = self.capabilities.quotes_memory and not (self._turn is not None and self._turn.flags.manual)
        return quote_memory(self.base.items, self._quotable, self._turn) if is_wanted else None

    def _guard(self, sent: Sequence[Message], retry: int) -> ReplyGuard:
        """What looks for a collapse. An ordinary model may have been asked to say that again, or to draw just that."""
        repeats_itself = self.capabilities.repeats_itself
        earlier = self._earlier_replies(sent) if repeats_itself and not _is_continued(sent) else None
        is_last = retry >= FAULT_RETRIES
        return ReplyGuard(
            earlier,
            wants_words=repeats_itself or not is_last,
            by_sentence=not is_last,
            one_paragraph=self.capabilities.imitates_itself,
        )

    def _earlier_replies(self, sent: Sequence[Message]) -> list[str]:
        """What the model said last: as its prompt shows it, or as the talk has it where it is not shown."""
        said = self._turn.messages if self._turn is not None and self.capabilities.imitates_itself else ()
        own = [entry.content for entry in said if entry.author_type == "persona" and entry.content]
        return [*last_replies(sent), *own][-KNOWN_REPLIES:]

    def cut_at_sentence(self) -> None:
        """Leave off what was begun after the last whole sentence: there is no time for the rest."""
        self.text = last_sentence_end(self.text)

    async def prepare(self) -> None:
        """Make `prompt` and `messages` for the first model, and ask nobody."""
        await self._prepared(self._models[0])

    async def _prepared(self, model: ChatModel, retry: int = 0) -> tuple[list[Message], ToolSet | None]:
        """What *model* is sent, and the tools it may use; asked again, it is told why or given more room."""
        capabilities = self.capabilities = capabilities_of(model)
        tools = self._tools if self._tools is not None and capabilities.tools and self._tools.specs else None
        shown = await self._with_media(capabilities)
        fitted = await fit_to_window(shown, model, _beside_tools(capabilities, tools))
        if retry and self.completion is not None:
            fitted = _changed_for_retry(fitted, self.completion, retry)
        ready = with_prefill(fitted, capabilities, turn=self._turn, tools=tools is not None)
        sent = to_messages(ready.items, capabilities, squash=ready.squash)
        self.prompt, self.messages = _prompt_without_data(ready), _without_data(sent)
        return sent, tools

    async def _with_media(self, capabilities: Capabilities) -> Prompt:
        """The base with its media as this model takes them; the base itself stays as it is."""
        if not any(item.media for item in self.base.items):
            return self.base
        brought = await self._media.fetch_all(self.base, capabilities) if self._media is not None else None
        return resolve_media(self.base, capabilities, brought=brought)


def _is_continued(messages: Sequence[Message]) -> bool:
    """Whether the model goes on with words of its own: then the last reply is the one it writes."""
    return bool(messages) and messages[-1].role == "assistant"


def _changed_for_retry(prompt: Prompt, before: Completion, retry: int) -> Prompt:
    """*prompt* for a model whose answer *before* came to nothing."""
    if before.finish_reason == "length":
        return drop_oldest(prompt, EXCHANGES_DROPPED * retry)
    if not before.text.strip():
        return prompt
    told = ContextItem.of("user", note(OWN_WORDS), tag=ItemTag.TAIL, source="retry")
    return replace(prompt, items=(*prompt.items, told))


def _prompt_without_data(prompt: Prompt) -> Prompt:
    if not any(isinstance(part, ImagePart | VideoPart) for item in prompt.items for part in item.parts):
        return prompt
    items = (
        replace(
            item,
            parts=tuple(part if isinstance(part, TextPart) else replace(part, data=None) for part in item.parts),
        )
        for item in prompt.items
    )
    return replace(prompt, items=tuple(items))


def _without_data(messages: Sequence[Message]) -> list[Message]:
    """*messages* for whoever looks at them later: what a picture holds is not kept, where it was is."""
    return [
        replace(message, media=tuple(replace(part, data=None) for part in message.media)) if message.media else message
        for message in messages
    ]


def advice_on_large_preset(prompt: Prompt, model: ChatModel) -> str | None:
    """What to do about a prompt that *model* cannot hold, where most of it is a preset's; None where it is not."""
    brought = prompt_tokens([item for item in prompt.items if item.source.startswith(PRESET_SOURCE)])
    if brought * 2 < prompt_tokens(prompt.items):
        return None
    window = capabilities_of(model).window
    held = f"whose window holds {window:,}" if window else "whose window is smaller"
    return (
        f"The preset in force has about {brought:,} tokens, too many for {model_name_of(model)!r}, {held}: "
        "switch parts of it off (`familiar preset toggle`), leave it (`familiar preset off`) or take a model with more "
        "room (`familiar connect`)."
    )


def _beside_tools(capabilities: Capabilities, tools: ToolSet | None) -> Capabilities:
    """*capabilities* with the window that the description of *tools* leaves."""
    if tools is None or capabilities.window is None:
        return capabilities
    return replace(capabilities, window=max(1, capabilities.window - tools_cost(tools.specs)))


def models_to_try(model: ChatModel | None) -> tuple[ChatModel, ...]:
    """*model* and the ones to fall back on, in order."""
    if model is None:
        return ()
    return (model, *getattr(model, "fallbacks", ()))


class ToolLoop:
    """Iterate `pieces()` once; afterwards `turns` holds what was put behind the first messages."""

    def __init__(self, model: ChatModel, request: CompletionRequest, tools: ToolSet | None) -> None:
        self._model = model
        self._request = request
        self._first = list(request.messages)
        self._tools = tools
        self._calls_left = MAX_CALLS
        self.turns: list[Message] = []
        """Calls and their results, in order."""
        self.completion: Completion | None = None
        """Of the last round, with the cost of all of them."""

    async def pieces(self) -> AsyncGenerator[str, None]:
        """The words of all rounds as they come."""
        said, cost = False, Usage()
        for number in range(MAX_ROUNDS + 1):
            may_call = self._tools is not None and number < MAX_ROUNDS and self._calls_left > 0
            request = replace(
                self._request,
                messages=with_tool_turns(self._first, self.turns),
                tools=self._tools.specs if self._tools is not None else (),
                may_call=may_call,
            )
            stream = open_stream(self._model, request)
            self.completion = stream.completion
            begun = False
            try:
                async for piece in stream:
                    if said and not begun:
                        yield BETWEEN_ROUNDS
                    begun = True
                    yield piece
            finally:
                await stream.aclose()
                self.completion = stream.completion
                cost = stream.completion.usage = _sum(cost, stream.completion.usage)
            said = said or begun
            calls = stream.completion.tool_calls
            if not calls or not may_call or self._tools is None:
                return
            await self._use(self._tools, stream.completion.text, calls)

    async def _use(self, tools: ToolSet, text: str, calls: Sequence[ToolCall]) -> None:
        answers: list[Message] = []
        for call in calls:
            if self._calls_left > 0:
                self._calls_left -= 1
                result = await _result(tools, call)
            else:
                result = status_json("limit", "no more tools can be used in this reply; answer now")
            answers.append(Message(role="tool", content=result[:MAX_RESULT_CHARS], tool_call_id=call.id))
        self.turns += [Message(role="assistant", content=text, tool_calls=tuple(calls)), *answers]


async def _result(tools: ToolSet, call: ToolCall) -> str:
    try:
        async with asyncio.timeout(CALL_LIMIT_S):
            return await tools.call(call)
    except TimeoutError:
        logger.warning("a tool took too long", extra={"tool": call.name})
    except Exception as error:  # isolation: a tool that fails costs its result
        logger.warning("a tool failed", extra={"tool": call.name, "error": type(error).__name__})
    return status_json("internal", "this did not work; go on without it")


def status_json(name: str, told: str) -> str:
    """A result that says how it went."""
    return json.dumps({"status": name, "message": told}, ensure_ascii=False)


def with_tool_turns(first: Sequence[Message], turns: Sequence[Message]) -> list[Message]:
    """*first* with the tool turns behind; a begun assistant's turn at its end becomes part of the first of them."""
    if not turns or not first or first[-1].role != "assistant" or first[-1].tool_calls:
        return [*first, *turns]
    begun, call = first[-1], turns[0]
    content = f"{begun.content} {call.content}".strip() if call.content else begun.content
    return [*first[:-1], Message(role="assistant", content=content, tool_calls=call.tool_calls), *turns[1:]]


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        one.cached_tokens + other.cached_tokens,
        None if one.cost is None and other.cost is None else (one.cost or 0.0) + (other.cost or 0.0),
    )


def tools_cost(specs: Sequence[ToolSpec]) -> int:
    """Tokens that describing *specs* takes."""
    return sum(estimate_tokens(json.dumps(spec.to_dict(), ensure_ascii=False)) for spec in specs)


def turn_capabilities(tools: ToolSet | None, capabilities: Capabilities) -> Offered:
    """Names and families of *tools*, none where the model cannot use them."""
    usable = tools if capabilities.tools else None
    names = frozenset(spec.name for spec in usable.specs) if usable is not None else frozenset()
    names -= getattr(usable, "withheld", frozenset())
    return Offered(
        tools=dict(usable.macros) if usable is not None else {},
        tool_names=names,
        tool_tokens=tools_cost(usable.specs) if usable is not None else 0,
        tool_families=frozenset(family for family, members in FAMILIES.items() if members & names),
        capabilities=frozenset(ability for ability in ABILITIES if getattr(capabilities, ability)),
    )


def blocks_of(generation: Generation, output: PipelineOutput) -> list[dict[str, object]]:
    """Each item the model was shown, for the trace: where it came from, its message and what it costs; no text."""
    payers = {contribution.source: contribution.layer.value for contribution in output.budget.kept}
    shown = items_for_model(generation.prompt.items, generation.capabilities)
    places = message_places(shown, generation.capabilities, squash=generation.prompt.squash)
    return [
        {
            "source": item.source,
            "tag": item.tag.value if item.tag else None,
            "layer": payers.get(item.source, "reserved"),
            "role": item.role,
            "message": message,
            "tokens": estimate_tokens(item.text, generation.model_name),
        }
        for item, message in zip(shown, places, strict=True)
    ]


def call_facts(generation: Generation, output: PipelineOutput) -> dict[str, object]:
    """How a model answered, for the trace: what it was shown, what failed before, and what the call cost."""
    facts: dict[str, object] = {"failures": [list(pair) for pair in generation.failures]}
    facts["tokens_by_block"] = blocks_of(generation, output)
    facts["dropped"] = [n.facts() for n in generation.prompt.dropped if n not in generation.base.dropped]
    if generation.tool_turns:
        facts["tools"] = generation.tools_used
    if generation.ended_by is not None:
        facts["ended_by"] = generation.ended_by
    if (done := generation.completion) is not None:
        facts |= {
            "model": done.model,
            "provider": done.provider,
            "first_token_s": done.first_token_s,
            "prompt_tokens": done.usage.prompt_tokens,
            "cached_tokens": done.usage.cached_tokens,
            "completion_tokens": done.usage.completion_tokens,
            "finish_reason": done.finish_reason,
            "attempts": done.attempts,
            "timings": done.timings,
            **({"cost": done.usage.cost} if done.usage.cost is not None else {}),
        }
    return facts
