"""The vocabulary of the context room: requests, contributions, items, prompts and notes of what was cut."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from familiar_connect.audience import EVERYONE, OWNER, STRICT, Audience, DisclosurePolicy, Readers, may_tell_all
from familiar_connect.chat.scene import ChannelKind, Scene
from familiar_connect.chat.types import (
    EMPTY_MENTIONS,
    PLAIN_LINE,
    Directives,
    LineFacts,
    ListedUser,
    MediaDescriptor,
    MessageIdMap,
    Sender,
    Turn,
)
from familiar_connect.config.types import ChannelMode, PlaceSettings
from familiar_connect.context.layers import ItemTag as ItemTag
from familiar_connect.context.layers import Layer as Layer
from familiar_connect.context.layers import Modality as Modality
from familiar_connect.context.layers import Priority as Priority
from familiar_connect.identity import Author
from familiar_connect.llm.types import Part, Role, Sampling, TextPart, TextTemplate
from familiar_connect.presets.story.types import Story, StoryState
from familiar_connect.presets.types import ActivePreset, CardFields, PresetFidelity
from familiar_connect.presets.world_info.types import WorldBook
from familiar_connect.support.tokens import estimate_tokens

NO_DEADLINE = math.inf
"""A request's `deadline_s` where every provider is to be waited for."""
ASSEMBLY_SHARE = 0.6
"""Part of a request's deadline that assembly may use, so that the model keeps its time."""
FILES_DEADLINE_S = 3.0
"""For providers that only read the owner's files: far longer than that takes on a busy machine or a slow disk, since a
familiar without its character or its rules is another one; a disk that does not answer is not waited for longer.
"""


@dataclass(frozen=True, kw_only=True)
class ContextItem:
    """One message-to-be. Its text parts are exactly what will be sent."""

    role: Role
    parts: tuple[Part, ...]
    tag: ItemTag | None = None
    depth: int | None = None
    name: str | None = None
    message_id: str | None = None
    history_id: int | None = None
    timestamp: datetime | None = None
    source: str = ""
    """Who contributed it; for the inspector."""
    apart: bool = False
    """A message of its own even right below the system message, never joined into it."""
    words: str | None = None
    """What was said, without mark or name before it: for a model so small that these confuse it."""
    anchor: bool = False
    """A good place to start when older items must go: cutting to it keeps later prompts' prefix the same."""
    fresh: bool = False
    """Part of the exchange being answered: never cut."""
    media: tuple[MediaDescriptor, ...] = ()
    sender: Sender | None = None
    users: tuple[ListedUser, ...] = ()
    persona_mentions: Mapping[str, str] = field(default_factory=lambda: EMPTY_MENTIONS)
    key: str = ""
    """Whose block it is among others of its tag: the slug of a person."""
    line: LineFacts = PLAIN_LINE
    even_blank: bool = False
    """Sent although it may be nothing but space: somebody wants it exactly so."""

    @property
    def text(self) -> str:
        if len(self.parts) == 1 and isinstance(only := self.parts[0], TextPart):  # as nearly every one is
            return only.text
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @classmethod
    def of(
        cls,
        role: Role,
        text: str,
        *,
        tag: ItemTag | None = None,
        depth: int | None = None,
        name: str | None = None,
        source: str = "",
        apart: bool = False,
    ) -> ContextItem:
        """An item of one text part."""
        return cls(role=role, parts=(TextPart(text),), tag=tag, depth=depth, name=name, source=source, apart=apart)


@dataclass(frozen=True)
class Contribution:
    """A piece of context: the layer that pays for it, how dear it is, the text and where it came from."""

    layer: Layer
    priority: int
    text: str
    estimated_tokens: int
    source: str
    tag: ItemTag | None = None
    role: Role = "system"
    depth: int | None = None
    order: int = 100
    key: str = ""
    volatile: bool = False
    items: tuple[ContextItem, ...] = ()
    directives: Directives = Directives()
    label: str = ""
    """What it is announced as. Labelled text is shown as data, in a fence that nothing in the text can close."""
    authored: bool = False
    """Written for the familiar by whoever made it: its macros are read. What was said or found never is."""
    audiences: frozenset[Audience] | None = None
    """Those its sources were said to; it is told only where each may be. None: everyone's where it is authored, else
    the owner's alone."""
    quotable: str = ""
    """More lines of the same kind, for which a small model's prompt has no room: a rule may quote one of them."""

    @classmethod
    def of(
        cls,
        layer: Layer,
        text: str,
        *,
        source: str,
        priority: int = 50,
        tag: ItemTag | None = None,
        volatile: bool = False,
        audiences: Iterable[Audience] | None = None,
    ) -> Contribution:
        """A contribution whose tokens are counted here."""
        told_to = None if audiences is None else frozenset(audiences)
        tokens = estimate_tokens(text)
        return cls(layer, priority, text, tokens, source, tag=tag, volatile=volatile, audiences=told_to)


@dataclass(frozen=True)
class PendingTurn:
    """One message of the exchange being answered."""

    author: Author | None
    text: str
    history_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class Offered:
    """What the answering model can do this turn, for authored text that asks or names it."""

    tools: Mapping[str, str] = field(default_factory=dict)
    """Tool macro (`memory_tool`) → the function it names."""
    tool_names: frozenset[str] = frozenset()
    tool_families: frozenset[str] = frozenset()
    tool_tokens: int = 0
    """What the tools' descriptions cost in every call."""
    capabilities: frozenset[str] = frozenset()


_DMS = (ChannelKind.dm, ChannelKind.group_dm)


@dataclass(frozen=True)
class ContextRequest:
    """What a reply is asked for. Built once per turn; a change is a new request."""

    familiar_id: str
    channel_id: int
    guild_id: int | None
    author: Author | None
    utterance: str
    modality: Modality
    budget_tokens: int
    deadline_s: float
    pending_turns: tuple[PendingTurn, ...] = ()
    preprocessor_contributions: tuple[Contribution, ...] = ()
    interruption_context: str | None = None
    mode: ChannelMode | None = None
    before_id: int | None = None
    turn: Turn | None = None
    scene: Scene | None = None
    settings: PlaceSettings = PlaceSettings()
    preset: ActivePreset | None = None
    """The SillyTavern preset in force, and how true to it the prompt is; None: native order."""
    card: CardFields | None = None
    """The character's fields, for macros; None: read none."""
    persona: str = ""
    """Who the speaker is, in the operator's words (`user_persona`)."""
    story: Story = Story()
    """What a prompt as in SillyTavern is made from besides."""
    books: tuple[WorldBook, ...] = ()
    """World Info in force, where the prompt is as in SillyTavern; beside the story, for it is large and stays."""
    seed: int = 0
    """What the turn's chances are taken from: the same seed, the same choices."""
    now: datetime | None = None
    """When the turn began, in the familiar's zone: the clock that macros read."""
    offered: Offered = field(default_factory=Offered)
    history_turns: int = 0
    """Turns of dialogue that the model's window has room for; 0: as many as the familiar is set to."""
    readers: Readers | None = None
    """Who can read the place now; None: nobody but the owner looks, as in a preview."""
    telling: DisclosurePolicy = STRICT

    @property
    def is_exact(self) -> bool:
        """Whether nothing but card, preset, persona, lore and chat goes into the prompt, as in SillyTavern."""
        return self.preset is not None and self.preset.fidelity is PresetFidelity.sillytavern

    @property
    def is_dm(self) -> bool:
        """Whether the conversation is between two, or a few, and on no server."""
        scene = self.scene
        if scene is None:
            return self.guild_id is None
        if scene.is_dm or scene.channel is not None:
            return scene.is_dm or (scene.channel is not None and scene.channel.kind in _DMS)
        return self.guild_id is None and scene.server_name is None and scene.server_id is None

    def may_tell(self, audiences: Iterable[Audience] | None) -> bool:
        """Whether something made from what was said to *audiences* may be told here; None counts as the owner's."""
        if self.readers is None:
            return True
        return may_tell_all((OWNER,) if audiences is None else audiences, self.readers, self.telling)

    @property
    def own_audience(self) -> frozenset[Audience]:
        """The audience of what is known only from looking at this place, or said in it now."""
        return frozenset({EVERYONE if self.readers is None else self.readers.audience})

    @property
    def turns_to_answer(self) -> tuple[PendingTurn, ...]:
        """The messages to answer: all pending ones, else the utterance alone."""
        return self.pending_turns or (PendingTurn(self.author, self.utterance),)


@dataclass(frozen=True)
class DroppedNote:
    """One cut: what, from where, how many tokens, and what was full."""

    layer: Layer
    source: str
    reason: Literal["dropped", "truncated"]
    tokens_dropped: int
    full: str = "layer"
    """What had no room: `layer`, `total`, `window`, or the `message` itself, too long to be shown whole."""
    text: str = ""
    """What was cut, where that is known; kept with the turn, never in its trace."""

    def __post_init__(self) -> None:
        if self.reason not in ("dropped", "truncated"):
            raise ValueError(f"reason must be 'dropped' or 'truncated', not {self.reason!r}")

    def facts(self) -> dict[str, object]:
        """The cut, for the trace."""
        return {
            "layer": self.layer.value,
            "source": self.source,
            "reason": self.reason,
            "tokens_dropped": self.tokens_dropped,
            "full": self.full,
        }


@dataclass(frozen=True)
class WithheldNote:
    """One thing kept back because some who can read here were not among those it was said to."""

    layer: Layer
    source: str
    audiences: tuple[str, ...]
    """Those it was said to, as `audience` writes them; for the owner's eyes."""

    def facts(self) -> dict[str, object]:
        """What was kept back from this place, for the trace."""
        return {"layer": self.layer.value, "source": self.source, "said_to": list(self.audiences)}


@dataclass
class BudgetResult:
    """What fitted: joined text per layer, the notes of what did not, and the survivors in prompt order."""

    by_layer: dict[Layer, str] = field(default_factory=dict)
    dropped: list[DroppedNote] = field(default_factory=list)
    kept: list[Contribution] = field(default_factory=list)
    tokens: int | None = field(default=None, compare=False)
    """What `kept` costs as it is sent; None: nobody has counted it."""


ProviderStatus = Literal["ok", "error", "timeout", "asleep"]
"""`asleep`: it answered, but what it searches was not loaded yet, so that it found nothing there."""


class ReportedContributions(list[Contribution]):
    """What a provider brought, where it has something to tell about how it came by it."""

    def __init__(
        self,
        found: Iterable[Contribution] = (),
        *,
        status: ProviderStatus = "ok",
        trouble: str | None = None,
        notes: Iterable[str] = (),
        found_by: Iterable[Mapping[str, object]] = (),
    ) -> None:
        """*found_by*: for each piece that a search found, best first, where it is, its score and its signals."""
        super().__init__(found)
        self.found_by = tuple(found_by)
        self.status: ProviderStatus = status
        self.trouble = trouble
        self.notes = tuple(notes)


@dataclass
class ProviderOutcome:
    """How one provider fared."""

    provider_id: str
    duration_s: float
    contributions: list[Contribution]
    status: ProviderStatus
    error_message: str | None = None
    blocked_s: float = 0.0
    """How long it kept everybody else from running, where that was long enough to be told."""
    limit_s: float = 0.0
    """How long it was given; 0: as long as it liked."""
    notes: tuple[str, ...] = ()
    """What it had to do without, though it answered."""
    found_by: tuple[Mapping[str, object], ...] = ()
    """For each piece that it found, best first: where it is, its score and its signals; no text."""


@dataclass
class PipelineOutput:
    """What assembly made: the request after the chain, what was kept and cut, who answered."""

    request: ContextRequest
    budget: BudgetResult
    outcomes: list[ProviderOutcome] = field(default_factory=list)
    directives: Directives = Directives()
    withheld: list[WithheldNote] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """Items in order, the last words beside them, the handles they use, and what was left out."""

    items: tuple[ContextItem, ...]
    directives: Directives = Directives()
    message_ids: MessageIdMap = field(default_factory=MessageIdMap, compare=False)
    dropped: tuple[DroppedNote, ...] = ()
    squash: bool = False
    """Whether system messages that follow each other are sent as one."""
    story: StoryState | None = None
    """What is to be kept for the chat's next turn, once this one is answered; None: nothing."""
    sampling: Sampling | None = None
    """How its reply's words are chosen, where a preset says so; None: as the model's slot has it."""
    template: TextTemplate | None = None
    """The signs around its messages for a model that is given one text, where a preset says so."""
    reasons: tuple[tuple[str, str], ...] = ()
    """For each entry of World Info in it, or none, its name and why it was called up."""
