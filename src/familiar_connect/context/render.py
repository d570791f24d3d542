"""Native rendering: kept contributions become a prompt in one of the two native orders.

It reads no store: what was budgeted is what is sent. On top stands the preamble with the stable
blocks; then the dialogue stream: earlier turns, what changes every turn (`stable_first`), a note
of an interruption, and last what people just said. Text with a depth stands so that exactly that
many real turns follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from familiar_connect.config.types import PromptOrder
from familiar_connect.context.messages import is_dialogue, to_messages
from familiar_connect.context.slots import STREAM, place
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
from familiar_connect.support.text import shorten_middle

PREAMBLE = "User messages are prefixed with the speaker's name. Answer in your own voice, without a prefix."
PENDING_CHARS = 32_000
"""A message longer than this is shown with its middle left out; the history keeps all of it."""


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """How a familiar's prompts are laid out."""

    prompt_order: PromptOrder = PromptOrder.stable_first
    depth_inject_position: int = 0
    depth_inject_role: Role = "system"


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
    kept = output.budget.kept
    moved = [c for c in kept if stable_first and _leaves_its_seat(c)]
    top = [c for c in kept if place(c) < STREAM and c.depth is None and c not in moved]
    if stable_first:
        top = [c for c in top if _is_system(c)] + [c for c in top if not _is_system(c)]
    preamble = ContextItem.of("system", PREAMBLE, tag=ItemTag.PREAMBLE, source="preamble")
    head = [preamble, *(item for c in top for item in _items_of(c))]
    stream = _stream(output.request, kept, [item for c in moved for item in _items_of(c)])
    items = [*head, *stream]
    items = _inject(items, kept, options)
    items = _place_by_depth(items, [c for c in kept if c.depth is not None and c not in moved])
    turn = output.request.turn
    return Prompt(
        items=tuple(items),
        directives=output.directives,
        dropped=tuple(output.budget.dropped),
        **({"message_ids": turn.message_ids} if turn is not None else {}),
    )


def _leaves_its_seat(contribution: Contribution) -> bool:
    """Whether *contribution* changes every turn and so, in `stable_first`, stands before the newest exchange."""
    return contribution.volatile and contribution.layer not in (Layer.recent_history, Layer.depth_inject)


def _is_system(contribution: Contribution) -> bool:
    return all(item.role == "system" for item in _items_of(contribution))


def _items_of(contribution: Contribution) -> tuple[ContextItem, ...]:
    if contribution.items:
        return contribution.items
    return (
        ContextItem.of(
            contribution.role,
            contribution.text,
            tag=contribution.tag,
            depth=contribution.depth,
            source=contribution.source,
        ),
    )


def _stream(
    request: ContextRequest, kept: Sequence[Contribution], volatile: Sequence[ContextItem]
) -> list[ContextItem]:
    """The dialogue so far, what changes every turn, the note of an interruption, and the new messages."""
    recent = [c for c in kept if c.layer is Layer.recent_history and c.depth is None]
    stream = [item for c in recent if not c.items for item in _items_of(c)]
    stream += [item for c in recent if c.items for item in c.items]
    pending = [] if _brings_the_exchange(request) else [pending_item(turn) for turn in request.speakers_turns]
    before: list[ContextItem] = list(volatile)
    if request.interruption_context and request.interruption_context.strip():
        before.append(ContextItem.of("system", request.interruption_context, source="interruption"))
    if not pending:
        at = _exchange_start(stream, request)
        return [*stream[:at], *before, *stream[at:]]
    return [*stream, *before, *pending]


def _brings_the_exchange(request: ContextRequest) -> bool:
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
    text = shorten_middle(turn.text, PENDING_CHARS)
    author = turn.author
    return ContextItem(
        role="user",
        parts=(TextPart(f"{author.label}: {text}" if author else text),),
        tag=ItemTag.DIALOGUE,
        name=author.openai_name if author else None,
        history_id=turn.history_id,
        source="pending",
    )


def _inject(items: list[ContextItem], kept: Sequence[Contribution], options: RenderOptions) -> list[ContextItem]:
    """Text of the depth-inject layer at its configured position from the end, never behind the newest message."""
    texts = [c.text.strip() for c in kept if c.layer is Layer.depth_inject and c.depth is None]
    if not any(texts):
        return items
    text = "\n\n".join(text for text in texts if text)
    source = next(c.source for c in kept if c.layer is Layer.depth_inject and c.depth is None)
    note = ContextItem.of(options.depth_inject_role, text, tag=ItemTag.THINKING, source=source)
    top = next((i for i, item in enumerate(items) if item.role != "system"), len(items))
    messages = 1 + len(items) - top
    index = max(1, messages - max(1, options.depth_inject_position))
    at = top + index - 1
    return [*items[:at], note, *items[at:]]


def _place_by_depth(items: list[ContextItem], contributions: Sequence[Contribution]) -> list[ContextItem]:
    """Each contribution where exactly `depth` real turns follow; low `order` first at equal depth."""
    placed = items
    for contribution in sorted(contributions, key=lambda c: (-(c.depth or 0), c.order)):
        at = _with_turns_after(placed, contribution.depth or 0)
        placed = [*placed[:at], *_items_of(contribution), *placed[at:]]
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
