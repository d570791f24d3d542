"""Visibility: where a conversation happens, which file keeps what is known of it, and what a search may find there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict, Unpack

from familiar_connect.audience import Audience, AudienceKind
from familiar_connect.context.types import ContextRequest
from familiar_connect.history.turn_visibility import may_tell_turn
from familiar_connect.history.types import HistoryTurn
from familiar_connect.memory.file_audience import read_audience
from familiar_connect.memory.index.protocols import RecallScope
from familiar_connect.memory.part_audiences import PartAudiences
from familiar_connect.memory.visible_memory import VisibleMemory
from familiar_connect.support.text import to_slug

SERVERS = "servers"
"""The folder of what is known of servers and direct messages; each file is told in its own place only."""

AudienceOfTurn = Callable[[HistoryTurn], Audience | None]


class ScopeFacts(TypedDict, total=False):
    """Who asks whom, and what need not be searched because it is in the prompt anyway."""

    asker: frozenset[str]
    answerer: frozenset[str]

    before_turn_id: int | None
    exclude_paths: frozenset[str]
    exclude_folders: tuple[str, ...]


def server_path(request: ContextRequest) -> str | None:
    """The file of the server, or of the direct message, that *request* comes from.

    A channel that belongs to no server, as on many platforms, is one by itself.
    """
    scene = request.scene
    someone = (scene.me if scene is not None else None) or request.author
    if someone is None:
        return None
    platform = to_slug(someone.platform) or "unknown"
    if request.is_dm:
        return f"{SERVERS}/{platform}-dm-{request.channel_id}.md"
    server = request.guild_id if request.guild_id is not None else scene.server_id if scene is not None else None
    return f"{SERVERS}/{platform}-{request.channel_id if server is None else server}.md"


def read_server_notes(memory: VisibleMemory, request: ContextRequest) -> dict[str, str]:
    """What is known of the place *request* comes from: by path, the open file first, then those of smaller circles.

    An open file that does not say its audience is told in its own place, wherever its lines came from.
    """
    base = server_path(request)
    if base is None:
        return {}
    own = memory.store.read_if_present(base)
    found = {base: own} if own is not None and read_audience(own) is None else {}
    return found | {path: memory.look(path).text for path in memory.files_of(base) if path not in found}


def server_target(parts: PartAudiences, request: ContextRequest) -> str | None:
    """Where something is written that is to be known of the place *request* comes from."""
    base = server_path(request)
    if base is None or request.readers is None:
        return base
    audience = request.readers.audience
    hidden = audience.kind is AudienceKind.CHANNEL and not request.is_dm
    said = read_audience(parts.store.read_if_present(base) or "")
    if hidden or said not in (None, audience):
        return parts.choose_beside(base, audience)
    return base


def audience_of_turn(request: ContextRequest) -> AudienceOfTurn | None:
    """As whose a turn is told where *request* comes from, None where it may not be; without readers all of them may."""
    readers, telling = request.readers, request.telling
    if readers is None:
        return None
    decided: dict[tuple[Audience, int, str | None], Audience | None] = {}

    def tell_as(turn: HistoryTurn) -> Audience | None:
        author = turn.author.canonical_key if turn.author is not None else None
        key = (turn.audience, turn.channel_id, author)
        if key not in decided:
            may = may_tell_turn(turn, readers, telling)
            # A place hears its own talk, whatever is known of whom it was said to.
            own = turn.audience if request.may_tell((turn.audience,)) else readers.audience
            decided[key] = own if may else None
        return decided[key]

    return tell_as


def recall_scope(request: ContextRequest, memory: VisibleMemory, **facts: Unpack[ScopeFacts]) -> RecallScope:
    """Where *request* comes from, for a search: only what may be told there is found."""
    return RecallScope(
        channel_id=request.channel_id,
        audience_of_turn=audience_of_turn(request),
        audiences_of_passage=memory.audiences_of_passage,
        may_tell_of_file=memory.exists,
        **facts,
    )
