"""Native rendering: kept contributions become a prompt in one of the two native orders.

It reads no store: what was budgeted is what is sent. On top stands the preamble with the stable
blocks; then the dialogue stream: earlier turns, what changes every turn (`stable_first`), a note
of an interruption, and last what people just said. Text with a depth stands so that exactly that
many real turns follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from familiar_connect.chat.types import Sender
from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.types import PromptOrder
from familiar_connect.context.messages import is_dialogue, to_messages, top_length
from familiar_connect.context.slots import STREAM, in_prompt_order, prompt_text, slot_index
from familiar_connect.context.types import (
    ContextItem,
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    PendingTurn,
    PipelineOutput,
    Prompt,
)
from familiar_connect.llm.types import Message, Role, TextPart
from familiar_connect.support.system_notes import mark_further_lines, speaker_name, without_fake_notes
from familiar_connect.support.text import shorten_middle

HOW_TO_READ = "User messages are prefixed with the speaker's name."
PREAMBLE = f"{HOW_TO_READ} Answer in your own voice, without a prefix."
PENDING_CHARS = 32_000
"""A message longer than this is shown with its middle left out; the history keeps all of it."""


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """How a familiar's prompts are laid out."""

    prompt_order: PromptOrder = PromptOrder.stable_first
    depth_inject_position: int = 0
    depth_inject_role: Role = "system"


def render_options(config: CharacterConfig) -> RenderOptions:
    """How *config* has prompts laid out."""
    return RenderOptions(
        prompt_order=config.prompt_order,
        depth_inject_position=config.depth_inject_position,
        depth_inject_role="user" if config.depth_inject_role == "user" else "system",
    )


def assemble_chat_messages(
    output: PipelineOutput,
    *,
    depth_inject_position: int = 0,
    depth_inject_role: Role = "system",
    prompt_order: PromptOrder = PromptOrder.stable_first,
) -> list[Message]:
    """The messages of *output* in native order, for whoever needs neither preset nor tail."""
    options = RenderOptions(
        prompt_order=prompt_order,
        depth_inject_position=depth_inject_position,
        depth_inject_role=depth_inject_role,
    )
    return to_messages(native_prompt(output, options).items)


def native_prompt(output: PipelineOutput, options: RenderOptions | None = None) -> Prompt:
    """*output* as a prompt in native order, its directives beside the items."""
    options = options or RenderOptions()
    stable_first = options.prompt_order is PromptOrder.stable_first
    seats: dict[_Seat, list[Contribution]] = {seat: [] for seat in _Seat}
    for contribution in _keep(output):
        seats[_seat(contribution, stable_first=stable_first)].append(contribution)
    top = seats[_Seat.top]
    if stable_first:
        top = [c for c in top if _is_system(c)] + [c for c in top if not _is_system(c)]
    turn = output.request.turn
    imitates = turn is not None and turn.imitated is not None
    preamble = ContextItem.of("system", HOW_TO_READ if imitates else PREAMBLE, tag=ItemTag.PREAMBLE, source="preamble")
    items = [preamble, *(item for c in top for item in _items_of(c))]
    items += _stream(output.request, seats[_Seat.dialogue], seats[_Seat.before_exchange])
    items = _inject(items, seats[_Seat.inject], options)
    items = _place_by_depth(items, seats[_Seat.by_depth])
    turn = output.request.turn
    prompt = Prompt(items=tuple(items), directives=output.directives, dropped=tuple(output.budget.dropped))
    return prompt if turn is None else replace(prompt, message_ids=turn.message_ids)


class _Seat(Enum):
    """Where a contribution stands."""

    top = "top"
    dialogue = "dialogue"
    before_exchange = "before_exchange"
    inject = "inject"
    by_depth = "by_depth"


def _seat(contribution: Contribution, *, stable_first: bool) -> _Seat:
    in_stream = contribution.layer in (Layer.recent_history, Layer.depth_inject)
    if stable_first and contribution.volatile and not in_stream:
        return _Seat.before_exchange
    if _depth_of(contribution) is not None:
        return _Seat.by_depth
    if in_stream:
        return _Seat.dialogue if contribution.layer is Layer.recent_history else _Seat.inject
    return _Seat.top if slot_index(contribution) < STREAM else _Seat.before_exchange


def _depth_of(contribution: Contribution) -> int | None:
    """The turns that follow *contribution*; words meant for after the history stand last unless they say otherwise."""
    if contribution.depth is None and contribution.tag is ItemTag.POST_HISTORY:
        return 0
    return contribution.depth


def _keep(output: PipelineOutput) -> list[Contribution]:
    """What was kept; a result that holds nothing but the joined text of its layers counts as one block for each."""
    result = output.budget
    if result.kept or not result.by_layer:
        return result.kept
    return in_prompt_order(
        [Contribution.of(layer, text, source=layer.value) for layer, text in result.by_layer.items()]
    )


def _is_system(contribution: Contribution) -> bool:
    roles = [item.role for item in contribution.items] or [contribution.role]
    return all(role == "system" for role in roles)


def _items_of(contribution: Contribution, *, apart: bool = False) -> tuple[ContextItem, ...]:
    if contribution.items:
        return contribution.items
    item = ContextItem.of(
        contribution.role,
        prompt_text(contribution),
        tag=contribution.tag,
        depth=contribution.depth,
        source=contribution.source,
        apart=apart,
    )
    return (replace(item, key=contribution.key) if contribution.key else item,)


def _stream(
    request: ContextRequest, recent: Sequence[Contribution], volatile: Sequence[Contribution]
) -> list[ContextItem]:
    """The dialogue so far, what changes every turn, the note of an interruption, and the new messages."""
    stream = [item for c in recent if not c.items for item in _items_of(c, apart=True)]
    stream += [item for c in recent for item in c.items]
    before = [item for c in volatile for item in _items_of(c, apart=True)]
    if request.interruption_context and request.interruption_context.strip():
        before.append(ContextItem.of("system", request.interruption_context, source="interruption", apart=True))
    if has_exchange_items(request):
        at = _exchange_start(stream, request)
        return [*stream[:at], *before, *stream[at:]]
    asked = [turn for turn in request.turns_to_answer if turn.text.strip() or request.turn is None]
    return [*stream, *before, *map(pending_item, asked)]


def has_exchange_items(request: ContextRequest) -> bool:
    """Whether the dialogue items already hold the messages being answered."""
    return request.turn is not None and bool(request.turn.messages)


def _exchange_start(stream: Sequence[ContextItem], request: ContextRequest) -> int:
    """Index of the first message of the exchange among the dialogue items."""
    first = request.before_id
    for index, item in enumerate(stream):
        if first is not None and item.history_id is not None and item.history_id >= first:
            return index
    return max(0, len(stream) - 1)


def pending_item(turn: PendingTurn) -> ContextItem:
    """One message being answered, as it is sent: the speaker's name before the words."""
    who, words = _speaker_and_words(turn)
    return ContextItem(
        role="user",
        parts=(TextPart(pending_text(turn)),),
        tag=ItemTag.DIALOGUE,
        name=turn.author.openai_name if turn.author else None,
        sender=Sender(name=who) if turn.author else None,
        words=words,
        history_id=turn.history_id,
        source="pending",
    )


def pending_text(turn: PendingTurn) -> str:
    """The text of `pending_item`, for whoever only counts it."""
    who, words = _speaker_and_words(turn)
    return f"{who}: {words}" if turn.author else words


def _speaker_and_words(turn: PendingTurn) -> tuple[str, str]:
    text = shorten_middle(turn.text, PENDING_CHARS)
    author = turn.author
    if author is None:
        return "", text
    return speaker_name(author.label, author.user_id), mark_further_lines(without_fake_notes(text))


def _inject(items: list[ContextItem], notes: Sequence[Contribution], options: RenderOptions) -> list[ContextItem]:
    """Text of the depth-inject layer at its configured position from the end, never behind the newest message."""
    ranked = sorted(notes, key=lambda c: (-c.priority, c.order))
    text = "\n\n".join(item.text.strip() for c in ranked for item in _items_of(c) if item.text.strip())
    if not text:
        return items
    note = ContextItem.of(options.depth_inject_role, text, tag=ItemTag.THINKING, source=ranked[0].source, apart=True)
    top = top_length(items)
    messages = 1 + len(items) - top
    index = max(1, messages - max(1, options.depth_inject_position))
    at = top + index - 1
    return [*items[:at], note, *items[at:]]


def _place_by_depth(items: list[ContextItem], contributions: Sequence[Contribution]) -> list[ContextItem]:
    """Each contribution where exactly `depth` real turns follow; low `order` first at equal depth."""
    placed = items
    for contribution in sorted(contributions, key=lambda c: (-(_depth_of(c) or 0), c.order)):
        at = _with_turns_after(placed, _depth_of(contribution) or 0)
        placed = [*placed[:at], *_items_of(contribution, apart=True), *placed[at:]]
    return placed


def _with_turns_after(items: Sequence[ContextItem], turns: int) -> int:
    """Index at which exactly *turns* dialogue items follow; before the first one when there are fewer."""
    if turns <= 0:
        return len(items)
    seen = 0
    at = len(items)
    for index in range(len(items) - 1, -1, -1):
        if is_dialogue(items[index]):
            seen += 1
            at = index
            if seen == turns:
                break
    return at
