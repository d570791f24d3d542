"""create_added: what the owner's extensions bring to a rehearsal. Their platforms and models have no part in one."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config.character import CharacterConfig
from familiar_connect.config.secrets import Secrets
from familiar_connect.extensions.create import PartMaker, create_parts
from familiar_connect.extensions.load import load_extensions
from familiar_connect.support.clock import Clock
from familiar_connect.wiring.added_parts import NOTHING_ADDED, AddedParts


def create_added(home: Path | None, root: Path, config: CharacterConfig, clock: Clock) -> AddedParts:
    """The parts for the familiar in *root* of what was allowed in *home*; nothing where there is none."""
    if home is None:
        return NOTHING_ADDED
    maker = PartMaker(root=root, config=config, secrets=Secrets(home), clock=clock)
    return create_parts(load_extensions(home), maker)
