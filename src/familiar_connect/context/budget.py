"""Budgeter: packs contributions into layers by priority, and tells of every cut.

Two steps share the rules: `Budgeter.fill` gives each layer its own budget; `fit_to_request` then makes
the whole fit with the reply, from the lowest priority up. Text is cut at a sentence, else a word; a
dialogue is cut by whole items from its oldest end, and never loses the newest thing a user said.
Samples are cut the same way, but may go altogether.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Literal

from familiar_connect.context.render import PENDING_CHARS, PREAMBLE, has_exchange_items, pending_text
from familiar_connect.context.slots import in_prompt_order, prompt_text
from familiar_connect.context.types import (
    BudgetResult,
    ContextItem,
    ContextRequest,
    Contribution,
    DroppedNote,
    ItemTag,
    Layer,
    PipelineOutput,
)
from familiar_connect.llm.types import TextPart
from familiar_connect.support.text import shorten_middle
from familiar_connect.support.tokens import MESSAGE_OVERHEAD, estimate_tokens, make_counter, truncate

__all__ = ["BudgetResult", "Budgeter", "DroppedNote", "estimate_tokens", "fit_to_request", "fit_total", "tokens_of"]

logger = logging.getLogger(__name__)

JOINT = 1
"""Tokens of the blank line between two sections of a layer."""
SHOWN_MESSAGE_CHARS = 32_000
"""A single message longer than this is shown with its middle left out; the history keeps all of it."""
OWN_REPLIES = "own replies"
"""What stands in the place of something full where a model is not shown what it said before."""
OWN_REPLIES_UNSEEN = "so small a model is not shown its own replies"
NO_BUDGET = "no budget"
"""What is full where a layer has a budget of 0, as most have for a small model."""
LEAST_WORTH_KEEPING = 8
"""A block shortened to fewer tokens than this says nothing; it goes whole."""
EVERY_LAYER = dict.fromkeys(Layer)
_ORDER, _PRIORITY, _ITEMS = attrgetter("order"), attrgetter("priority"), attrgetter("items")
COMPLETION_SHARE = 0.15
"""Part of the token budget kept for the reply."""
CHARACTER_SHARE = 0.2
"""Part of the token budget that who the familiar is keeps, however much is said: without it somebody else answers."""


class Budgeter:
    """Stateless; the same contributions and budgets give the same result.

    It counts as *model* does where that model's vocabulary is bundled; else tokens are estimated.
    """

    def __init__(self, model: str | None = None) -> None:
        self._model = model

    def fill(
        self,
        contributions: Iterable[Contribution],
        budget_by_layer: Mapping[Layer, int],
        layers: Iterable[Layer] | None = None,
    ) -> BudgetResult:
        """Keep what fits each layer, best first; shorten what half fits; note the rest."""
        wanted = EVERY_LAYER if layers is None else dict.fromkeys(layers)
        by_layer: dict[Layer, list[Contribution]] = {}
        notes: list[DroppedNote] = []
        layer: Layer | None = None
        group: list[Contribution] | None = None
        for contribution in contributions:
            if not (contribution.text.strip() or contribution.items):
                continue
            if contribution.layer is not layer:
                layer = contribution.layer
                group = by_layer.setdefault(layer, []) if layers is None or layer in wanted else None
            if group is not None:
                group.append(contribution)
            else:
                notes.append(_note(contribution, "dropped", tokens_of(contribution, self._model)))
        result = BudgetResult(dropped=notes, tokens=0)
        kept: list[Contribution] = []
        for layer in [layer for layer in wanted if layer in by_layer] if len(by_layer) > 1 else by_layer:
            survivors, tokens = _fill_layer(by_layer[layer], budget_by_layer.get(layer, 0), notes, self._model)
            kept += survivors
            result.tokens = (result.tokens or 0) + tokens
            if survivors:
                result.by_layer[layer] = "\n\n".join([c.text for c in survivors])
        result.kept = in_prompt_order(kept)
        for note in notes:
            log_cut(note)
        return result


def _fill_layer(
    contributions: Sequence[Contribution], budget: int, notes: list[DroppedNote], model: str | None
) -> tuple[list[Contribution], int]:
    """What of one layer fits its budget, and what that costs as it is sent."""
    kept: list[Contribution] = []
    used = tokens = joint = 0
    count = make_counter(model)
    in_turn = sorted(contributions, key=_ORDER)
    in_turn.sort(key=_PRIORITY, reverse=True)
    if not any(map(_ITEMS, in_turn)):  # on the path of every message: what fits as it is need not be weighed one by one
        sizes = [count(c.text) for c in in_turn]
        if sum(sizes) + JOINT * (len(sizes) - 1) <= budget:
            told = [(c, size) for c, size in zip(in_turn, sizes, strict=True) if c.tag is not None or c.label]
            more = sum([count(prompt_text(c)) - size for c, size in told])
            return in_turn, sum(sizes) + more + MESSAGE_OVERHEAD * len(sizes)
    for contribution in in_turn:
        remaining = budget - used - joint
        if not contribution.items and (size := count(contribution.text)) <= remaining:
            used += size + joint
            is_bare = contribution.tag is None and not contribution.label
            tokens += MESSAGE_OVERHEAD + (size if is_bare else count(prompt_text(contribution)))
            kept.append(contribution)
            joint = JOINT
            continue
        shortened, note = shorten_contribution(contribution, remaining, model=model)
        if note is not None and budget <= 0:
            note = replace(note, full=NO_BUDGET)
        if note is not None:
            notes.append(note)
        if shortened is not None:
            used += tokens_of(shortened, model) + joint
            tokens += cost(shortened, model)
            kept.append(shortened)
            joint = JOINT
    return kept, tokens


def shorten_contribution(
    contribution: Contribution, limit: int, *, full: str = "layer", model: str | None = None
) -> tuple[Contribution | None, DroppedNote | None]:
    """*contribution* within *limit* tokens, and the note of what that cost. None: nothing of it is left."""
    if contribution.items:
        return _shorten_items(contribution, limit, full, model)
    size = tokens_of(contribution, model)
    if size <= limit:
        return contribution, None
    text = truncate(contribution.text, limit, model) if limit > 0 else ""
    if not text.strip():
        return None, _note(contribution, "dropped", size, full)
    left = estimate_tokens(text, model)
    lost = contribution.text[len(text) :].strip()
    kept = replace(contribution, text=text, estimated_tokens=left)
    if text.split() == contribution.text.split():
        return kept, None  # only blanks went: nothing was lost
    return kept, _note(contribution, "truncated", max(1, size - left), full, lost)


def _shorten_items(
    contribution: Contribution, limit: int, full: str, model: str | None
) -> tuple[Contribution | None, DroppedNote | None]:
    size = tokens_of(contribution, model)
    items = tuple(_show(item) for item in contribution.items)
    # The new messages are no part of what the layer is for; only the overall cap counts them.
    sizes = [0 if item.fresh and full == "layer" else estimate_tokens(item.text, model) for item in items]
    stays = _never_cut(contribution, newest_too=full == "total")
    start = _first_kept(items, sizes, limit, stays)
    kept = tuple(item for i, item in enumerate(items) if i >= start or i in stays)
    if not kept:
        return None, _note(contribution, "dropped", size, full)
    if kept == contribution.items:
        return contribution, None
    left = sum(estimate_tokens(item.text, model) for item in kept)
    text = "\n".join(item.text for item in kept)
    shortened = replace(contribution, items=kept, text=text, estimated_tokens=left)
    if text.split() == "\n".join(item.text for item in contribution.items).split():
        return shortened, None
    lost = "\n".join(item.text for i, item in enumerate(items) if i < start and i not in stays)
    return shortened, _note(contribution, "truncated", max(1, size - left), full, lost)


def _never_cut(contribution: Contribution, *, newest_too: bool) -> set[int]:
    """Positions of what stays whatever happens: what is answered, the newest user turn, under the cap the newest."""
    if contribution.tag is ItemTag.SAMPLE or contribution.layer is Layer.scene:
        return set()
    stays = set([i for i, item in enumerate(contribution.items) if item.role == "user"][-1:])
    stays |= {i for i, item in enumerate(contribution.items) if item.fresh}
    return stays | {len(contribution.items) - 1} if newest_too else stays


def _first_kept(items: Sequence[ContextItem], sizes: Sequence[int], limit: int, stays: set[int]) -> int:
    """Index of the oldest item that stays, what *stays* in any case being paid first.

    Where an anchor lies not far behind the cut, the cut moves on to it: then the next prompts begin
    at the same item, and a model provider's prefix cache stays warm.
    """
    used, start = sum(sizes[i] for i in stays), len(items)
    while start > 0 and (start - 1 in stays or used + sizes[start - 1] <= limit):
        start -= 1
        used += 0 if start in stays else sizes[start]
    if start == 0:
        return 0
    left = used
    for index in range(start, len(items)):
        if items[index].anchor:
            return index
        left -= sizes[index]
        if left < limit // 2:
            break
    return start


def _show(item: ContextItem) -> ContextItem:
    if len(item.text) <= SHOWN_MESSAGE_CHARS:
        return item
    return replace(item, parts=(TextPart(shorten_middle(item.text, SHOWN_MESSAGE_CHARS)),))


def fit_total(
    kept: Sequence[Contribution],
    *,
    room: int,
    protected: frozenset[int] = frozenset(),
    floors: Mapping[int, int] | None = None,
    model: str | None = None,
) -> tuple[list[Contribution], list[DroppedNote]]:
    """*kept* within *room* tokens overall: the lowest priority gives way first.

    *protected* holds positions in *kept* that never do, *floors* how many tokens others keep in any case. Items lose
    their oldest first and keep the newest. What cannot be made to fit is returned over the room; the caller decides
    what to say.
    """
    floors = floors or {}
    remaining: dict[int, Contribution] = dict(enumerate(kept))
    notes: list[DroppedNote] = []
    excess = sum(cost(c, model) for c in kept) - room
    giving = sorted((i for i in remaining if i not in protected), key=lambda i: (kept[i].priority, -kept[i].order, -i))
    for position in giving:
        if excess <= 0:
            break
        contribution = kept[position]
        target = max(tokens_of(contribution, model) - excess, floors.get(position, 0))
        shortened, note = shorten_contribution(
            contribution, target if target >= LEAST_WORTH_KEEPING else 0, full="total", model=model
        )
        if shortened is None:
            del remaining[position]
        else:
            remaining[position] = shortened
        excess -= cost(contribution, model) - (cost(shortened, model) if shortened else 0)
        if note is not None:
            notes.append(note)
            log_cut(note)
    return [remaining[i] for i in sorted(remaining)], notes


def fit_to_request(output: PipelineOutput, model: str | None = None) -> PipelineOutput:
    """*output* cut so that the rendered prompt and the reply's share fit the request's budget, if it has one.

    The new messages, the newest turn before them, the note of an interruption, the last words, the speaker's own
    people file and the first of who the familiar is never give way; if those alone are too large the turn goes on with
    a warning.
    """
    request = output.request
    kept, notes = output.budget.kept, _shorten_pending(request)
    if request.budget_tokens > 0:
        room = (
            request.budget_tokens
            - math.ceil(request.budget_tokens * COMPLETION_SHARE)
            - _count_fixed_tokens(output, model)
        )
        spent = output.budget.tokens
        if (sum(cost(c, model) for c in kept) if spent is None else spent) > room:
            floors = _character_floors(kept, int(request.budget_tokens * CHARACTER_SHARE), model)
            kept, cuts = fit_total(kept, room=room, protected=_speakers_own(kept, request), floors=floors, model=model)
            notes += cuts
            if (over := sum(cost(c, model) for c in kept) - room) > 0:
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


def _count_fixed_tokens(output: PipelineOutput, model: str | None) -> int:
    """Tokens of what is never cut: preamble, tools, new messages, the note of an interruption, the tail."""
    request, last = output.request, output.directives
    texts: list[str | None] = [PREAMBLE, request.interruption_context]
    if not has_exchange_items(request):
        texts += [pending_text(turn) for turn in request.turns_to_answer]
    texts += [*last.lower, *last.tail, last.queued_reply, last.uncensor, last.prefill]
    return request.offered.tool_tokens + sum(estimate_tokens(text, model) + MESSAGE_OVERHEAD for text in texts if text)


def _speakers_own(kept: Sequence[Contribution], request: ContextRequest) -> frozenset[int]:
    """Positions of the speaker's people file: no budget ever loses it."""
    slug = request.author.slug if request.author else None
    return frozenset(i for i, c in enumerate(kept) if c.tag is ItemTag.PEOPLE and slug and c.key == slug)


def _character_floors(kept: Sequence[Contribution], share: int, model: str | None) -> dict[int, int]:
    """What each part of the character keeps of *share* tokens: its description first, then the others in order."""
    parts = [i for i, c in enumerate(kept) if c.layer is Layer.character and not c.items]
    floors: dict[int, int] = {}
    for position in sorted(parts, key=lambda i: (kept[i].tag is not ItemTag.PERSONA, kept[i].order, i)):
        floors[position] = min(tokens_of(kept[position], model), share)
        share -= floors[position]
    return floors


def _shorten_pending(request: ContextRequest) -> list[DroppedNote]:
    """A note for each new message too long to be shown whole; of a dialogue that brings them the layer's cut tells."""
    notes: list[DroppedNote] = []
    if has_exchange_items(request):
        return notes
    for turn in request.turns_to_answer:
        if len(turn.text) > PENDING_CHARS:
            lost = max(1, estimate_tokens(turn.text) - estimate_tokens(pending_text(turn)))
            notes.append(DroppedNote(Layer.recent_history, "pending", "truncated", lost, "message"))
            log_cut(notes[-1])
    return notes


def tokens_of(contribution: Contribution, model: str | None = None) -> int:
    """What *contribution* costs as it will be sent: its items, else its text."""
    if contribution.items:
        return sum(estimate_tokens(item.text, model) for item in contribution.items)
    return estimate_tokens(contribution.text, model)


def cost(contribution: Contribution, model: str | None = None) -> int:
    """Tokens of *contribution* with its label and what a chat format, or the blank line before it, adds."""
    if contribution.items:
        return tokens_of(contribution, model) + MESSAGE_OVERHEAD * len(contribution.items)
    return estimate_tokens(prompt_text(contribution), model) + MESSAGE_OVERHEAD


def _note(
    contribution: Contribution,
    reason: Literal["dropped", "truncated"],
    tokens: int,
    full: str = "layer",
    lost: str | None = None,
) -> DroppedNote:
    """The note of a cut; *lost* is what was left out, None: all of it."""
    text = contribution.text if lost is None else lost
    return DroppedNote(contribution.layer, contribution.source, reason, tokens, full, text)


def log_cut(note: DroppedNote) -> None:
    logger.info(
        "context cut",
        extra={
            "layer": note.layer.value,
            "source": note.source,
            "reason": note.reason,
            "tokens_dropped": note.tokens_dropped,
            "full": note.full,
        },
    )
