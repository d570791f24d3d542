"""The nodes of a preset that speak this turn, their macros read: each once, in order, over one store of variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from familiar_connect.presets.macros import conditions, engine, identity_macros
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.types import PresetNode

SLOTS = ("main", "jailbreak")
"""Nodes that stay a place in the prompt even when they say nothing themselves."""


@dataclass(frozen=True, kw_only=True)
class ResolvedPreset:
    """What a preset says this turn. A node's `content` is its text as it will be sent."""

    nodes: tuple[PresetNode, ...] = ()
    content_macros: frozenset[str] = frozenset()
    """Content macros (`description`, `persona`, …) that some node read and that were not empty."""


def resolve_nodes(nodes: Iterable[PresetNode], ctx: MacroContext) -> ResolvedPreset:
    """The enabled *nodes* whose triggers fit, in node order; blank ones go, markers and slots stay."""
    speaking: list[PresetNode] = []
    told: frozenset[str] = frozenset()
    for node in nodes:
        if not node.is_enabled or node.is_comment or (node.triggers and ctx.generation not in node.triggers):
            continue
        if node.is_marker:
            speaking.append(replace(node, content=""))
            continue
        text = node.content
        if "{" in text or "<" in text:
            done = engine.expand(text, ctx, defer_random=True)
            told |= done.content_macros
            text = identity_macros.fill_identity(
                conditions.fill_tool_names(done.text, ctx), char=ctx.char, user=ctx.user
            )
        if text.strip() or node.identifier in SLOTS:
            speaking.append(node if text == node.content else replace(node, content=text))
    return ResolvedPreset(nodes=tuple(speaking), content_macros=told)
