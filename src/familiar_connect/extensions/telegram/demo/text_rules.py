"""What Telegram takes as a text, and which entities it finds in one."""

from __future__ import annotations

import re

from familiar_connect.extensions.telegram.demo.world import Payload

MAX_UNITS = 4_096
MAX_CAPTION_UNITS = 1_024
_COMMAND = re.compile(r"(?<!\S)/[A-Za-z0-9_]{1,32}(?:@\w+)?")
_MENTION = re.compile(r"(?<!\w)@\w{3,32}")


def count_units(text: str) -> int:
    """The length of *text* as Telegram counts: in units of UTF-16."""
    return len(text.encode("utf-16-le")) // 2


def why_no_text(text: str) -> str | None:
    """Why a bot may not send *text*; None: it may."""
    if not text.strip():
        return "message text is empty"
    return "message is too long" if count_units(text.strip()) > MAX_UNITS else None


def find_entities(text: str) -> list[Payload]:
    """Commands and mentions in what somebody typed."""
    found = [("bot_command", each) for each in _COMMAND.finditer(text)]
    found += [("mention", each) for each in _MENTION.finditer(text)]
    return [
        {"type": kind, "offset": count_units(text[: each.start()]), "length": count_units(each[0])}
        for kind, each in sorted(found, key=lambda pair: pair[1].start())
    ]
