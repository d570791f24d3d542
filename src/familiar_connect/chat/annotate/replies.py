"""What a message answers: one System line before its words, and the other message's media."""

from __future__ import annotations

from familiar_connect.chat.annotate.media import Media, counts, media_of
from familiar_connect.chat.annotate.reading import Reading
from familiar_connect.chat.parts import ReferencedMessage, WebhookIdentity
from familiar_connect.support.system_line import note, quoted

NO_TEXT = "(no text)"


def hidden_behind(webhook: WebhookIdentity | None, reading: Reading) -> bool:
    """Whether a webhook speaks for someone who may not be quoted."""
    return webhook is not None and (reading.is_hidden(webhook.imitates) or reading.is_hidden(webhook.bridge_user))


def reply_note(
    message_id: str, author_name: str, target: ReferencedMessage | None, reading: Reading
) -> tuple[str, Media]:
    """The line and the copied media; nothing of a message that is gone, or of someone not to be quoted."""
    if target is None or target.author is None:
        return "", Media()
    if (reading.is_hidden(target.author) and not target.is_self) or hidden_behind(target.webhook, reading):
        return "", Media()
    who = reading.people.identity(target.author, is_self=target.is_self, webhook=target.webhook).name
    media = media_of(target, reading, source=target.message_id, origin="reply")
    text = reading.readable(target.text)
    said = quoted(text) if text.strip() else NO_TEXT
    shown = counts(media)
    tail = f" (with {shown})" if shown else ""
    if reading.is_voice:
        return note(f"{author_name} answers {who}: {said}{tail}"), media
    here, there = reading.ids.register(message_id), reading.ids.register(target.message_id)
    return note(f"{here} ({author_name}) answers {there} ({who}): {said}{tail}"), media
