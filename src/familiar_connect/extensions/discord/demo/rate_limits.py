"""RateLimits: how often each route may be asked, told in the headers Discord uses; who asks more often gets 429.

Every channel has a bucket of its own for each method and route, as Discord's major parameters have. As set up there
is room for everything a test does; give `per_route` and `window_s` to be as strict as Discord.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

ROOMY = 100_000
DISCORD_PER_ROUTE, DISCORD_WINDOW_S = 5, 5.0
"""What Discord allows for messages to one channel."""
MAX_BUCKETS = 10_000
_MAJOR = re.compile(r"^/api(/(?:channels|guilds|webhooks)/[^/]+)")
_NUMBER = re.compile(r"/\d+(?=/|$)")


@dataclass
class Bucket:
    """What was asked of one route since its window began."""

    began: float
    used: int = 0


@dataclass(frozen=True)
class Verdict:
    """How a request stands with its bucket."""

    headers: dict[str, str]
    refusal: str | None = None
    """The body of a 429; None: it may go on."""


@dataclass
class RateLimits:
    """Buckets by route, and one for everything."""

    per_route: int = ROOMY
    window_s: float = 1.0
    per_second: int = ROOMY
    """Requests of every kind together; Discord allows 50."""
    now: Callable[[], float] = time.monotonic
    refused: list[str] = field(default_factory=list)
    """Routes that were asked too often, oldest first."""
    _buckets: dict[str, Bucket] = field(default_factory=dict)

    def take(self, method: str, path: str) -> Verdict:
        """Count one request and say how it stands."""
        if not path.startswith(("/api/interactions/",)) and (left_s := self._count("*", self.per_second, 1.0)[1]):
            return self._refuse(f"{method} {path}", left_s, {"X-RateLimit-Global": "true"}, is_global=True)
        key = route_of(method, path)
        remaining, left_s = self._count(key, self.per_route, self.window_s)
        reset_s = self._buckets[key].began + self.window_s - self.now()
        headers = {
            "Via": "1.1 loopback",
            "X-RateLimit-Limit": str(self.per_route),
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset-After": f"{max(reset_s, 0.0):.3f}",
            "X-RateLimit-Reset": f"{time.time() + max(reset_s, 0.0):.3f}",
            "X-RateLimit-Bucket": sha256(key.encode()).hexdigest()[:16],
        }
        return self._refuse(key, left_s, headers) if left_s else Verdict(headers)

    def _refuse(self, what: str, left_s: float, headers: dict[str, str], *, is_global: bool = False) -> Verdict:
        self.refused.append(what)
        scope = "global" if is_global else "user"
        more = {"Via": "1.1 loopback", "Retry-After": f"{left_s:.3f}", "X-RateLimit-Scope": scope}
        body = {"message": "You are being rate limited.", "retry_after": round(left_s, 3), "global": is_global}
        return Verdict(headers | more, json.dumps(body))

    def _count(self, key: str, limit: int, window_s: float) -> tuple[int, float]:
        """What is left of a bucket after one more request, and how long to wait where nothing was left."""
        now = self.now()
        bucket = self._buckets.get(key)
        if bucket is None or now - bucket.began >= window_s:
            if len(self._buckets) >= MAX_BUCKETS:
                self._buckets.clear()
            bucket = self._buckets[key] = Bucket(began=now)
        if bucket.used >= limit:
            return 0, max(bucket.began + window_s - now, 0.001)
        bucket.used += 1
        return limit - bucket.used, 0.0


def route_of(method: str, path: str) -> str:
    """The bucket a request counts for: its method and route, and the channel, server or webhook it is about."""
    major = _MAJOR.match(path)
    begins = major.group(0) if major is not None else ""
    return f"{method} {begins}{_NUMBER.sub('/…', path[len(begins) :])}"
