"""What a message answers: one System line before its words, and the other message's media."""

from __future__ import annotations

from familiar_connect.chat.annotate.context import AnnotationContext
from familiar_connect.chat.annotate.media import Media, media_counts, media_of
from familiar_connect.chat.message_parts import ReferencedMessage, WebhookIdentity
from familiar_connect.support.system_notes import note, quote_inline

NO_TEXT = "(no text)"


def is_webhook_hidden(webhook: WebhookIdentity | None, reading: AnnotationContext) -> bool:
    """Whether a webhook speaks for someone who may not be quoted."""
    return webhook is not None and (reading.is_hidden(webhook.imitates) or reading.is_hidden(webhook.bridge_user))


def reply_note(
    message_id: str, author_name: str, target: ReferencedMessage | None, reading: AnnotationContext
) -> tuple[str, Media]:
    """The line and the copied media; nothing of a message that is gone, or of someone not to be quoted."""
    if target is None or target.author is None:
        return "", Media()
    if (reading.is_hidden(target.author) and not target.is_self) or is_webhook_hidden(target.webhook, reading):
        return "", Media()
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
