"""Memory without a filter: the best-ranked pieces go in as they are, within what room there is.

This is the usual way; a filter is asked only where not all of it fits. Every piece says when or where it comes from and
stands there once; all of it is recalled material, shown in a fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from familiar_connect.config.modes import SMALL_MODEL_SHARES, channel_config_for_mode
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.providers.content_search.filter import (
    MAX_SNIPPET_TOKENS,
    all_audiences,
    recall_contribution,
)
from familiar_connect.context.types import ContextRequest, Contribution, Layer
from familiar_connect.memory.index.protocols import RetrievedChunk
from familiar_connect.memory.index.relevance import Hit
from familiar_connect.presets.macro_context import rng_for, speaker_of
from familiar_connect.presets.macros.engine import substitute
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.types import CardFields
from familiar_connect.support.text import truncate
from familiar_connect.support.tokens import estimate_tokens

LORE_FOLDER = "lore/"
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
MOST_PER_CHUNK = 3
"""Of small pieces the filter gets at most so many times as of large ones."""

_LINK_ITEM = re.compile(r"^[ \t]*[-*] \[[^\]\n]{0,200}\]\([^)\n]{0,400}\)[ \t]*\n?", re.MULTILINE)
_EMPTY_SECTION = re.compile(r"^#{1,6} [^\n]{0,200}\n*(?=^#{1,6} |\Z)", re.MULTILINE)
_TITLE = re.compile(r"\A#{1,6} ([^\n]{1,200})\n+")


def direct_budget(request: ContextRequest) -> int:
    """Tokens of recalled memory that go in as they are."""
    return max(LEAST_DIRECT_TOKENS, min(MAX_DIRECT_TOKENS, int(request.budget_tokens * DIRECT_SHARE)))


def best_hits_contribution(
    hits: Sequence[Hit], *, max_tokens: int, asker: frozenset[str] = frozenset()
) -> list[Contribution]:
    """The best of *hits*, which stand best first, as one contribution of at most *max_tokens*, or nothing.

    What *asker* said stands nearest the message.
    """
    room = min(max_tokens, MAX_DIRECT_TOKENS)
    if room < LEAST_TOKENS:
        return []
    text = format_within(_distinct(hits), room, asker)
    return [recall_contribution(text, all_audiences(hit.audiences for hit in hits))] if text.strip() else []


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
