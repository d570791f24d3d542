"""ShownMessage: one message of a chat, as the page draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from familiar_connect.platforms.web.attached_files import ShownAttachment
from familiar_connect.platforms.web.other_lines import OtherLine


@dataclass(frozen=True, kw_only=True)
class ShownMessage:
    """One message as the page shows it."""

    id: int
    who: str
    is_own: bool
    """Said by the familiar."""
    html: str
    time: str
    clock: str
    """The time of day alone."""
    trace_id: str | None = None
    """The turn that made it, where one is known."""
    version: int = 1
    """Which of its versions it reads, counted from 1."""
    versions: int = 1
    is_hidden: bool = False
    """In no prompt."""
    attached: Sequence[ShownAttachment] = ()
    key: str = ""
    """What the page called it that sent it."""
    is_cut: bool = False
    """Whether it is so long that only its beginning is shown."""
    other: OtherLine | None = None
    """Where it is at home, where another familiar said it."""
    picture: str | None = None
    """The face of the person at the page, on what they said."""
    expression: str | None = None
    """The picture of the mood that the familiar said it in."""

    @property
    def is_reply(self) -> bool:
        """Said by a familiar, this one or another."""
        return self.is_own or self.other is not None
