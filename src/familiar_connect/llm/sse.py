"""The wire form of a chat completion: server-sent events in, plain values out, tool calls put together.

Every quantity a server decides is bounded: a line, the lines that make no sense, each field, the number and length of
tool calls, the whole answer. Bytes are cut at line ends before they are decoded, so a character split over chunks stays
whole. A tool call may come whole or its arguments letter by letter, with or without an index or an id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from familiar_connect.errors import ModelError
from familiar_connect.llm.types import Completion, ToolCall, Usage
from familiar_connect.support.text import without_surrogates

MAX_LINE_BYTES = 1 << 20
MAX_BODY_BYTES = 16 << 20
MAX_ERROR_BYTES = 64 << 10
MAX_REPLY_CHARS = 200_000
MAX_REASON_CHARS = 64
MAX_PROVIDER_CHARS = 100
MAX_TIMINGS = 64
MAX_TIMING_NAME_CHARS = 64
MAX_GARBAGE_LINES = 16
MAX_COST = 1e6
"""What no call costs: a larger number is a mistake."""
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
"""Where servers put what a model thinks to itself. Nothing in them is ever shown or kept."""
REASONING_PARTS = ("thinking", "reasoning", "redacted_thinking")
"""The same among the parts of a content in parts."""
_FIELDS = (b"event:", b"id:", b"retry:", b":")
DONE = "[DONE]"

MAX_TOOL_CALLS = 16
MAX_ARGUMENT_CHARS = 32_000
MAX_NAME_CHARS = 64
MAX_ID_CHARS = 128


class EventReader:
    """Turns chunks of bytes into the JSON objects of a stream; each `data:` line is one event."""

    def __init__(self, source: str) -> None:
        self.done = False
        """`[DONE]` was read."""
        self._source = source
        self._rest = bytearray()
        self._bytes = 0
        self._garbage = 0
        self._events = 0
        self.garbage = b""
        """The first line that was no event, if any."""

    @property
    def is_something_else(self) -> bool:
        """Whether there were lines, and none of them an event: a web page, say."""
        return self._garbage > 0 and self._events == 0

    def feed(self, chunk: bytes) -> Iterator[dict[str, object]]:
        """The events *chunk* completes."""
        self._bytes += len(chunk)
        if self._bytes > MAX_BODY_BYTES:
            raise ModelError(f"{self._source} sent more than {MAX_BODY_BYTES >> 20} MiB in one answer.")
        self._rest += chunk
        # Splitting only where a line ends keeps a long line sent byte by byte from being read again each time.
        lines = bytes(self._rest).split(b"\n") if b"\n" in chunk else []
        if lines:
            self._rest = bytearray(lines.pop())
        if len(self._rest) > MAX_LINE_BYTES:
            raise ModelError(f"{self._source} sent a line of more than 1 MiB.")
        for line in lines:
            yield from self._read(line)

    def finish(self) -> Iterator[dict[str, object]]:
        """The event a stream without a last line end leaves behind."""
        line, self._rest = bytes(self._rest), bytearray()
        yield from self._read(line)

    def _read(self, line: bytes) -> Iterator[dict[str, object]]:
        line = line.strip()
        if not line or self.done or line.startswith(_FIELDS):
            return
        if not line.startswith(b"data:"):
            self.garbage = self.garbage or line[:64]
            self._count_garbage()
            return
        text = line[len(b"data:") :].strip().decode("utf-8", "replace")
        if text == DONE:
            self.done = True
            return
        try:
            event = json.loads(text)
        except (ValueError, RecursionError):
            event = None
        if isinstance(event, dict):
            self._events += 1
            yield event
        else:
            self._count_garbage()

    def _count_garbage(self) -> None:
        self._garbage += 1
        if self._garbage > MAX_GARBAGE_LINES:
            kind = "a web page" if is_web_page(self.garbage) else "lines"
            raise ModelError(
                f"{self._source} sent {kind} that {'is not' if kind != 'lines' else 'are not'} a chat completion: "
                "check `base_url` under [llm]."
            )


class SurrogateJoiner:
    """Joins characters whose two halves (UTF-16 surrogates) come in different pieces of a stream."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of *piece* is whole; a first half at its end waits for the next piece."""
        text = self._held + piece
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return without_surrogates(text.removesuffix(self._held))

    def close(self) -> str:
        """What still waits, now that no second half can come."""
        held, self._held = self._held, ""
        return without_surrogates(held)


@dataclass(frozen=True)
class Delta:
    """What one event adds."""

    text: str = ""
    finish_reason: str | None = None
    part: object = None
    """The delta itself, for what else it may hold."""
    has_reasoning: bool = False
    """Whether the model thinks, and the server keeps its thoughts apart from its words."""


def read_delta(event: Mapping[str, object]) -> Delta:
    """The text and end mark of one streamed event; anything missing or null is empty."""
    choice = first_choice(event)
    if choice is None:
        return Delta()
    # Some servers put the whole message into the last event instead of a delta.
    part = choice.get("delta")
    if not isinstance(part, Mapping):
        part = choice.get("message")
    if not isinstance(part, Mapping) and isinstance(choice.get("text"), str):
        part = {"text": choice["text"]}  # a completion endpoint goes on with a text
    finish_reason = short_text(choice.get("finish_reason"), MAX_REASON_CHARS)
    return Delta(text_of(part), finish_reason, part, _has_reasoning(part))


def is_token(event: Mapping[str, object]) -> bool:
    """Whether *event* shows that the model writes: words, thoughts or a tool call. An empty beginning does not."""
    delta = read_delta(event)
    calls = delta.part.get("tool_calls") if isinstance(delta.part, Mapping) else None
    return bool(delta.text or delta.has_reasoning or calls or delta.finish_reason)


def _has_reasoning(part: object) -> bool:
    if not isinstance(part, Mapping):
        return False
    content = part.get("content")
    apart = isinstance(content, list) and any(_is_reasoning_part(each) for each in content)
    return apart or any(part.get(name) for name in REASONING_FIELDS)


def _is_reasoning_part(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") in REASONING_PARTS


def first_choice(answer: Mapping[str, object]) -> Mapping[str, object] | None:
    choices = answer.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    return None


def text_of(part: object) -> str:
    """The text of a message or delta: a string, a list of text parts, or nothing."""
    content = part.get("content", part.get("text")) if isinstance(part, Mapping) else None
    if isinstance(content, list):
        parts = (p for p in content if isinstance(p, Mapping) and not _is_reasoning_part(p))
        return "".join(p["text"] for p in parts if isinstance(p.get("text"), str))
    return content if isinstance(content, str) else ""


def copy_metadata(completion: Completion, answer: Mapping[str, object]) -> None:
    """Copy usage, provider and timings of *answer*, where it has them, into *completion*."""
    usage = answer.get("usage")
    if isinstance(usage, Mapping):
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
        completion.usage = Usage(
            prompt_tokens=_count(usage.get("prompt_tokens")),
            completion_tokens=_count(usage.get("completion_tokens")),
            cached_tokens=_count(cached if cached is not None else usage.get("prompt_cache_hit_tokens")),
            cost=_cost(usage.get("cost")),
        )
    completion.provider = short_text(answer.get("provider"), MAX_PROVIDER_CHARS) or completion.provider
    timings = answer.get("timings")
    if isinstance(timings, Mapping):
        countable = ((key[:MAX_TIMING_NAME_CHARS], value) for key, value in timings.items() if _is_finite(value))
        completion.timings = dict(islice(countable, MAX_TIMINGS))


def is_web_page(body: bytes) -> bool:
    """Whether *body* begins as a page for browsers does."""
    return body[:256].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))


def parse_json_object(body: bytes) -> dict[str, object] | None:
    """The JSON object in *body*, or None."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _count(value: object) -> int:
    return max(0, int(value)) if isinstance(value, int | float) and value == value and abs(value) < 1e12 else 0


def _cost(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < MAX_COST else None


def _is_finite(value: object) -> bool:
    """Whether *value* is a number one can count with: some servers divide by nothing and send NaN."""
    return isinstance(value, int | float) and abs(value) < float("inf")


def short_text(value: object, limit: int) -> str | None:
    """The first *limit* characters of *value*, or None where it is no text or an empty one."""
    return value[:limit] if isinstance(value, str) and value else None


@dataclass
class _Begun:
    """A tool call of which pieces have come."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class ToolCallReader:
    """Feed it every delta, or the one message; `calls` is what they amount to."""

    def __init__(self) -> None:
        self._begun: dict[int, _Begun] = {}
        self._last = -1

    def feed(self, part: object) -> None:
        """Take what *part*, a delta or message, says of tool calls."""
        found = part.get("tool_calls") if isinstance(part, Mapping) else None
        for piece in found if isinstance(found, list) else ():
            if isinstance(piece, Mapping):
                self._take(piece)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, in order; one without a name is none."""
        return tuple(
            ToolCall(begun.id or f"call_{index}", begun.name, begun.arguments or "{}")
            for index, begun in sorted(self._begun.items())
            if begun.name
        )

    def _take(self, piece: Mapping[str, object]) -> None:
        id_ = _text(piece.get("id"), MAX_ID_CHARS)
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        name = _text(function.get("name"), MAX_NAME_CHARS)
        begun = self._at(piece.get("index"), id_, name)
        if begun is None:
            return
        begun.id = begun.id or id_
        begun.name = begun.name or name
        more = _text(function.get("arguments"), MAX_ARGUMENT_CHARS)
        begun.arguments = (begun.arguments + more)[:MAX_ARGUMENT_CHARS]

    def _at(self, index: object, id_: str, name: str) -> _Begun | None:
        """The call a piece belongs to. Without an index, a new id or name begins the next one."""
        if isinstance(index, int) and not isinstance(index, bool) and index >= 0:
            key = index
        elif self._last < 0 or (id_ and id_ != self._begun[self._last].id) or (name and self._begun[self._last].name):
            key = self._last + 1
        else:
            key = self._last
        if key not in self._begun and len(self._begun) >= MAX_TOOL_CALLS:
            return None
        self._last = key
        return self._begun.setdefault(key, _Begun())


def _text(value: object, limit: int) -> str:
    return value[:limit] if isinstance(value, str) else ""
