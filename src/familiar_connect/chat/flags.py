"""turn_flags: what a turn is, and what its speaker asks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from familiar_connect.chat.types import ReplyNotice, TurnFlags, TurnOptions

_ENGLISH = (
    "remember",
    "don't forget",
    "dont forget",
    "note",
    "commit to memory",
    "for future conversations",
    "for future reference",
)
_JAPANESE = (
    "覚えておいて",
    "覚えといて",
    "覚えていて",
    "覚えてて",
    "記憶して",
    "忘れないで",
    "忘れないように",
    "メモして",
    "メモしておいて",
)
PHRASES = (*_ENGLISH, *_JAPANESE)
MOST_READ_CHARS = 32_000


def wants_remembering(text: str | None, phrases: Iterable[str] = PHRASES) -> bool:
    """Whether *text* asks to keep something for good."""
    folded = _folded(text or "")
    return bool(folded) and any(_holds(folded, _folded(phrase)) for phrase in phrases)


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text[:MOST_READ_CHARS]).lower().replace("\u2019", "'")
    return " ".join(plain.split())


def _holds(text: str, phrase: str) -> bool:
    if phrase not in text:
        return False
    return not phrase.isascii() or re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def turn_flags(
    asked: TurnOptions, *, trigger_text: str | None, from_queue: bool = False, tools_available: bool = True
) -> TurnFlags:
    """What the turn is. Speaking for somebody else goes without tools."""
    imitating = asked.imitate is not None
    reminder = asked.reminder
    recipient = reminder.recipient if reminder is not None and not reminder.is_bridge_user else None
    return TurnFlags(
        impersonation=imitating,
        from_queue=from_queue,
        stop=asked.stop,
        reasoning=asked.reasoning,
        manual=asked.manual,
        manual_prompt=asked.manual_prompt,
        alter=asked.alter,
        kind=asked.kind,
        reminder=reminder,
        forced_mentions=(recipient,) if recipient is not None else (),
        explicit_long_term_memory_intent=wants_remembering(trigger_text),
        reply_notice=ReplyNotice() if from_queue and asked.alter is not None else None,
        disable_all_tools=imitating or not tools_available,
        disable_task_creation=reminder is not None,
        disable_short_term_memory_update=imitating or asked.stop,
        suppress_user_errors=asked.suppress_user_errors,
    )
