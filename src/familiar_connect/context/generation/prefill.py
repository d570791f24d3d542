"""with_prefill: the assistant's first words as one model can take them.

A model that continues a turn it finds begun gets them as the last turn. For one that does not, because of
what it is, because it thinks first or because it has tools, the words somebody asked for become an
instruction, and the familiar's own are left out.
"""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.chat.types import Turn
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.llm.types import Capabilities, TextPart
from familiar_connect.support.system_notes import note, quote_inline

SOURCE = "prefill"
"""Of the item that the tail ends with."""


def with_prefill(
    prompt: Prompt, capabilities: Capabilities, *, turn: Turn | None = None, tools: bool = False
) -> Prompt:
    """*prompt* with its prefill, if it has one, adapted to this attempt; it stays last."""
    items = [item for item in prompt.items if item.tag is not ItemTag.PREFILL]
    given = [item for item in prompt.items if item.tag is ItemTag.PREFILL]
    text = "\n".join(item.text.strip() for item in given).strip()
    if not given:
        return prompt
    manual = is_manual(turn)
    if given[-1].source != SOURCE:  # laid out by somebody who knew the turn: taken whole or not at all
        items += given if can_continue(capabilities, tools=tools) else []
    elif text and (manual or _own_applies(turn)):
        text = with_prefill_name(text, turn.persona if turn is not None and turn.showing.own_names else "")
        if can_continue(capabilities, tools=tools):
            items.append(replace(given[-1], parts=(TextPart(text),)))
        elif manual:
            items.append(ContextItem.of("user", prefill_instruction(text), tag=ItemTag.TAIL, source=SOURCE))
    return replace(prompt, items=tuple(items))


def can_continue(capabilities: Capabilities, *, tools: bool = False) -> bool:
    """Whether a model goes on from an assistant's turn that stands last."""
    return capabilities.prefill and not capabilities.thinking and not tools


def is_manual(turn: Turn | None) -> bool:
    """Whether the first words were asked for with this turn, and are not the familiar's own."""
    return turn is not None and bool((turn.directives.prefill or "").strip())


def with_prefill_name(text: str, name: str) -> str:
    """*text* with `name: ` before it, once; without a name as it is."""
    text = text.strip()
    if not name or text.casefold().startswith(f"{name.casefold()}:"):
        return text
    return f"{name}: {text}"


def prefill_instruction(text: str) -> str:
    """The same as an order, for a model that begins every turn itself."""
    return note(f"Begin your reply with exactly these words: {quote_inline(text)}")


def _own_applies(turn: Turn | None) -> bool:
    """The familiar's own first words are for its plain replies."""
    if turn is None:
        return True
    flags = turn.flags
    return not (flags.impersonation or flags.reasoning or flags.stop or flags.reminder is not None)
