"""What SillyTavern's assembly is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from familiar_connect.context.types import ContextItem, DroppedNote, ItemTag, Layer
from familiar_connect.errors import PresetError
from familiar_connect.llm.types import Role
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.story.types import AuthorNote, PersonaPosition
from familiar_connect.presets.types import CardFields, ChatLine, GenerationKind, PresetNode, PresetSettings, RegexScript
from familiar_connect.presets.world_info.types import ScanSettings, TimedEffects, WorldBook, WorldInfo
from familiar_connect.support.text import utf16_length

DEFAULT_CONTEXT, DEFAULT_ANSWER = 4095, 300
"""SillyTavern's own sizes, for presets that name none."""


@dataclass(frozen=True)
class Piece:
    """One message while the prompt is being laid out."""

    role: Role
    text: str
    name: str | None = None
    source: str = ""
    tag: ItemTag | None = None
    layer: Layer = Layer.core
    line: int | None = None
    """Which line of the chat it is, counted from the oldest."""
    injected: bool = False
    """Put among the chat by depth, not said by anyone."""
    apart: bool = False
    """A separator or nudge: never joined with its neighbours."""


def estimate_piece_tokens(piece: Piece) -> int:
    """A message's size where no better counter is at hand: four letters a token, role and name included."""
    return 1 + sum(-(-utf16_length(value) // 4) for value in (piece.role, piece.text, piece.name or ""))


def estimate_entry_tokens(length: int) -> int:
    """The same for lore of so many letters, which is counted as a system message."""
    return 5 + -(-length // 4) if length else 0


@dataclass(frozen=True, kw_only=True)
class SillyTavernInputs:
    """Everything one prompt is made of."""

    preset_name: str = ""
    nodes: tuple[PresetNode, ...] = ()
    """The order in force, disabled entries included, as `prompt_order.nodes_of` gives it for this fidelity."""
    settings: PresetSettings = field(default_factory=PresetSettings)
    card: CardFields = field(default_factory=CardFields)
    persona: str = ""
    persona_position: PersonaPosition = "prompt"
    persona_depth: int = 2
    persona_role: Role = "system"
    chat: tuple[ChatLine, ...] = ()
    """Oldest first, hidden lines included."""
    context: MacroContext = field(default_factory=MacroContext)
    """Names, clock, chance and variables. The card's fields and the chat are filled in from here."""
    kind: GenerationKind = "normal"
    author_note: AuthorNote | None = None
    scans_notes: bool = False
    """Whether keys of World Info are looked for in the card's depth prompt too."""
    quiet_prompt: str = ""
    is_group: bool = False
    pin_examples: bool = False
    """Examples are fitted before the chat, so that the chat gives way."""
    prefers_card_prompts: bool = True
    """Whether the card's own system prompt replaces the preset's."""
    prefers_card_last_words: bool = True
    """The same for its words after the chat."""
    takes_prefill: bool = False
    """Whether the model continues a trailing assistant message: only then is the preset's prefill sent."""
    budget: int | None = None
    """The window without the answer, in tokens; what frames the answer is taken off here. None: as many as it needs."""
    count: Callable[[Piece], int] = estimate_piece_tokens
    count_lore: Callable[[int], int] = estimate_entry_tokens
    """Tokens of so many letters of World Info."""
    books: tuple[WorldBook, ...] = ()
    """World Info in force."""
    scan: ScanSettings = ScanSettings()
    timed: TimedEffects = TimedEffects()
    """What World Info kept from earlier turns of this chat."""
    regex: tuple[RegexScript, ...] = ()
    """Scripts that may rewrite World Info."""
    tags: tuple[str, ...] = ()
    """The character's, for entries that are for some characters only."""


@dataclass(frozen=True, kw_only=True)
class AssembledPrompt:
    """The prompt, and what had no room in it."""

    items: tuple[ContextItem, ...]
    lines: tuple[int | None, ...] = ()
    """For each item the line of the chat it shows, if it shows one."""
    dropped: tuple[DroppedNote, ...] = ()
    world: WorldInfo = WorldInfo()


class PromptTooLarge(PresetError):
    """What the preset and card insist on does not fit. `built` is what stood when the room ran out."""

    def __init__(self, message: str, built: AssembledPrompt | None = None) -> None:
        super().__init__(message)
        self.built = built
