"""What a rehearsal file says, as values: who is there, where, what the models say, and what happens in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from familiar_connect.chat.message_parts import Attachment, ForwardedMessage, Sticker
from familiar_connect.chat.scene import ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.built_in import EXAMPLE_PLATFORM
from familiar_connect.identity import Author, PrivacyLevel

OWNER = "owner"
"""Key of the person who runs the familiar; the same human on every platform."""
EVERYBODY = "everyone"
"""Stands for everybody on a server, as the role of that name does."""
LAST = "last"
LAST_REPLY = "last reply"


@dataclass(frozen=True, kw_only=True)
class FamiliarSetup:
    """Which familiar is tried: a new one, one from a card, or a copy of one that lives here."""

    name: str = "Ember"
    card: Path | None = None
    base: str | None = None
    settings: str = ""
    """TOML that goes over its `character.toml`."""
    memory: Mapping[str, str] = field(default_factory=dict)
    """Path inside `memory/` → text."""


@dataclass(frozen=True, kw_only=True)
class RehearsalPerson:
    """Somebody who speaks, under one id on every platform."""

    key: str
    user_id: str
    name: str
    username: str | None = None
    roles: tuple[str, ...] = ()
    """On every server they are on."""

    def on_platform(self, platform: str) -> Author:
        return Author(platform, self.user_id, self.username, self.name)


@dataclass(frozen=True, kw_only=True)
class PlaceSetup:
    """A channel as the file describes it."""

    key: str
    channel_id: int
    name: str
    kind: ChannelKind = ChannelKind.text
    platform: str = EXAMPLE_PLATFORM
    server_id: int | None = None
    server_name: str | None = None
    parent: str | None = None
    """Key of the place a thread belongs to, or a channel's name."""
    topic: str | None = None
    is_hidden: bool = False
    members: tuple[str, ...] = ()
    """Keys of the people who can read a hidden place or a direct message; of an open one, who is on its server."""
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name of a role → the people who have it."""
    allowed: tuple[str, ...] = ()
    """Who may read it besides: keys of people, names of roles, or everyone."""
    denied: tuple[str, ...] = ()
    """Who may not."""
    is_age_restricted: bool = False
    scene: Scene | None = None
    """What is seen there, where a conversation file tells all of it."""

    @property
    def is_dm(self) -> bool:
        return self.kind in (ChannelKind.dm, ChannelKind.group_dm)

    @property
    def is_thread(self) -> bool:
        return self.kind in (ChannelKind.thread, ChannelKind.forum_post)


@dataclass(frozen=True, kw_only=True)
class ScriptedAnswer:
    """One answer of a scripted model."""

    say: str = ""
    when: str | None = None
    """Used for a prompt whose last user message holds this, in capitals or not; None: for any, in its turn."""
    times: int | None = None
    """How often it is used; None: as often as it fits."""
    delay_s: float = 0.0
    fails: int | None = None
    """The HTTP status the call fails with."""
    tool: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ModelScript:
    """What the model of one slot says."""

    answers: tuple[ScriptedAnswer, ...] = ()
    otherwise: str = "Mm."
    is_echo: bool = False


SearchKind = Literal["finds", "lacks"]


@dataclass(frozen=True, kw_only=True)
class SearchExpectation:
    """What searching memory in a place must bring, or must not."""

    kind: SearchKind
    query: str
    place: str
    words: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What must be so, of the steps since the expectation before."""

    reply_in: str | None = None
    no_reply: bool = False
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`said_has`, `prompt_lacks` and the like → words; those not named are absent."""
    said_matches: str | None = None
    calls: Mapping[str, int] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    files: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """`file_has` or `file_lacks` → path → words."""
    searches: tuple[SearchExpectation, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Say:
    """Somebody says something."""

    place: str
    person: str
    text: str
    message_id: str
    is_mention: bool = False
    is_voice: bool = False
    reply_to: str | None = None
    webhook: tuple[str, str] | None = None
    """Under which name a webhook speaks, and of which application."""
    attachments: tuple[Attachment, ...] = ()
    stickers: tuple[Sticker, ...] = ()
    forwards: tuple[ForwardedMessage, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """Somebody says something, and PluralKit replaces it by a twin under another name."""

    say: Say
    name: str

    @property
    def place(self) -> str:
        return self.say.place


@dataclass(frozen=True, kw_only=True)
class Hear:
    """A message of a conversation file: heard, and only the last of them answered."""

    place: str
    message: InboundMessage
    is_answered: bool


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A message reads differently from now on; None: it is gone."""

    place: str
    target: str
    text: str | None
    person: str | None = None


@dataclass(frozen=True, kw_only=True)
class React:
    place: str
    person: str
    emoji: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Slash:
    place: str
    person: str
    command: str
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class ChangeFile:
    """The owner changes a file of the familiar's by hand."""

    path: str
    how: Literal["write", "append", "remove"]
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class ChangeMembers:
    place: str
    person: str
    joins: bool


@dataclass(frozen=True, kw_only=True)
class ChangeVisibility:
    place: str
    hides: bool
    members: tuple[str, ...] | None = None
    """Who can still read a place that is hidden now; None: whoever could before."""


@dataclass(frozen=True, kw_only=True)
class Kick:
    """Somebody leaves a server, or every one."""

    person: str
    server_id: int | None = None


@dataclass(frozen=True, kw_only=True)
class ChangeRules:
    """People or roles are let into a place, or shut out of it."""

    place: str
    names: tuple[str, ...]
    allows: bool


@dataclass(frozen=True, kw_only=True)
class ChangeRoles:
    """Somebody has these roles from now on, and no others."""

    roles: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Upkeep:
    """Something the program does of its own, now."""

    what: Literal["write_up", "tidy", "restart", "kill"]


@dataclass(frozen=True, kw_only=True)
class Expect:
    expectation: Expectation


Change = ChangeFile | ChangeMembers | ChangeVisibility | ChangeRules | ChangeRoles | Kick
Action = Say | Proxy | Hear | Edit | React | Slash | Change | Upkeep | Expect


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that happens, and when."""

    number: int
    """Counted from 1."""
    at: datetime
    action: Action

    @property
    def place(self) -> str | None:
        return getattr(self.action, "place", None)


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """One file, read to its end."""

    source: str
    """What the file is called in a sentence."""
    familiar: FamiliarSetup
    people: Mapping[str, RehearsalPerson]
    places: Mapping[str, PlaceSetup]
    models: Mapping[str, ModelScript]
    steps: tuple[Step, ...]
    levels: tuple[tuple[Author, PrivacyLevel], ...] = ()
    """What people allow to be kept of them, where the file says so."""

    @property
    def platforms(self) -> list[str]:
        """Those that its places are on."""
        return sorted({place.platform for place in self.places.values()})

    @property
    def begins_at(self) -> datetime:
        return self.steps[0].at
