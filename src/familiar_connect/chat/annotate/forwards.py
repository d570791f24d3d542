"""What a message passes on: one System line for each snapshot, before its words."""

from __future__ import annotations

from familiar_connect.chat.annotate.context import AnnotationContext
from familiar_connect.chat.annotate.media import Media, media_counts, media_of
from familiar_connect.chat.message_parts import ForwardedMessage
from familiar_connect.support.system_notes import note, quote_inline, speaker_name

MOST_FORWARDS = 10
MOST_CHASED = 5
"""Forwards of forwards followed; deeper ones count as out of reach."""
NO_TEXT = "(no text)"


def forward_notes(
    message_id: str, forwarder: str, forwards: tuple[ForwardedMessage, ...], reading: AnnotationContext
) -> tuple[list[str], Media]:
    """The lines and the media, which belong to the forwarding message."""
    lines: list[str] = []
    media = Media()
    for snapshot in forwards[:MOST_FORWARDS]:
        original = _original(snapshot)
        if original is None:
            lines.append(note(f"{forwarder} forwards a message whose original cannot be reached"))
            continue
        if any(reading.is_hidden(each.author) for each in _chain(snapshot)):
            continue
        found = media_of(original, reading, source=message_id, origin="forwarded")
        lines.append(_forward_line(forwarder, original, found, reading))
        media += found
    if len(forwards) > MOST_FORWARDS:
        lines.append(note(f"{forwarder} forwards {len(forwards) - MOST_FORWARDS} more messages"))
    return lines, media


def _forward_line(forwarder: str, original: ForwardedMessage, media: Media, reading: AnnotationContext) -> str:
    by = ""
    if original.author is not None:
        by = f" by {reading.people.identity(original.author, is_self=original.is_self).name}"
    where = f" from #{speaker_name(original.channel_name)}" if original.channel_name else ""
    text = reading.readable(original.text)
    shown = media_counts(media)
    said = quote_inline(text) if text.strip() else NO_TEXT
    return note(f"{forwarder} forwards a message{by}{where}: {said}" + (f" (with {shown})" if shown else ""))


def _chain(snapshot: ForwardedMessage) -> list[ForwardedMessage]:
    chain = [snapshot]
    while chain[-1].forwards and len(chain) <= MOST_CHASED:
        chain.append(chain[-1].forwards[0])
    return chain


def _original(snapshot: ForwardedMessage) -> ForwardedMessage | None:
    """What was first said; None when it cannot be reached."""
    last = _chain(snapshot)[-1]
    return last if last.is_reachable and not last.forwards else None
