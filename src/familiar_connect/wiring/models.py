"""SlotModel: the model of one slot, looked up whenever it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class SlotModel:
    """The model of one slot, looked up whenever it is used: a client replaced at run time takes effect at once."""

    def __init__(self, llm_clients: Mapping[str, Any], slot: str) -> None:
        self._llm_clients = llm_clients
        self._slot = slot

    def __getattr__(self, name: str) -> Any:
        client = self._llm_clients.get(self._slot)
        if client is None:
            raise AttributeError(f"no model for the slot {self._slot!r}")
        return getattr(client, name)
