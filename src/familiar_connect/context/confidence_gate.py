"""The gate between gathering and budgeting: what may not be told here goes no further.

Stores and providers apply the same rule before they rank or pack. Here every contribution is checked again, in
one place, so that a provider that forgets costs a block of the prompt, never a confidence.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from familiar_connect.audience import EVERYONE, OWNER, Audience
from familiar_connect.context.types import ContextRequest, Contribution, Layer, WithheldNote

logger = logging.getLogger(__name__)

AUTHORED: frozenset[Audience] = frozenset({EVERYONE})
"""The audience of text that its author wrote to be told: character, lore, documents, modes, settings."""


def withhold(
    contributions: Iterable[Contribution], request: ContextRequest
) -> tuple[list[Contribution], list[WithheldNote]]:
    """Those of *contributions* that may be told where *request* comes from, and a note for each of the others."""
    if request.readers is None:  # nobody reads along who might not be told
        return list(contributions), []
    told: list[Contribution] = []
    notes: list[WithheldNote] = []
    verdicts: dict[frozenset[Audience] | None, bool] = {}
    for contribution in contributions:
        said_to = contribution.audiences
        if said_to is None and contribution.authored:
            said_to = AUTHORED
        may_tell = verdicts.get(said_to)
        if may_tell is None:
            may_tell = verdicts[said_to] = request.may_tell(said_to)
        if may_tell:
            told.append(contribution)
        else:
            notes.append(note_withheld(contribution.layer, contribution.source, said_to))
    for note in notes:
        logger.info("context withheld", extra={"layer": note.layer.value, "source": note.source})
    return told, notes


def note_withheld(layer: Layer, source: str, audiences: Iterable[Audience] | None) -> WithheldNote:
    """The note of one thing kept back."""
    said_to: Sequence[Audience] = [OWNER] if audiences is None else list(audiences)
    return WithheldNote(layer, source, tuple(sorted(str(each) for each in said_to)))
