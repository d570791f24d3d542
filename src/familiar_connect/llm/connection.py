"""Connections: one HTTP client per running event loop, and what an address tells.

The HTTP library is loaded, and certificates are read, in a thread at the first call: both take long
enough to be noticed. Nothing here follows redirects, so a key never travels to another address.
"""

from __future__ import annotations

import asyncio
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

from familiar_connect.errors import ModelSetupError
from familiar_connect.support.web_origin import is_this_machine

if TYPE_CHECKING:
    import ssl

    import httpx2

CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_S = 30.0


class _Kind(NamedTuple):
    """What decides how a connection is made."""

    secure: bool
    local: bool


class Connections:
    """Open connections of one model client; made on first use, closed by `close()`."""

    def __init__(self) -> None:
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[_Kind, httpx2.AsyncClient]]
        self._by_loop = WeakKeyDictionary()
        self._lock = threading.Lock()

    async def client_for(self, base_url: str) -> httpx2.AsyncClient:
        """The running loop's client for addresses like *base_url*."""
        loop = asyncio.get_running_loop()
        kind = _Kind(secure=not base_url.lower().startswith("http:"), local=is_this_machine(base_url))
        with self._lock:
            client = self._by_loop.setdefault(loop, {}).get(kind)
        if client is None:
            made = await asyncio.to_thread(_make_client, kind)
            with self._lock:
                client = self._by_loop.setdefault(loop, {}).setdefault(kind, made)
        return client

    async def close(self) -> None:
        """Close what the running loop opened, and forget what dead loops left."""
        with self._lock:
            clients = self._by_loop.pop(asyncio.get_running_loop(), {})
            for loop in [loop for loop in self._by_loop if loop.is_closed()]:
                del self._by_loop[loop]
        for client in clients.values():
            await client.aclose()


def _make_client(kind: _Kind) -> httpx2.AsyncClient:
    try:
        return _client(kind)
    except (ImportError, ValueError) as error:
        raise ModelSetupError(
            "The proxy named by HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used: name an http:// one, or unset it."
        ) from error


def _client(kind: _Kind) -> httpx2.AsyncClient:
    import httpx2  # heavy: loaded by the first call, not by the first import

    return httpx2.AsyncClient(
        # Plain HTTP has no certificates to check, and reading the system's takes a tenth of a second.
        verify=_certificates() if kind.secure else False,
        # A proxy named by the environment cannot reach a server on this machine.
        trust_env=not kind.local,
        # How long an answer may take is kept by each call itself.
        timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
        # On this machine a new connection costs nothing, and an idle one would hold a thread of a small server.
        limits=httpx2.Limits(
            max_connections=32, max_keepalive_connections=0 if kind.local else 4, keepalive_expiry=KEEPALIVE_S
        ),
        headers={"Accept-Encoding": "identity", "User-Agent": "familiar-connect"},
    )


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    import httpx2  # heavy: loaded by the first call, not by the first import

    return httpx2.create_ssl_context()


def url_without_secrets(url: str) -> str:
    """*url* as it may be shown: without user, password, query and fragment, any of which may hold a key."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(an address that cannot be read)"
    host = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, host + port, parts.path.rstrip("/"), "", ""))
