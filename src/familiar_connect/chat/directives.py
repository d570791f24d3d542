"""The last words of a prompt: what a turn itself asks for, and place_tail, the one function that orders them.

Lower notes stand before the latest pair of turns; then, at the end, one combined tail, the
queued-reply note, the operator's own directive, and last the assistant's first words. Nothing may
land behind the strongest position by accident, so this closes assembly.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from familiar_connect.chat.types import Directives, SimplifiedMessage, Turn, TurnOptions
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.support.system_notes import combine_notes, extract_notes, quote_inline

EMOJI_TURNS = 3
"""Own turns looked back at for custom emojis."""
MOST_EMOJIS = 1
PREVIEW_CHARS = 280

EASE_OFF = "You have used many custom emojis lately; use none or at most one now."
STOP = "You were asked to stop. Acknowledge it briefly and do not go on with what you were doing."
REASONING = "Think the question through with care before you answer."
CONTINUE = "Continue your last message where it ended, without repeating any of it."


def turn_directives(turn: Turn, asked: TurnOptions, *, emojis: Collection[str] = ()) -> Directives:
    """What the turn's own nature asks for, by kind."""
    tail = [
        STOP if asked.stop else "",
        REASONING if asked.reasoning else "",
        asked.manual_prompt,
        _continuation(turn, asked),
    ]
    return Directives(
        lower=(EASE_OFF,) if not turn.is_voice and _overdone(turn, emojis) else (),
        tail=tuple(text for text in tail if text.strip()),
        queued_reply=_queued_reply(turn, asked),
        prefill=asked.prefill.strip() or None,
    )


def _own(turn: Turn, entry: SimplifiedMessage) -> bool:
    return entry.author_type == "persona" and turn.persona in ("", entry.persona_name)


def _overdone(turn: Turn, emojis: Collection[str]) -> bool:
    """Whether the familiar's last few turns held more than one custom emoji."""
    own = [entry.content or "" for entry in turn.messages if _own(turn, entry)][-EMOJI_TURNS:]
    return sum(text.count(f":{name}:") for text in own for name in set(emojis)) > MOST_EMOJIS


def is_continuation(turn: Turn, asked: TurnOptions) -> bool:
    """Whether the familiar is asked to go on with what it said last."""
    others = asked.imitate is not None or asked.reasoning or asked.reminder is not None or asked.scene_turn
    return asked.manual and not others and bool(turn.messages) and _own(turn, turn.messages[-1])


def _continuation(turn: Turn, asked: TurnOptions) -> str:
    if not is_continuation(turn, asked):
        return ""
    if prefill := asked.prefill.strip():
        name = f"{turn.persona}: " if turn.persona else ""
        return f"{CONTINUE} Begin with: {name}{prefill}"
    return CONTINUE


def _queued_reply(turn: Turn, asked: TurnOptions) -> str | None:
    """Whom a message that had to wait is from, and what it said."""
    initiated = asked.reminder is not None or asked.manual or asked.scene_turn
    target = next((entry for entry in reversed(turn.messages) if entry.in_exchange), None)
    if not turn.flags.from_queue or asked.stop or initiated or target is None or target.author_kind == "system":
        return None
    who = f"You are {turn.persona}. " if turn.persona else ""
    handle = "" if turn.is_voice else f" ({turn.message_ids.register(target.id)})"
    sent = [(len(target.video_attachments), "video")]
    sent.insert(0, (sum(1 for image in target.image_attachments if not image.is_emoji), "image"))
    counted = " and ".join(f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in sent if count)
    words = " ".join(extract_notes(target.content or "")[1].split())
    shown = words if len(words) <= PREVIEW_CHARS else f"{words[:PREVIEW_CHARS].rstrip()}…"
    said = f": {quote_inline(shown)}" if shown else ""
    attached = f" (with {counted})" if counted else ""
    return f"{who}Answer {target.author_name}{handle}{attached}{said}. Open with your words, not with a name."


def place_tail(prompt: Prompt, injected: Sequence[ContextItem] = ()) -> Prompt:
    """*prompt* with its directives placed; they stay on it for whoever wants to see them.

    *injected* is what a caller adds of its own, such as guidance for another try: it stands before the tail.
    """
    directives = prompt.directives
    items = [*prompt.items, *injected]
    if lower := combine_notes(directives.lower):
        at = _before_latest_pair(items)
        items.insert(at, _tail_item(lower))
    for texts in (directives.tail, (directives.queued_reply or "",), (directives.uncensor or "",)):
        if text := combine_notes(texts):
            items.append(_tail_item(text))
    if prefill := (directives.prefill or "").strip():
        items.append(ContextItem.of("assistant", prefill, tag=ItemTag.PREFILL, source="prefill"))
    return replace(prompt, items=tuple(items)) if len(items) != len(prompt.items) else prompt


def _before_latest_pair(items: list[ContextItem]) -> int:
    turns = [index for index, item in enumerate(items) if item.tag is ItemTag.DIALOGUE]
    if not turns:
        return len(items)
    return turns[-2] if len(turns) > 1 else turns[-1]


def _tail_item(text: str) -> ContextItem:
    return ContextItem.of("user", text, tag=ItemTag.TAIL, source="tail")
