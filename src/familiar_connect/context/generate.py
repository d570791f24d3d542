"""One reply being written: attempts one after another, each from the same base prompt.

For every model in turn the prompt is fitted to its window and turned into messages; the base is
never changed. The next model is tried only when one failed before its first word: what a reader
has already seen is never silently started again.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

from familiar_connect.context.fit import fit_to_model, prompt_tokens, safe_budget
from familiar_connect.context.messages import to_messages
from familiar_connect.context.processors.tidy import Tidy
from familiar_connect.context.types import Prompt
from familiar_connect.errors import ModelError
from familiar_connect.llm.protocols import ChatModel
from familiar_connect.llm.streams import open_stream
from familiar_connect.llm.types import Capabilities, Completion, Message

logger = logging.getLogger(__name__)

ASK_EXACT_ABOVE = 0.5
"""A model that can count is asked only when the estimate fills this share of its window."""


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
        self.completion: Completion | None = None
        self.failures: list[tuple[str, str]] = []
        self.text = ""

    async def pieces(self) -> AsyncIterator[str]:
        """Each piece of text to show, tidied; ends when the model or the tidying says so."""
        for position, model in enumerate(self._models):
            last = position == len(self._models) - 1
            try:
                async for piece in self._attempt(model):
                    self.text += piece
                    yield piece
                return
            except ModelError as error:
                self.failures.append((_name_of(model), str(error)))
                if self.text or last:
                    raise
                logger.warning("model failed, trying the next", extra={"model": _name_of(model)})

    async def _attempt(self, model: ChatModel) -> AsyncIterator[str]:
        capabilities = capabilities_of(model)
        scale = await _scale(model, self.base, capabilities)
        self.prompt = fit_to_model(self.base, capabilities, model=_name_of(model), scale=scale)
        self.messages = to_messages(self.prompt.items, capabilities)
        stream = open_stream(model, self.messages, max_tokens=capabilities.max_output)
        self.completion = stream.completion
        try:
            async for piece in stream:
                shown = self._tidy.feed(piece) if self._tidy else piece
                if shown:
                    yield shown
                if self._tidy and self._tidy.ended:
                    return
            if self._tidy and (rest := self._tidy.close()):
                yield rest
        finally:
            await stream.aclose()
            self.completion = stream.completion


async def _scale(model: ChatModel, prompt: Prompt, capabilities: Capabilities) -> float:
    """How much larger the prompt is to this model than estimated, where only the model can tell."""
    budget = safe_budget(capabilities)
    estimate = prompt_tokens(prompt.items)
    count: Any = getattr(model, "tokenize_count", None)
    if budget is None or count is None or estimate < budget * ASK_EXACT_ABOVE:
        return 1.0
    exact: int = await count("\n".join(item.text for item in prompt.items)[: budget * 16])
    return max(0.5, min(4.0, exact / max(1, min(estimate, budget * 4))))


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
