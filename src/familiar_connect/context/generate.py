"""One reply being written: attempts one after another, each from the same base prompt.

For every model in turn the prompt's media are resolved, it is fitted to the window, gets its first words
and is turned into messages; the base is never changed. The next model is tried only when one failed before
its first word: what a reader has already seen is never silently started again.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from familiar_connect.chat.types import Turn
from familiar_connect.context.generation.capabilities import tools_cost
from familiar_connect.context.generation.media import resolve_media
from familiar_connect.context.generation.media_cache import MediaCache
from familiar_connect.context.generation.prefill import with_prefill
from familiar_connect.context.generation.tool_loop import ToolLoop
from familiar_connect.context.messages import to_messages
from familiar_connect.context.processors.output_filter import OutputFilter
from familiar_connect.context.protocols import ToolSet
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.context.window_fit import budget_when_counted, drop_oldest, fit_to_model, prompt_tokens
from familiar_connect.errors import ModelError, PromptTooLongError
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.types import (
    Capabilities,
    Completion,
    ImagePart,
    Message,
    TextPart,
    VideoPart,
    capabilities_of,
)
from familiar_connect.support.system_notes import note
from familiar_connect.support.text import last_sentence_end
from familiar_connect.support.tokens import MESSAGE_OVERHEAD

logger = logging.getLogger(__name__)

Count = Callable[[str], Awaitable[int]]

COUNT_ROUNDS = 3
"""A message is not equally dense throughout: what is left of a shortened one is counted again, so often at most."""

PRESET_SOURCE = "preset:"
"""How the sources begin of what a preset brings."""

EMPTY_RETRIES = 1
"""How often a model that answered with nothing is asked again."""
EXCHANGES_DROPPED = 2
"""Oldest exchanges left out for each such time, where the model ran out of room before its first word."""
OWN_WORDS = "Your last answer held no words of your own. Answer now, as yourself and in your own words."

CUT_SHORT = "…"
"""Ends a reply that the model had to leave unfinished, so that nobody takes it for whole."""


class Generation:
    """The pieces of a reply as they come, and afterwards all that is known of how it was made."""

    def __init__(
        self,
        prompt: Prompt,
        models: Sequence[ChatModel],
        *,
        tidy: OutputFilter | None = None,
        media: MediaCache | None = None,
        tools: ToolSet | None = None,
        turn: Turn | None = None,
    ) -> None:
        if not models:
            raise ModelError("no model is configured for the reply: set [llm.default].model or run `familiar connect`")
        self._models = models
        self._tidy = tidy
        self._media = media
        self._tools = tools
        self._turn = turn
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
        self.failures: list[tuple[str, str]] = []
        self.text = ""

    @property
    def model_name(self) -> str:
        """The model whose tokens the prompt was measured in: the first that is asked."""
        return _name_of(self._models[0])

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
            try:
                for retry in range(EMPTY_RETRIES + 1):
                    async with aclosing(self._attempt(model, retry)) as attempt:
                        async for piece in attempt:
                            self.text += piece
                            yield piece
                    if not self._is_empty:
                        return
                    logger.warning("a model answered with nothing", extra={"model": _name_of(model), "retry": retry})
                return
            except Exception as error:  # isolation: whatever ails one model, the next may still answer
                self.failures.append((_name_of(model), str(error) or type(error).__name__))
                if self.text or last:
                    if isinstance(error, PromptTooLongError) and (words := advice_on_large_preset(self.prompt, model)):
                        raise PromptTooLongError(words, status=error.status) from error
                    raise
                logger.warning(
                    "model failed, trying the next", extra={"model": _name_of(model), "error": type(error).__name__}
                )

    @property
    def _is_empty(self) -> bool:
        """Whether a model that was to speak said nothing, and may say something when it is asked again."""
        done = self.completion
        is_free = self._turn is not None and self._turn.flags.may_stay_silent
        if is_free or self.tool_turns or done is None or done.finish_reason == "content_filter":
            return False
        return not self.text.strip()

    async def _attempt(self, model: ChatModel, retry: int = 0) -> AsyncGenerator[str, None]:
        tidy = self._tidy.fresh() if self._tidy else None
        self.ended_by = None
        sent, tools = await self._prepared(model, retry)
        rounds = ToolLoop(model, sent, tools, self.base.sampling)
        self.tool_turns = rounds.turns
        try:
            async with aclosing(rounds.pieces()) as pieces:
                async for piece in pieces:
                    self.completion = rounds.completion
                    shown_piece = tidy.feed(piece) if tidy else piece
                    if shown_piece:
                        yield shown_piece
                    if tidy and tidy.ended:
                        self.ended_by = tidy.end_reason
                        return
            if tidy and (rest := tidy.close()):
                yield rest
            is_cut = rounds.completion is not None and rounds.completion.finish_reason == "length"
            if is_cut and self.text.strip():
                yield CUT_SHORT
        finally:
            self.completion = rounds.completion

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
        fitted = await _fit(shown, model, _beside_tools(capabilities, tools))
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


def generate(
    prompt: Prompt,
    models: Sequence[ChatModel],
    *,
    tidy: OutputFilter | None = None,
    media: MediaCache | None = None,
    tools: ToolSet | None = None,
    turn: Turn | None = None,
) -> Generation:
    """A reply to *prompt* by the first of *models* that can give one; iterate its `pieces()`."""
    return Generation(prompt, models, tidy=tidy, media=media, tools=tools, turn=turn)


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
        f"The preset in force brings about {brought:,} tokens, too many for {_name_of(model)!r}, {held}: switch parts "
        "of it off (`familiar preset toggle`), leave it (`familiar preset off`) or take a model with more room "
        "(`familiar connect`)."
    )


def _beside_tools(capabilities: Capabilities, tools: ToolSet | None) -> Capabilities:
    """*capabilities* with the window that the description of *tools* leaves."""
    if tools is None or capabilities.window is None:
        return capabilities
    return replace(capabilities, window=max(1, capabilities.window - tools_cost(tools.specs)))


async def _fit(base: Prompt, model: ChatModel, capabilities: Capabilities) -> Prompt:
    """*base* within the window of *model*, by its own count where it can count."""
    count: Count | None = getattr(model, "tokenize_count", None)
    if count is None:
        return fit_to_model(base, capabilities, model=_name_of(model))
    prompt = base
    try:
        for _ in range(COUNT_ROUNDS):
            counted = await _count_items(prompt, count, budget_when_counted(capabilities))
            fitted = prompt if counted is None else fit_to_model(prompt, capabilities, counted=counted)
            if fitted is prompt:
                break
            prompt = fitted
    except ModelError as error:  # the call itself will tell, or be tried again
        logger.debug("counting the prompt failed", extra={"error": type(error).__name__})
        return fit_to_model(base, capabilities, model=_name_of(model))
    return prompt


async def _count_items(prompt: Prompt, count: Count, room: int | None) -> list[int] | None:
    """Tokens of each item as the model counts them; None when together they are surely within *room*.

    No text has more tokens than bytes, so a short prompt need not be counted at all.
    """
    texts = [item.text for item in prompt.items]
    around = MESSAGE_OVERHEAD * len(texts)
    if room is None or sum(len(text.encode("utf-8", "replace")) for text in texts) + around <= room:
        return None
    if await count("\n".join(texts)) + around <= room:
        return None
    return [await count(text) + MESSAGE_OVERHEAD for text in texts]


def models_to_try(model: ChatModel | None) -> tuple[ChatModel, ...]:
    """*model* and the ones to fall back on, in order."""
    if model is None:
        return ()
    return (model, *getattr(model, "fallbacks", ()))


def _name_of(model: object) -> str:
    return str(getattr(model, "model", type(model).__name__))
