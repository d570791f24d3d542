"""What a model can do this turn, told to authored text: the tools it is offered, and what it is able to."""

from __future__ import annotations

import json
from collections.abc import Sequence

from familiar_connect.context.protocols import ToolSet
from familiar_connect.context.types import Offered
from familiar_connect.llm.types import Capabilities, ToolSpec
from familiar_connect.support.tokens import estimate_tokens
from familiar_connect.tools.types import FAMILIES

ABILITIES = ("vision", "video", "tools", "prefill", "thinking")
"""What a condition may ask of a model, by the name of what says so."""


def tools_cost(specs: Sequence[ToolSpec]) -> int:
    """Tokens that describing *specs* takes."""
    return sum(estimate_tokens(json.dumps(spec.to_dict(), ensure_ascii=False)) for spec in specs)


def turn_capabilities(tools: ToolSet | None, capabilities: Capabilities) -> Offered:
    """Names and families of *tools*, none where the model cannot use them."""
    usable = tools if capabilities.tools else None
    names = frozenset(spec.name for spec in usable.specs) if usable is not None else frozenset()
    names -= getattr(usable, "withheld", frozenset())
    return Offered(
        tools=dict(usable.macros) if usable is not None else {},
        tool_names=names,
        tool_tokens=tools_cost(usable.specs) if usable is not None else 0,
        tool_families=frozenset(family for family, members in FAMILIES.items() if members & names),
        capabilities=frozenset(ability for ability in ABILITIES if getattr(capabilities, ability)),
    )
