"""For tools that are known only while the program runs, such as those of a server."""

from __future__ import annotations

from familiar_connect.extensions.turn_parts import ToolSource, ToolSourcePart

__all__ = ["ToolSource", "ToolSourcePart"]
