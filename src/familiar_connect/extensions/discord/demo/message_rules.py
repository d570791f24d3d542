"""What Discord takes as a message, as an answer to an interaction, and as a form: lengths, counts, what must be there.

Written from Discord's documentation alone, so that it can be held against the product.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from familiar_connect.extensions.discord.demo.command_rules import (
    INTEGER,
    MAX_CHOICES,
    why_components_refused,
)

Payload = dict[str, Any]

MAX_TEXT, MAX_NONCE, MAX_EMBEDS, MAX_EMBEDDED = 2000, 25, 10, 6000
MAX_EMBED_PARTS = {"title": 256, "description": 4096}
MAX_FOOTER = 2048
MAX_FILE_BYTES = 10_000_000
MAX_HOOK_NAME = 80
NOT_IN_HOOK_NAMES = ("clyde", "discord")
TEXT_FIELD, LABELLED = 4, 18
MAX_FORM_PARTS, MAX_TITLE, MAX_LABEL, MAX_PLACEHOLDER, MAX_VALUE = 5, 45, 45, 100, 4000
INVALID_FORM, EMPTY_MESSAGE, TOO_LARGE = 50035, 50006, 40005
REPLIED_TO = frozenset({0, 19, 20, 21, 23})
"""Types of message that can be replied to; the others are Discord's own news."""


@dataclass(frozen=True)
class ApiRefusal:
    """An answer that is a no."""

    status: int
    code: int
    message: str


def invalid(message: str) -> ApiRefusal:
    return ApiRefusal(400, INVALID_FORM, f"Invalid Form Body: {message}")


def why_message_refused(said: Mapping[str, Any]) -> ApiRefusal | None:
    """What is wrong with something to be posted; None: nothing."""
    refused = why_content_refused(said)
    if refused is not None:
        return refused
    has_more = any(said.get(each) for each in ("embeds", "files", "sticker_ids", "attachments", "poll"))
    if not (said.get("content") or "").strip() and not has_more:
        return ApiRefusal(400, EMPTY_MESSAGE, "Cannot send an empty message")
    return None


def why_content_refused(said: Mapping[str, Any]) -> ApiRefusal | None:
    """What is wrong with the parts of a message that are there."""
    if len(said.get("content") or "") > MAX_TEXT:
        return invalid("content: Must be 2000 or fewer in length.")
    if len(str(said.get("nonce") or "")) > MAX_NONCE:
        return invalid("nonce: Must be 25 or fewer in length.")
    if any(len(data) > MAX_FILE_BYTES for data in (said.get("files") or {}).values()):
        return ApiRefusal(413, TOO_LARGE, "Request entity too large")
    why = next(_embed_faults(said.get("embeds") or []), None) or why_components_refused(said.get("components") or [])
    return invalid(why) if why is not None else None


def _embed_faults(embeds: list[Payload]) -> Iterator[str]:
    if len(embeds) > MAX_EMBEDS:
        yield f"embeds: at most {MAX_EMBEDS}"
    total = 0
    for embed in embeds:
        footer = len((embed.get("footer") or {}).get("text") or "")
        lengths = {part: len(embed.get(part) or "") for part in MAX_EMBED_PARTS}
        total += footer + sum(lengths.values())
        yield from (f"embeds: {part} of {length}" for part, length in lengths.items() if length > MAX_EMBED_PARTS[part])
        if footer > MAX_FOOTER:
            yield f"embeds: footer of {footer}"
    if total > MAX_EMBEDDED:
        yield f"embeds: {total} characters in all"


def why_name_refused(name: str) -> ApiRefusal | None:
    """What is wrong with the name that a webhook is to have or to speak under."""
    if not 1 <= len(name.strip()) <= MAX_HOOK_NAME:
        return invalid(f"username: Must be between 1 and {MAX_HOOK_NAME} in length.")
    for each in NOT_IN_HOOK_NAMES:
        if each in name.lower():
            return invalid(f'username: Username cannot contain "{each}".')
    return None


def why_form_refused(form: Mapping[str, Any]) -> ApiRefusal | None:
    """What is wrong with a form that is to be opened."""
    why = next(_form_faults(form), None)
    return invalid(why) if why is not None else None


def _form_faults(form: Mapping[str, Any]) -> Iterator[str]:
    if not 1 <= len(form.get("title") or "") <= MAX_TITLE or not 1 <= len(form.get("custom_id") or "") <= 100:
        yield "title or custom_id"
    rows = form.get("components") or []
    if not 1 <= len(rows) <= MAX_FORM_PARTS:
        yield f"1 to {MAX_FORM_PARTS} fields"
    for row in rows:
        for part in [row["component"]] if row["type"] == LABELLED else row["components"]:
            label = row.get("label") if row["type"] == LABELLED else part.get("label")
            if part["type"] == TEXT_FIELD and not 1 <= len(label or "") <= MAX_LABEL:
                yield "a field has a label of 1 to 45 characters"
            if len(part.get("placeholder") or "") > MAX_PLACEHOLDER or len(part.get("value") or "") > MAX_VALUE:
                yield "placeholder or value is too long"
            most = part.get("max_length", MAX_VALUE)
            if not 1 <= most <= MAX_VALUE or len(part.get("value") or "") > most:
                yield "max_length"


def why_choices_refused(choices: list[Payload], kind: int) -> ApiRefusal | None:
    """What is wrong with suggestions for an option of that *kind*."""
    if len(choices) > MAX_CHOICES:
        return invalid(f"at most {MAX_CHOICES} choices")
    for each in choices:
        name, value = each.get("name") or "", each.get("value")
        if not 1 <= len(name) <= 100 or len(str(value)) > 100:
            return invalid("choices have names of 1 to 100 characters")
        if isinstance(value, int) != (kind == INTEGER):
            return invalid(f"choices: {json.dumps(value)} is not of the option's type")
    return None
