"""Text files on Discord: which addresses are Discord's own, and how much of a file is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from familiar_connect.api.messages import Attachment, FileTextLimits
from familiar_connect.extensions.discord.settings import Settings

FILE_HOST = "cdn.discordapp.com"
"""Where Discord gives what people attached; `familiar doctor --privacy` names it."""


def text_file_limits(settings: Settings) -> FileTextLimits:
    return FileTextLimits(
        max_bytes=settings.text_file_bytes, max_lines=settings.text_file_lines, max_tokens=settings.text_file_tokens
    )


def is_discord_file(url: str, api_url: str | None) -> bool:
    """Whether *url* is one under which Discord gives files: the real one, or the one at *api_url*."""
    try:
        asked, ours = urlsplit(url), urlsplit(api_url or "")
        if ours.hostname:
            return (asked.scheme, asked.hostname, asked.port) == (ours.scheme, ours.hostname, ours.port)
        return asked.scheme == "https" and asked.hostname == FILE_HOST and asked.port in (None, 443)
    except ValueError:
        return False


def with_known_texts(now: Sequence[Attachment], stored: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """The attachments as Discord shows them *now*, with what was read of them when they were heard."""
    known = {each.attachment_id: each.text for each in stored if each.text is not None}
    return tuple(replace(each, text=known.get(each.attachment_id)) if known else each for each in now)
