"""The values of a story: the author's note, the persona's place, what lasts from turn to turn, and all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from familiar_connect.llm.types import Role
from familiar_connect.presets.story.switches import StorySwitches as StorySwitches
from familiar_connect.presets.types import RegexScript
from familiar_connect.presets.world_info.types import BookKind, ScanSettings, TimedEffects, WorldBook

NotePosition = Literal["chat", "after_main", "before_main"]
PersonaPosition = Literal["prompt", "note_top", "note_bottom", "chat", "none"]


@dataclass(frozen=True, kw_only=True)
class AuthorNote:
    """A note the owner keeps for one chat."""

    text: str
    position: NotePosition = "chat"
    depth: int = 4
    role: Role = "system"
    interval: int = 1
    """Every how many messages of the user it is shown; 0 never."""
    is_scanned: bool = False
    """Whether keys of World Info are looked for in it."""


@dataclass(frozen=True, kw_only=True)
class PersonaPlace:
    """Where the words about the user stand."""

    position: PersonaPosition = "prompt"
    depth: int = 2
    role: Role = "system"


@dataclass(frozen=True, kw_only=True)
class StoryState:
    """What lasts from one turn of a chat to the next."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Of the chat, by name."""
    shared: Mapping[str, str] = field(default_factory=dict)
    """Of all chats of the familiar."""
    timed: TimedEffects = TimedEffects()


@dataclass(frozen=True, kw_only=True)
class ChatFacts:
    """What the file of a chat says itself."""

    user: str = ""
    chat_id: str = ""
    note: AuthorNote | None = None
    card_fields: Mapping[str, str] = field(default_factory=dict)
    book: str = ""
    """The lorebook of this chat, by name."""
    state: StoryState = StoryState()

    def add_to(self, story: Story) -> Story:
        """*story* with what the chat says in place of what the settings do."""
        books = tuple(
            replace(book, kind=BookKind.chat) if self.book and book.name == self.book else book for book in story.books
        )
        return replace(
            story,
            user=self.user or story.user,
            chat_id=self.chat_id or story.chat_id,
            note=self.note or story.note,
            card_fields=self.card_fields or story.card_fields,
            books=books if self.book else story.books,
            state=replace(
                story.state,
                variables={**story.state.variables, **self.state.variables},
                timed=self.state.timed if self.state.timed != TimedEffects() else story.state.timed,
            ),
        )


@dataclass(frozen=True, kw_only=True)
class Story:
    """Everything a prompt as in SillyTavern is made from besides card, preset and the words of the chat."""

    user: str = ""
    """What `{{user}}` is called; empty: whoever speaks."""
    owner: str = ""
    """What the owner is called, who is meant where nobody has spoken."""
    chat_id: str = ""
    """The chat's own name; empty: familiar and channel."""
    persona: str = ""
    place: PersonaPlace = PersonaPlace()
    note: AuthorNote | None = None
    card_fields: Mapping[str, str] = field(default_factory=dict)
    """Texts of the card that this chat says otherwise, by field."""
    tags: tuple[str, ...] = ()
    books: tuple[WorldBook, ...] = ()
    scan: ScanSettings = ScanSettings()
    switches: StorySwitches = StorySwitches()
    state: StoryState = StoryState()
    model: str = ""
    chance: float | None = None
    """What every chance of the turn comes to, where somebody wants to know; None: by lot."""
    regex: tuple[RegexScript, ...] = ()
    """Scripts that rewrite what is said, shown or sent; of use in every fidelity."""
    notes: tuple[str, ...] = ()
    """Sentences about books that could not be read."""
    group: tuple[str, ...] = ()
    """Names of all characters that talk here, where they are several: the one who answers among them."""
    muted: tuple[str, ...] = ()
    """Those of the group who only listen."""
    joined: Mapping[str, str] = field(default_factory=dict)
    """Texts of the card that all of the group have together, by field; empty: each has its own."""
