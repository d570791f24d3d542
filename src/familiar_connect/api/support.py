"""Small tools: work off the event loop, and tasks that end for good."""

from __future__ import annotations

from familiar_connect.support.aio import cancel_and_wait, off_loop

__all__ = ["cancel_and_wait", "off_loop"]
