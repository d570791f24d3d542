"""What searching memory is made of: embedders, retrievers, and what they hand out.

Plain values and protocols; nothing here computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from familiar_connect.audience import Audience
from familiar_connect.history.types import HistoryTurn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Source = Literal["file", "turn"]

SIGNALS = {
    "words": "it has the question's words; rare ones count more",
    "words around": "it, or the text right beside it, has them",
    "words like these": "it has the question's words, or words that mean nearly the same",
    "words like these around": "it, or the text right beside it, has them",
    "conversation": "the same conversation or file has them somewhere",
    "conversation's meaning": "something in the same conversation or file means something similar",
    "meaning": "it means something similar, whatever the words",
    "a sentence": "one of its sentences does, or all of it where it is one",
    "meaning around": "the text right beside it does",
    "an answer": "the text right before it is a question with that meaning",
    "who": "said by, or about, someone the question names",
    "when": "from the time the question names",
    "tells of then": "it is about the time the question names, whenever it was said",
    "tells a time": "it names a time, and the question asks for one",
    "tells a number": "it names a number, and the question asks for one",
    "tells a place": "it names a place, and the question asks for one",
    "substance": "it says more than a word or two",
    "a question": "it is a question itself, and questions seldom answer one",
    "recency": "it is recent",
    "same channel": "it was said in the channel given with --channel",
}
"""What each part of a hit's score means, in words for whoever asks why it was found."""


class EmbeddingModel(Protocol):
    """Texts as unit vectors. An attribute `name` says which model it is; without one, the class's name does."""

    @property
    def dim(self) -> int: ...

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """One row of length one for each text."""
        ...


@dataclass(frozen=True)
class RetrievedChunk:
    """A piece of a memory file that may answer, and how well; larger is better."""

    rel_path: str
    heading_path: str
    text: str
    score: float
    audiences: frozenset[Audience] | None = field(default=None, kw_only=True)
    """Those it was said to; None: nobody knows, so it counts as the owner's."""


@dataclass(frozen=True)
class NumberedChunk(RetrievedChunk):
    """A chunk that knows its place in its file, counted from 1."""

    number: int = 1
    count: int = 1


@runtime_checkable
class Retriever(Protocol):
    """Whatever finds pieces of memory for an utterance."""

    async def query(
        self, utterance: str, top_k: int, *, exclude_paths: set[str] | None = None
    ) -> list[RetrievedChunk]: ...


@runtime_checkable
class Recaller(Protocol):
    """Whatever also finds what was said, and can be told where the question comes from."""

    async def recall(
        self, utterance: str, *, limit: int = ..., scope: RecallScope | None = None
    ) -> list[Recollection]: ...


@dataclass(frozen=True)
class SearchReadiness:
    """How far memory can be searched at a moment, and why no further."""

    state: Literal["awake", "building", "words", "asleep"]
    """`building`: some of it is not found yet; `words`: nothing is found by meaning; `asleep`: nothing at all."""
    why: str = ""


@runtime_checkable
class WakingRetriever(Protocol):
    """A retriever that is loaded in the background, and can be waited for."""

    @property
    def is_awake(self) -> bool: ...

    async def wait_until_awake(self, seconds: float) -> SearchReadiness:
        """Wait until all of memory can be searched, no longer than *seconds*; how far it can be by then."""
        ...


@dataclass(frozen=True)
class ExplainedScore:
    """A score and what each signal gave to it; the shares add up to the score."""

    score: float
    signals: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Recollection:
    """One thing found again: a passage of a file, or something somebody said."""

    source: Source
    key: str
    """`path#place` of a file's passage, the id of a turn: the same thing has the same key."""
    text: str
    explained: ExplainedScore
    speaker: str | None = None
    when: datetime | None = None
    rel_path: str | None = None
    heading_path: str = ""
    turn_id: int | None = None
    channel_id: int | None = None
    place: tuple[str, int] = ("", 0)
    """The stretch it stands in (a file, a conversation) and its place there: what stands next to what."""
    before: tuple[Neighbour, ...] = ()
    """What stands right before it, oldest first; shown with it where there is room."""
    after: tuple[Neighbour, ...] = ()
    audiences: frozenset[Audience] | None = None
    """Those it and what stands beside it was said to; None: nobody knows, so it counts as the owner's."""

    @property
    def score(self) -> float:
        return self.explained.score


@dataclass(frozen=True)
class Neighbour:
    """A passage or turn beside one that was found."""

    place: int
    text: str
    speaker: str | None = None


@dataclass(frozen=True, kw_only=True)
class RecallScope:
    """Where a question comes from, and what need not be recalled because it is in the prompt anyway."""

    channel_id: int | None = None
    before_turn_id: int | None = None
    """Turns of this id and later are left out, in the channel of the question."""
    exclude_turn_ids: frozenset[int] = frozenset()
    exclude_paths: frozenset[str] = frozenset()
    exclude_folders: tuple[str, ...] = ()
    """Folders, each with its slash, that somebody else looks through."""
    names: frozenset[str] = field(default_factory=frozenset)
    """Names people go by; those in the question say whose words are wanted."""
    asker: frozenset[str] = frozenset()
    """Names, lower-cased, of who asks: meant by "I" and "my"."""
    answerer: frozenset[str] = frozenset()
    """Names of who is asked: to call them is not to ask for what they said."""
    files: bool = True
    turns: bool = True
    audience_of_turn: Callable[[HistoryTurn], Audience | None] | None = None
    """As whose a turn (its words may be missing) is told where the question comes from, None where it may not be;
    without it all of them may. What counts is who said it, where, and to whom."""
    audiences_of_passage: Callable[[str, str], frozenset[Audience] | None] | None = None
    """The same for a passage of the file at a path; None where not all of it may be told."""
    may_tell_of_file: Callable[[str], bool] | None = None
    """Whether anything of the file at a path may be told; without it, each of its passages is asked about."""
    groups_told: dict[int, bool] = field(default_factory=dict, compare=False, repr=False)
    """Whether a group of turns may be told, as `audience_of_turn` said; for one question."""

    @property
    def is_narrowed(self) -> bool:
        """Whether some of what is found may not be told where the question comes from."""
        return self.audience_of_turn is not None or self.audiences_of_passage is not None
