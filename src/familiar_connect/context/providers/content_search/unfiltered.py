"""Memory without a filter: the best-ranked pieces go in as they are, within what room there is.

This is the usual way; a filter is asked only where not all of it fits. Every piece says when or where it comes from and
stands there once; all of it is recalled material, shown in a fence. What the prompt holds anyway is not recalled.

SearchReport: what is told of one search of memory beside what it found, for the trace and whoever asks why.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from familiar_connect.audience import Audience, all_audiences
from familiar_connect.chat.window import grow_window, window_start
from familiar_connect.config.channel import SMALL_MODEL_SHARES, channel_config_for_mode
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.types import (
    ContextRequest,
    Contribution,
    ItemTag,
    Layer,
    Priority,
    ProviderStatus,
    ReportedContributions,
)
from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.index.protocols import Recollection, RetrievedChunk, SearchReadiness
from familiar_connect.memory.index.relevance import Hit
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.presets.macro_context import rng_for, speaker_of
from familiar_connect.presets.macros.engine import substitute
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.types import CardFields
from familiar_connect.support.tokens import estimate_tokens, truncate

FILTER_PRIORITY = int(Priority.FOUND)
FILTER_SOURCE = "content_search.rag"
FOUND_LABEL = "recalled for this message"
MAX_SNIPPET_TOKENS = 150
LORE_FOLDER = "lore/"
QUOTABLE_TOKENS = 1_500
"""So much of what was found is looked through for a line to quote."""
MAX_DIRECT_TOKENS = 1_500
LEAST_DIRECT_TOKENS = 160
DIRECT_SHARE = 1 / 40
"""Of the whole prompt's room. What is recalled changes with every message, so that a small machine reads all of it
anew each time, and a small model loses its way in it."""
LEAST_TOKENS = 24
"""Less room than this holds nothing worth reading."""
TOKENS_PER_LINE = 8
"""What the speaker's name, or the line that says when or where, adds to a piece."""
MOST_LAYOUTS = 12
"""How often what was found is laid out anew because it weighs too much."""
LESS_EACH_TIME = 0.9
"""Of the room tried before, at most: a step that leaves the same lines in would be one for nothing."""
TELLING_CHARS, TELLING_LINES = 30, 3
"""The beginning of a piece, its title aside, by which it is known in what is told."""
MOST_TRACED, MOST_SIGNALS = 20, 3
"""So much of what a search found is kept with the turn."""
MOST_PER_CHUNK = 3
"""Of small pieces the filter gets at most so many times as of large ones."""

_LINK_ITEM = re.compile(r"^[ \t]*[-*] \[[^\]\n]{0,200}\]\([^)\n]{0,400}\)[ \t]*\n?", re.MULTILINE)
_EMPTY_SECTION = re.compile(r"^#{1,6} [^\n]{0,200}\n*(?=^#{1,6} |\Z)", re.MULTILINE)
_TITLE = re.compile(r"\A#{1,6} ([^\n]{1,200})\n+")


def direct_budget(request: ContextRequest) -> int:
    """Tokens of recalled memory that go in as they are."""
    return max(LEAST_DIRECT_TOKENS, min(MAX_DIRECT_TOKENS, int(request.budget_tokens * DIRECT_SHARE)))


def best_hits_contribution(
    hits: Sequence[Hit], *, max_tokens: int, asker: frozenset[str] = frozenset(), quotable_tokens: int = 0
) -> list[Contribution]:
    """The best of *hits*, which stand best first, as one contribution of at most *max_tokens*, or nothing.

    What *asker* said stands nearest the message. More of them, of *quotable_tokens*, may be quoted by a rule.
    """
    room, distinct = min(max_tokens, MAX_DIRECT_TOKENS), _distinct(hits)
    text = format_within(distinct, room, asker) if room >= LEAST_TOKENS else ""
    quotable = format_within(distinct, quotable_tokens, asker) if quotable_tokens else ""
    if not text.strip() and not quotable.strip():
        return []
    found = recall_contribution(text if text.strip() else "", all_audiences(hit.audiences for hit in hits))
    return [replace(found, quotable=quotable) if quotable else found]


def quotable_budget(request: ContextRequest) -> int:
    """How much of what was found may be quoted, beyond what the prompt has room for."""
    return QUOTABLE_TOKENS if has_small_budget(request) else 0


def format_within(hits: Sequence[Hit], room: int, asker: frozenset[str]) -> str:
    """*hits* in *room* tokens: where the text weighs more than its length tells, fewer of them.

    Its end is not cut off, for the best stands there.
    """
    from familiar_connect.memory.index.snippets import format_snippets  # brings numpy

    given = room
    for _ in range(MOST_LAYOUTS):
        text = format_snippets(hits, given, asker=asker)
        weight = estimate_tokens(text)
        if weight <= room:
            return text
        given = min(int(given * LESS_EACH_TIME), given * room // weight)
    return truncate(text, room)


def with_lore_macros(hit: Hit, request: ContextRequest) -> Hit:
    """*hit* with its macros read where an author wrote it, in lore; what people said is only quoted."""
    if not (hit.rel_path or "").startswith(LORE_FOLDER) or not {"{", "<"} & set(hit.text):
        return hit
    card = request.card or CardFields()
    ctx = MacroContext(
        char=card.name or request.familiar_id,
        user=speaker_of(request),
        now=request.now,
        rng=rng_for(request, f"lore:{hit.rel_path}"),
    )
    return replace(hit, text=substitute(hit.text, ctx))


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """Each text once, a long chunk by its beginning, without what files keep for the program."""
    found: dict[str, Hit] = {}
    for hit in hits:
        text = truncate(_without_frame(hit), MAX_SNIPPET_TOKENS)
        if text:
            found.setdefault(text, replace(hit, text=text))
    return list(found.values())


def _without_frame(hit: Hit) -> str:
    """The text of *hit* without lists of links, sections that are empty then, and a title that its label says too."""
    text = _LINK_ITEM.sub("", hit.text).strip()
    if hit.rel_path is None:
        return text
    text = _EMPTY_SECTION.sub("", text).strip()
    title = _TITLE.match(text)
    return text[title.end() :] if title and title[1].strip() in hit.heading_path.split(" > ") else text


def as_chunks(hits: Iterable[Hit], *, top_k: int) -> list[RetrievedChunk]:
    """*hits* for the filter: as many as *top_k* full snippets would take, for what was found may be one sentence."""
    from familiar_connect.memory.index.snippets import as_chunk  # brings numpy

    room = top_k * MAX_SNIPPET_TOKENS
    chunks: list[RetrievedChunk] = []
    for hit in hits:
        chunk = hit if isinstance(hit, RetrievedChunk) else as_chunk(hit)
        room -= min(MAX_SNIPPET_TOKENS, estimate_tokens(chunk.text))
        if room < 0 or len(chunks) == top_k * MOST_PER_CHUNK:
            break
        chunks.append(chunk)
    return chunks


def hits_fit(hits: Iterable[Hit], max_tokens: int) -> bool:
    """Whether all of *hits* can go in as they are."""
    return sum(estimate_tokens(hit.text) + TOKENS_PER_LINE for hit in _distinct(hits)) <= max_tokens


def content_budget(request: ContextRequest) -> int:
    """Tokens that the content layer has in this request's mode; less where a small model answers."""
    return layer_budget(request, Layer.content)


def layer_budget(request: ContextRequest, layer: Layer) -> int:
    """Tokens that *layer* has in this request's mode; less where a small model answers."""
    channel = channel_config_for_mode(request.mode or ChannelMode.text_conversation_rp)
    room = channel.budget_by_layer.get(layer, 0)
    if has_small_budget(request):
        room = min(room, int(request.budget_tokens * SMALL_MODEL_SHARES[layer]))
    return room


def has_small_budget(request: ContextRequest) -> bool:
    """Whether the prompt must stay smaller than the mode would have it."""
    if request.mode is None:
        return False
    return 0 < request.budget_tokens < channel_config_for_mode(request.mode).budget_tokens


def holds_more(memory: VisibleMemory, known: set[str], *, but: Collection[str] = ()) -> bool:
    """Whether *memory* holds a text besides *known*, the alias index, the character's own and the folders of *but*."""
    for entry in memory.list_dir():
        if entry.name == "self" or entry.name in but:
            continue
        if not entry.is_dir:
            return True
        try:
            paths = memory.store.glob(f"{entry.name}/**/*")
        except MemoryStoreError:
            return True
        others = (path for path in paths if path not in known and not path.endswith("/_aliases.json"))
        if any(memory.exists(path) for path in others):
            return True
    return False


def find_first_shown_turn(
    history: HistoryStore | None, request: ContextRequest, recent_turns: int, window_step: int
) -> int | None:
    """Id of the oldest turn that the prompt shows of this channel: it and what follows need not be recalled.

    What the window holds but its layer has no room for is not shown, so it may be recalled.
    """
    if history is None:
        return request.before_id
    familiar_id, channel_id, before = request.familiar_id, request.channel_id, request.before_id
    stored = history.count_before(familiar_id=familiar_id, channel_id=channel_id, before_id=before)
    size, step = grow_window(request.history_turns, recent_turns, window_step)
    first = window_start(stored, size, step)
    shown = history.recent(familiar_id=familiar_id, channel_id=channel_id, limit=stored - first, before_id=before)
    if size > recent_turns:  # as many as the layer has room for
        return shown[0].id if shown else before
    room = layer_budget(request, Layer.recent_history)
    oldest = before
    for turn in reversed(shown):
        room -= estimate_tokens(turn.display_text) + TOKENS_PER_LINE
        if room < 0:
            break
        oldest = turn.id
    return oldest


NO_SIDE_WORK = "the model for it does no side work"
"""Why the filter is skipped where the model is small: so it always is there, and no trouble of one search."""


class SearchReport:
    """What is to be told of one search beside what it found."""

    def __init__(self) -> None:
        self._status: ProviderStatus = "ok"
        self._trouble: str | None = None
        self._notes: list[str] = []
        self._hits: Sequence[Hit] = ()

    def note_hits(self, hits: Sequence[Hit]) -> None:
        """What came back, best first, before it was fitted into the room there is."""
        self._hits = hits

    def note(self, ready: SearchReadiness) -> None:
        """How far memory could be searched, where that was not all of it."""
        if ready.state == "asleep":
            self.fail("asleep", f"memory was not searched: {ready.why}")
        elif ready.why:
            self._notes.append(ready.why)

    def fail(self, status: ProviderStatus, trouble: str) -> None:
        """Nothing came of it; what failed first is the cause."""
        if self._status == "ok":
            self._status, self._trouble = status, trouble

    def skip_filter(self, why: str) -> None:
        self._notes.append(_skip_note(why))

    def about(self, found: list[Contribution]) -> ReportedContributions:
        told = "\n".join(piece.text for piece in found if piece.tag is ItemTag.FOUND)
        found_by = [_facts_of(hit, told) for hit in self._hits[:MOST_TRACED]]
        return ReportedContributions(
            found, status=self._status, trouble=self._trouble, notes=self._notes, found_by=found_by
        )


def _facts_of(hit: Hit, told: str) -> dict[str, object]:
    """Where *hit* is, how it was found and whether it stands in what is *told*; none of its words."""
    lines = [line.strip() for line in hit.text.splitlines() if line.strip() and not line.startswith("#")]
    is_told = any(line[:TELLING_CHARS].rstrip() in told for line in lines[:TELLING_LINES])
    facts: dict[str, object] = {"score": round(float(hit.score), 3), "told": is_told}
    if hit.rel_path is not None:
        facts |= {"path": hit.rel_path, "heading": hit.heading_path}
    if isinstance(hit, Recollection):
        facts |= {} if hit.turn_id is None else {"turn": hit.turn_id, "channel": hit.channel_id}
        signals = {name: round(float(value), 3) for name, value in hit.explained.signals.items()}
        strongest = sorted(signals.items(), key=lambda pair: -pair[1])[:MOST_SIGNALS]
        facts["signals"] = {name: value for name, value in strongest if value > 0}
    return facts


def list_troubles(notes: Sequence[str]) -> list[str]:
    """Of the *notes* of a search those that tell of a trouble, and not of what is always so."""
    return [each for each in notes if each != _skip_note(NO_SIDE_WORK)]


def _skip_note(why: str) -> str:
    return f"the filter was skipped: {why}"


def recall_contribution(text: str, audiences: frozenset[Audience] | None) -> Contribution:
    """*text* as what memory has to say to this message, made from what was said to *audiences*."""
    return Contribution(
        Layer.content,
        FILTER_PRIORITY,
        text,
        estimate_tokens(text),
        FILTER_SOURCE,
        tag=ItemTag.FOUND,
        volatile=True,
        label=FOUND_LABEL,
        audiences=audiences,
    )
