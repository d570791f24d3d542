"""A chat model that says again what it was told last: the smallest model backend there is.

Chosen with `model = "extension:parrot/loud"` under [llm.main_prose]; what stands behind the slash is its own business.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from familiar_connect.api import Capabilities, ChatModel, Extension, Message, ModelPart, PartContext


class Parrot:
    """Answers word by word."""

    def __init__(self, voice: str) -> None:
        self._is_loud = voice == "loud"
        self.capabilities = Capabilities(window=8_000, side_tasks=False)

    async def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        heard = next((each.content for each in reversed(messages) if each.role == "user"), "Hello?")
        words = heard.rpartition(": ")[2]  # a line tells who says it
        for word in (words.upper() if self._is_loud else words).split():
            yield f"{word} "

    async def chat(self, messages: list[Message]) -> Message:
        return Message(role="assistant", content="".join([piece async for piece in self.stream(messages)]))


def create_model(context: PartContext, model: str) -> ChatModel:
    return Parrot(model)


extension = Extension(name="parrot", model=ModelPart(create=create_model))
