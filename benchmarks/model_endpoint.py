"""A model's endpoint on loopback, for trials of the real program: how it is served, and the form of its answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

MAX_REQUEST_BYTES = 64 * 1024 * 1024


@asynccontextmanager
async def serve_endpoint(complete: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """The base URL under which *complete* answers, for as long as the block runs."""
    app = web.Application(client_max_size=MAX_REQUEST_BYTES)
    app.add_routes([web.post("/v1/chat/completions", complete)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def completion_response(text: str, *, is_stream: bool) -> web.Response:
    """*text* as such an endpoint answers it, in one piece or as a stream."""
    if not is_stream:
        message = {"role": "assistant", "content": text}
        return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    events = [
        {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return web.Response(text=body, content_type="text/event-stream")
