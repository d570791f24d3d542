"""What an endpoint answered: the words of a stream, and the text of an answer that came in one piece."""

from __future__ import annotations

from collections.abc import Sequence

from familiar_connect.errors import ModelError, NoChoicesError
from familiar_connect.llm import sse
from familiar_connect.llm.reasoning_filter import ReasoningFilter, without_reasoning
from familiar_connect.llm.retry import Endpoint, error_of_object, no_completion
from familiar_connect.llm.tool_calls import ToolCallReader
from familiar_connect.llm.types import Completion, Message
from familiar_connect.support.text import without_surrogates


class WordReader:
    """The words of a stream: halves of characters joined, thoughts left out."""

    def __init__(self, reasoning: ReasoningFilter) -> None:
        self._halves = sse.SurrogateJoiner()
        self._reasoning = reasoning

    @property
    def has_stray_end(self) -> bool:
        return self._reasoning.has_stray_end

    def feed(self, delta: sse.Delta) -> str:
        held = self._reasoning.stop_holding() if delta.has_reasoning else ""
        return held + self._reasoning.feed(self._halves.feed(delta.text))

    def close(self) -> str:
        return self._reasoning.feed(self._halves.close()) + self._reasoning.close()


def read_whole_answer(completion: Completion, endpoint: Endpoint, body: bytes, messages: Sequence[Message]) -> str:
    """The text of an unstreamed answer; its facts go into *completion*."""
    answer = sse.parse_json_object(body)
    if answer is None:
        raise ModelError(no_completion(endpoint, body))
    choice = sse.first_choice(answer)
    if choice is None:
        if answer.get("error"):
            raise error_of_object(endpoint, answer["error"], messages)
        raise NoChoicesError(f"{endpoint.safe_url} answered with no choices for {completion.model!r}.")
    sse.copy_metadata(completion, answer)
    completion.finish_reason = sse.short_text(choice.get("finish_reason"), sse.MAX_REASON_CHARS)
    calls = ToolCallReader()
    calls.feed(choice.get("message"))
    completion.tool_calls = calls.calls
    return without_reasoning(without_surrogates(sse.text_of(choice.get("message"))))[: sse.MAX_REPLY_CHARS]
