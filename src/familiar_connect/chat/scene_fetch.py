"""The one way to ask a platform for a scene: within a limit of time, and without failing."""

from __future__ import annotations

import asyncio
import logging

from familiar_connect.chat.place import Surroundings
from familiar_connect.chat.scene import Scene

logger = logging.getLogger(__name__)

SCENE_LIMIT_S = 2.0


async def fetch_scene(place: Surroundings, *, limit_s: float = SCENE_LIMIT_S) -> Scene | None:
    """The scene as the platform shows it now; None when it cannot be had in time."""
    try:
        async with asyncio.timeout(limit_s):
            return await place.scene()
    except Exception as error:  # isolation: a turn goes on without knowing where it is
        logger.warning("the scene could not be looked at", extra={"error": type(error).__name__})
        return None
