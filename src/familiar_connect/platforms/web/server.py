"""WebPlatform: serves the page until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from familiar_connect.platforms.web.app import WebParts, create_app
from familiar_connect.platforms.web.place import WebPlace
from familiar_connect.support.aio import off_loop
from familiar_connect.support.http_server.accept_failures import report_accept_failures
from familiar_connect.support.http_server.server import PageServer, make_server

FINISH_REPLIES_S = 8.0
"""How long replies under way may take to be said before familiars are loaded again."""


class WebPlatform:
    """The page, on a socket that listens already."""

    id = "web"
    places = (WebPlace,)

    def __init__(self, parts: WebParts, listening: socket.socket) -> None:
        self.parts = parts
        self._listening = listening

    async def run(self) -> None:
        """Serve until cancelled."""
        server = make_server(await off_loop(create_app, self.parts))
        with self._listening.dup() as listening:  # the server closes its own; whoever comes meanwhile waits with ours
            try:
                with (
                    report_accept_failures(asyncio.get_running_loop()),
                    self.parts.chats.connect_reminders(),
                    self.parts.models.connect(self.parts.chats.events),
                ):
                    await self._serve(server, listening)
            finally:
                server.close()
                await self.parts.models.aclose()
                if self.parts.groups is not None:
                    await self.parts.groups.aclose()
                if self.parts.familiars is not None:
                    await self.parts.familiars.aclose()
                await self.parts.rehearsals.aclose()
                await self.parts.chats.aclose()

    async def _serve(self, server: PageServer, listening: socket.socket) -> None:
        """Serve until cancelled, or until everything is to be loaded again: then replies are ended well first."""
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        wanted = asyncio.ensure_future((self.parts.reload or asyncio.Event()).wait())
        try:
            await asyncio.wait({serving, wanted}, return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                await self._end_replies()
                await self.parts.chats.events.aclose()
                server.leave()
            await serving
        finally:
            for each in (serving, wanted):
                each.cancel()

    async def _end_replies(self) -> None:
        """Let replies under way be said, within bounds."""
        others = self.parts.familiars.list_opened() if self.parts.familiars is not None else []
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISH_REPLIES_S):
                for each in (self.parts.familiar, *others):
                    await each.reply_path.queue.wait_until_idle()
