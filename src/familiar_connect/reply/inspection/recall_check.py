"""Why was this not remembered? One thing followed on its way from being said to being shown to the model.

Said, written, indexed, found for the message, allowed in the place, room in the prompt, shown: each step with its
evidence. The first step that fails is the answer: one sentence, and what mends it. What was said counts as known even
before it is written up, for it is searched too; it is missed as unwritten only where that search did not bring it.
Nothing is changed, and no model is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from familiar_connect.audience import Audience
from familiar_connect.context.providers.content_search.provider import pick_worth_telling
from familiar_connect.context.providers.scene.text import persona_of
from familiar_connect.context.types import ContextItem, ContextRequest
from familiar_connect.errors import FamiliarError
from familiar_connect.history.store import HistoryStore
from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.index.protocols import RecallScope, Recollection
from familiar_connect.memory.maintenance.review import PendingItem
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.types import GrepHit
from familiar_connect.memory.visible_memory import VisibleMemory, audience_of_turn
from familiar_connect.observe.inspector import world_info_lines
from familiar_connect.observe.replay_store import ReplayRecord
from familiar_connect.observe.trace import TurnTrace
from familiar_connect.presets.world_info.types import SCAN_LIMIT
from familiar_connect.reply.inspection.recall_evidence import (
    BRIEF_CHARS,
    MAX_EVIDENCE,
    RecallExplanation,
    RecallSearch,
    RecallStep,
    Searchable,
    StepOutcome,
    find_lines,
    find_told_item,
    find_waiting,
    holds_words,
    line_about,
    only_asks,
    pick_telling_lines,
    quote,
    quote_turn,
    search_words,
)
from familiar_connect.reply.inspection.recall_room import CONTENT_SETTING, find_full_part, find_search_trouble
from familiar_connect.reply.inspection.turn_view import describe_audience, name_item
from familiar_connect.reply.prompt_replay import replay_items

TURNS_AT_ONCE = 2_000
MAX_TURNS = 200_000
SEARCHED = 200
"""Places of the ranking that are looked at."""
NEW_FILE, OPEN_FILE, STRONGER_MODEL = "new:", "open:", "model:"


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
    searches_files: bool = True
    """As the settings have it."""
    searches_turns: bool = True

    def explain(self, wanted: str, turn: PastTurn | None = None) -> RecallExplanation:
        """Why *wanted* was not remembered in *turn*; without one, whether it would be found at all."""
        words = search_words(wanted)
        if not words:
            raise FamiliarError("there is nothing to look for: write a few words of what it should have known")
        return _Walk(self, wanted, words, turn).explain()


@dataclass
class _Walk:
    """One thing on its way."""

    parts: RecallCheck
    wanted: str
    words: tuple[str, ...]
    turn: PastTurn | None
    turns: list[HistoryTurn] = field(default_factory=list)
    lines: list[GrepHit] = field(default_factory=list)
    later: HistoryTurn | None = None
    """One that was said only after the turn in question."""
    own: HistoryTurn | None = None
    """One in which the familiar said it itself."""
    reply: HistoryTurn | None = None
    """What it said first in that place after the question."""
    waiting: PendingItem | None = None
    """A proposal that holds it, or a batch it was in that the writer gave up on."""
    is_indexed: bool = False
    search: RecallSearch = field(default_factory=lambda: RecallSearch("", (), None, None))
    shown: ContextItem | None = None
    """The block of the prompt that held it."""
    steps: list[RecallStep] = field(default_factory=list)

    def explain(self) -> RecallExplanation:
        self.turns = list(self._find_turns())
        self.lines = find_lines(self.parts.audiences.store, self.words, self._own_name)
        self.shown = self._find_shown()
        self.waiting = find_waiting(self.parts.audiences.store, self.words, self.turns) if not self.lines else None
        self.is_indexed = self._look_into_index()
        self.search = self._search()
        self._add_scan_limit()
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
        ends = request.before_id if request is not None else None
        before = (history.latest_id(familiar_id=self.parts.familiar_id) or 0) + 1
        looked_at = found = 0
        while looked_at < MAX_TURNS:
            turns = history.older_than(familiar_id=self.parts.familiar_id, max_id=before - 1, limit=TURNS_AT_ONCE)
            for turn in reversed(turns):
                words = turn.actual_words
                if request is not None and self._is_reply(turn, request):
                    self.reply = turn
                if turn.display_text != asked and holds_words(words, self.words) and not only_asks(words):
                    if turn.author is None:  # what it said itself may be wrong, and is nothing that it was told
                        self.own = turn
                        continue
                    if ends is not None and turn.id >= ends:
                        self.later = turn
                        continue
                    yield turn
                    found += 1
                    if found == MAX_EVIDENCE:
                        return
            if len(turns) < TURNS_AT_ONCE:
                return
            before, looked_at = turns[0].id, looked_at + len(turns)

    @staticmethod
    def _is_reply(turn: HistoryTurn, request: ContextRequest) -> bool:
        """Whether the familiar said *turn* in the place of *request* after what was asked."""
        ends = request.before_id
        return turn.author is None and turn.channel_id == request.channel_id and ends is not None and turn.id >= ends

    def _find_shown(self) -> ContextItem | None:
        """The block of the turn's prompt that tells it; a question does not, nor what the familiar said itself."""
        if self.turn is None or self.turn.record is None:
            return None
        try:
            items = replay_items(self.turn.record)
        except FamiliarError:
            return None
        return find_told_item(items, self.words, self._own_name)

    @property
    def _own_name(self) -> str:
        return persona_of(self._request) if self._request is not None else ""

    def _search(self) -> RecallSearch:
        """The search that the turn made, made again: where it stands, and whether that was near enough to be told."""
        retriever, request = self.parts.retriever, self._request
        question = request.utterance if request is not None and request.utterance.strip() else self.wanted
        if retriever is None:
            return RecallSearch(question, (), None, None)
        author = request.author if request is not None else None
        scope = replace(
            self._scope,
            channel_id=request.channel_id if request is not None else None,
            before_turn_id=request.before_id if request is not None else None,
            asker=frozenset({author.label.lower()}) if author is not None else frozenset(),
            answerer=frozenset({persona_of(request).lower()}) if request is not None else frozenset(),
        )
        hits = retriever.recall_now(question, limit=SEARCHED, scope=scope)
        at = next((place for place, hit in enumerate(hits, 1) if self._is_meant(hit)), None)
        if request is None or at is None:
            return RecallSearch(question, tuple(hits), at, None)
        told = pick_worth_telling(request, list(hits))
        near = any(isinstance(hit, Recollection) and self._is_meant(hit) for hit in told)
        return RecallSearch(question, tuple(hits), at, near)

    @property
    def _scope(self) -> RecallScope:
        return RecallScope(files=self.parts.searches_files, turns=self.parts.searches_turns)

    def _add(self, name: str, outcome: StepOutcome | bool, evidence: str, fix: str = "", **told: str) -> None:
        """One step; *told* are its sentence and where it is mended."""
        if isinstance(outcome, bool):
            outcome = StepOutcome.yes if outcome else StepOutcome.no
        if self.shown is not None and outcome is StepOutcome.no:  # whatever a search says today, it was there
            outcome, evidence, fix, told = StepOutcome.skipped, f"{evidence} It was shown anyway.", "", {}
        elif any(step.outcome is StepOutcome.no for step in self.steps):
            outcome, evidence, fix, told = StepOutcome.skipped, "It did not get that far.", "", {}
        self.steps.append(RecallStep(name=name, outcome=outcome, evidence=evidence, fix=fix, **told))

    def _add_heard(self) -> None:
        if self.turns:
            self._add("heard", True, "; ".join(quote_turn(turn, self.words) for turn in self.turns[:2]))
        elif self.lines or (self.waiting is not None and self.waiting.plan is not None):
            where = "a memory file" if self.lines else "a proposal"
            self._add("heard", StepOutcome.skipped, f"No one said it in these words, but {where} has it.")
        elif self.later is not None:
            self._add(
                "heard",
                False,
                f"It came after this turn: {quote_turn(self.later, self.words)}.",
                "Ask again: now it can know.",
                sentence="It was said only after this turn, so the familiar could not know it yet.",
            )
        elif self.own is not None:
            self._add(
                "heard",
                False,
                f"Only the familiar said it, which does not count as knowledge: {quote_turn(self.own, self.words)}.",
                "Say it in a chat, or write it into a memory file.",
                sentence="No one ever said it but the familiar itself.",
                leads_to=NEW_FILE,
            )
        else:
            wanted = quote(self.wanted, BRIEF_CHARS)
            self._add(
                "heard",
                False,
                f"No turn has all of these words: {', '.join(self.words)}; nor has a memory file.",
                "Say it in a chat, or write it into a memory file; try other words if you know it was said.",
                sentence=f"No one ever said {wanted}, and no memory file has it.",
                leads_to=NEW_FILE,
            )

    def _add_written(self) -> None:
        if self.lines:
            places = "; ".join(
                f"{hit.rel_path} line {hit.line_number}: {quote(hit.line_text, around=self.words)}"
                for hit in self.lines[:2]
            )
            self._add("written", True, places)
            return
        cause = self._why_unwritten()
        is_found = self.search.is_near or (self.search.is_near is None and self.search.at is not None)
        if is_found or not self.is_indexed:
            evidence = f"No memory file holds it: {cause.evidence}. What was said is searched too."
            self._add("written", StepOutcome.skipped, evidence)
            return
        evidence = f"No memory file holds it: {cause.evidence}; and a search of what was said did not find it."
        self._add("written", False, evidence, cause.fix, sentence=cause.sentence, leads_to=cause.leads_to)

    def _add_scan_limit(self) -> None:
        """A step only where the turn's scan of the books stopped early: what it did not come to is missing then."""
        if self.turn is None:
            return
        lines = world_info_lines(self.turn.trace)
        why = next((str(line["reason"]) for line in lines if line.get("entry") == SCAN_LIMIT), None)
        if why is None:
            return
        books = self.turn.record.request.books if self.turn.record is not None else ()
        held = [book.name for book in books if any(holds_words(each.content, self.words) for each in book.entries)]
        if not held:
            self._add("World Info", StepOutcome.skipped, f"World Info: {why}.")
            return
        self._add(
            "World Info",
            False,
            f"World Info: {why}.",
            f"Look for entries of {', '.join(held)} that activate each other, or set `max_recursion_steps` under "
            "[world_info] in character.toml.",
            sentence=f"It is in the lorebook {held[0]}, but the search of World Info stopped before it reached it.",
        )

    def _why_unwritten(self) -> RecallStep:
        waiting = self.waiting
        if waiting is not None and waiting.kind == "quarantine":
            why = (
                "the memory writer gave up on the batch it was in",
                "Look at it under Review, or have it written again: `familiar memory write-now`.",
                "It was heard, but the memory writer gave up on that part of the talk, so it is in no memory file.",
            )
        elif waiting is not None:
            why = (
                f"it is proposed for {' and '.join(waiting.files)} and waits for your approval",
                "Approve it under Review.",
                "It was heard, but the memory writer only proposed it, and it waits for your approval.",
            )
        elif self._is_late():
            why = (
                "it is not written up yet",
                "Wait for the memory writer, or `familiar memory write-now`.",
                "It was heard, but the memory writer has not written it into memory yet.",
            )
        else:
            why = (
                "the memory writer left it out",
                "Write it into a memory file yourself.",
                "It was heard, but the memory writer left it out, so it is in no memory file.",
            )
        evidence, fix, sentence = why
        leads_to = f"review:{waiting.id}" if waiting is not None else NEW_FILE
        return RecallStep(
            name="", outcome=StepOutcome.no, evidence=evidence, fix=fix, sentence=sentence, leads_to=leads_to
        )

    def _is_late(self) -> bool:
        """Whether the writer has not come to it."""
        mark = self.parts.history.get_writer_watermark(familiar_id=self.parts.familiar_id)
        return bool(self.turns) and self.turns[0].id > (mark.last_written_id if mark is not None else 0)

    def _look_into_index(self) -> bool:
        """Whether a search for its own words brings it."""
        retriever = self.parts.retriever
        if retriever is None or not retriever.is_warm:
            return False
        texts = (*(turn.actual_words for turn in self.turns), *(hit.line_text for hit in self.lines))
        return any(
            any(map(self._is_meant, retriever.recall_now(text, limit=SEARCHED, scope=self._scope))) for text in texts
        )

    def _add_indexed(self) -> None:
        retriever, file = self.parts.retriever, self.lines[0].rel_path if self.lines else ""
        if retriever is None or not retriever.is_warm:
            self._add(
                "indexed",
                False,
                "There is no index yet.",
                "Wait a moment, or `familiar memory reindex`.",
                sentence="It is known, but it cannot be searched for: the index of memory is not ready.",
            )
            return
        if self.is_indexed:
            self._add("indexed", True, "It is in the index.")
            return
        if file and not self.parts.searches_files:
            self._add(
                "indexed",
                False,
                "Memory files are not searched: `files = false` is set under [providers.content_search].",
                "Remove that setting from character.toml, and start again.",
                sentence=f"It is in {file}, but not in the index: the settings say not to search memory files.",
                leads_to="setting:providers.content_search.files",
            )
            return
        self._add(
            "indexed",
            False,
            "It is not in the index.",
            "Update it: `familiar memory reindex`.",
            sentence=f"It {f'is in {file}' if file else 'was heard'}, but it is not in the index yet.",
        )

    def _is_meant(self, hit: Recollection) -> bool:
        if hit.source == "turn":
            return hit.turn_id in {turn.id for turn in self.turns}
        around = "\n".join((*(each.text for each in hit.before), hit.text, *(each.text for each in hit.after)))
        return hit.rel_path in {line.rel_path for line in self.lines} and holds_words(around, self.words)

    def _add_found(self) -> None:
        search = self.search
        question, hit = quote(search.question), search.hit
        brief = quote(search.question, BRIEF_CHARS)
        if hit is None:
            self._add(
                "found",
                False,
                f"Searching for {question} does not find it among the first {SEARCHED}.",
                "Pin the file (`pin: true` in its first lines), or ask with words from it.",
                sentence=f"It is known, but nothing in {brief} led to it: the search did not find it.",
                leads_to=self._file,
            )
            return
        best = sorted(hit.explained.signals.items(), key=lambda part: -abs(part[1]))[:3]
        signals = ", ".join(f"{name} {value:+.2f}" for name, value in best)
        place = f"Place {search.at} of {len(search.hits)} for {question} ({signals})"
        if search.is_near is False:
            top = max(each.score for each in search.hits)
            self._add(
                "found",
                False,
                f"{place}: {hit.score:.2f}, where the best had {top:.2f}. What scores far below the best, or has "
                "nothing to do with the message, is left out.",
                "Ask with words from it, or pin the file (`pin: true` in its first lines).",
                sentence=f"It was found only at place {search.at}: too far from {brief} to be shown.",
                leads_to=self._file,
            )
            return
        self._add("found", True, f"{place}.")

    @property
    def _file(self) -> str:
        return f"file:{self.lines[0].rel_path}" if self.lines else ""

    def _add_allowed(self) -> None:
        request, hit = self._request, self.search.hit
        if request is None or hit is None:
            self._add("allowed here", StepOutcome.skipped, self._why_no_record())
            return
        if (said_to := self._said_to(request, hit)) is None:
            self._add("allowed here", True, "Everyone who can read the place may hear it.")
            return
        self._add(
            "allowed here",
            False,
            f"It was said to {said_to}, and others can read the place of this turn.",
            "It kept a confidence. To share it, move the line into the open file of the person or topic, "
            "or name the place in `shares_with`.",
            sentence=f"It knows this, but may not say it here: it was said to {said_to}, and others read this place.",
            leads_to=OPEN_FILE,
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
        return describe_audience(hit.audiences or frozenset[Audience]()) or "others than those who read here"

    def _why_no_record(self) -> str:
        return "No turn was named." if self.turn is None else "The details of that turn are no longer kept."

    def _add_fit(self) -> None:
        if self.turn is None or self.turn.record is None:
            self._add("room in the prompt", StepOutcome.skipped, self._why_no_record())
            return
        if self.shown is not None:
            self._add("room in the prompt", True, "It fit.")
            return
        if (trouble := find_search_trouble(self.turn.trace)) is not None:
            self._add("room in the prompt", False, trouble.evidence, trouble.fix, sentence=trouble.sentence)
            return
        full, setting = find_full_part(self.turn.trace, self.turn.record, self.search.hit)
        if full:
            more = "`content` under [budget]" if setting == CONTENT_SETTING else f"`{setting}`"
            self._add(
                "room in the prompt",
                False,
                f"It was cut by the budget: {full}.",
                f"Raise {more} in character.toml, or pin the file (`pin: true` in its first lines).",
                sentence="It was found, but cut by the budget: there was no room left for it in the prompt.",
                leads_to=f"setting:{setting}",
            )
            return
        self._add(
            "room in the prompt",
            False,
            "Nothing from memory was cut for lack of room: other memories came first.",
            "Pin the file (`pin: true` in its first lines) to have it in every prompt.",
            sentence="It can be found now, but in that turn other memories came first.",
            leads_to=self._file,
        )

    def _add_shown(self) -> None:
        shown = self.shown
        if self.turn is None or self.turn.record is None:
            told = "It is known and can be found; only a turn that is still kept can show whether it was in the prompt."
            self._add("shown to the model", StepOutcome.skipped, "Only a kept turn can show that.", sentence=told)
        elif shown is not None:
            line = line_about("\n".join(pick_telling_lines(shown.text, self._own_name)), self.words)
            evidence = f"It was in the prompt ({name_item(shown)}): {quote(line, around=self.words)}."
            if self.reply is not None and holds_words(self.reply.actual_words, self.words):
                self._add(
                    "shown to the model",
                    True,
                    f"{evidence} The reply mentions it: {quote_turn(self.reply, self.words)}.",
                    sentence="It was remembered: it was in the prompt, and the reply mentions it.",
                )
                return
            told, remedy = f"{evidence} The model did not use it.", "Ask again, or use a stronger model."
            sentence = "The model had it: it was in the prompt, but the reply did not use it."
            self._add("shown to the model", True, told, remedy, leads_to=STRONGER_MODEL, sentence=sentence)
        else:
            self._add("shown to the model", False, "It was not in the prompt.")
