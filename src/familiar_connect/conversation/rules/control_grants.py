"""ControlGrants: which roles and people of a server may use the controls of a chat, in `controls.toml`.

Whoever manages the server names them with `/setup`; those who may manage a channel need not be named.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from familiar_connect.config.toml import format_rows, read_rows, write_text

_TABLE = "grant"
_HEADER = "# Who may use the controls of a chat, besides those who manage its channel. `/setup` changes it."
MAX_GRANTS = 2_000

logger = logging.getLogger(__name__)

GrantKind = Literal["role", "person"]


@dataclass(frozen=True, kw_only=True)
class ControlGrant:
    """One role or person of a server; the name is as it was when they were named."""

    server_id: int
    kind: GrantKind
    id: str
    name: str = ""


class ControlGrants:
    """The grants of one familiar, in the file at *path*. Reads the disk once, and writes it at every change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        found = [_grant(row) for row in read_rows(path, _TABLE)]
        if None in found:
            logger.warning("a row grants nothing and is skipped", extra={"file": str(path)})
        self._grants = [each for each in found if each is not None]

    def of_server(self, server_id: int) -> list[ControlGrant]:
        return [each for each in self._grants if each.server_id == server_id]

    def is_granted(self, server_id: int, *, person: str, roles: Collection[str]) -> bool:
        """Whether somebody, by their own id or by a role's, was named on that server."""
        named = self.of_server(server_id)
        return any(each.id == person if each.kind == "person" else each.id in roles for each in named)

    def set(self, server_id: int, kind: GrantKind, grants: Sequence[ControlGrant]) -> None:
        """Name these on a server, in place of those of the same kind that were named there."""
        with self._lock:
            kept = [each for each in self._grants if (each.server_id, each.kind) != (server_id, kind)]
            self._grants = [*kept, *grants][-MAX_GRANTS:]
            rows = [
                {"server_id": each.server_id, "kind": each.kind, "id": each.id, "name": each.name}
                for each in self._grants
            ]
            write_text(self._path, format_rows(_HEADER, _TABLE, rows))


def _grant(row: object) -> ControlGrant | None:
    if not isinstance(row, dict):
        return None
    server_id, kind, id_, name = row.get("server_id"), row.get("kind"), row.get("id"), row.get("name", "")
    if not isinstance(server_id, int) or not isinstance(id_, str) or not isinstance(name, str):
        return None
    if kind not in ("role", "person"):
        return None
    return ControlGrant(server_id=server_id, kind="role" if kind == "role" else "person", id=id_, name=name)
