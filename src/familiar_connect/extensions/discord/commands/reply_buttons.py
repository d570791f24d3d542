"""ReplyButtons: what stands below the newest reply of a channel: again, versions, continue, stop.

Each stands for a command, so whoever presses one is asked for the same right as who types it. Only the newest reply has
buttons: when another one is posted they are taken from the one before.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from familiar_connect.api.support import LruCache
from familiar_connect.extensions.discord.commands.components import name_use
from familiar_connect.extensions.discord.errors import delivery_error

logger = logging.getLogger(__name__)

MAX_CHANNELS = 2_000
EDIT_WITHIN_S = 30.0
BUTTONS = (
    ("Again", "regenerate", ""),
    ("◀", "swipe", "back"),
    ("▶", "swipe", "next"),
    ("Continue", "continue", ""),
    ("Stop", "stop", ""),
)
"""Label, command and words of each."""
OLDER = "These buttons belong to an older reply. Use those below my newest one."


class ReplyButtons:
    """The buttons of one bot account; *is_on* is the owner's wish."""

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on
        self._newest: LruCache[int, Any] = LruCache(MAX_CHANNELS)

    def draw(self) -> dict[str, Any]:
        """What a message is sent with."""
        if not self.is_on:
            return {}
        import discord

        buttons: list[Any] = [
            discord.ui.Button(label=label, custom_id=name_use(command, words)) for label, command, words in BUTTONS
        ]
        return {"view": discord.ui.View(*buttons, timeout=None, store=False)}

    async def on_posted(self, channel_id: int, posted: Any) -> None:
        """*posted* has the buttons now: take them from what had them before. That this fails costs nothing."""
        if not self.is_on:
            return
        before = self._newest.get(channel_id)
        self._newest.put(channel_id, posted)
        if before is None or before.id == posted.id:
            return
        try:
            async with asyncio.timeout(EDIT_WITHIN_S):
                await before.edit(view=None)
        except Exception as error:  # isolation: a courtesy is never worth a reply
            logger.debug("buttons could not be taken away", extra={"reason": str(delivery_error(error))})
