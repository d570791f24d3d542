"""For a platform that can be tried without its network: its demonstration, and the servers of a rehearsal."""

from __future__ import annotations

from familiar_connect.extensions.change_signal import ChangeSignal
from familiar_connect.extensions.parts import (
    DemoPart,
    PlatformDemo,
    RehearsedChannel,
    RehearsedLines,
    RehearsedPerson,
    RehearsedServer,
    RehearsedServers,
    TourStep,
)

__all__ = [
    "ChangeSignal",
    "DemoPart",
    "PlatformDemo",
    "RehearsedChannel",
    "RehearsedLines",
    "RehearsedPerson",
    "RehearsedServer",
    "RehearsedServers",
    "TourStep",
]
