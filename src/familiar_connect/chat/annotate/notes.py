"""The System lines around what a message says: notices, previews, answers, forwards, reactions, reminders.

Polls: how votes and results change one, and the line it stands as in the dialogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from familiar_connect.chat.annotate.context import AnnotationContext
from familiar_connect.chat.annotate.media import NO_MEDIA, Media, image_type_of, media_counts, media_of, with_media_ids
from familiar_connect.chat.message_parts import (
    Embed,
    ForwardedMessage,
    ImageAttachment,
    Poll,
    PollAnswer,
    Reaction,
    ReferencedMessage,
    WebhookIdentity,
)
from familiar_connect.chat.types import Reminder, SimplifiedMessage
from familiar_connect.identity import Author
from familiar_connect.support.system_notes import note, quote_inline, speaker_name, without_fake_notes
from familiar_connect.support.text import truncate_chars

SYSTEM = "System"
SYSTEM_EMBED_ID = "system-embed"
"""Author of every notice of ours, so that notices merge with each other."""
REMINDER_ID = "system-reminder"
NO_TEXT = "(no text)"
MOST_EMBEDS = 10
MOST_FIELDS = 25
DESCRIPTION_CHARS = 500
FIELD_CHARS = 1_000
NOTICE_CHARS = 4_000
MOST_FORWARDS = 10
MOST_CHASED = 5
"""Forwards of forwards followed; deeper ones count as out of reach."""
MOST_TYPES = 4
MOST_NAMES = 5
LATE_AFTER = timedelta(minutes=5)


def is_notice(embed: Embed, *, ours: bool, reading: AnnotationContext) -> bool:
    """Whether *embed* is a notice of ours that is shown: only what we posted ourselves counts."""
    return ours and embed.notice is not None and (embed.notice != "error" or reading.settings.self_debug)


def notice_lines(embeds: Sequence[Embed], reading: AnnotationContext) -> list[str]:
    """The notices, a System line each."""
    return [note(line) for embed in embeds[:MOST_EMBEDS] if (line := _embed_text(embed, reading, NOTICE_CHARS))]


def preview_lines(embeds: Sequence[Embed], reading: AnnotationContext) -> list[str]:
    """Link previews, a System line each."""
    return [
        note(f"link preview: {line}")
        for embed in embeds[:MOST_EMBEDS]
        if (line := _embed_text(embed, reading, DESCRIPTION_CHARS))
    ]


def preview_media(embeds: Sequence[Embed], reading: AnnotationContext, *, source: str) -> Media:
    """The picture of each preview, or its thumbnail."""
    if not embeds:
        return NO_MEDIA
    pictures = (embed.image_url or embed.thumbnail_url for embed in embeds[:MOST_EMBEDS])
    found = Media(images=tuple(ImageAttachment(url=url, mime=image_type_of(url)) for url in pictures if url))
    return with_media_ids(found, reading, source=source, origin="own")


def _embed_text(embed: Embed, reading: AnnotationContext, limit: int) -> str:
    pieces = [embed.site, embed.author, embed.title, _cut(embed.description, limit)]
    for field in embed.fields[:MOST_FIELDS]:
        pieces.append(": ".join(filter(None, (_cut(field.name, FIELD_CHARS), _cut(field.value, FIELD_CHARS)))))
    return " - ".join(
        without_fake_notes(reading.readable(piece.strip())) for piece in pieces if piece and piece.strip()
    )


def _cut(text: str | None, limit: int) -> str:
    text = text or ""
    return text if len(text) <= limit else f"{text[:limit].rstrip()}…"


def is_webhook_hidden(webhook: WebhookIdentity | None, reading: AnnotationContext) -> bool:
    """Whether a webhook speaks for someone who may not be quoted."""
    return webhook is not None and (reading.is_hidden(webhook.imitates) or reading.is_hidden(webhook.bridge_user))


def reply_note(
    message_id: str, author_name: str, target: ReferencedMessage | None, reading: AnnotationContext
) -> tuple[str, Media]:
    """The line and the copied media; nothing of a message that is gone, or of someone not to be quoted."""
    if target is None or target.author is None:
        return "", NO_MEDIA
    if (reading.is_hidden(target.author) and not target.is_self) or is_webhook_hidden(target.webhook, reading):
        return "", NO_MEDIA
    who = reading.people.identity(target.author, is_self=target.is_self, webhook=target.webhook).name
    media = media_of(target, reading, source=target.message_id, origin="reply")
    text = reading.readable(target.text)
    said = quote_inline(text) if text.strip() else NO_TEXT
    shown = media_counts(media)
    tail = f" (with {shown})" if shown else ""
    if reading.is_voice:
        return note(f"{author_name} answers {who}: {said}{tail}"), media
    here, there = reading.ids.register(message_id), reading.ids.register(target.message_id)
    return note(f"{here} ({author_name}) answers {there} ({who}): {said}{tail}"), media


def forward_notes(
    message_id: str, forwarder: str, forwards: tuple[ForwardedMessage, ...], reading: AnnotationContext
) -> tuple[list[str], Media]:
    """The lines and the media, which belong to the forwarding message."""
    if not forwards:
        return [], NO_MEDIA
    lines: list[str] = []
    media = NO_MEDIA
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


def reaction_note(reactions: Sequence[Reaction], reading: AnnotationContext) -> str:
    """The most frequent reactions with who gave them; people not to be heard neither named nor counted."""
    if not reading.settings.show_reactions:
        return ""
    heard = [(reaction, *_visible_reactors(reaction, reading)) for reaction in reactions]
    told = sorted((each for each in heard if each[1] > 0), key=lambda each: -each[1])
    if not told:
        return ""
    lines = [_reaction_line(reaction, count, names) for reaction, count, names in told[:MOST_TYPES]]
    rest = len(told) - len(lines)
    if rest:
        lines.append(f"+{rest} more reaction type{'' if rest == 1 else 's'}")
    return note("reactions: " + "; ".join(lines))


def _visible_reactors(reaction: Reaction, reading: AnnotationContext) -> tuple[int, list[str]]:
    found = reading.visible_names(reaction.users or ())
    names = [name for name in found if name is not None]
    hidden = len(found) - len(names)
    if reaction.by_us:
        names.insert(0, reading.people.persona)
    return max(0, reaction.count - hidden), list(dict.fromkeys(names))


def _reaction_line(reaction: Reaction, count: int, names: list[str]) -> str:
    label = speaker_name(reaction.label, "?")
    label = f":{label}:" if reaction.is_custom else label
    shown = names[:MOST_NAMES]
    if not shown:
        return f"{label} x{count}"
    more = count - len(shown)
    return f"{label} x{count} by {', '.join(shown)}" + (f" (+{more} more)" if more > 0 else "")


def reminder_entry(reminder: Reminder, reading: AnnotationContext, now: datetime | None) -> SimplifiedMessage:
    """Author "System": what is due, for whom, and how late it is."""
    lines = [note(_reminder_text(reminder, reading))]
    if reminder.due_at is not None and now is not None and now - reminder.due_at >= LATE_AFTER:
        minutes = int((now - reminder.due_at).total_seconds() // 60)
        lines.append(note(f"this was due {minutes} minutes ago; say that it comes late"))
    return SimplifiedMessage(
        id=REMINDER_ID,
        author_id=REMINDER_ID,
        author_name=SYSTEM,
        author_type="user",
        author_kind="system",
        content="\n".join(lines),
        created_at=now,
        in_exchange=True,
    )


def _reminder_text(reminder: Reminder, reading: AnnotationContext) -> str:
    purpose = quote_inline(reminder.purpose)
    if reminder.recipient is None:
        return f"a task of your own is due now: {purpose}"
    name = reading.people.name_of(reminder.recipient)
    if reminder.is_bridge_user:
        return f"remind {name} now, who is on another platform and cannot be mentioned: {purpose}"
    return f"remind {name} now, mentioning them as @{name}: {purpose}"


MOST_ANSWERS = 10
MOST_VOTERS = 20
"""Voters of one answer whose names are kept; the rest are counted."""
QUESTION_CHARS, ANSWER_CHARS = 300, 80


def with_vote(poll: Poll, answer_id: int, voter: Author, *, is_taken_back: bool) -> Poll:
    """*poll* after somebody voted for an answer, or took that back."""
    return replace(
        poll,
        answers=tuple(
            _vote(each, voter, is_taken_back=is_taken_back) if each.answer_id == answer_id else each
            for each in poll.answers
        ),
    )


def _vote(answer: PollAnswer, voter: Author, *, is_taken_back: bool) -> PollAnswer:
    others = tuple(each for each in answer.voters if each.canonical_key != voter.canonical_key)
    is_known = len(others) < len(answer.voters)
    if is_taken_back:
        return replace(answer, voters=others, votes=max(len(others), answer.votes - 1))
    if is_known:
        return answer
    return replace(answer, voters=(*others, voter)[:MOST_VOTERS], votes=answer.votes + 1)


def with_results(poll: Poll, told: Poll) -> Poll:
    """*poll* as the platform tells it now: its counts, where it gives any, and the voters that we know."""
    known = {each.answer_id: each for each in poll.answers}

    def merge_answer(answer: PollAnswer) -> PollAnswer:
        before = known.get(answer.answer_id, answer)
        return replace(answer, voters=before.voters, votes=answer.votes if told.is_counted else before.votes)

    return replace(
        told, answers=tuple(merge_answer(each) for each in told.answers), is_over=told.is_over or poll.is_over
    )


def poll_note(author: str, poll: Poll, reading: AnnotationContext) -> str:
    """A poll as one System line: what is asked, how each answer stands, and what won, once it is over."""
    asked = quote_inline(truncate_chars(poll.question, QUESTION_CHARS))
    answers = "; ".join(_answer(each, reading) for each in poll.answers[:MOST_ANSWERS])
    if not poll.is_over:
        several = ", several answers allowed" if poll.allows_several else ""
        return note(f"{author} asks in a poll{several}: {asked} - {answers or 'no answers'}")
    return note(f"the poll of {author} is over: {asked} - {answers or 'no answer won'}{_winner(poll)}")


def _answer(answer: PollAnswer, reading: AnnotationContext) -> str:
    found = reading.visible_names(answer.voters)
    names = list(dict.fromkeys(name for name in found if name is not None))
    votes = max(0, answer.votes - (len(found) - len(names)))
    text = quote_inline(truncate_chars(answer.text, ANSWER_CHARS))
    told = f"{text} {votes} vote{'' if votes == 1 else 's'}"
    if not names:
        return told
    more = votes - len(names[:MOST_NAMES])
    return f"{told} by {', '.join(names[:MOST_NAMES])}" + (f" (+{more} more)" if more > 0 else "")


def _winner(poll: Poll) -> str:
    most = max((each.votes for each in poll.answers), default=0)
    best = [each.text for each in poll.answers if each.votes == most] if most else []
    if not best:
        return ""
    won = " and ".join(quote_inline(truncate_chars(each, ANSWER_CHARS)) for each in best)
    return f". {won} won" if len(best) == 1 else f". A tie between {won}"
