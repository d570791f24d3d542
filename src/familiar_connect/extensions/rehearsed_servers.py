"""RehearsedServers: a network with servers as `familiar rehearse` plays it: its own rules say who can read what.

The rehearsal knows who is on a server, with which roles, and what each channel allows and denies. What follows from
that is the network's to say, by the same code as when it is live.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from familiar_connect.chat.place import Place
    from familiar_connect.chat.scene import ChannelKind, Scene
    from familiar_connect.extensions.host import PlatformHost
    from familiar_connect.identity import Author


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


class RehearsedLines(Protocol):
    """How a network's lines are read, for one channel and one start of the familiar."""

    def read(self, text: str) -> str:
        """What the familiar hears of a line."""

    async def answer_command(self, author: Author, text: str, place: Place, *, is_in_charge: bool) -> list[str] | None:
        """Do what a line asks for, and give what is posted about it; None: the line is talk."""


class RehearsedServers(Protocol):
    """What a platform gives that has servers, for one rehearsal."""

    proxy_application: str
    """The application that says what people write under further names of theirs."""

    def show(self, servers: Sequence[RehearsedServer]) -> None:
        """The servers are so from now on, and the familiar is told as live events would tell it."""

    def readers(self, channel_id: int) -> Sequence[int]:
        """The members who can read a channel now, in their server's order."""

    def rules(self, channel_id: int) -> str | None:
        """What decides who can read a channel, as a short mark; None: everybody on its server can."""

    def connect(self, host: PlatformHost) -> None:
        """The familiar was started: it knows nothing of the servers yet."""

    async def look(self, scene: Scene, channel_id: int, people: Sequence[RehearsedPerson] = ()) -> Scene:
        """*scene* with who can read the channel, or the direct message with *people*, and what they may be told."""

    def webhook_speaker(self, name: str, source: str) -> Author:
        """Who speaks under *name* through the webhooks of an application, or through one webhook."""

    def is_webhook_person(self, application: str | None) -> bool:
        """Whether the owner's settings take what a webhook says for a person's; *application* posts through it."""
