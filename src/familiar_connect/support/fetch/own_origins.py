"""OwnOrigins: platforms that run on this machine, whose files may be fetched though nothing else here may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from familiar_connect.support.web_origin import is_this_machine, origin_of


class OwnOrigins:
    """Scheme, host and port of each; a platform adds its own while it is connected to."""

    def __init__(self) -> None:
        self._allowed: Counter[str] = Counter()

    @contextmanager
    def allow(self, url: str | None) -> Iterator[None]:
        """Let files of the origin of *url* be fetched for a while, if it is on this machine."""
        if url is None or not is_this_machine(url):
            yield
            return
        origin = origin_of(url)
        self._allowed[origin] += 1
        try:
            yield
        finally:
            self._allowed[origin] -= 1

    def has(self, url: str) -> bool:
        try:
            return self._allowed[origin_of(url)] > 0
        except ValueError:
            return False
