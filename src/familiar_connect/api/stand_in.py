"""For a platform that can be tried without its network: its demonstration, and the servers of a rehearsal."""

from __future__ import annotations

from familiar_connect.extensions.stand_in.demo import DemoPart, PlatformDemo, TourStep
from familiar_connect.extensions.stand_in.rehearsed import (
    RehearsedChannel,
    RehearsedPerson,
    RehearsedServer,
    RehearsedServers,
)

__all__ = [
    "DemoPart",
    "PlatformDemo",
    "RehearsedChannel",
    "RehearsedPerson",
    "RehearsedServer",
    "RehearsedServers",
    "TourStep",
]
