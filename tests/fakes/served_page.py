"""The page of a familiar that runs in the test itself, served on loopback beside its other platforms."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from familiar_connect.commands.page_server import open_page_models
from familiar_connect.config.folders import HomeFolder
from familiar_connect.familiar import Familiar
from familiar_connect.platforms.web.access import Doorkeeper
from familiar_connect.platforms.web.app import WebParts
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.live import ChatEvents
from familiar_connect.platforms.web.own_program import OwnProgram
from familiar_connect.platforms.web.rehearsal_runs import RehearsalRuns
from familiar_connect.platforms.web.server import WebPlatform
from familiar_connect.support.aio import cancel_and_wait
from familiar_connect.support.http_server.checks import PageAddress
from familiar_connect.support.http_server.server import listen_on
from tests.fakes.page import PageClient


@asynccontextmanager
async def served_page(familiar: Familiar) -> AsyncIterator[PageClient]:
    """A client that is let in; it blocks, so it is used in a thread."""
    listening = listen_on("127.0.0.1", 0)
    port = int(listening.getsockname()[1])
    door = Doorkeeper(key=b"k" * 32, port=port, clock=familiar.clock)
    home = familiar.root.parent.parent
    program = OwnProgram((sys.executable, "-m", "familiar_connect", "--home", str(home)))
    parts = WebParts(
        familiar=familiar,
        chats=WebChats(familiar, ChatEvents(familiar.clock)),
        address=PageAddress(host="127.0.0.1", port=port),
        door=door,
        program=program,
        rehearsals=RehearsalRuns(program, HomeFolder(home).rehearsals),
        models=open_page_models(home, lambda: [familiar]),
    )
    serving = asyncio.create_task(WebPlatform(parts, listening).run())
    client = PageClient()
    client.at = f"/f/{familiar.id}"
    client.host, client.token = f"127.0.0.1:{port}", door.token
    client.cookie = f"{door.cookie_name}={door.issue_cookie()}"
    try:
        yield client
    finally:
        await cancel_and_wait(serving)
        listening.close()
