"""ToolCallReader: puts tool calls together from the pieces they are streamed in.

Servers differ: a call may come whole or its arguments letter by letter, with or without an index or an
id. Whatever they send, the number of calls and the length of each are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from familiar_connect.llm.types import ToolCall

MAX_CALLS = 16
MAX_ARGUMENT_CHARS = 32_000
MAX_NAME_CHARS = 64
MAX_ID_CHARS = 128


@dataclass
class _Begun:
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
        if key not in self._begun and len(self._begun) >= MAX_CALLS:
            return None
        self._last = key
        return self._begun.setdefault(key, _Begun())


def _text(value: object, limit: int) -> str:
    return value[:limit] if isinstance(value, str) else ""
