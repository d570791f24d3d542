"""Clients for language models, local and remote.

The promised names are loaded when first asked for, so that importing a plain value such as
`llm.types` runs no client.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "LLMClient": "openai_compatible",
    "OPENROUTER_BASE_URL": "openai_compatible",
    "Message": "types",
    "create_llm_clients": "slots",
    "get_request_semaphore": "request_limit",
    "sanitize_name": "identity",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "familiar_connect.identity" if home == "identity" else f"{__name__}.{home}"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
