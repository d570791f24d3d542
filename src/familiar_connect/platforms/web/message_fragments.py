"""MessageFragments: what is new in a chat as a piece of its page, drawn once for every page that shows the chat."""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from typing import Any

from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.render import PageRenderer
from familiar_connect.support.aio import off_loop
from familiar_connect.support.lru import LruCache

CHATS_KEPT = 64


class MessageFragments:
    """Draws the messages of each chat that came since it last did so."""

    def __init__(self, chats: WebChats, renderer: PageRenderer, **values: Any) -> None:
        """*values* are given to the template of the messages."""
        self._chats = chats
        self._renderer = renderer
        self._values = values
        self._drawn: LruCache[int, int] = LruCache(CHATS_KEPT)
        """Channel → the id of what was drawn last."""

    def begin(self, channel_id: int, latest: int) -> None:
        """Somebody shows a chat up to *latest*; whoever shows less of it, asks for what is missing."""
        self._drawn.put(channel_id, latest)

    async def draw(self, here: Any, channel_id: int, with_own: bool) -> dict[str, Any]:
        """What is new, and after which id; nothing where that is not known, so that each page asks for itself.

        Without *with_own* only what comes before the familiar's next words.
        """
        return await off_loop(partial(self._draw, here, channel_id, with_own=with_own))

    def _draw(self, here: Any, channel_id: int, *, with_own: bool) -> dict[str, Any]:
        after, latest = self._drawn.get(channel_id), self._chats.latest_id(channel_id)
        if after is None or latest < after:  # something was taken back
            self._drawn.put(channel_id, latest)
            return {}
        messages = self._chats.messages(channel_id, after=after) if latest > after else []
        if not with_own:
            messages = list(takewhile(lambda message: not message.is_own, messages))
        self._drawn.put(channel_id, messages[-1].id if messages else after)
        html = self._renderer.text("messages.html", here=here, messages=messages, **self._values) if messages else ""
        return {"after": after, "html": html}
