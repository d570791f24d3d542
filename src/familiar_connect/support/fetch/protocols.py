"""What fetches from addresses named from outside."""

from __future__ import annotations

from typing import Protocol

from familiar_connect.support.fetch.client import FetchLimits, FetchResult


class Fetch(Protocol):
    async def get(self, url: str, limits: FetchLimits | None = None) -> FetchResult: ...
