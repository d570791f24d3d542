"""Prompt → model messages: one system message on top, names, and strict alternation where a model wants it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.llm.types import Capabilities, ImagePart, Message, TextPart
from familiar_connect.support.system_line import wrap


def to_messages(items: Sequence[ContextItem], capabilities: Capabilities | None = None) -> list[Message]:
    """What is sent, in order. System items that follow each other at the top are one message."""
    return _sent(shown_items(items, capabilities), capabilities)[0]


def shown_items(items: Sequence[ContextItem], capabilities: Capabilities | None) -> Sequence[ContextItem]:
    """Those of *items* that such a model is shown, as it is shown them."""
    return bare_speech(items) if capabilities is not None and capabilities.bare_single_speaker else items


def message_places(shown: Sequence[ContextItem], capabilities: Capabilities | None) -> list[int | None]:
    """For each of the *shown* items the message it is sent in; None for one that has nothing to say."""
    return _sent(shown, capabilities)[1]


def _sent(shown: Sequence[ContextItem], capabilities: Capabilities | None) -> tuple[list[Message], list[int | None]]:
    top = top_length(shown)
    messages = [Message(role="system", content=joined(shown[:top]))] if top else []
    places: list[int | None] = [0] * top
    for item in shown[top:]:
        message = _one(item)
        says = bool(message.content.strip() or message.media)
        places.append(len(messages) if says else None)
        messages += [message] if says else []
    if capabilities is not None and capabilities.strict_roles:
        messages, moved = _alternated(messages)
        places = [None if place is None else moved[place] for place in places]
    return messages, places


def bare_speech(items: Sequence[ContextItem]) -> Sequence[ContextItem]:
    """*items* without marks and names before people's words, where only one person speaks to us.

    A very small model takes a name before the words for its own. With several speakers the names stay:
    who said what matters more than style.
    """
    speakers = {item.sender.name for item in items if is_dialogue(item) and item.sender is not None}
    if len(speakers) > 1:
        return items
    return [_bare(item) for item in items if item.tag is not ItemTag.PREAMBLE]


def _bare(item: ContextItem) -> ContextItem:
    if item.role != "user" or item.words is None or not item.text.endswith(item.words):
        return item
    return replace(item, parts=(TextPart(item.words),), name=None)


def top_length(items: Sequence[ContextItem]) -> int:
    """How many items make up the system message on top: none of the dialogue, none that stands apart."""
    below = (i for i, item in enumerate(items) if item.role != "system" or item.apart or is_dialogue(item))
    return next(below, len(items))


def joined(items: Iterable[ContextItem]) -> str:
    return "\n\n".join(text for item in items if (text := item.text.strip("\n")).strip())


def _one(item: ContextItem) -> Message:
    images = tuple(part for part in item.parts if isinstance(part, ImagePart))
    return Message(role=item.role, content=item.text, name=item.name, media=images)


def alternating(messages: Sequence[Message]) -> list[Message]:
    """*messages* with user and assistant turns strictly in turn: for templates that refuse anything else.

    A system message below the top becomes a System line of a user turn, never of the assistant's.
    """
    return _alternated(messages)[0]


def _alternated(messages: Sequence[Message]) -> tuple[list[Message], list[int]]:
    """The alternating messages, and for each of *messages* which of them holds it."""
    result: list[Message] = []
    places: list[int] = []
    for message in messages:
        role, content = message.role, message.content
        if role == "system" and result:
            role, content = "user", wrap(content)
        if result and result[-1].role == role:
            last = result[-1]
            result[-1] = Message(role=role, content=f"{last.content}\n{content}", media=last.media + message.media)
        else:
            if role == "assistant" and (not result or result[-1].role == "system"):
                result.append(Message(role="user", content=wrap("the conversation begins")))
            name = message.name if role == message.role else None
            result.append(Message(role=role, content=content, name=name, media=message.media))
        places.append(len(result) - 1)
    return result, places


def is_dialogue(item: ContextItem) -> bool:
    """Whether *item* is a real turn: the only kind that depth and trimming count."""
    return item.tag is ItemTag.DIALOGUE
