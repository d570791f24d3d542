"""ScanSettings: how World Info is scanned; apart from its values, because every start reads the settings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from familiar_connect.config.rules import FLAG, enum_rule, integer_rule, number_rule
from familiar_connect.config.settings import setting


class BookOrder(Enum):
    """How the character's books rank against the global ones."""

    evenly = "evenly"
    character_first = "character_first"
    global_first = "global_first"


@dataclass(frozen=True, kw_only=True)
class ScanSettings:
    """How books are scanned, as SillyTavern's World Info page has it."""

    depth: int = setting(2, integer_rule(least=0), "How many of the newest messages are searched for keys.")
    budget_percent: float = setting(
        25.0, number_rule(least=0, most=100), "Part of the prompt, in percent, that entries may take."
    )
    budget_cap: int = setting(0, integer_rule(least=0), "Most tokens that entries may take; 0: only the percentage.")
    include_names: bool = setting(True, FLAG, "Whether the speakers' names are searched for keys too.")
    recursive: bool = setting(True, FLAG, "Whether the text of an entry may activate others.")
    max_recursion_steps: int = setting(
        0, integer_rule(least=0), "Most passes of one scan; 0: as many as it takes, 2,500 at most."
    )
    case_sensitive: bool = setting(False, FLAG, "Whether capitals matter in keys, where an entry does not say.")
    whole_words: bool = setting(True, FLAG, "Whether a key of one word must stand alone, where an entry does not say.")
    min_activations: int = setting(
        0, integer_rule(least=0), "Look further back until so many entries are found; 0: do not."
    )
    min_activations_depth: int = setting(
        0, integer_rule(least=0), "Most messages looked back at for that; 0: the whole chat."
    )
    group_scoring: bool = setting(
        False, FLAG, "Whether of a group those with the most keys found win, where an entry does not say."
    )
    book_order: BookOrder = setting(
        BookOrder.character_first, enum_rule(BookOrder), "How the character's books rank against the global ones."
    )
