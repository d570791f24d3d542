"""Why was this not remembered? One thing followed on its way from being said to being shown to the model.

Said, written, indexed, found for the message, allowed in the place, room in the prompt, shown: each step with its
evidence. The first step that fails is the answer, with what mends it. Nothing is changed, and no model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from familiar_connect.audience import Audience
from familiar_connect.context.types import ContextItem, ContextRequest
from familiar_connect.errors import FamiliarError, MemoryStoreError
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.index.protocols import RecallScope, Recollection
from familiar_connect.memory.index.query import content_words
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.types import GrepHit
from familiar_connect.memory.visibility import audience_of_turn
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.observe.inspector import cut_reason, cuts
from familiar_connect.observe.replay_store import ReplayRecord
from familiar_connect.observe.trace import TurnTrace
from familiar_connect.reply.inspection.turn_view import describe_audience
from familiar_connect.reply.prompt_replay import replay_items
from familiar_connect.support.text import one_line, truncate_chars

MAX_WORDS = 12
MAX_EVIDENCE = 5
"""Turns and files that are followed."""
TURNS_AT_ONCE = 2_000
MAX_TURNS = 200_000
SEARCHED = 200
"""Places of the ranking that are looked at."""
QUOTED_CHARS = 160
MEMORY_LAYERS = ("content", "pinned")
"""Layers that pay for what is remembered."""


class StepOutcome(Enum):
    """What became of one step."""

    yes = "yes"
    no = "no"
    skipped = "skipped"
    """It makes no difference here, or an earlier step failed."""


@dataclass(frozen=True, kw_only=True)
class RecallStep:
    """One step, with what shows it."""

    name: str
    outcome: StepOutcome
    evidence: str
    fix: str = ""
    """What to do about it, where it failed."""


@dataclass(frozen=True, kw_only=True)
class RecallExplanation:
    """Every step in order."""

    wanted: str
    steps: tuple[RecallStep, ...]

    @property
    def answer(self) -> RecallStep:
        """The first step that failed, else the last one."""
        return next((step for step in self.steps if step.outcome is StepOutcome.no), self.steps[-1])


class Searchable(Protocol):
    """What finds memory again."""

    @property
    def is_warm(self) -> bool: ...

    def recall_now(
        self, utterance: str, *, limit: int = ..., scope: RecallScope | None = None
    ) -> list[Recollection]: ...


@dataclass(frozen=True, kw_only=True)
class PastTurn:
    """The turn in which it was missed."""

    trace: TurnTrace
    record: ReplayRecord | None
    """None: what it was made of is not kept any more."""


@dataclass(frozen=True, kw_only=True)
class RecallCheck:
    """Follows things through one familiar's history, memory and index."""

    familiar_id: str
    history: HistoryStore
    audiences: PartAudiences
    retriever: Searchable | None

    def explain(self, wanted: str, turn: PastTurn | None = None) -> RecallExplanation:
        """Why *wanted* was not remembered in *turn*; without one, whether it would be found at all."""
        words = search_words(wanted)
        if not words:
            raise FamiliarError("that names nothing to look for: write a few words of what it should have known")
        return _Walk(self, wanted, words, turn).explain()


def search_words(wanted: str) -> tuple[str, ...]:
    """The words of *wanted* that something must hold to be meant; all of them where none says much."""
    return tuple(dict.fromkeys(content_words(wanted)))[:MAX_WORDS] or tuple(wanted.casefold().split())[:MAX_WORDS]


def holds_words(text: str, words: Sequence[str]) -> bool:
    """Whether each of *words* begins a word of *text*."""
    folded = text.casefold().replace("’", "'")
    return all(re.search(rf"(?<!\w){re.escape(word)}", folded) for word in words)


@dataclass
class _Walk:
    """One thing on its way."""

    parts: RecallCheck
    wanted: str
    words: tuple[str, ...]
    turn: PastTurn | None
    turns: list[HistoryTurn] = field(default_factory=list)
    lines: list[GrepHit] = field(default_factory=list)
    hit: Recollection | None = None
    shown: ContextItem | None = None
    """The block of the prompt that held it."""
    steps: list[RecallStep] = field(default_factory=list)

    def explain(self) -> RecallExplanation:
        self.turns = list(self._find_turns())
        self.lines = self._find_lines()
        self.shown = self._find_shown()
        self._add_heard()
        self._add_written()
        self._add_indexed()
        self._add_found()
        self._add_allowed()
        self._add_fit()
        self._add_shown()
        return RecallExplanation(wanted=self.wanted, steps=tuple(self.steps))

    @property
    def _request(self) -> ContextRequest | None:
        record = self.turn.record if self.turn is not None else None
        return record.request if record is not None else None

    def _find_turns(self) -> Iterator[HistoryTurn]:
        """The latest turns that hold the words, those of the missed exchange left out."""
        request, history = self._request, self.parts.history
        asked = request.utterance if request is not None else None
        before = (history.latest_id(familiar_id=self.parts.familiar_id) or 0) + 1
        looked_at = found = 0
        while looked_at < MAX_TURNS:
            turns = history.older_than(familiar_id=self.parts.familiar_id, max_id=before - 1, limit=TURNS_AT_ONCE)
            for turn in reversed(turns):
                if turn.content != asked and holds_words(turn.content, self.words) and not _asks(turn.content):
                    yield turn
                    found += 1
                    if found == MAX_EVIDENCE:
                        return
            if len(turns) < TURNS_AT_ONCE:
                return
            before, looked_at = turns[0].id, looked_at + len(turns)

    def _find_lines(self) -> list[GrepHit]:
        """A line of each memory file that holds all the words: the one that holds most of them."""
        pattern = "|".join(re.escape(word) for word in self.words)
        store = self.parts.audiences.store
        try:
            by_path: dict[str, list[GrepHit]] = {}
            for hit in store.grep(pattern):
                by_path.setdefault(hit.rel_path, []).append(hit)
        except MemoryStoreError:
            return []
        whole = [hits for hits in by_path.values() if holds_words("\n".join(hit.line_text for hit in hits), self.words)]
        return [max(hits, key=lambda hit: sum(holds_words(hit.line_text, [w]) for w in self.words)) for hits in whole][
            :MAX_EVIDENCE
        ]

    def _find_shown(self) -> ContextItem | None:
        """The block of the turn's prompt that holds the words; the message itself does not count."""
        if self.turn is None or self.turn.record is None:
            return None
        try:
            items = replay_items(self.turn.record)
        except FamiliarError:
            return None
        return next((item for item in items if not item.fresh and holds_words(item.text, self.words)), None)

    def _add(self, name: str, outcome: StepOutcome | bool, evidence: str, fix: str = "") -> None:
        if isinstance(outcome, bool):
            outcome = StepOutcome.yes if outcome else StepOutcome.no
        if self.shown is not None and outcome is StepOutcome.no:  # whatever a search says today, it was there
            outcome, evidence, fix = StepOutcome.skipped, f"{evidence} It was shown all the same.", ""
        elif any(step.outcome is StepOutcome.no for step in self.steps):
            outcome, evidence, fix = StepOutcome.skipped, "It did not come so far.", ""
        self.steps.append(RecallStep(name=name, outcome=outcome, evidence=evidence, fix=fix))

    def _add_heard(self) -> None:
        if self.turns:
            self._add("heard", True, "; ".join(_quote_turn(turn) for turn in self.turns[:2]))
        elif self.lines:
            self._add(
                "heard", StepOutcome.skipped, "Nobody said it in these words; a memory file holds it all the same."
            )
        else:
            self._add(
                "heard",
                False,
                f"Nobody ever said it, and no memory file holds it: no turn has all of {', '.join(self.words)}.",
                "Tell it in a chat, or write it into a memory file; try other words if you know it was said.",
            )

    def _add_written(self) -> None:
        if self.lines:
            places = "; ".join(
                f"{hit.rel_path} line {hit.line_number}: {_quote(hit.line_text)}" for hit in self.lines[:2]
            )
            self._add("written", True, places)
            return
        mark = self.parts.history.get_writer_watermark(familiar_id=self.parts.familiar_id)
        done = mark.last_written_id if mark is not None else 0
        late = bool(self.turns) and self.turns[0].id > done
        why = "it is not written up yet (`familiar memory write-now` does it)" if late else "the writer left it out"
        self._add("written", StepOutcome.skipped, f"No memory file holds it: {why}. What was said is searched too.")

    def _add_indexed(self) -> None:
        retriever = self.parts.retriever
        if retriever is None or not retriever.is_warm:
            self._add("indexed", False, "The index is not there yet.", "Wait a moment, or `familiar memory reindex`.")
            return
        for text in (*(turn.content for turn in self.turns), *(hit.line_text for hit in self.lines)):
            if any(map(self._is_meant, retriever.recall_now(text, limit=SEARCHED))):
                self._add("indexed", True, "The index holds it.")
                return
        self._add("indexed", False, "The index does not hold it.", "Bring it level: `familiar memory reindex`.")

    def _is_meant(self, hit: Recollection) -> bool:
        if hit.source == "turn":
            return hit.turn_id in {turn.id for turn in self.turns}
        around = "\n".join((*(each.text for each in hit.before), hit.text, *(each.text for each in hit.after)))
        return hit.rel_path in {line.rel_path for line in self.lines} and holds_words(around, self.words)

    def _add_found(self) -> None:
        retriever, request = self.parts.retriever, self._request
        question = request.utterance if request is not None and request.utterance.strip() else self.wanted
        if retriever is None:
            self._add("found", False, "Nothing is searched without an index.")
            return
        scope = RecallScope(channel_id=request.channel_id if request is not None else None)
        hits = retriever.recall_now(question, limit=SEARCHED, scope=scope)
        at = next((place for place, hit in enumerate(hits, 1) if self._is_meant(hit)), None)
        if at is None:
            self._add(
                "found",
                False,
                f"Searching for {_quote(question)} does not bring it up among the first {SEARCHED}.",
                "Pin the file (`pin: true` in its first lines), or ask with words that stand in it.",
            )
            return
        self.hit = hits[at - 1]
        best = sorted(self.hit.explained.signals.items(), key=lambda part: -abs(part[1]))[:3]
        signals = ", ".join(f"{name} {value:+.2f}" for name, value in best)
        self._add("found", True, f"Place {at} of {len(hits)} for {_quote(question)} ({signals}).")

    def _add_allowed(self) -> None:
        request, hit = self._request, self.hit
        if request is None or hit is None:
            self._add("allowed here", StepOutcome.skipped, "No turn was named, so there is no place to ask about.")
            return
        said_to = self._said_to(request, hit)
        if said_to is None:
            self._add("allowed here", True, "Everybody who can read the place may hear it.")
            return
        self._add(
            "allowed here",
            False,
            f"It was said to {said_to}, and others can read the place of this turn.",
            "That is a confidence kept. To share it, move the line into the open file of the person or topic, "
            "or name the place in `shares_with`.",
        )

    def _said_to(self, request: ContextRequest, hit: Recollection) -> str | None:
        """Those something was said to that may not be told where *request* comes from; None: it may."""
        if hit.source == "turn":
            turn = next(turn for turn in self.turns if turn.id == hit.turn_id)
            tell_as = audience_of_turn(request)
            may = tell_as is None or tell_as(turn) is not None
            return None if may else describe_audience([turn.audience])
        visible = VisibleMemory.of(self.parts.audiences, request)
        if hit.rel_path is None or visible.audiences_of_passage(hit.rel_path, hit.text) is not None:
            return None
        heard_by: frozenset[Audience] = hit.audiences or frozenset()
        return describe_audience(heard_by) or "others than those who read here"

    def _add_fit(self) -> None:
        if self.turn is None or self.turn.record is None:
            why = "No turn was named." if self.turn is None else "What that turn was made of is not kept any more."
            self._add("room in the prompt", StepOutcome.skipped, why)
            return
        lost = [note for note in cuts(self.turn.trace, self.turn.record) if note["layer"] in MEMORY_LAYERS]
        if self.shown is not None:
            self._add("room in the prompt", True, "It fit.")
        elif lost:
            told = "; ".join(
                f"{note['source']} lost {note['tokens_dropped']} tokens, {cut_reason(note)}" for note in lost
            )
            self._add(
                "room in the prompt",
                False,
                f"It was cut: {told}.",
                "Give memory more room: `content` under [budget] in character.toml, or `budget_tokens` for all of it.",
            )
        else:
            self._add(
                "room in the prompt",
                False,
                "Nothing of memory was cut for want of room: other pieces came first, or the index was not ready then.",
                "Pin the file (`pin: true` in its first lines) to have it in every prompt.",
            )

    def _add_shown(self) -> None:
        shown = self.shown
        if self.turn is None or self.turn.record is None:
            self._add("shown to the model", StepOutcome.skipped, "Only a kept turn can tell.")
        elif shown is not None:
            told = f"It stood in the prompt ({shown.source}): {_quote(shown.text)}. The model did not use it."
            self._add("shown to the model", True, told, "Ask again, or use a stronger model: `familiar model list`.")
        else:
            self._add("shown to the model", False, "It was not in the prompt.")


def _asks(text: str) -> bool:
    """Whether a turn only asks: a question does not tell what it asks for."""
    return text.rstrip().endswith("?")


def _quote_turn(turn: HistoryTurn) -> str:
    who = turn.author.label if turn.author is not None else "the familiar"
    return f"{turn.timestamp:%Y-%m-%d} {who} (turn {turn.id}): {_quote(turn.content)}"


def _quote(text: str) -> str:
    words = one_line(text)
    return f"“{words if len(words) <= QUOTED_CHARS else truncate_chars(words, QUOTED_CHARS) + '…'}”"
