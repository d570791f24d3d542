"""What kept something out of a turn's prompt: a search that was not awake or late, a layer that was full."""

from __future__ import annotations

from dataclasses import dataclass

from familiar_connect.context.layers import ItemTag, Layer
from familiar_connect.context.providers.content_search.unfiltered import (
    TOKENS_PER_LINE,
    direct_budget,
    layer_budget,
    list_troubles,
)
from familiar_connect.memory.index.protocols import Recollection
from familiar_connect.observe.inspector import cut_reason, cuts
from familiar_connect.observe.replay_store import ReplayRecord
from familiar_connect.observe.trace import TurnTrace, provider_notes, provider_outcomes
from familiar_connect.support.tokens import estimate_tokens

CONTENT_SETTING, WHOLE_SETTING = "budget.content", "budget_tokens"
"""Settings that give memory more room: that of its layer, and that of the whole prompt."""
MEMORY_LAYERS = ("content", "pinned")
"""Layers that pay for what is remembered."""


@dataclass(frozen=True)
class SearchTrouble:
    """Why the search of memory in a turn could not bring something, as a sentence, with what shows it and a fix."""

    sentence: str
    evidence: str
    fix: str


def find_search_trouble(trace: TurnTrace) -> SearchTrouble | None:
    """What went wrong with the search of *trace*, or what it had to do without; None where nothing did."""
    outcome = next((each for each in provider_outcomes(trace) if each.get("id") == "content_search"), None)
    if outcome is None:
        return None
    status, error = str(outcome.get("status", "ok")), str(outcome.get("error") or "")
    if status == "asleep":
        return SearchTrouble(
            "It is known, but memory was not loaded yet: this reply was made without searching it.",
            f"The search of memory in that turn: {error or status}.",
            "Ask again: memory search is loaded by now. `familiar doctor` says whether it happens often.",
        )
    if status != "ok":
        return SearchTrouble(
            "It is known, but the search of memory was too late for this reply, or failed.",
            f"The search of memory in that turn: {status}{f', {error}' if error else ''}.",
            "Ask again. If it happens often, Health shows how long the search takes.",
        )
    notes = list_troubles(provider_notes(outcome))
    if notes:
        return SearchTrouble(
            f"It is known, but not all of memory was searched as it should be: {notes[0]}.",
            f"The search of memory in that turn: {'; '.join(notes)}.",
            "Ask again. `familiar doctor` says what is missing.",
        )
    return None


def find_full_part(trace: TurnTrace, record: ReplayRecord, hit: Recollection | None) -> tuple[str, str]:
    """What had no room for *hit*, a layer that lost something or what is recalled; and the setting that gives more."""
    lost = [note for note in cuts(trace, record) if note["layer"] in MEMORY_LAYERS]
    if lost:
        each = (f"{note['source']} lost {note['tokens_dropped']} tokens, {cut_reason(note)}" for note in lost)
        of_layer = any(note["full"] == "layer" for note in lost)
        return "; ".join(each), CONTENT_SETTING if of_layer else WHOLE_SETTING
    recalled = sum(piece.estimated_tokens for piece in record.kept if piece.tag is ItemTag.FOUND)
    others = sum(
        piece.estimated_tokens
        for piece in record.kept
        if piece.layer is Layer.content and piece.tag is not ItemTag.FOUND
    )
    direct, layer = direct_budget(record.request), layer_budget(record.request, Layer.content) - others
    room = min(direct, layer)
    needed = estimate_tokens(hit.text) + TOKENS_PER_LINE if hit is not None else 0
    if recalled + needed <= room:
        return "", ""
    told = f"{recalled} of the {max(0, room)} tokens for what is recalled were taken by memories that ranked above it"
    return told, WHOLE_SETTING if direct <= layer else CONTENT_SETTING
