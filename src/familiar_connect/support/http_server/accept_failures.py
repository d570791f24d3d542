"""What a server here says when nobody can come in for want of files: one sentence, not asyncio's traceback for each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from familiar_connect.support.open_files import OUT_OF_FILES

logger = logging.getLogger(__name__)

SAY_EVERY_S = 60.0


@contextmanager
def report_accept_failures(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """As long as this is open, *loop* tells of it once a minute; it goes on trying by itself."""
    before = loop.get_exception_handler()
    said_at: float | None = None

    def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal said_at
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in OUT_OF_FILES and "socket" in context:
            if said_at is None or loop.time() - said_at >= SAY_EVERY_S:
                said_at = loop.time()
                logger.error("the page lets no one in: no more files can be opened. Raise the limit, `ulimit -n 1024`")
        elif isinstance(error, ValueError) and "_start_serving" in context.get("message", ""):
            logger.debug("the page was closed before it could listen again")
        elif before is not None:
            before(loop, context)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(report)
    try:
        yield
    finally:
        loop.call_later(2.0, loop.set_exception_handler, before)  # what asyncio has put off by a second comes before
