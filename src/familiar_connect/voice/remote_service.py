"""RemoteService: what is said of a service that hears or speaks somewhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RemoteService:
    """A service that hears or speaks somewhere else: what it is called, where it is, and which key is its own.

    `base_url` and `api_key_env` in the settings take the place of both; `SpeechContext.service` is what comes of it.
    """

    title: str
    """As a sentence calls it."""
    key: str
    """The secret that holds its key. It goes to this service alone, unless the owner says otherwise."""
    other_keys: tuple[str, ...] = ()
    """Secrets that stand in for it."""
    address: str | Callable[[str], str]
    """Where it is; or what makes that of its region, with a ValueError where a name is none."""
    region: str = ""
    """The secret that names the region."""

    def find_address(self, region: str | None) -> str:
        """Where it is, in *region* where that matters."""
        return self.address if isinstance(self.address, str) else self.address(region or "region")
