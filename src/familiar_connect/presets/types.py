"""Presets as values: the nodes, their orders and switches; and the card and chat they are laid over."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Literal

from familiar_connect.llm.types import Role, Sampling, TextTemplate


class PresetFidelity(Enum):
    """How true to SillyTavern a turn with an active preset is."""

    with_memory = "with_memory"
    sillytavern = "sillytavern"


GenerationKind = Literal["normal", "continue", "impersonate", "quiet", "swipe", "regenerate"]


@dataclass(frozen=True, kw_only=True)
class PresetNode:
    """One prompt of a preset, as its file has it. Whether it is on, an order says."""

    identifier: str
    name: str = ""
    role: Role = "system"
    content: str = ""
    is_marker: bool = False
    is_enabled: bool = True
    """Set when an order is applied; in `Preset.prompts` it is the file's own `enabled`."""
    is_comment: bool = False
    """Nothing but comments and trims: shown among the toggles, never sent."""
    node_order: int = 0
    position: int = 0
    """0 stands where the order puts it, 1 among the chat by depth."""
    depth: int | None = 4
    """None: the file gives no number, so no depth ever matches."""
    depth_given: bool = True
    role_given: bool = True
    """Whether the file itself says so. SillyTavern finds no place among the chat for a prompt that does not."""
    order: int = 100
    triggers: tuple[str, ...] = ()
    forbid_overrides: bool = False
    system_prompt: bool | None = None
    """Whether the file calls it built in; None where it does not say."""


@dataclass(frozen=True, kw_only=True)
class OrderEntry:
    identifier: str
    enabled: bool = True


@dataclass(frozen=True, kw_only=True)
class PromptOrderList:
    character_id: str
    entries: tuple[OrderEntry, ...]


@dataclass(frozen=True, kw_only=True)
class PresetSettings:
    """What a preset says besides its prompts. None: the file is silent, the fidelity's default holds."""

    names_behavior: int | None = None
    squash_system_messages: bool = False
    wrap_in_quotes: bool = False
    new_chat_prompt: str = "[Start a new Chat]"
    new_group_chat_prompt: str = "[Start a new group chat. Group members: {{group}}]"
    new_example_chat_prompt: str = "[Example Chat]"
    continue_nudge_prompt: str = "[Continue your last message without repeating its original content.]"
    group_nudge_prompt: str = "[Write the next reply only as {{char}}.]"
    impersonation_prompt: str = (
        "[Write your next reply from the point of view of {{user}}, using the chat history so far as a guideline "
        "for the writing style of {{user}}. Write 1 reply only in internet RP style. Don't write as {{char}} or "
        "system. Don't describe actions of {{char}}.]"
    )
    wi_format: str = "{0}"
    scenario_format: str = "{{scenario}}"
    personality_format: str = "{{personality}}"
    assistant_prefill: str = ""
    assistant_impersonation: str = ""
    send_if_empty: str = ""
    continue_prefill: bool = False
    continue_postfix: str = " "
    max_context: int | None = None
    max_tokens: int | None = None
    post_processing: str = ""


@dataclass(frozen=True, kw_only=True)
class RegexScript:
    """A rule that rewrites text, with SillyTavern's meanings."""

    name: str
    find: str
    """`/pattern/flags`, or a pattern alone, which stands for its first match."""
    replacement: str = ""
    """May hold `$1`, `$<name>`, `{{match}}` and macros."""
    trims: tuple[str, ...] = ()
    """Taken out of what a match or group holds."""
    placements: tuple[int, ...] = ()
    """What it is for: see `presets.regex_scripts.Placement`."""
    is_off: bool = False
    is_display_only: bool = False
    is_prompt_only: bool = False
    substitution: int = 0
    """Whether macros in the pattern are read: 0 no, 1 as they are, 2 with their characters taken literally."""
    min_depth: int | None = None
    max_depth: int | None = None
    """How far from the end of the chat a message may be; 0 is the last."""
    origin: str = "own"
    """`own`, `card` or `preset`."""
    is_waiting: bool = False
    """Off only because the owner has not allowed it yet."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A preset as it was imported: every prompt and every order list, with the owner's toggles beside them."""

    name: str
    prompts: tuple[PresetNode, ...] = ()
    orders: tuple[PromptOrderList, ...] = ()
    settings: PresetSettings = field(default_factory=PresetSettings)
    toggles: tuple[OrderEntry, ...] = ()
    """The owner's own switches; they win over the order list."""
    legacy: bool = False
    """Made from a text-completion preset."""
    template: TextTemplate | None = None
    """The signs around messages that it brings, for models that are given one text."""
    sampling: Sampling = Sampling()
    """How it wants a reply's words chosen."""
    unapplied: tuple[str, ...] = ()
    """Settings of the file that are for the model's service and stay unused here, by name."""
    connections: tuple[str, ...] = ()
    """Endpoints, proxies and keys the file brings, by name alone; never applied, their values never kept."""
    regex_scripts: int = 0
    """How many scripts that rewrite text it brings."""
    scripts: tuple[RegexScript, ...] = ()
    """Those of them that can be read."""
    extensions: tuple[str, ...] = ()
    """Other add-ons the file brings data or scripts for, by name; none is run."""

    @property
    def is_bare(self) -> bool:
        """Whether it has nothing for the prompt itself: samplers, or the signs around messages, alone."""
        return self.legacy and not self.prompts


@dataclass(frozen=True, kw_only=True)
class CardFields:
    """The character as its card has it, before any macro is read."""

    name: str = ""
    description: str = ""
    personality: str = ""
    scenario: str = ""
    first_mes: str = ""
    mes_example: str = ""
    system_prompt: str = ""
    post_history_instructions: str = ""
    creator_notes: str = ""
    character_version: str = ""
    alternate_greetings: tuple[str, ...] = ()
    depth_prompt: str = ""
    depth_prompt_depth: int = 4
    depth_prompt_role: Role = "system"
    nickname: str = ""
    is_unnamed: bool = False
    """The card has no name; it goes by the familiar's."""


@dataclass(frozen=True, kw_only=True)
class ChatLine:
    """One message of the chat, as macros and SillyTavern's own assembly see it."""

    name: str
    text: str
    is_user: bool = False
    is_hidden: bool = False
    is_narrator: bool = False
    is_first: bool = False
    """Message 0, the greeting."""
    forced_name: bool = False
    """Spoken under a name and picture of its own: prefixed where names are left to the default."""
    sent_at: datetime | None = None
    swipes: tuple[str, ...] = ()
    swipe_id: int = 0


@dataclass(frozen=True, kw_only=True)
class ActivePreset:
    """The preset of one turn and how true to SillyTavern it is laid over the prompt."""

    preset: Preset
    fidelity: PresetFidelity = PresetFidelity.with_memory
    has_samplers: bool = True
    """Whether its samplers hold over those of the model's slot."""
