"""ShortTermMemoryProvider: the summary kept of this conversation, and the hint to make or refresh one.

The hint is given only where the model has a tool for it. Making one is asked for among the last words of lower
priority; refreshing one is mentioned where the summary stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from familiar_connect.chat.types import Directives
from familiar_connect.config.channel import channel_config_for_mode
from familiar_connect.config.types import CRUDE_SUMMARY, NUDGE, ChannelMode
from familiar_connect.context.providers.scene.text import inline_safe, persona_of, readable
from familiar_connect.context.types import (
    FILES_DEADLINE_S,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Modality,
    Priority,
)
from familiar_connect.identity import Author
from familiar_connect.memory.short_term import MAX_SUMMARY_CHARS, NoteLine, ShortTermNote, ShortTermNotes
from familiar_connect.support.aio import off_loop
from familiar_connect.support.system_notes import quote_inline, speaker_name, wrap_note
from familiar_connect.support.tokens import CHARS_PER_TOKEN, estimate_tokens

DEFAULT_TOOL = "short_term_note"
NUDGE_EVERY = 5
NUDGE_DEPTH = 2
"""Turns that follow a nudge, and at most what is kept while it is fresh."""
FRESH = timedelta(minutes=60)
CRUDE_LINES = 6
LEAST_MESSAGES = 6
"""A conversation shorter than this needs no summary."""
SOURCE = "short_term_memory"

ToolsOn = Callable[[ContextRequest], bool]
"""Whether tools are switched on and the answering model can use them."""


class ShortTermMemoryProvider:
    """At most one summary with its hint; nothing without a speaker."""

    id = "short_term_memory"
    deadline_s = FILES_DEADLINE_S

    def __init__(
        self, notes: ShortTermNotes, *, tools_on: ToolsOn | None = None, tool_name: str = DEFAULT_TOOL
    ) -> None:
        self._notes = notes
        self._tools_on = tools_on or (lambda _: False)
        self._tool = tool_name

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        if request.author is None or not request.settings.short_term_memory_enabled:
            return []
        note = await off_loop(self._note, request, request.author)
        has_tool = is_tool_available(request, self._tools_on)
        if request.settings.short_term_reminder == NUDGE:
            return await self._with_nudge(request, request.author, note, has_tool=has_tool)
        if note is not None and note.summary:
            return [_summary(note.summary, request), *([self._refresh(request)] if has_tool else [])]
        if has_tool and note is not None and len(note.lines) >= LEAST_MESSAGES:
            return [self._ask(request)]
        return []

    async def _with_nudge(
        self, request: ContextRequest, author: Author, note: ShortTermNote | None, *, has_tool: bool
    ) -> list[Contribution]:
        """What is kept, and every few turns one line near the end that asks for a new summary."""
        depth = _content_depth(request, note, self._notes.clock.now())
        crude = request.settings.short_term_render == CRUDE_SUMMARY
        found = [replace(_summary(note.summary, request), depth=depth)] if note is not None and note.summary else []
        if not found and crude and note is not None and note.lines:
            found = [replace(_crude(note.lines, request), depth=depth)]
        if has_tool and await off_loop(self._turns_since, request, author) >= NUDGE_EVERY:
            text = wrap_note(
                f"It is time to call `{self._tool}` once with a short summary of what matters in this conversation; "
                "then answer as always."
            )
            found.append(replace(_block(request, text, f"{SOURCE}:nudge", order=101), depth=NUDGE_DEPTH))
        return found

    def _turns_since(self, request: ContextRequest, author: Author) -> int:
        return self._notes.turns_since_summary(
            familiar_id=request.familiar_id,
            persona=request.turn.persona if request.turn is not None else "",
            channel_id=request.channel_id,
            guild_id=request.guild_id,
            author=author,
        )

    def _note(self, request: ContextRequest, author: Author) -> ShortTermNote | None:
        persona = request.turn.persona if request.turn is not None else ""
        note = self._notes.channel_note(
            familiar_id=request.familiar_id,
            persona=persona,
            channel_id=request.channel_id,
            guild_id=request.guild_id,
            author=author,
        )
        begun = request.turn.reset_at if request.turn is not None else None
        return None if note is not None and begun is not None and note.updated_at < begun else note

    def _ask(self, request: ContextRequest) -> Contribution:
        words = (
            f"Nothing is kept of this conversation yet. If it is worth it, call `{self._tool}` once with a short"
            " summary of what matters in it, then answer as always."
        )
        return Contribution(
            Layer.history_summary,
            int(Priority.SHORT_TERM),
            "",
            0,
            f"{SOURCE}:hint",
            directives=Directives(lower=(words,)),
            audiences=request.own_audience,
        )

    def _refresh(self, request: ContextRequest) -> Contribution:
        text = wrap_note(f"When that no longer fits, call `{self._tool}` with a new summary.")
        return _block(request, text, f"{SOURCE}:hint", order=101)


def is_tool_available(request: ContextRequest, tools_on: ToolsOn) -> bool:
    """Whether the model may write a short-term note now."""
    flags = request.turn.flags if request.turn is not None else None
    withheld = flags is not None and (
        flags.disable_all_tools or flags.disable_short_term_memory_update or flags.explicit_long_term_memory_intent
    )
    allowed = request.settings.short_term_memory_enabled and request.modality is not Modality.voice
    return allowed and not withheld and tools_on(request)


def _summary(summary: str, request: ContextRequest) -> Contribution:
    user = speaker_name(request.author.label) if request.author is not None else "User"
    words = readable(request, inline_safe(summary, _room(request)), user=user)
    imitating = request.turn is not None and request.turn.imitated is not None
    opening = "Of this conversation so far" if imitating else f"What {persona_of(request)} keeps in mind here"
    return _block(request, wrap_note(f"{opening}: {words}"), SOURCE)


def _crude(lines: Sequence[NoteLine], request: ContextRequest) -> Contribution:
    """The last lines as they were said, where nobody has summed them up."""
    room = _room(request) // CRUDE_LINES
    said = [f"{line.speaker}: {quote_inline(inline_safe(line.text, room))}" for line in lines[-CRUDE_LINES:]]
    return _block(request, wrap_note("The last words of this conversation:\n" + "\n".join(said)), SOURCE)


def _content_depth(request: ContextRequest, note: ShortTermNote | None, now: datetime) -> int | None:
    """How many turns follow what is kept; None: it stands at its place among memories."""
    wanted = request.settings.short_term_depth
    if wanted < 0:
        return None
    is_fresh = note is not None and now - note.updated_at < FRESH
    return min(wanted, NUDGE_DEPTH) if is_fresh else wanted


def _room(request: ContextRequest) -> int:
    """Characters that the summary may take: never more than two thirds of its layer."""
    layers = channel_config_for_mode(request.mode or ChannelMode.text_conversation_rp).budget_by_layer
    return min(MAX_SUMMARY_CHARS, layers.get(Layer.history_summary, 0) * CHARS_PER_TOKEN * 2 // 3)


def _block(request: ContextRequest, text: str, source: str, *, order: int = 100) -> Contribution:
    return Contribution(
        Layer.history_summary,
        int(Priority.SHORT_TERM),
        text,
        estimate_tokens(text),
        source,
        tag=ItemTag.SHORT_TERM,
        audiences=request.own_audience,
        role="user",
        order=order,
    )
