"""Merges consecutive messages by one author into one entry.

An entry joins the one before it only if author, name and debug kind are the same, neither carries media
and less than an hour lies between them: a question after hours of silence stands for itself, also where the
one before it got no answer. What each message was is kept beside the joined text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, timedelta, tzinfo

from familiar_connect.chat.types import SimplifiedMessage

LONGEST_PAUSE = timedelta(hours=1)
"""What is written after a longer one is another matter."""


def merge(
    entries: Iterable[SimplifiedMessage], *, time_awareness: bool = False, zone: tzinfo = UTC
) -> tuple[SimplifiedMessage, ...]:
    """*entries* in order, runs joined greedily."""
    merged: list[list[SimplifiedMessage]] = []
    for entry in entries:
        if merged and _joins(merged[-1][-1], entry, zone if time_awareness else None):
            merged[-1].append(entry)
        else:
            merged.append([entry])
    return tuple(_joined(run) for run in merged)


def _joins(previous: SimplifiedMessage, entry: SimplifiedMessage, zone: tzinfo | None) -> bool:
    return (
        previous.author_key == entry.author_key
        and previous.author_name == entry.author_name
        and previous.is_debug == entry.is_debug
        and not previous.has_media
        and not entry.has_media
        and bool(previous.content and previous.content.strip())
        and bool(entry.content and entry.content.strip())
        and not _is_after_pause(previous, entry)
        and (zone is None or _same_day(previous, entry, zone))
    )


def _is_after_pause(previous: SimplifiedMessage, entry: SimplifiedMessage) -> bool:
    if previous.created_at is None or entry.created_at is None:
        return False
    return entry.created_at - previous.created_at >= LONGEST_PAUSE


def _same_day(previous: SimplifiedMessage, entry: SimplifiedMessage, zone: tzinfo) -> bool:
    if previous.created_at is None or entry.created_at is None:
        return True
    return previous.created_at.astimezone(zone).date() == entry.created_at.astimezone(zone).date()


def _joined(run: list[SimplifiedMessage]) -> SimplifiedMessage:
    """One entry of *run*: the first one's id and time, everybody's words."""
    first = run[0]
    if len(run) == 1:
        return first
    ids = tuple(id_ for entry in run for id_ in entry.combined_message_ids or (entry.id,))
    contents = tuple(text for entry in run for text in entry.individual_contents or (entry.content or "",))
    times = tuple(when for entry in run for when in entry.combined_created_ats or (entry.created_at,))
    return replace(
        first,
        content="\n".join(contents),
        combined_message_ids=ids,
        individual_contents=contents,
        combined_created_ats=times,
        image_attachments=tuple(image for entry in run for image in entry.image_attachments),
        history_id=max((entry.history_id for entry in run if entry.history_id is not None), default=None),
        in_exchange=any(entry.in_exchange for entry in run),
    )
