"""Fetches what messages only refer to, before they are simplified: the message answered, and who reacted.

First from the messages at hand, then from the surroundings, a bounded number of times and never for
long. What cannot be had is left as it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.chat.message_parts import Reaction, ReferencedMessage
from familiar_connect.chat.place import Surroundings
from familiar_connect.chat.types import InboundMessage
from familiar_connect.identity import Author

logger = logging.getLogger(__name__)

MOST_REACTION_FETCHES = 20
MOST_REPLY_FETCHES = 20
REACTORS_ASKED = 5
TIME_LIMIT_S = 2.0
MOST_REACTION_TYPES = 4

Reactors = dict[tuple[str, str], tuple[Author, ...]]
"""Who reacted, by message and emoji."""


async def with_references(
    messages: Sequence[InboundMessage], surroundings: Surroundings, *, reactions: bool = True
) -> list[InboundMessage]:
    """*messages* with their references filled in as far as possible."""
    found = _from_hand(messages)
    async with asyncio.TaskGroup() as group:
        replies = group.create_task(_replies(found, surroundings), name="replies")
        reactors = group.create_task(_reactors(found if reactions else (), surroundings), name="reactors")
    targets, users = replies.result(), reactors.result()
    return [_filled(message, targets, users) for message in found]


def _from_hand(messages: Sequence[InboundMessage]) -> list[InboundMessage]:
    by_id = {message.message_id: message for message in messages if message.message_id}
    result = []
    for message in messages:
        target = message.reply_to
        if target is not None and target.author is None and (known := by_id.get(target.message_id)) is not None:
            message = replace(message, reply_to=reference_to(known))
        result.append(message)
    return result


def reference_to(message: InboundMessage) -> ReferencedMessage:
    """*message* as something another one answers."""
    return ReferencedMessage(
        message_id=message.message_id or "",
        author=message.author,
        text=message.text,
        is_self=message.is_self,
        webhook=message.webhook,
        attachments=message.attachments,
        embeds=message.embeds,
        stickers=message.stickers,
    )


async def _replies(messages: Sequence[InboundMessage], surroundings: Surroundings) -> dict[str, ReferencedMessage]:
    wanted: dict[str, None] = {}
    for message in reversed(messages):
        if message.reply_to is not None and message.reply_to.author is None:
            wanted.setdefault(message.reply_to.message_id)
    found: dict[str, ReferencedMessage] = {}

    async def fetch(message_id: str) -> None:
        try:
            async with asyncio.timeout(TIME_LIMIT_S):
                known = await surroundings.message(message_id)
        except Exception as error:  # isolation: a quote is never worth an answer
            logger.warning("answered message not found", extra={"error": type(error).__name__})
            return
        if known is not None:
            found[message_id] = replace(reference_to(known), message_id=message_id)

    async with asyncio.TaskGroup() as group:
        for message_id in list(wanted)[:MOST_REPLY_FETCHES]:
            group.create_task(fetch(message_id), name="reply")
    return found


async def _reactors(messages: Sequence[InboundMessage], surroundings: Surroundings) -> Reactors:
    wanted = [
        (message.message_id, reaction.label)
        for message in reversed(messages)
        if message.message_id
        for reaction in sorted(message.reactions, key=lambda each: -each.count)[:MOST_REACTION_TYPES]
        if reaction.users is None
    ]
    found: Reactors = {}

    async def fetch(message_id: str, label: str) -> None:
        try:
            async with asyncio.timeout(TIME_LIMIT_S):
                people = await surroundings.reactors(message_id, label, REACTORS_ASKED)
        except Exception as error:  # isolation: then only the count is shown
            logger.warning("reactions not looked up", extra={"error": type(error).__name__})
            return
        if people is not None:
            found[message_id, label] = tuple(people)

    async with asyncio.TaskGroup() as group:
        for message_id, label in wanted[:MOST_REACTION_FETCHES]:
            group.create_task(fetch(message_id, label), name="reactors")
    return found


def _filled(message: InboundMessage, targets: dict[str, ReferencedMessage], users: Reactors) -> InboundMessage:
    target = message.reply_to
    if target is not None and target.author is None and target.message_id in targets:
        message = replace(message, reply_to=targets[target.message_id])
    if any(reaction.users is None for reaction in message.reactions):
        message = replace(
            message,
            reactions=tuple(_with_reactors(each, message.message_id or "", users) for each in message.reactions),
        )
    return message


def _with_reactors(reaction: Reaction, message_id: str, users: Reactors) -> Reaction:
    known = users.get((message_id, reaction.label))
    return reaction if reaction.users is not None or known is None else replace(reaction, users=known)
