"""For the tests of an extension: its parts made without a home, and a familiar with a scripted model."""

from __future__ import annotations

from familiar_connect.support.clock import ManualClock

__all__ = ["ManualClock"]
