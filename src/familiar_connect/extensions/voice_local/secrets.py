"""What runs on this computer has no secrets."""

from __future__ import annotations

SECRETS: dict[str, str] = {}
