"""owner_scope: what a search may bring where the owner asks, at the terminal or at the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from familiar_connect.audience import OWNER, Readers
from familiar_connect.disclosure import DisclosurePolicy, may_tell_all
from familiar_connect.history.turn_visibility import may_tell_turn
from familiar_connect.memory.index.protocols import RecallScope
from familiar_connect.memory.visible_memory import VisibleMemory

if TYPE_CHECKING:
    from familiar_connect.memory.part_audiences import PartAudiences

PLATFORM = "terminal"
"""The owner's own platform; the page is another door to it."""


def owner_scope(
    audiences: PartAudiences,
    policy: DisclosurePolicy,
    *,
    channel_id: int | None = None,
    only: Literal["files", "turns"] | None = None,
) -> RecallScope:
    """Everything the owner may hear; what people asked to keep private is out of it."""
    here = Readers(OWNER, platform=PLATFORM)
    visible = VisibleMemory(audiences, lambda said_to: may_tell_all(said_to, here, policy))
    return RecallScope(
        channel_id=channel_id,
        files=only != "turns",
        turns=only != "files",
        audience_of_turn=lambda turn: turn.audience if may_tell_turn(turn, here, policy) else None,
        audiences_of_passage=visible.audiences_of_passage,
    )
