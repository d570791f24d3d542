"""The prompts of one build: the preset's own in their order, the markers filled, the card's words in their place.

A marker that the order switches off shows nothing; one that the order does not name stands behind everything else.
Of the card's own words only `{{original}}` tells what they replace.

The places of a prompt, and the tokens left to fill them.

A place is numbered as its prompt is in the collection. What is put where something stands already takes its place,
and what has no number goes behind the last place taken so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from familiar_connect.context.types import Layer
from familiar_connect.llm.types import Role
from familiar_connect.presets.prompt_order import STORY_NODE
from familiar_connect.presets.sillytavern.prepare_card import PreparedCard
from familiar_connect.presets.sillytavern.types import Piece, SillyTavernInputs
from familiar_connect.presets.story.types import AuthorNote
from familiar_connect.presets.types import ChatLine, PresetNode
from familiar_connect.presets.world_info.types import WorldInfo

MARKED_SOURCES = {
    "worldInfoBefore": "world_info:before",
    "worldInfoAfter": "world_info:after",
    "charDescription": "card:description",
    "charPersonality": "card:personality",
    "scenario": "card:scenario",
}
STORY_PARTS = frozenset({*MARKED_SOURCES, "personaDescription"})
"""What a story string shows itself."""


@dataclass(frozen=True, kw_only=True)
class CollectedPrompt:
    """One prompt with its text read."""

    identifier: str
    text: str
    role: Role = "system"
    source: str = ""
    in_chat: bool = False
    depth: int | None = 4
    order: int = 100
    role_given: bool = True
    """Without a role of its own it has no place among the chat."""
    is_users: bool = False
    """Written by the preset's author rather than built in: only then does the order alone place it."""
    forbid_overrides: bool = False
    layer: Layer = Layer.core


class PromptCollection:
    """Prompts in their order; the place of each is its place in the prompt."""

    def __init__(self, prompts: list[CollectedPrompt], disabled: frozenset[str]) -> None:
        self.prompts = prompts
        self.disabled = disabled
        self._index: dict[str, int] = {}
        for index, prompt in enumerate(prompts):
            self._index.setdefault(prompt.identifier, index)

    @property
    def has_story(self) -> bool:
        """Whether a story string says what stands above the chat."""
        return STORY_NODE in self._index and STORY_NODE not in self.disabled

    def index(self, identifier: str) -> int | None:
        return self._index.get(identifier)

    def get(self, identifier: str) -> CollectedPrompt | None:
        index = self._index.get(identifier)
        return None if index is None else self.prompts[index]

    def put(self, prompt: CollectedPrompt) -> None:
        """In the place of the prompt it names, else behind all others."""
        index = self._index.get(prompt.identifier)
        if index is None:
            self._index[prompt.identifier] = len(self.prompts)
            self.prompts.append(prompt)
        else:
            self.prompts[index] = prompt


def is_triggered(node: PresetNode, kind: str) -> bool:
    """Whether *node* takes part in this kind of generation."""
    return not node.triggers or kind in node.triggers


def author_note_for_turn(inputs: SillyTavernInputs, world: WorldInfo) -> AuthorNote | None:
    """The author's note of this turn with persona and lore at its side, if it is this turn's to be shown."""
    lore = bool(world.note_top or world.note_bottom)
    beside = inputs.persona if inputs.persona_position in ("note_top", "note_bottom") else ""
    note = inputs.author_note or (AuthorNote(text="") if beside or lore else None)
    if note is None:
        return None
    if not is_note_due(note, inputs.chat):
        return None
    text = note.text.replace("\r\n", "\n").replace("\r", "\n")
    if lore:
        lines = ("\n".join(world.note_top), text, "\n".join(world.note_bottom))
        text = "\n".join(lines).removeprefix("\n").removesuffix("\n")
    if beside:
        text = "\n".join((beside, text) if inputs.persona_position == "note_top" else (text, beside))
    note = replace(note, text=text)
    return note if note.text else None


def is_note_due(note: AuthorNote, chat: Sequence[ChatLine]) -> bool:
    """Whether *note* is to be shown in this turn: every so many messages of the user."""
    said = 1 if note.interval == 1 else sum(line.is_user for line in chat)
    return said > 0 and 0 < note.interval <= said and not said % note.interval


def collect_prompts(
    inputs: SillyTavernInputs, opening: PreparedCard, note: AuthorNote | None, world: WorldInfo
) -> PromptCollection:
    """Every prompt there is, read in the order in which later ones see what earlier ones set."""
    fillings = _fillings(inputs, opening, world)
    disabled = frozenset(node.identifier for node in inputs.nodes if not node.is_enabled)
    if any(node.identifier == STORY_NODE and node.is_enabled for node in inputs.nodes):
        disabled |= STORY_PARTS
    collection = PromptCollection(
        [_own(inputs, opening, node) for node in inputs.nodes if _takes_part(node, inputs)], disabled
    )
    if note is not None:
        fillings.append(CollectedPrompt(identifier="authorsNote", text=note.text, role=note.role, source="author_note"))
    if inputs.persona and inputs.persona_position == "prompt":
        fillings.append(CollectedPrompt(identifier="personaDescription", text=inputs.persona, source="persona"))
    for filling in fillings:
        collection.put(_fill(collection.get(filling.identifier), filling, opening))
    _override(collection, opening, "main", opening.card.system_prompt, "card:system_prompt")
    _override(
        collection, opening, "jailbreak", opening.card.post_history_instructions, "card:post_history_instructions"
    )
    return collection


def fill_story(
    inputs: SillyTavernInputs, opening: PreparedCard, note: AuthorNote | None, world: WorldInfo
) -> dict[str, str]:
    """What the parts of a story string stand for that no macro names, or that one names otherwise."""
    own = next((node.content for node in inputs.nodes if node.identifier == "main"), "")
    system = opening.reader.read(opening.card.system_prompt, original=own) if opening.card.system_prompt else ""
    beside = opening.reader.read(note.text) if note is not None and note.position != "chat" else ""
    return {
        "system": system or opening.reader.read(own),
        "persona": opening.persona if inputs.persona_position == "prompt" else "",
        "wiBefore": world.before,
        "loreBefore": world.before,
        "wiAfter": world.after,
        "loreAfter": world.after,
        "anchorBefore": beside.strip() if note is not None and note.position == "before_main" else "",
        "anchorAfter": beside.strip() if note is not None and note.position == "after_main" else "",
    }


def _takes_part(node: PresetNode, inputs: SillyTavernInputs) -> bool:
    # the main prompt stays even so, empty: other texts stand next to it
    return node.identifier == "main" or _speaks(node, inputs)


def _speaks(node: PresetNode, inputs: SillyTavernInputs) -> bool:
    return node.is_enabled and is_triggered(node, inputs.kind)


def _own(inputs: SillyTavernInputs, opening: PreparedCard, node: PresetNode) -> CollectedPrompt:
    text = node.content if _speaks(node, inputs) else ""
    return CollectedPrompt(
        identifier=node.identifier,
        text=opening.reader.read(text),
        role=node.role,
        source=f"preset:{inputs.preset_name}:{node.identifier}",
        in_chat=node.position == 1,
        depth=node.depth if node.depth_given else None,
        order=node.order,
        role_given=node.role_given,
        is_users=node.system_prompt is False,
        forbid_overrides=node.forbid_overrides,
    )


def _fillings(inputs: SillyTavernInputs, opening: PreparedCard, world: WorldInfo) -> list[CollectedPrompt]:
    """What the markers stand for and what stands outside the order, formats and nudges read once already."""
    settings, card, read = inputs.settings, opening.card, opening.reader.read

    def format_text(text: str, template: str) -> str:
        return read(template) if text and template else text

    scenario = format_text(card.scenario, settings.scenario_format)
    personality = format_text(card.personality, settings.personality_format)
    nudge = read(settings.group_nudge_prompt)
    impersonation = read(settings.impersonation_prompt)
    texts = (
        ("worldInfoBefore", _lore(world.before, settings.wi_format), Layer.content),
        ("worldInfoAfter", _lore(world.after, settings.wi_format), Layer.content),
        ("charDescription", card.description, Layer.character),
        ("charPersonality", personality, Layer.character),
        ("scenario", scenario, Layer.character),
        ("impersonate", impersonation, Layer.core),
        ("quietPrompt", inputs.quiet_prompt, Layer.core),
        ("groupNudge", nudge, Layer.core),
    )
    own = f"preset:{inputs.preset_name}:"
    return [
        CollectedPrompt(identifier=name, text=text, source=MARKED_SOURCES.get(name, own + name), layer=layer)
        for name, text, layer in texts
    ]


def _lore(text: str, template: str) -> str:
    """*text* where the preset's format has its `{0}`; as it is where the preset has no format."""
    return template.replace("{0}", text) if text and template.strip() else text


def _fill(marker: CollectedPrompt | None, filling: CollectedPrompt, opening: PreparedCard) -> CollectedPrompt:
    """*filling* read again, standing and speaking as its marker says."""
    filled = replace(filling, text=opening.reader.read(filling.text))
    if marker is None:
        return filled
    return replace(filled, role=marker.role, in_chat=marker.in_chat, depth=marker.depth, order=marker.order)


def _override(collection: PromptCollection, opening: PreparedCard, identifier: str, text: str, source: str) -> None:
    prompt = collection.get(identifier)
    if not text or prompt is None or prompt.forbid_overrides or identifier in collection.disabled:
        return
    collection.put(replace(prompt, text=opening.reader.read(text, original=prompt.text), source=source))


FRAME_TOKENS = 3
"""What every answer costs before its first word."""


class TokenBudgetExceeded(Exception):
    """Something that must be sent does not fit; `what` names it."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class PromptSlots:
    """Places in order, each with its messages."""

    def __init__(self, budget: int | None, count: Callable[[Piece], int]) -> None:
        self._left = None if budget is None else budget - FRAME_TOKENS
        self._count = count
        self._places: dict[int, deque[Piece]] = {}
        self._named: dict[str, deque[Piece]] = {}
        self._end = 0

    def tokens(self, piece: Piece) -> int:
        """What *piece* costs; nothing while nobody keeps count, nor when it is empty."""
        if self._left is None or not (piece.text or piece.name):
            return 0
        return self._count(piece)

    def total(self, pieces: Iterable[Piece]) -> int:
        return sum(self.tokens(piece) for piece in pieces)

    def reserve(self, pieces: Iterable[Piece]) -> None:
        """Keeps room for *pieces*, even where there is none left."""
        if self._left is not None:
            self._left -= self.total(pieces)

    def free(self, pieces: Iterable[Piece]) -> None:
        if self._left is not None:
            self._left += self.total(pieces)

    def has_room_for(self, pieces: Iterable[Piece]) -> bool:
        return self._left is None or self.total(pieces) <= self._left

    def has(self, name: str) -> bool:
        return name in self._named

    def put(self, name: str, pieces: Iterable[Piece], index: int | None = None) -> None:
        """Gives *pieces* the place *index*, or one of their own at the end."""
        place = deque(pieces)
        self._pay(name, place)
        index = self._end if index is None else index
        self._end = max(self._end, index + 1)
        self._places[index] = place
        self._named[name] = place

    def insert(self, name: str, piece: Piece, *, first: bool = False) -> None:
        """Adds *piece* to the place called *name*; an empty one is not worth a place."""
        self._check(name, [piece])
        if piece.text:
            (self._named[name].appendleft if first else self._named[name].append)(piece)
            self.reserve([piece])

    def pieces(self) -> list[Piece]:
        """Everything placed, in order, empty messages included."""
        return [piece for index in sorted(self._places) for piece in self._places[index]]

    def _check(self, name: str, pieces: Iterable[Piece]) -> None:
        if not self.has_room_for(pieces):
            raise TokenBudgetExceeded(name)

    def _pay(self, name: str, pieces: Iterable[Piece]) -> None:
        pieces = list(pieces)
        self._check(name, pieces)
        self.reserve(pieces)
