"""Conditions of our own: what the model and its tools can do now, and what the tools are called.

`{{if capability:vision}}`, `{{if tool:search}}` and `{{if !tool_family:web}}` stand beside SillyTavern's conditions.
`{memory_tool}` and kin name the tool as the model knows it, or say in plain words what it would have done.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

from familiar_connect.presets.macros.types import MacroContext

log = logging.getLogger(__name__)

PHRASES: Mapping[str, str] = {
    "memory_tool": "your memory",
    "memory_update_tool": "your memory",
    "memory_delete_tool": "your memory",
    "memory_search_tool": "what you remember",
    "short_term_memory_tool": "your short-term notes",
    "sticker_tool": "a sticker",
    "task_tool": "your reminders",
    "task_update_tool": "your reminders",
    "document_tool": "your documents",
    "message_metadata_tool": "the details of the message",
    "image_analysis_tool": "a look at the picture",
    "search_tool": "a search",
    "web_search_tool": "a web search",
    "fetch_tool": "a look at the page",
}
"""What a tool macro says when there is no such tool this turn."""

_TOOL = re.compile(r"(?<!\{)\{\s*([a-z]\w*_tool)\s*\}(?!\})", re.I | re.ASCII)
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_PREDICATE = re.compile(r"([A-Za-z_]{1,32}):([A-Za-z0-9_.-]{1,64})")


def fill_tool_names(text: str, ctx: MacroContext) -> str:
    """*text* with single-brace tool macros filled in; other braces stay."""
    if "_tool" not in text.lower():
        return text
    return _TOOL.sub(lambda found: found[0] if (name := tool_name(found[1], ctx)) is None else name, text)


def tool_name(macro: str, ctx: MacroContext) -> str | None:
    """What the tool macro *macro* comes to; None when there is no such macro."""
    macro = macro.lower()
    name = ctx.tools.get(macro)
    if name:
        return f"`{name}`" if _FUNCTION.fullmatch(name) else name
    return PHRASES.get(macro)


def is_predicate(condition: str) -> bool:
    return _PREDICATE.fullmatch(condition) is not None


def is_condition_met(condition: str, ctx: MacroContext, *, inverted: bool) -> bool:
    """Whether a predicate holds. One nobody knows never does, inverted or not."""
    found = _PREDICATE.fullmatch(condition)
    known = {"capability": ctx.capabilities, "tool": ctx.tool_names, "tool_family": ctx.tool_families}
    if found is None or found[1].lower() not in known:
        log.warning("a condition asks for something unknown; it never holds", extra={"predicate": condition[:100]})
        return False
    return (found[2] in known[found[1].lower()]) is not inverted
