"""The last words of a prompt: what a turn itself asks for, what contributions bring, and place_tail, which orders them.

Lower notes stand before the latest pair of turns; then, at the end, one combined tail, the
queued-reply note, the operator's own directive, and last the assistant's first words. Nothing may
land behind the strongest position by accident, so this closes assembly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from familiar_connect.chat.types import Directives, SimplifiedMessage, Turn, TurnOptions
from familiar_connect.context.types import ContextItem, ContextRequest, Contribution, ItemTag, Prompt
from familiar_connect.support.system_notes import (
    combine_notes,
    extract_notes,
    quote_inline,
    strip_note_frame,
    without_files,
)

EMOJI_TURNS = 3
"""Own turns looked back at for custom emojis."""
MOST_EMOJIS = 1
PREVIEW_CHARS = 280
MOST_AIMED, AIMED_CHARS = 5, 60
"""Messages that a reply may be aimed at, the latest, and what is shown of each."""

_NO_DIRECTIVES = Contribution.directives
"""What a contribution has that brings none; nearly all share it, which is quick to tell."""

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
    queued_reply = _tell_queued_reply(turn, asked)
    if queued_reply is None:
        tail.append(_aiming(turn, asked))
    return Directives(
        lower=(EASE_OFF,) if not turn.is_voice and _overdone(turn, emojis) else (),
        tail=tuple(text for text in tail if text.strip()),
        queued_reply=queued_reply,
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


def _aiming(turn: Turn, asked: TurnOptions) -> str:
    """Where several people wait: which handle stands for which message, and how one of them is answered."""
    initiated = asked.reminder is not None or asked.manual or asked.scene_turn or asked.imitate is not None
    entries = [
        entry for entry in turn.messages if entry.in_exchange and entry.author_kind == "user" and not _own(turn, entry)
    ]
    if turn.is_voice or asked.stop or initiated or len({entry.author_name for entry in entries}) < 2:
        return ""
    told = []
    for entry in entries[-MOST_AIMED:]:
        words = _own_words(entry)
        shown = words if len(words) <= AIMED_CHARS else f"{words[:AIMED_CHARS].rstrip()}…"
        said = f": {quote_inline(shown)}" if shown else ""
        told.append(f"[{turn.message_ids.register(entry.id)}] {entry.author_name}{said}")
    return f"Several people spoke: {'; '.join(told)}. To answer one message, begin with its handle, such as [ref_1]."


def _own_words(entry: SimplifiedMessage) -> str:
    """What somebody wrote, in one line, without the notes of the program and the files that came with it."""
    return " ".join(extract_notes(without_files(entry.content or ""))[1].split())


def _tell_queued_reply(turn: Turn, asked: TurnOptions) -> str | None:
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
    words = _own_words(target)
    shown = words if len(words) <= PREVIEW_CHARS else f"{words[:PREVIEW_CHARS].rstrip()}…"
    said = f": {quote_inline(shown)}" if shown else ""
    attached = f" (with {counted})" if counted else ""
    return f"{who}Answer {target.author_name}{handle}{attached}{said}. Open with your words, not with a name."


def collect_directives(found: Iterable[Contribution], request: ContextRequest) -> Directives:
    """The last words that contributions bring, then the turn's own; a cut block keeps its directive."""
    total = Directives()
    for contribution in found:
        if contribution.directives is not _NO_DIRECTIVES:
            total += contribution.directives
    if operator := strip_note_frame(request.settings.operator_directive or ""):
        total += Directives(uncensor=operator)
    return total + request.turn.directives if request.turn is not None else total


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
