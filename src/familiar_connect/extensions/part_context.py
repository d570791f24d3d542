"""PartContext: what a part of an extension is given when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from familiar_connect.support.clock import Clock


@dataclass(frozen=True, kw_only=True)
class PartContext:
    """What a part is given when it is created: its settings, its secrets, the clock and a folder of its own."""

    settings: Any
    """The part's settings dataclass, filled from the section named after the extension; None: it has none."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The secrets the part named and the owner has set. It gets no others."""
    secrets_of_home: frozenset[str] = frozenset()
    """Those of them that the owner's file holds. The others come from the environment, which others may have set."""
    secrets_file: Path = Path()
    """The owner's file, for a sentence that names it."""
    clock: Clock
    folder: Path
    """Where it may keep files, inside the familiar's folder. The part makes it when it first writes."""
    familiar_id: str = ""
