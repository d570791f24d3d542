"""One reply being written: attempts one after another, each from the same base prompt.

For every model in turn the prompt is fitted to its window and turned into messages; the base is
never changed. The next model is tried only when one failed before its first word: what a reader
has already seen is never silently started again.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from familiar_connect.context.budget import MESSAGE_OVERHEAD
from familiar_connect.context.fit import counted_budget, fit_to_model, prompt_tokens
from familiar_connect.context.messages import to_messages
from familiar_connect.context.processors.tidy import Tidy
from familiar_connect.context.types import Prompt
from familiar_connect.errors import ModelError, PromptTooLongError
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.streams import open_stream
from familiar_connect.llm.types import Capabilities, Completion, Message

logger = logging.getLogger(__name__)

Count = Callable[[str], Awaitable[int]]

COUNT_ROUNDS = 3
"""A message is not equally dense throughout: what is left of a shortened one is counted again, so often at most."""

PRESET_SOURCE = "preset:"
"""How the sources begin of what a preset brings."""

CUT_SHORT = "…"
"""Ends a reply that the model had to leave unfinished, so that nobody takes it for whole."""


class Generation:
    """The pieces of a reply as they come, and afterwards all that is known of how it was made."""

    def __init__(self, prompt: Prompt, models: Sequence[ChatModel], *, tidy: Tidy | None = None) -> None:
        if not models:
            raise ModelError("no model is configured for the reply: set [llm.default].model or run `familiar connect`")
        self._models = models
        self._tidy = tidy
        self.base = prompt
        self.prompt = prompt
        self.messages: list[Message] = []
        self.capabilities = Capabilities()
        """What the model that was asked last says of itself."""
        self.completion: Completion | None = None
        self.failures: list[tuple[str, str]] = []
        self.text = ""

    async def pieces(self) -> AsyncGenerator[str, None]:
        """Each piece of text to show, tidied; ends when the model or the tidying says so."""
        for position, model in enumerate(self._models):
            last = position == len(self._models) - 1
            try:
                async with aclosing(self._attempt(model)) as attempt:
                    async for piece in attempt:
                        self.text += piece
                        yield piece
                return
            except Exception as error:  # isolation: whatever ails one model, the next may still answer
                self.failures.append((_name_of(model), str(error) or type(error).__name__))
                if self.text or last:
                    if isinstance(error, PromptTooLongError) and (words := too_much_preset(self.prompt, model)):
                        raise PromptTooLongError(words, status=error.status) from error
                    raise
                logger.warning(
                    "model failed, trying the next", extra={"model": _name_of(model), "error": type(error).__name__}
                )

    async def _attempt(self, model: ChatModel) -> AsyncGenerator[str, None]:
        tidy = self._tidy.fresh() if self._tidy else None
        capabilities = self.capabilities = capabilities_of(model)
        self.prompt = await _fitted(self.base, model, capabilities)
        self.messages = to_messages(self.prompt.items, capabilities, squash=self.prompt.squash)
        stream = open_stream(model, self.messages)
        self.completion = stream.completion
        try:
            async for piece in stream:
                shown = tidy.feed(piece) if tidy else piece
                if shown:
                    yield shown
                if tidy and tidy.ended:
                    return
            if tidy and (rest := tidy.close()):
                yield rest
            if stream.completion.finish_reason == "length":
                yield CUT_SHORT
        finally:
            await stream.aclose()
            self.completion = stream.completion


def generate(prompt: Prompt, models: Sequence[ChatModel], *, tidy: Tidy | None = None) -> Generation:
    """A reply to *prompt* by the first of *models* that can give one; iterate its `pieces()`."""
    return Generation(prompt, models, tidy=tidy)


def too_much_preset(prompt: Prompt, model: ChatModel) -> str | None:
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


async def _fitted(base: Prompt, model: ChatModel, capabilities: Capabilities) -> Prompt:
    """*base* within the window of *model*, by its own count where it can count."""
    count: Count | None = getattr(model, "tokenize_count", None)
    if count is None:
        return fit_to_model(base, capabilities, model=_name_of(model))
    prompt = base
    try:
        for _ in range(COUNT_ROUNDS):
            counted = await _counted(prompt, count, counted_budget(capabilities))
            fitted = prompt if counted is None else fit_to_model(prompt, capabilities, counted=counted)
            if fitted is prompt:
                break
            prompt = fitted
    except ModelError as error:  # the call itself will tell, or be tried again
        logger.debug("counting the prompt failed", extra={"error": type(error).__name__})
        return fit_to_model(base, capabilities, model=_name_of(model))
    return prompt


async def _counted(prompt: Prompt, count: Count, room: int | None) -> list[int] | None:
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


def capabilities_of(model: object) -> Capabilities:
    """What *model* says of itself; a bare client says nothing and is trusted with everything."""
    found = getattr(model, "capabilities", None)
    return found if isinstance(found, Capabilities) else Capabilities()


def attempts_of(model: ChatModel | None) -> tuple[ChatModel, ...]:
    """*model* and the ones to fall back on, in order."""
    if model is None:
        return ()
    return (model, *getattr(model, "fallbacks", ()))


def _name_of(model: object) -> str:
    return str(getattr(model, "model", type(model).__name__))
