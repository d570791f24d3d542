"""Texts that stand among the chat by depth, gathered into the messages they become.

`group_by_depth` gives one message per depth, order and role. From top to bottom the lower order comes first, and inside
one order assistant, user, system, so that system is nearest the end. Texts of one message are joined by a newline, in
the order given. The caller places the blocks of a depth: exactly that many messages of the chat follow them, and a
depth beyond the chat goes before its first message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from familiar_connect.llm.types import Role
from familiar_connect.presets.sillytavern.js_text import js_trim

DEEPEST = 10_000
ADDED_ORDER = 100
"""The order that notes and other additions join."""
TOP_TO_BOTTOM: tuple[Role, ...] = ("assistant", "user", "system")


@dataclass(frozen=True, kw_only=True)
class DepthText:
    """One text meant for a depth. A depth of None, or beyond the deepest, never comes up."""

    role: Role
    text: str
    depth: int | None
    order: int = ADDED_ORDER
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class DepthBlock:
    """One message made of the texts of the same depth, order and role."""

    role: Role
    text: str
    depth: int
    order: int
    sources: tuple[str, ...] = ()


def group_by_depth(
    texts: Iterable[DepthText], added: Mapping[tuple[int, Role], DepthText] | None = None
) -> dict[int, tuple[DepthBlock, ...]]:
    """The messages of each depth that has any, smallest depth first; *added* closes its role's message at order 100."""
    buckets: dict[int, dict[tuple[int, Role], list[DepthText]]] = {}
    for text in texts:
        if text.text and text.depth is not None and 0 <= text.depth <= DEEPEST:
            buckets.setdefault(text.depth, {}).setdefault((text.order, text.role), []).append(text)
    added = {key: text for key, text in (added or {}).items() if text.text and 0 <= key[0] <= DEEPEST}
    for depth, role in added:
        buckets.setdefault(depth, {}).setdefault((ADDED_ORDER, role), [])
    found = {depth: _blocks(depth, buckets[depth], added) for depth in sorted(buckets)}
    return {depth: blocks for depth, blocks in found.items() if blocks}


def _blocks(
    depth: int, buckets: Mapping[tuple[int, Role], list[DepthText]], added: Mapping[tuple[int, Role], DepthText]
) -> tuple[DepthBlock, ...]:
    blocks = []
    for order, role in sorted(buckets, key=lambda key: (key[0], TOP_TO_BOTTOM.index(key[1]))):
        texts = buckets[order, role]
        pieces = [js_trim("\n".join(text.text for text in texts))] if texts else []
        sources = [text.source for text in texts]
        addition = added.get((depth, role)) if order == ADDED_ORDER else None
        if addition is not None:
            pieces.append(js_trim(addition.text))
            sources.append(addition.source)
        joined = "\n".join(pieces)
        if joined:
            blocks.append(DepthBlock(role=role, text=joined, depth=depth, order=order, sources=tuple(sources)))
    return tuple(blocks)
