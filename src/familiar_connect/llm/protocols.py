"""ChatModel: the seam between a reply and whatever writes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol, runtime_checkable

from familiar_connect.llm.types import Capabilities, Completion, Message


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers a list of messages, whole or in pieces."""

    @property
    def capabilities(self) -> Capabilities: ...

    async def chat(self, messages: list[Message]) -> Message: ...
    def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]: ...


@runtime_checkable
class CompletionStream(Protocol):
    """Pieces of text as they come, and beside them what the call told so far.

    Iterate it once; `aclose()` ends the call between two tokens. `completion` is complete when the
    iteration has ended.
    """

    completion: Completion

    def __aiter__(self) -> AsyncIterator[str]: ...
    async def aclose(self) -> None: ...
