"""What a platform needs so that `familiar doctor` can have it ask the network about its set-up."""

from __future__ import annotations

from familiar_connect.extensions.parts import Finding, PlatformQuestion

__all__ = ["Finding", "PlatformQuestion"]
