"""The scan: `scan_books(inputs) -> WorldInfo`.

Passes over the entries, each in the order of the pool: first over the chat, then, while entries bring new text, over
that too (recursion), then over more of the chat where too few were found. In a pass each entry is asked whether it may
speak and whether a key of its is there; groups, chance and the budget decide which of those are shown. The order is
SillyTavern's own, because macros, chances and the budget make it visible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from familiar_connect.presets.types import GenerationKind
from familiar_connect.presets.world_info.groups import GroupChoice, TimedState
from familiar_connect.presets.world_info.key_index import Candidates, index_keys
from familiar_connect.presets.world_info.place_entries import place_entries
from familiar_connect.presets.world_info.scan_text import LOOK_UP_CHARS, ScanLimitReached, ScanText, SearchEffort
from familiar_connect.presets.world_info.types import Activation, ScanSettings, TimedEffects, WorldEntry, WorldInfo
from familiar_connect.support.text import utf16_length

MAX_PASSES = 2_500
"""Passes of one scan. SillyTavern sets no limit, but looks no further back than a thousand messages."""
LEAST_JOINED = 2
"""So many texts without a letter are a line end between them, which is searched."""


@dataclass(frozen=True, kw_only=True)
class ScanInputs:
    """What one scan is made over."""

    pool: Sequence[WorldEntry]
    """Every entry, in the order in which they are asked: `pool_of` makes it."""
    settings: ScanSettings = ScanSettings()
    messages: Sequence[str] = ()
    """The chat, newest first, names before the words where the settings want them."""
    chat_length: int | None = None
    """How many messages the chat has, where that is not as many as are given."""
    prompt_tokens: int = 0
    """What the whole prompt may take; the budget is a part of it."""
    kind: GenerationKind = "normal"
    character: str = ""
    tags: Sequence[str] = ()
    card: Mapping[str, str] = field(default_factory=dict)
    injected: Sequence[str] = ()
    read: Callable[[str], str] = str
    """Reads the macros of a text."""
    roll: Callable[[], float] = lambda: 0.5
    count: Callable[[int], int] = lambda length: -(-length // 4)
    """Tokens of a text of so many UTF-16 units."""
    timed: TimedEffects = TimedEffects()


Reason = Callable[[], str]
"""Why an entry was found, said when somebody asks."""


class _Pass(Enum):
    chat = "chat"
    recursion = "recursion"
    wider = "wider"


def scan_books(inputs: ScanInputs) -> WorldInfo:
    """What the books have to say to this chat."""
    return _Scan(inputs).run()


class _Scan:
    """One scan, from its first pass to its last."""

    def __init__(self, inputs: ScanInputs) -> None:
        self._inputs = inputs
        self._settings = inputs.settings
        length = len(inputs.messages) if inputs.chat_length is None else inputs.chat_length
        index = index_keys(inputs.pool, inputs.settings)
        self._effort = effort = SearchEffort()
        self._timed = TimedState(inputs.timed, index.by_fingerprint, index.delays, length)
        self._text = ScanText(
            inputs.messages,
            inputs.settings,
            read=inputs.read,
            effort=effort,
            card=inputs.card,
            injected=inputs.injected,
        )
        self._candidates = Candidates(index, effort, self._timed.sticky_keys)
        self._shown: dict[str, Activation] = {}
        self._unlucky: set[int] = set()
        """Entries that chance was against, by identity: two of one book may have the same key."""
        self._dropped: dict[str, WorldEntry] = {}
        self._is_full = False
        self._brought = 0
        self._levels = list(index.levels)
        self._level = self._levels.pop(0) if self._levels else 0
        self._budget = _budget(inputs)

    def run(self) -> WorldInfo:
        limit = ""
        try:
            self._make_passes()
        except ScanLimitReached as reached:
            limit = str(reached)
        activated = tuple(self._shown.values())
        return replace(
            place_entries(activated),
            timed=self._timed.after(each.entry for each in activated),
            dropped=tuple(self._dropped.values()),
            problems=tuple(self._text.problems.values()),
            limit=limit,
        )

    def _make_passes(self) -> None:
        state: _Pass | None = _Pass.chat if self._inputs.pool else None
        steps = 0
        while state is not None:
            if self._settings.max_recursion_steps and steps >= self._settings.max_recursion_steps:
                break
            if steps >= MAX_PASSES:
                raise ScanLimitReached(f"after {MAX_PASSES:,} passes its entries still called up others")
            steps += 1
            found = self._find_entries(state)
            new = self._admit(found, state)
            speaking = [(entry, text) for entry, text in new if not entry.prevent_recursion]
            state = self._next(state, speaking)
            if state is not None:
                self._take_in(speaking)

    # One pass

    def _find_entries(self, state: _Pass) -> list[tuple[WorldEntry, Reason]]:
        """The entries that this pass calls up, with the reason, those that stay first."""
        recursed = state is not _Pass.wider
        found: list[tuple[WorldEntry, Reason]] = []
        asked = self._candidates.update(self._text.common_parts())
        self._effort.spend(LOOK_UP_CHARS * len(asked))
        for number in asked:
            entry = self._inputs.pool[number]
            if entry.key in self._shown or id(entry) in self._unlucky or not self._may_speak(entry, state):
                continue
            reason = self._reason(entry, recursed)
            if reason is not None:
                found.append((entry, reason))
        found.sort(key=lambda each: not self._timed.is_sticky(each[0]))
        return found

    def _may_speak(self, entry: WorldEntry, state: _Pass) -> bool:
        if entry.is_disabled or (entry.triggers and self._inputs.kind not in entry.triggers):
            return False
        if not is_for(entry, self._inputs.character, self._inputs.tags) or self._timed.is_waiting(entry):
            return False
        is_sticky = self._timed.is_sticky(entry)
        if is_sticky:
            return True
        if self._timed.is_resting(entry):
            return False
        if state is not _Pass.recursion:
            return not entry.recursion_level
        if entry.recursion_level > self._level:
            return False
        return not (self._settings.recursive and entry.exclude_recursion)

    def _reason(self, entry: WorldEntry, recursed: bool) -> Reason | None:
        if "@@activate" in entry.decorators:
            return lambda: "its decorator @@activate"
        if "@@dont_activate" in entry.decorators:
            return None
        if entry.is_constant:
            return lambda: "constant"
        if self._timed.is_sticky(entry):
            return lambda: "sticky from an earlier message"
        hit = self._text.match(entry, recursed=recursed)
        return None if hit is None else lambda: f"key {hit.key!r} in {hit.label}"

    def _admit(self, found: Sequence[tuple[WorldEntry, Reason]], state: _Pass) -> list[tuple[WorldEntry, str]]:
        """Those that groups, chance and budget let through are shown; the ones whose text recursion may use.

        That of an entry without room is searched too, as it was written where its turn never came.
        """
        reasons = {id(entry): reason for entry, reason in found}
        choice = GroupChoice(
            is_sticky=self._timed.is_sticky,
            is_resting=self._timed.is_resting,
            score=lambda entry: self._text.score(entry, recursed=state is not _Pass.wider),
            scoring=self._settings.group_scoring,
            roll=self._inputs.roll,
        )
        entries = choice.choose([entry for entry, _ in found], [each.entry for each in self._shown.values()])
        used = self._inputs.count(self._brought)
        length = 0
        admitted: list[tuple[WorldEntry, str]] = []
        for entry in entries:
            if self._is_full and not entry.ignores_budget:
                self._dropped[entry.key] = entry
                admitted.append((entry, entry.content))
                continue
            if not self._wins(entry):
                self._unlucky.add(id(entry))
                continue
            active = Activation(entry=entry, text=self._inputs.read(entry.content), explain=reasons[id(entry)])
            length += utf16_length(active.text) + 1
            admitted.append((entry, active.text))
            if not entry.ignores_budget and used + self._inputs.count(length) >= self._budget:
                self._is_full = True
                self._dropped[entry.key] = entry
                continue
            self._shown[entry.key] = active
        return admitted

    def _wins(self, entry: WorldEntry) -> bool:
        if not entry.use_probability or entry.probability == 100 or self._timed.is_sticky(entry):
            return True
        return self._inputs.roll() * 100 <= entry.probability

    # The next pass

    def _next(self, state: _Pass, speaking: Sequence[tuple[WorldEntry, str]]) -> _Pass | None:
        settings = self._settings
        following: _Pass | None = None
        may_recurse = settings.recursive and not self._is_full
        if may_recurse and (speaking or (state is _Pass.wider and self._text.has_recursed)):
            following = _Pass.recursion
        if following is None and not self._is_full and len(self._shown) < settings.min_activations:
            limit = settings.min_activations_depth
            is_wide = self._text.depth > len(self._inputs.messages) or (limit > 0 and self._text.depth > limit)
            if not is_wide:
                following = _Pass.wider
                self._text.widen()
        if following is None and self._levels:
            following = _Pass.recursion
            self._level = self._levels.pop(0)
        return following

    def _take_in(self, speaking: Sequence[tuple[WorldEntry, str]]) -> None:
        """What was brought is searched from now on, and counts against the budget."""
        if not any(text for _, text in speaking) and len(speaking) < LEAST_JOINED:
            return
        self._text.add([(entry.name, text) for entry, text in speaking])
        self._brought += sum(utf16_length(text) + 1 for _, text in speaking)


def _budget(inputs: ScanInputs) -> int:
    settings = inputs.settings
    budget = int(settings.budget_percent * inputs.prompt_tokens / 100 + 0.5) or 1
    return min(budget, settings.budget_cap) if settings.budget_cap > 0 else budget


def is_for(entry: WorldEntry, character: str, tags: Sequence[str]) -> bool:
    """Whether *entry* may speak for a character of that name with these tags."""
    wanted = entry.character_filter
    if wanted.names and (character in wanted.names) == wanted.is_exclude:
        return False
    return not (wanted.tags and tags) or any(tag in wanted.tags for tag in tags) != wanted.is_exclude
