"""How often one may ask Helix, and how many lines one may write into a chat."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

LINES_IN_WINDOW, LINES_OF_MODERATORS, LINE_WINDOW_S = 20, 100, 30.0
POINTS_A_MINUTE = 800


@dataclass
class LineLimits:
    """Lines of each account in the last half minute, those that were not shown among them."""

    for_viewers: int = LINES_IN_WINDOW
    for_moderators: int = LINES_OF_MODERATORS
    window_s: float = LINE_WINDOW_S
    _written: dict[str, deque[float]] = field(default_factory=dict)

    def take(self, user_id: str, now: float, *, is_in_charge: bool) -> bool:
        """Count a line; whether it is still within the limit."""
        most = self.for_moderators if is_in_charge else self.for_viewers
        written = self._written.setdefault(user_id, deque(maxlen=self.for_moderators + 1))
        while written and now - written[0] >= self.window_s:
            written.popleft()
        if len(written) >= most:
            return False
        written.append(now)
        return True


@dataclass
class RequestLimits:
    """A bucket of points for each token, which fills up by itself."""

    points: int = POINTS_A_MINUTE
    window_s: float = 60.0
    now: Callable[[], float] = time.time
    refused: int = 0
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, who: str) -> tuple[bool, dict[str, str]]:
        """Count one request; whether it may go on, and the headers that tell how the bucket stands."""
        now = self.now()
        left, at = self._left.get(who, (float(self.points), now))
        left = min(left + (now - at) * self.points / self.window_s, float(self.points))
        may = left >= 1
        left -= 1 if may else 0
        self.refused += not may
        self._left[who] = (left, now)
        full_at = now + (self.points - left) * self.window_s / self.points
        reset_at = full_at if may else now + (1 - left) * self.window_s / self.points
        headers = {
            "Ratelimit-Limit": str(self.points),
            "Ratelimit-Remaining": str(int(left)),
            "Ratelimit-Reset": str(int(reset_at) + 1),
        }
        return may, headers
