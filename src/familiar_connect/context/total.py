"""The overall cap: what the layers kept, cut once more so that prompt and reply fit the request's budget.

The new messages, the newest turn before them, the note of an interruption, the last words and the
speaker's own people file never give way; if those alone are too large the turn goes on with a warning.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace

from familiar_connect.context.budget import MESSAGE_OVERHEAD, cost, fit_total, log_cut
from familiar_connect.context.render import PENDING_CHARS, PREAMBLE, has_exchange_items, pending_item
from familiar_connect.context.types import (
    BudgetResult,
    ContextRequest,
    Contribution,
    DroppedNote,
    ItemTag,
    Layer,
    PipelineOutput,
)
from familiar_connect.support.tokens import estimate_tokens

logger = logging.getLogger(__name__)

COMPLETION_SHARE = 0.15
"""Part of the token budget kept for the reply."""


def fit_to_request(output: PipelineOutput) -> PipelineOutput:
    """*output* cut so that the rendered prompt and the reply's share fit the request's budget, if it has one."""
    request = output.request
    kept, notes = output.budget.kept, _shortened_pending(request)
    if request.budget_tokens > 0:
        room = request.budget_tokens - math.ceil(request.budget_tokens * COMPLETION_SHARE) - _fixed_tokens(output)
        kept, cuts = fit_total(kept, room=room, protected=_speakers_own(kept, request))
        notes += cuts
        if (over := sum(map(cost, kept)) - room) > 0:
            logger.warning("what may not be cut is larger than the budget", extra={"tokens_over": over})
    if not notes:
        return output
    survivors = sorted(kept, key=lambda c: (-c.priority, c.order))
    by_layer = {
        layer: "\n\n".join(c.text for c in survivors if c.layer is layer)
        for layer in output.budget.by_layer
        if any(c.layer is layer for c in survivors)
    }
    return replace(output, budget=BudgetResult(by_layer, [*output.budget.dropped, *notes], kept))


def _fixed_tokens(output: PipelineOutput) -> int:
    """Tokens of what is never cut: preamble, the new messages, the note of an interruption, the tail."""
    request, last = output.request, output.directives
    texts = [PREAMBLE, request.interruption_context or ""]
    if not has_exchange_items(request):
        texts += [pending_item(turn).text for turn in request.turns_to_answer]
    texts += [*last.lower, *last.tail, last.queued_reply or "", last.uncensor or "", last.prefill or ""]
    return sum(estimate_tokens(text) + MESSAGE_OVERHEAD for text in texts if text)


def _speakers_own(kept: Sequence[Contribution], request: ContextRequest) -> frozenset[int]:
    """Positions of the speaker's people file: no budget ever loses it."""
    slug = request.author.slug if request.author else None
    return frozenset(i for i, c in enumerate(kept) if c.tag is ItemTag.PEOPLE and slug and c.key == slug)


def _shortened_pending(request: ContextRequest) -> list[DroppedNote]:
    """A note for each new message too long to be shown whole; of a dialogue that brings them the layer's cut tells."""
    notes: list[DroppedNote] = []
    if has_exchange_items(request):
        return notes
    for turn in request.turns_to_answer:
        if len(turn.text) > PENDING_CHARS:
            lost = max(1, estimate_tokens(turn.text) - estimate_tokens(pending_item(turn).text))
            notes.append(DroppedNote(Layer.recent_history, "pending", "truncated", lost, "message"))
            log_cut(notes[-1])
    return notes
