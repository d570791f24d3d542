"""MeteredModel: a model whose every call is asked for first and counted afterwards.

What an endpoint does not count is estimated from the text. A call that failed before its first word costs nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

from familiar_connect.llm.completion_reports import collect_completions
from familiar_connect.llm.protocols import CallMeter, ChatModel, CompletionStream
from familiar_connect.llm.streams import PieceStream, open_stream, pieces_of
from familiar_connect.llm.types import Capabilities, Completion, Message, Sampling, ToolSpec, Usage
from familiar_connect.support.tokens import estimate_tokens, is_vocabulary_ready


class MeteredModel:
    """The model *client* of *slot*; whatever is not a call is the client's own."""

    def __init__(self, client: ChatModel, slot: str, meter: CallMeter) -> None:
        self._client = client
        self._slot = slot
        self._meter = meter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @property
    def capabilities(self) -> Capabilities:
        found = getattr(self._client, "capabilities", None)
        return found if isinstance(found, Capabilities) else Capabilities()

    @property
    def fallbacks(self) -> tuple[MeteredModel, ...]:
        return tuple(MeteredModel(each, self._slot, self._meter) for each in getattr(self._client, "fallbacks", ()))

    async def chat(self, messages: list[Message]) -> Message:
        self._meter.check_call(self._slot)
        with collect_completions() as completions:
            answer: Message | None = None
            has_failed = False
            try:
                answer = await self._client.chat(messages)
                return answer
            except Exception:
                has_failed = True
                raise
            finally:
                for completion in completions[:-1]:  # earlier tries: what they told of themselves, and nothing else
                    self._record(messages, completion.usage, completion.text, is_free=True)
                last = completions[-1] if completions else None
                text = answer.content if answer is not None else last.text if last else ""
                self._record(messages, last.usage if last else Usage(), text, is_free=has_failed)

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        """As the client's own, where it has one."""
        self._meter.check_call(self._slot)
        completion: Completion = await self._client.complete(messages, **options)  # type: ignore[attr-defined]
        self._record(messages, completion.usage, completion.text, is_free=False)
        return completion

    def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        return pieces_of(self.start(messages))

    def start(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
        max_tokens: int | None = None,
        tools: Sequence[ToolSpec] = (),
        may_call: bool = True,
        sampling: Sampling | None = None,
    ) -> CompletionStream:
        inner = open_stream(
            self._client, messages, stop=stop, max_tokens=max_tokens, tools=tools, may_call=may_call, sampling=sampling
        )
        return PieceStream(inner.completion, self._count_stream(inner, messages))

    async def _count_stream(self, inner: CompletionStream, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        self._meter.check_call(self._slot)
        has_failed = False
        try:
            async for piece in inner:
                yield piece
        except Exception:
            has_failed = True
            raise
        finally:
            await inner.aclose()
            self._record(messages, inner.completion.usage, inner.completion.text, is_free=has_failed)

    @property
    def _counts_as(self) -> str | None:
        """The model, where its own vocabulary is at hand at once."""
        model = str(getattr(self._client, "model", "") or "")
        return model if is_vocabulary_ready(model) else None

    def _record(self, messages: Sequence[Message], usage: Usage, text: str, *, is_free: bool) -> None:
        """Count one call. *is_free*: nothing is estimated for it unless it said something."""
        has_counts = usage.prompt_tokens or usage.completion_tokens
        if not has_counts and is_free and not text:
            return
        if not has_counts:
            usage = Usage(
                prompt_tokens=sum(estimate_tokens(message.content, self._counts_as) for message in messages),
                completion_tokens=estimate_tokens(text, self._counts_as),
                cost=usage.cost,
            )
        self._meter.record_call(self._slot, usage)
