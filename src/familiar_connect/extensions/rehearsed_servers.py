"""RehearsedServer: a server as `familiar rehearse` plays it; the network's own rules say who can read what.

The rehearsal knows who is on a server, with which roles, and what each channel allows and denies. What follows from
that is the network's to say, by the same code as when it is live.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from familiar_connect.chat.scene import ChannelKind


@dataclass(frozen=True, kw_only=True)
class RehearsedPerson:
    """Somebody of a rehearsal, as a network with numbers knows them."""

    id: int
    name: str
    username: str | None = None
    roles: tuple[int, ...] = ()
    joined_at: datetime | None = None
    """When they came to the server; None: this is no server."""


@dataclass(frozen=True, kw_only=True)
class RehearsedChannel:
    """A channel or thread of a server, and what it allows and denies now."""

    id: int
    kind: ChannelKind
    parent_id: int | None = None
    """The channel that a thread is in; None: it is no thread, or the file does not say."""
    is_thread: bool = False
    is_hidden: bool = False
    """Only for those who are allowed; of a thread: only for those who are in it."""
    is_age_restricted: bool = False
    allowed: tuple[int, ...] = ()
    """Roles and people by their ids; of a thread, who is in it."""
    denied: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RehearsedServer:
    """A server with its members, the ids of all roles, and its channels."""

    id: int
    members: tuple[RehearsedPerson, ...]
    roles: tuple[int, ...]
    channels: tuple[RehearsedChannel, ...]
