"""ChatModel and SideModel: what a model client has to offer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol, runtime_checkable

from familiar_connect.llm.types import Capabilities, Completion, CompletionRequest, Message, Usage


@runtime_checkable
class SideModel(Protocol):
    """A model that is asked for one whole answer. One with `capabilities` may say that it is too weak for that."""

    async def chat(self, messages: list[Message]) -> Message: ...


@runtime_checkable
class ChatModel(SideModel, Protocol):
    """A model that answers a list of messages, whole or in pieces."""

    @property
    def capabilities(self) -> Capabilities: ...

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


@runtime_checkable
class CompletingModel(ChatModel, Protocol):
    """A model whose stream tells of the call too, and that heeds stop strings, a longest answer and tools."""

    def start(self, request: CompletionRequest) -> CompletionStream: ...


class CallMeter(Protocol):
    """Asked before every call of a slot's model, and told afterwards what it used."""

    def check_call(self, slot: str) -> None:
        """Raises a `ModelError` where no call may be made now."""

    def record_call(self, slot: str, usage: Usage) -> None: ...
