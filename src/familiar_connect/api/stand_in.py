"""For a platform that can be tried without its network: the servers of a rehearsal."""

from __future__ import annotations

from familiar_connect.extensions.rehearsed import (
    RehearsedChannel,
    RehearsedPerson,
    RehearsedServer,
    RehearsedServers,
)

__all__ = [
    "RehearsedChannel",
    "RehearsedPerson",
    "RehearsedServer",
    "RehearsedServers",
]
