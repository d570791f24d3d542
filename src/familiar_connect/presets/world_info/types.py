"""The values of World Info: entries, settings, what lasts between turns, and what a scan found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property

from familiar_connect.llm.types import Role
from familiar_connect.presets.world_info.scan_settings import BookOrder as BookOrder
from familiar_connect.presets.world_info.scan_settings import ScanSettings as ScanSettings

SCAN_LIMIT = "World Info"
"""Stands in the place of an entry's name where a turn tells that the whole scan stopped early."""


class EntryPosition(IntEnum):
    """Where an entry's text goes; the numbers are those of the files."""

    before_card = 0
    after_card = 1
    note_top = 2
    note_bottom = 3
    at_depth = 4
    examples_top = 5
    examples_bottom = 6
    outlet = 7


class SecondaryLogic(IntEnum):
    """What the secondary keys must do besides a primary key that is there."""

    and_any = 0
    not_all = 1
    not_any = 2
    and_all = 3


class BookKind(Enum):
    """Whose book it is; that decides its place in the order."""

    chat = "chat"
    persona = "persona"
    character = "character"
    everyone = "global"


@dataclass(frozen=True, kw_only=True)
class CharacterFilter:
    """Whom an entry is for; with `is_exclude`, whom it is not for."""

    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    is_exclude: bool = False


@dataclass(frozen=True, kw_only=True)
class WorldEntry:
    """One entry of a book. None leaves a choice to the settings."""

    book: str = ""
    uid: int | str = 0
    title: str = ""
    keys: tuple[str, ...] = ()
    secondary_keys: tuple[str, ...] = ()
    content: str = ""
    """The text without its decorators."""
    decorators: tuple[str, ...] = ()
    is_constant: bool = False
    is_selective: bool = True
    logic: SecondaryLogic = SecondaryLogic.and_any
    order: float = 100
    position: EntryPosition = EntryPosition.before_card
    is_disabled: bool = False
    ignores_budget: bool = False
    exclude_recursion: bool = False
    prevent_recursion: bool = False
    recursion_level: int = 0
    """From which step of recursion it may be found; 0: from the start."""
    probability: float = 100
    use_probability: bool = True
    depth: int = 4
    role: Role = "system"
    outlet: str = ""
    group: str = ""
    """Names of groups, by commas: of each one entry is shown."""
    group_override: bool = False
    group_weight: float = 100
    scan_depth: int | None = None
    case_sensitive: bool | None = None
    whole_words: bool | None = None
    group_scoring: bool | None = None
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    card_fields: tuple[str, ...] = ()
    """Fields of the card, and `persona`, that are searched for its keys too."""
    triggers: tuple[str, ...] = ()
    character_filter: CharacterFilter = CharacterFilter()
    fingerprint: str = ""
    """Changes when the entry is edited."""

    @cached_property
    def key(self) -> str:
        """What tells it from every other entry."""
        return f"{self.book}.{self.uid}"

    @property
    def name(self) -> str:
        return self.title or f"uid {self.uid}"


@dataclass(frozen=True, kw_only=True)
class WorldBook:
    """One book: entries in their order."""

    name: str
    kind: BookKind = BookKind.everyone
    entries: tuple[WorldEntry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TimedEffect:
    """An entry that stays, or stays away, until the chat has so many messages."""

    fingerprint: str
    start: int
    end: int
    is_protected: bool = False
    """Holds although the chat has not grown since it began."""


@dataclass(frozen=True, kw_only=True)
class TimedEffects:
    """What lasts in one chat, by the entry's key."""

    sticky: Mapping[str, TimedEffect] = field(default_factory=dict)
    cooldown: Mapping[str, TimedEffect] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Activation:
    """An entry that a scan called up, its text with macros read, and why."""

    entry: WorldEntry
    text: str
    explain: Callable[[], str] = field(default=lambda: "", compare=False)

    @property
    def reason(self) -> str:
        """Why it was called up, in words."""
        return self.explain()


@dataclass(frozen=True, kw_only=True)
class EntriesAtDepth:
    """Texts that stand among the chat at one depth, in one role."""

    depth: int
    role: Role
    texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class WorldInfo:
    """What a scan found, each text where it belongs."""

    activated: tuple[Activation, ...] = ()
    """In the order in which they were found."""
    before: str = ""
    after: str = ""
    note_top: tuple[str, ...] = ()
    note_bottom: tuple[str, ...] = ()
    depth: tuple[EntriesAtDepth, ...] = ()
    examples_top: tuple[str, ...] = ()
    examples_bottom: tuple[str, ...] = ()
    outlets: Mapping[str, str] = field(default_factory=dict)
    timed: TimedEffects = TimedEffects()
    dropped: tuple[WorldEntry, ...] = ()
    """Found, but without room in the budget."""
    problems: tuple[str, ...] = ()
    """A sentence for every key that cannot be searched for."""
    limit: str = ""
    """Why the scan stopped before it was through; empty where it did not."""
