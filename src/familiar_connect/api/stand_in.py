"""For a platform that can be tried without its network: its demonstration, and the servers of a rehearsal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from familiar_connect.support.lazy_names import load_lazily

if TYPE_CHECKING:
    from familiar_connect.extensions.change_signal import ChangeSignal
    from familiar_connect.extensions.parts import DemoPart, PlatformDemo, RehearsedLines, RehearsedServers, TourStep
    from familiar_connect.extensions.rehearsed_servers import RehearsedChannel, RehearsedPerson, RehearsedServer

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

__getattr__ = load_lazily(
    __name__,
    {
        "extensions.change_signal": ("ChangeSignal",),
        "extensions.parts": ("DemoPart", "PlatformDemo", "RehearsedLines", "RehearsedServers", "TourStep"),
        "extensions.rehearsed_servers": ("RehearsedChannel", "RehearsedPerson", "RehearsedServer"),
    },
)
