"""MacroContext: everything a macro may read. Time and chance are handed in, so that runs repeat."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from familiar_connect.presets.types import ChatLine


@dataclass
class Variables:
    """What `setvar` and kin keep: one store per build, handed from text to text."""

    local: dict[str, str] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MacroContext:
    """The values behind the macros of one build."""

    char: str = ""
    user: str = "User"
    scenario: str = ""
    personality: str = ""
    description: str = ""
    persona: str = ""
    mes_example: str = ""
    """The example dialogue as the card has it."""
    system_prompt: str = ""
    post_history_instructions: str = ""
    creator_notes: str = ""
    character_version: str = ""
    depth_prompt: str = ""
    first_mes: str = ""
    alternate_greetings: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    """Names of the personas present, when there are several."""
    muted: tuple[str, ...] = ()
    """Those of the group who do not speak."""
    chat: tuple[ChatLine, ...] = ()
    input: str = ""
    now: datetime | None = None
    """None: the epoch in UTC, so that a call without a clock repeats."""
    rng: random.Random = field(default_factory=lambda: random.Random(0), compare=False)
    chat_id: str = ""
    variables: Variables = field(default_factory=Variables, compare=False)
    model: str = ""
    max_prompt: int = 0
    max_context: int = 0
    max_response: int = 0
    generation: str = "normal"
    summary: str = ""
    outlets: Mapping[str, str] = field(default_factory=dict)
    """World Info behind `{{outlet::name}}`."""
    tools: Mapping[str, str] = field(default_factory=dict)
    """Tool macro (`memory_tool`) → what it expands to this turn."""
    capabilities: frozenset[str] = frozenset()
    tool_names: frozenset[str] = frozenset()
    tool_families: frozenset[str] = frozenset()
    dynamic: Mapping[str, str] = field(default_factory=dict)
    """Macros of this call alone, by name in any case; they come before all others."""
    card: bool = True
    """Whether the card's macros have a value; without, they are empty."""
    read_card: Callable[[str], str] | None = field(default=None, compare=False)
    """Reads a text of the card each time a macro asks for it; None: the texts here are read already."""
    ours: bool = True
    """Whether the macros beyond SillyTavern's own are read."""


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """What became of a text: the text, and what the reader of a report wants to know."""

    text: str
    content_macros: frozenset[str] = frozenset()
    """Content macros (`description`, `personality`, `scenario`, `persona`, …) that came out non-empty."""
    unknown: tuple[str, ...] = ()
    """Macro names that were not known, in order, each once."""
    unsupported: tuple[str, ...] = ()
    """Known names that are empty here because they need a user interface."""
    limits: tuple[str, ...] = ()
    """Limits that were met: `nesting`, `output`, `rolls`."""
