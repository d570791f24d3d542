"""Reassembly: the blocks of a native prompt in the order of a preset, with the preset's own words among them.

Blocks are pulled by tag as the nodes are walked; a dialogue moves as one, with everything that stands among its
turns. What no node asks for stands before the first sample or turn. Nothing native is ever dropped: a block goes
only when a node has already told all of it.

The nodes of a preset that speak this turn, their macros read: each once, in order, over one store of variables.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.llm.types import Role, TextPart
from familiar_connect.presets.depth_groups import TOP_TO_BOTTOM, DepthText, group_by_depth
from familiar_connect.presets.macro_context import ORIGINAL
from familiar_connect.presets.macros import engine, evaluation, identity_macros
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.types import PresetNode
from familiar_connect.support.system_notes import wrap_note

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
                evaluation.fill_tool_names(done.text, ctx), char=ctx.char, user=ctx.user
            )
        if text.strip() or node.identifier in SLOTS:
            speaking.append(node if text == node.content else replace(node, content=text))
    return ResolvedPreset(nodes=tuple(speaking), content_macros=told)


logger = logging.getLogger(__name__)

KNOWLEDGE = (
    ItemTag.SERVER_INFO,
    ItemTag.USER_BLOCKS,
    ItemTag.SERVER_MEMORIES,
    ItemTag.EMOJIS,
    ItemTag.STICKERS,
    ItemTag.SPRITES,
)
"""What stands with the character, at the first of its nodes."""
BEFORE_DIALOGUE = (
    ItemTag.PARTICIPANTS,
    ItemTag.SUMMARY,
    ItemTag.SHORT_TERM,
    ItemTag.CONDITIONING,
    ItemTag.PEOPLE,
    ItemTag.DOCUMENTS,
    ItemTag.FOUND,
)
"""What stands before samples and dialogue."""
MARKER_TAGS: Mapping[str, tuple[ItemTag, ...]] = {
    "charDescription": (ItemTag.PERSONA,),
    "charPersonality": (ItemTag.TRAITS,),
    "scenario": (ItemTag.SCENARIO,),
    "worldInfoBefore": (ItemTag.PINNED, ItemTag.DOCUMENTS, ItemTag.FOUND),
    "worldInfoAfter": (ItemTag.PINNED, ItemTag.DOCUMENTS, ItemTag.FOUND),
    "dialogueExamples": (ItemTag.SAMPLE,),
}
BLOCK_BY_MACRO: Mapping[str, ItemTag] = {
    "description": ItemTag.PERSONA,
    "personality": ItemTag.TRAITS,
    "scenario": ItemTag.SCENARIO,
}
"""Content macro → the native block that says the same."""
IN_STREAM = frozenset({ItemTag.DIALOGUE, ItemTag.DATE_SPACER, ItemTag.NOW, ItemTag.THINKING, ItemTag.POST_HISTORY})
SAMPLES_END = "The dialogues above are examples of how you talk. They are not part of the conversation."


@dataclass(frozen=True, kw_only=True)
class PresetLayout:
    """What the walk needs to know besides items and nodes."""

    preset: str = ""
    """Its name, for the source of its items."""
    speaker: str = ""
    """Key of the speaker's own people file."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Content macro → its text this turn."""
    new_chat: str = ""
    new_example: str = ""

    def node_item(self, node: PresetNode, *, apart: bool = False, depth: int | None = None) -> ContextItem:
        return self.text_item(node.identifier, node.content, role=node.role, apart=apart, depth=depth)

    def text_item(
        self, identifier: str, text: str, *, role: Role = "system", apart: bool = False, depth: int | None = None
    ) -> ContextItem:
        source = f"preset:{self.preset}:{identifier}"
        return ContextItem.of(role, text, source=source, apart=apart, depth=depth)


def reassemble(items: Sequence[ContextItem], resolved: ResolvedPreset, layout: PresetLayout) -> list[ContextItem]:
    """*items* of a native prompt, arranged by the nodes of *resolved*."""
    relative = [node for node in resolved.nodes if node.position != 1 or node.identifier == "chatHistory"]
    deep = [node for node in resolved.nodes if node.position == 1 and node.identifier != "chatHistory"]
    taken = {node.identifier for node in resolved.nodes if node.position != 1 or node.depth is not None}
    walk = _Walk(items, layout, takes_last_words="jailbreak" in taken)
    walk.drop_blocks_already_shown(resolved)
    for node in relative:
        walk.visit(node)
    groups = _depth_groups(deep, walk)
    arranged, stream = walk.finish()
    arranged = _place(arranged, stream, groups, layout)
    if arranged and arranged[-1].tag is ItemTag.SAMPLE:
        arranged.append(layout.text_item("samplesEnd", wrap_note(SAMPLES_END), role="user"))
    return arranged


class _Walk:
    """The buckets of one prompt, and what has been placed so far."""

    def __init__(self, items: Sequence[ContextItem], layout: PresetLayout, *, takes_last_words: bool) -> None:
        self.layout = layout
        self._head = [item for item in items if item.tag is ItemTag.PREAMBLE]
        self._buckets: dict[ItemTag | None, list[ContextItem]] = {}
        self._stream: list[ContextItem] | None = []
        self._placed: list[ContextItem] = []
        self._live: list[ContextItem] = []
        """The dialogue stream once placed, to find it again."""
        self._flushed: set[str] = set()
        talking = False
        for item in items:
            talking = talking or item.tag is ItemTag.DIALOGUE
            if item.tag is ItemTag.PREAMBLE:
                continue
            if _in_stream(item, talking=talking) and not (takes_last_words and item.tag is ItemTag.POST_HISTORY):
                self._stream.append(item)
            else:
                self._buckets.setdefault(item.tag, []).append(item)

    def drop_blocks_already_shown(self, resolved: ResolvedPreset) -> None:
        """Drop blocks whose whole text is contained in a node that will be shown."""
        shown = [node.content for node in resolved.nodes if self._is_shown(node)]
        for name in resolved.content_macros:
            text = self.layout.fields.get(name, "").strip()
            if not text or not any(text in content for content in shown):
                continue
            if name == "persona":
                self._pull_speaker()
            elif name in BLOCK_BY_MACRO:
                self._buckets.pop(BLOCK_BY_MACRO[name], None)

    def _is_shown(self, node: PresetNode) -> bool:
        """Whether the node's text will stand in the prompt: not where the familiar's own text replaces it."""
        tag = _OWN_TEXT.get(node.identifier)
        if tag is None or node.forbid_overrides:
            return True
        own = self._buckets.get(tag)
        return not own or any(ORIGINAL in item.text for item in own)

    def visit(self, node: PresetNode) -> None:
        """One relative node: its block, and what comes with it."""
        if node.identifier in ("dialogueExamples", "chatHistory") and node.is_marker:
            self._flush_before_dialogue()
        if node.identifier == "chatHistory" and node.is_marker:
            self._place_stream()
            return
        self._placed += [_joinable(item) for item in self.block(node)]
        if node.identifier == "main" or (node.is_marker and node.identifier in ("charDescription", "charPersonality")):
            self._flush_knowledge()

    def block(self, node: PresetNode) -> list[ContextItem]:
        """What stands at *node*: the native items it pulls, its own text, or both."""
        if node.identifier in _OWN_TEXT:
            more = self._pull(ItemTag.CHANNEL_PROMPT) if node.identifier == "main" else []
            return [*self._own_or_preset(node), *more]
        if not node.is_marker:
            return [self.layout.node_item(node)]
        if node.identifier == "personaDescription":
            return self._pull_speaker()
        if node.identifier not in MARKER_TAGS:
            logger.warning("preset marker is not known", extra={"identifier": node.identifier})
            return []
        pulled = self._pull(*MARKER_TAGS[node.identifier])
        if pulled and node.identifier == "dialogueExamples":
            return [*self._separator("newExampleChat", self.layout.new_example), *pulled]
        return pulled

    def _own_or_preset(self, node: PresetNode) -> list[ContextItem]:
        """The familiar's own text where it may stand alone, else the preset's, else both."""
        own = _with_original(self._pull(_OWN_TEXT[node.identifier]), "" if node.forbid_overrides else node.content)
        preset = [self.layout.node_item(node)] if node.content.strip() else []
        if not own:
            return preset
        return [*own, *preset] if node.forbid_overrides else own

    def finish(self) -> tuple[list[ContextItem], tuple[int, int]]:
        """Everything in order, and where the dialogue stream begins and ends in it."""
        placed, self._placed = self._placed, []
        self._flush_knowledge()
        self._flush_before_dialogue()
        samples = self._pull(ItemTag.SAMPLE)
        for tag in list(self._buckets):
            rest = self._pull(tag)
            self._placed += [_joinable(i) for i in (_with_original(rest, "") if tag in _OWN_TEXT.values() else rest)]
        if samples:
            self._placed += [*self._separator("newExampleChat", self.layout.new_example), *samples]
        left = self._placed
        ids = {id(item) for item in self._live}
        at = next((i for i, item in enumerate(placed) if item.tag is ItemTag.SAMPLE or id(item) in ids), len(placed))
        while 0 < at < len(placed) and placed[at - 1].source.endswith((":newExampleChat", ":newMainChat")):
            at -= 1
        self._placed = [*self._head, *placed[:at], *left, *placed[at:]]
        if self._stream is not None:
            self._place_stream()
        ids = {id(item) for item in self._live}
        places = [i for i, item in enumerate(self._placed) if id(item) in ids]
        return self._placed, (places[0], places[-1] + 1) if places else (len(self._placed), len(self._placed))

    # Pulling

    def _pull(self, *tags: ItemTag | None) -> list[ContextItem]:
        return [item for tag in tags for item in self._buckets.pop(tag, ())]

    def _pull_speaker(self) -> list[ContextItem]:
        people = self._buckets.get(ItemTag.PEOPLE, [])
        own = [item for item in people if item.key and item.key == self.layout.speaker]
        if own:
            self._buckets[ItemTag.PEOPLE] = [item for item in people if item not in own]
        return own

    def _flush_knowledge(self) -> None:
        self._flush("knowledge", KNOWLEDGE)

    def _flush_before_dialogue(self) -> None:
        self._flush("beside", BEFORE_DIALOGUE)

    def _flush(self, name: str, tags: Collection[ItemTag]) -> None:
        if name not in self._flushed:
            self._flushed.add(name)
            self._placed += [_joinable(item) for item in self._pull(*tags)]

    def _place_stream(self) -> None:
        if self._stream is None:
            return
        self._live, self._stream = self._stream, None
        if self._live:
            self._placed += self._separator("newMainChat", self.layout.new_chat)
        self._placed += self._live

    def _separator(self, identifier: str, text: str) -> list[ContextItem]:
        return [self.layout.text_item(identifier, text, apart=True)] if text.strip() else []


_OWN_TEXT: Mapping[str, ItemTag] = {"main": ItemTag.RULES, "jailbreak": ItemTag.POST_HISTORY}
"""Node whose text a familiar's own may replace → the block of that text."""


def _in_stream(item: ContextItem, *, talking: bool) -> bool:
    """Whether *item* belongs among the turns: by its tag, by a depth of its own, or as a note between them."""
    if item.tag in IN_STREAM:
        return True
    if item.tag is ItemTag.AUTHOR_NOTE:
        return item.depth is not None
    return item.tag is None and (item.depth is not None or talking or item.apart)


def _joinable(item: ContextItem) -> ContextItem:
    """*item* taken from among the turns: above them it joins its neighbours. Separators stay messages of their own."""
    return replace(item, apart=False) if item.apart and item.tag is not None else item


def _with_original(own: Iterable[ContextItem], text: str) -> list[ContextItem]:
    """*own* with the text it replaces where it asks for it: once, as nothing afterwards."""
    done = []
    for item in own:
        if ORIGINAL in item.text:
            shown = item.text.replace(ORIGINAL, text, 1).replace(ORIGINAL, "")
            text = ""
            item = replace(item, parts=(TextPart(shown),))
        done.append(item)
    return done


# Depth


@dataclass(frozen=True, kw_only=True)
class _Group:
    """What stands together at one depth."""

    depth: int
    order: int
    role: Role
    items: tuple[ContextItem, ...]


def _depth_groups(nodes: Iterable[PresetNode], walk: _Walk) -> list[_Group]:
    """Texts of one depth, order and role as one item each; the blocks that markers put there as they are."""
    texts: list[DepthText] = []
    groups: list[_Group] = []
    for node in nodes:
        if node.depth is None:
            continue
        if node.is_marker or node.identifier in _OWN_TEXT:
            items = tuple(replace(item, apart=True, depth=node.depth) for item in walk.block(node))
            groups.append(_Group(depth=node.depth, order=node.order, role=node.role, items=items))
        else:
            source = node.identifier
            texts.append(
                DepthText(role=node.role, text=node.content, depth=node.depth, order=node.order, source=source)
            )
    for depth, blocks in group_by_depth(texts).items():
        for block in blocks:
            item = walk.layout.text_item(block.sources[0], block.text, role=block.role, apart=True, depth=depth)
            groups.append(_Group(depth=depth, order=block.order, role=block.role, items=(item,)))
    return sorted(groups, key=lambda group: (-group.depth, group.order, TOP_TO_BOTTOM.index(group.role)))


def _place(
    items: list[ContextItem], stream: tuple[int, int], groups: Sequence[_Group], layout: PresetLayout
) -> list[ContextItem]:
    """*items* with each group where exactly its depth in real turns follow, within the dialogue stream."""
    if not groups:
        return items
    turns = [i for i in range(*stream) if items[i].tag is ItemTag.DIALOGUE]
    if not turns:
        return [*items, *_at_the_end(groups, layout)]
    before: dict[int, list[ContextItem]] = {}
    for group in groups:
        at = stream[1] if group.depth <= 0 else turns[max(0, len(turns) - group.depth)]
        while at > stream[0] and group.depth > 0 and items[at - 1].tag is ItemTag.DATE_SPACER:
            at -= 1
        before.setdefault(at, []).extend(group.items)
    placed: list[ContextItem] = []
    for index in range(len(items) + 1):
        placed += before.get(index, ())
        placed += items[index : index + 1]
    return placed


def _at_the_end(groups: Sequence[_Group], layout: PresetLayout) -> list[ContextItem]:
    """With no turn to count from: the texts as one System line of a user, native blocks as they are."""
    ordered = sorted(groups, key=lambda group: (group.depth, group.order))
    own = [item for group in ordered for item in group.items if item.tag is None]
    native = [item for group in ordered for item in group.items if item.tag is not None]
    said = (
        [layout.text_item("depth", wrap_note("\n".join(item.text for item in own)), role="user", apart=True)]
        if own
        else []
    )
    return [*native, *said]
