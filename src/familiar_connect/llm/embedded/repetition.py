"""A reply that is not one of the last replies over again.

Very small models fall into saying the same sentence each turn. While a new reply begins like one of the last, it is
held back; when it has become the same, it is thrown away and asked for again, more daringly each time.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import fields

from familiar_connect.llm.protocols import CompletionStream
from familiar_connect.llm.streams import PieceStream
from familiar_connect.llm.types import Message

LAST_REPLIES = 4
"""How many replies back nothing is said again."""
MAX_ATTEMPTS = 3
SHORT_WORDS = 2
"""Replies of so few words may come again, but not twice in a row."""

_BEFORE_WORDS = re.compile(r"^(?:\[[^\]\n]{1,40}\]\s*)?(?:[^\n:]{1,40}:\s+(?=\S))?")
"""A time stamp and a name before the words of a reply, as a prompt may have them."""


def last_replies(messages: Sequence[Message]) -> frozenset[str]:
    """The words of the last few replies in a prompt, as `reply_key` has them."""
    replies = [message.content for message in messages if message.role == "assistant" and message.content.strip()]
    found = set()
    for back, reply in enumerate(reversed(replies[-LAST_REPLIES:])):
        if back == 0 or len(reply.split()) > SHORT_WORDS:
            found |= {reply_key(reply), reply_key(_BEFORE_WORDS.sub("", reply, count=1))}
    return frozenset(found - {""})


def reply_key(text: str) -> str:
    """What two replies have in common that say the same."""
    return " ".join(text.casefold().split()).strip(" .!?…*\"'")


def unlike(
    replies: frozenset[str], first: CompletionStream, start_again: Callable[[int], CompletionStream]
) -> CompletionStream:
    """The reply of *first*, or where it says one of *replies* again, of `start_again(1)` and so on."""
    return PieceStream(first.completion, _pieces(replies, first, start_again))


async def _pieces(
    replies: frozenset[str], first: CompletionStream, start_again: Callable[[int], CompletionStream]
) -> AsyncGenerator[str, None]:
    stream = first
    for attempt in range(1, MAX_ATTEMPTS + 1):
        held = ""
        said = False
        async with aclosing(stream):
            async for piece in stream:
                if said:
                    yield piece
                    continue
                held += piece
                if not _may_become(held, replies):
                    said = True
                    yield held
        _copy(stream, first)
        if said:
            return
        if reply_key(held) not in replies or attempt == MAX_ATTEMPTS:
            yield held
            return
        stream = start_again(attempt)


def _may_become(held: str, replies: frozenset[str]) -> bool:
    """Whether a reply that began so may still turn out to be one of *replies*."""
    key = reply_key(held)
    return any(reply.startswith(key) for reply in replies)


def _copy(stream: CompletionStream, first: CompletionStream) -> None:
    """What the call that counted told, where the caller looks for it."""
    if stream is not first:
        for each in fields(first.completion):
            setattr(first.completion, each.name, getattr(stream.completion, each.name))
