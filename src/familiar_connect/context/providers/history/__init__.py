"""Recent turns, the rolling summary and news from elsewhere."""

from __future__ import annotations

from typing import Any

_NAMES = {
    "HistoryProvider": "provider",
    "HISTORY_RECENT_PRIORITY": "provider",
    "HISTORY_SUMMARY_PRIORITY": "provider",
    "CROSS_CONTEXT_PRIORITY": "provider",
    "DEFAULT_WINDOW_SIZE": "provider",
    "DEFAULT_DEADLINE_S": "provider",
    "DEFAULT_SUMMARY_TIMEOUT_S": "provider",
}
__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
