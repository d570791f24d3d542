"""ExtensionPart: what every part of an extension says of itself. PartContext: what it is given when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, ClassVar

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


@dataclass(frozen=True, kw_only=True)
class ExtensionPart:
    """What every part says of itself, beside how it is created."""

    settings: type[Any] | None = None
    """A class of `setting(…)` fields, plain or a dataclass: the keys of the section named after the extension."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets it may read, as `familiar keys set NAME` keeps them."""
    secrets_of_each: tuple[str, ...] = ()
    """Those of them that a familiar may have for itself: `NAME_WREN` is that of `wren` and comes before `NAME`."""
    required: tuple[str, ...] = ()
    """Settings and secrets without which it does nothing; the sentence on those that are missing is ours."""
    library: str = ""
    """A module that an extra brings and that it cannot do without."""
    hosts: tuple[str, ...] | Callable[[PartContext], tuple[str, ...]] = ()
    """Where it connects to, for `familiar doctor --privacy`, such as https://api.example.org; or what finds it out."""
    why_not_set_up: Callable[[PartContext], str | None] | None = None
    """One sentence on what the owner has still to do; None: nothing."""
    check: Callable[[PartContext], str | None] | None = None
    """For `familiar doctor`: one sentence on what is wrong; None: nothing. May take seconds."""

    shared_section: ClassVar[str] = ""
    """The section of the program's own in which a built-in extension's settings of this kind stand."""

    def __post_init__(self) -> None:
        if self.settings is not None and not is_dataclass(self.settings):
            dataclass(frozen=True)(self.settings)  # here, where the part is used: every start declares settings
