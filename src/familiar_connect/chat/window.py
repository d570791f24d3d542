"""The dialogue window: which messages of a channel are shown, and where the shown part begins.

It moves in steps, not by one turn each time, and its start follows from the absolute number of
turns ever stored, so that many prompts in a row begin at the same turn. People who are not to be
heard are left out, and nothing from before a reset is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from familiar_connect.chat.message_parts import ForwardedMessage, Reaction, WebhookIdentity
from familiar_connect.chat.scene import WindowStart
from familiar_connect.chat.types import InboundMessage
from familiar_connect.identity import Author, Privacy

LEAST_FETCHED, MOST_FETCHED = 20, 500


def window_start(stored: int, size: int, step: int = 0) -> int:
    """Ordinal (from 0) of the first turn shown, of *stored* turns before the exchange.

    With a step the window grows from *size* towards *size* + *step* turns and is then cut back at
    once; without one it is always the last *size*.
    """
    beyond = max(0, stored - size)
    return beyond if step <= 0 else step * (beyond // step)


def grow_window(turns: int, size: int, step: int) -> tuple[int, int]:
    """Size and step of a window that has room for *turns*, which are never fewer than *size*.

    A window that moves in steps holds two thirds of them after a step and all of them before the next.
    """
    if turns <= size + step:
        return size, step
    return (turns, 0) if step <= 0 else (turns - turns // 3, turns // 3)


def fetch_limit(wanted: int) -> int:
    """How many messages are looked at, within what is sensible."""
    return max(LEAST_FETCHED, min(MOST_FETCHED, wanted))


@dataclass(frozen=True, kw_only=True)
class WindowMessage:
    """A message inside the window, with its place in it."""

    message: InboundMessage
    in_exchange: bool = False
    ordinal: int | None = None


def with_exchange(recent: Sequence[InboundMessage], said: Sequence[InboundMessage]) -> list[WindowMessage]:
    """*recent* up to the exchange, which stands last; what of it was not seen is added.

    Messages newer than the exchange wait for their own turn. Our own words among them were said to
    someone earlier, so they stand before it.
    """
    places = _places(recent, said)
    newest = max((message.history_id or 0 for message in said), default=0)
    first = min(places.values(), default=len(recent))
    last = max(places.values(), default=len(recent))
    before = [
        WindowMessage(message=message) for message in recent[:first] if not newest or (message.history_id or 0) < newest
    ]
    taken = set(places.values())
    among = [message for at, message in enumerate(recent[first:], start=first) if at not in taken]
    ours = [WindowMessage(message=message) for message in among if message.is_self]
    others = [at for at in range(first, last) if at not in taken and not recent[at].is_self]
    shown = {at: WindowMessage(message=recent[at]) for at in others}
    for number, message in enumerate(said):
        at = places.get(number)
        if at is not None:
            shown[at] = WindowMessage(message=_join(recent[at], message), in_exchange=True)
    missing = [WindowMessage(message=message, in_exchange=True) for n, message in enumerate(said) if n not in places]
    return [*before, *ours, *(shown[at] for at in sorted(shown)), *missing]


def _places(recent: Sequence[InboundMessage], said: Sequence[InboundMessage]) -> dict[int, int]:
    """Where each message of the exchange stands among *recent*: found by row, by id, else by who said it when."""
    places: dict[int, int] = {}
    taken: set[int] = set()
    start = len(recent)
    for number in range(len(said) - 1, -1, -1):
        at = next((i for i in range(start - 1, -1, -1) if i not in taken and _same(recent[i], said[number])), None)
        if at is not None:
            places[number] = at
            taken.add(at)
    return places


def _same(one: InboundMessage, other: InboundMessage) -> bool:
    if one.history_id is not None and other.history_id is not None:
        return one.history_id == other.history_id
    if one.message_id is not None and other.message_id is not None:
        return one.message_id == other.message_id
    return (
        one.author.canonical_key == other.author.canonical_key
        and one.text == other.text
        and one.timestamp == other.timestamp
    )


def _join(seen: InboundMessage, said: InboundMessage) -> InboundMessage:
    """The message as the surroundings show it now, with its row in the history."""
    return seen if seen.history_id is not None else replace(seen, history_id=said.history_id)


def only_mode(seen: Sequence[WindowMessage], mode: str | None) -> list[WindowMessage]:
    """Without what was stored under another mode."""
    if mode is None:
        return list(seen)
    return [each for each in seen if each.in_exchange or each.message.mode is None or each.message.mode == mode]


def cut_to_window(
    seen: Sequence[WindowMessage], start: WindowStart | None, *, size: int, step: int = 0
) -> list[WindowMessage]:
    """*seen* from the window's start on, or from the oldest message looked at; stored ones know their place."""
    rows = [each.message.history_id for each in seen if each.in_exchange and each.message.history_id is not None]
    first = min(rows, default=None)
    others = (each.message.history_id for each in seen if not each.in_exchange)
    before = sum(1 for row in others if first is None or row is None or row < first)
    stored = start.stored if start is not None else before
    counted = [_place(each, stored - before + at) for at, each in enumerate(seen)]
    if start is None:
        return counted[min(window_start(before, size, step), before) :]
    return counted[_index_of(counted, start) :]


def _place(each: WindowMessage, ordinal: int) -> WindowMessage:
    if each.message.history_id is None or ordinal < 0:
        return each
    return WindowMessage(message=each.message, in_exchange=each.in_exchange, ordinal=ordinal)


def _index_of(seen: Sequence[WindowMessage], start: WindowStart) -> int:
    for at, each in enumerate(seen):
        row, id_ = each.message.history_id, each.message.message_id
        if start.history_id is not None and row is not None and row >= start.history_id:
            return at
        if start.message_id is not None and id_ == start.message_id:
            return at
    return 0


def since_reset(seen: Sequence[WindowMessage]) -> list[WindowMessage]:
    """What counts since the newest mark of ours: after a reset, from a compact refresh on."""
    for at in range(len(seen) - 1, -1, -1):
        message = seen[at].message
        kinds = {embed.notice for embed in message.embeds} if message.is_self else set()
        if "reset" in kinds:
            return list(seen[at + 1 :])
        if "compact_refresh" in kinds:
            return list(seen[at:])
    return list(seen)


def reset_at(seen: Sequence[WindowMessage]) -> datetime | None:
    """When the newest reset among *seen* was."""
    marks = (each.message for each in reversed(seen) if each.message.is_self)
    return next((mark.timestamp for mark in marks if any(e.notice == "reset" for e in mark.embeds)), None)


def without_private_authors(seen: Sequence[WindowMessage], privacy: Privacy) -> list[WindowMessage]:
    """Without anything said by, or relayed for, people who are not to be heard."""
    return [each for each in seen if not _is_private(each.message, privacy)]


def _is_private(message: InboundMessage, privacy: Privacy) -> bool:
    return _is_quoted(message.author, message.is_self, message.webhook, privacy)


def without_private(message: InboundMessage, privacy: Privacy) -> InboundMessage:
    """*message* without quotes, reactions and forwards of people who are not to be heard: fit to be stored."""
    target = message.reply_to
    if target is not None and _is_quoted(target.author, target.is_self, target.webhook, privacy):
        target = None
    reactions = tuple(_react(each, privacy) for each in message.reactions)
    return replace(
        message,
        reply_to=target,
        reactions=tuple(each for each in reactions if each.count > 0),
        forwards=tuple(each for each in message.forwards if not _is_forwarded(each, privacy)),
        mentions=tuple(each for each in message.mentions if not privacy.is_full(each)),
    )


def _is_quoted(author: Author | None, is_self: bool, webhook: WebhookIdentity | None, privacy: Privacy) -> bool:
    behind = (webhook.imitates, webhook.bridge_user) if webhook is not None else ()
    people = [*behind, None if is_self else author]
    return any(person is not None and privacy.is_full(person) for person in people)


def _react(reaction: Reaction, privacy: Privacy) -> Reaction:
    if not reaction.users or not any(map(privacy.is_full, reaction.users)):
        return reaction
    users = tuple(user for user in reaction.users if not privacy.is_full(user))
    return replace(reaction, users=users, count=reaction.count - (len(reaction.users) - len(users)))


def _is_forwarded(snapshot: ForwardedMessage, privacy: Privacy) -> bool:
    """Whether anybody who passed it on, or first said it, is not to be heard."""
    waiting = [snapshot]
    while waiting:
        each = waiting.pop()
        if each.author is not None and not each.is_self and privacy.is_full(each.author):
            return True
        waiting += each.forwards
    return False
