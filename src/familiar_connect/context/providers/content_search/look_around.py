"""What a prompt holds anyway, and whether memory holds anything else that could still be looked for."""

from __future__ import annotations

from collections.abc import Collection

from familiar_connect.chat.window import grow_window, window_start
from familiar_connect.context.providers.content_search.unfiltered import TOKENS_PER_LINE, layer_budget
from familiar_connect.context.types import ContextRequest, Layer
from familiar_connect.errors import MemoryStoreError
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.support.tokens import estimate_tokens


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
