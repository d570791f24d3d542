"""GuardedFetch: the one client for addresses named from outside, with limits on size, time, kind and place.

Every hop of a redirect is looked at anew. The connection goes to the very address that was checked, so a name
that changes its meaning in between changes nothing. No proxy, no cookie, no key and no referrer takes part.

OwnOrigins: platforms that run on this machine, whose files may be fetched though nothing else here may; and those
that bring their files themselves.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from familiar_connect.errors import FetchError
from familiar_connect.support.aio import off_loop
from familiar_connect.support.fetch.addresses import (
    DEFAULT_PORTS,
    Address,
    FetchTarget,
    IsAllowed,
    Resolve,
    is_public,
    read_url,
    resolve_allowed,
    resolve_host,
)
from familiar_connect.support.web_origin import is_this_machine, origin_of

if TYPE_CHECKING:
    import ssl

    import httpx2


BringFile = Callable[[str, int], Awaitable[bytes]]
"""What an address of a platform's own stands for, in at most so many bytes; `FetchError` where it is not to be had."""
UNKNOWN_KIND = "application/octet-stream"


class OwnOrigins:
    """Scheme, host and port of each; a platform adds its own while it is connected to.

    A platform may also have addresses of its own, `NAME:…`, whose files it brings itself.
    """

    def __init__(self) -> None:
        self._allowed: Counter[str] = Counter()
        self._bringers: dict[str, BringFile] = {}

    @contextmanager
    def bring(self, name: str, bring: BringFile) -> Iterator[None]:
        """Have addresses that begin with *name* and a colon brought by *bring* for a while."""
        self._bringers[name] = bring
        try:
            yield
        finally:
            if self._bringers.get(name) is bring:
                del self._bringers[name]

    def find_bringer(self, url: str) -> BringFile | None:
        return self._bringers.get(url.partition(":")[0])

    @contextmanager
    def allow(self, url: str | None) -> Iterator[None]:
        """Let files of the origin of *url* be fetched for a while, if it is on this machine."""
        if url is None or not is_this_machine(url):
            yield
            return
        origin = origin_of(url)
        self._allowed[origin] += 1
        try:
            yield
        finally:
            self._allowed[origin] -= 1

    def has(self, url: str) -> bool:
        try:
            return self._allowed[origin_of(url)] > 0
        except ValueError:
            return False


USER_AGENT = "familiar-connect"
TRIED_ADDRESSES = 2
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, kw_only=True)
class FetchLimits:
    """What one fetch may cost."""

    max_bytes: int = 5 * 1024 * 1024
    timeout_s: float = 8.0
    """From the first look at the name to the last byte, redirects included."""
    max_redirects: int = 3
    kinds: tuple[str, ...] = ("image/",)
    """How the content types begin that are taken; `application/octet-stream`, which says nothing, always is."""
    is_cut: bool = False
    """Of what is too large the beginning is taken, instead of nothing."""


@dataclass(frozen=True)
class FetchResult:
    """What an address gave."""

    data: bytes
    content_type: str
    """As its server calls it, which proves nothing."""


class GuardedFetch:
    """Fetches. Built anywhere, used from whichever loop is running; it keeps nothing open."""

    def __init__(
        self,
        *,
        resolve: Resolve = resolve_host,
        allowed: IsAllowed = is_public,
        ports: frozenset[int] | None = frozenset(DEFAULT_PORTS.values()),
        own: OwnOrigins | None = None,
    ) -> None:
        """*own* are origins on this machine that may be asked besides what is *allowed*, at any port."""
        self._own = own or OwnOrigins()
        self._resolve = resolve
        self._allowed = allowed
        self._ports = ports

    async def get(self, url: str, limits: FetchLimits | None = None) -> FetchResult:
        """What *url* gives, or a `FetchError` that says in a few words why it is not to be had."""
        limits = limits or FetchLimits()
        try:
            async with asyncio.timeout(limits.timeout_s):
                bring = self._own.find_bringer(url)
                if bring is not None:
                    return FetchResult(await bring(url, limits.max_bytes), UNKNOWN_KIND)
                return await self._follow(url, limits)
        except TimeoutError:
            raise FetchError("it took too long to load") from None

    async def _follow(self, url: str, limits: FetchLimits) -> FetchResult:
        for _ in range(limits.max_redirects + 1):
            is_own = self._own.has(url)
            target = read_url(url, ports=None if is_own else self._ports)
            addresses = await resolve_allowed(target, self._resolve, _is_loopback if is_own else self._allowed)
            answer = await self._ask(target, addresses, limits)
            if isinstance(answer, FetchResult):
                return answer
            onward = urljoin(url, answer)
            if target.scheme == "https" and not onward.lower().startswith("https:"):
                raise FetchError("it leads from a secure address to one that is not")
            url = onward
        raise FetchError("its address leads on and on")

    async def _ask(self, target: FetchTarget, addresses: Sequence[Address], limits: FetchLimits) -> FetchResult | str:
        """The answer of the first address that can be connected to; a text is where it leads on."""
        client = await off_loop(_client, target.scheme == "https", limits.timeout_s)
        import httpx2  # loaded in a thread by the line above

        async with client:
            for address in addresses[:TRIED_ADDRESSES]:
                try:
                    return await _one_answer(client, target, address, limits)
                except httpx2.ConnectError:
                    continue
                except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError):
                    raise FetchError("its server did not answer as it should") from None
        raise FetchError("its server cannot be reached")


def _is_loopback(address: Address) -> bool:
    return address.is_loopback


async def _one_answer(
    client: httpx2.AsyncClient, target: FetchTarget, address: Address, limits: FetchLimits
) -> FetchResult | str:
    # The name goes into the header and the check of the certificate; the connection goes to the address.
    request = client.build_request(
        "GET",
        target.at(address),
        headers={"Host": target.host_header},
        extensions={"sni_hostname": target.host},
    )
    response = await client.send(request, stream=True)
    try:
        if response.status_code in _REDIRECTS and response.headers.get("location"):
            return str(response.headers["location"])
        if response.status_code != 200:
            raise FetchError(f"its server answered with status {response.status_code}")
        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        _check_head(response, content_type, limits)
        body = bytearray()
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > limits.max_bytes and not limits.is_cut:
                    raise FetchError("it is too large")
                if len(body) >= limits.max_bytes and limits.is_cut:
                    break
        if not body:
            raise FetchError("it is empty")
        return FetchResult(bytes(body[: limits.max_bytes]), content_type)
    finally:
        await response.aclose()


def _check_head(response: httpx2.Response, content_type: str, limits: FetchLimits) -> None:
    if content_type not in ("", "application/octet-stream") and not content_type.startswith(limits.kinds):
        raise FetchError("it is of a kind that is not shown")
    if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise FetchError("its server answered packed, which was not asked for")
    length = response.headers.get("content-length", "")
    is_known = length.isascii() and length.isdigit()
    if is_known and int(length[:20]) > limits.max_bytes and not limits.is_cut:
        raise FetchError("it is too large")


def _client(secure: bool, timeout_s: float) -> httpx2.AsyncClient:
    import httpx2  # heavy: loaded by the first fetch, not by the first import

    return httpx2.AsyncClient(
        verify=_certificates() if secure else False,
        trust_env=False,  # a proxy would look the name up again, and could be led inside
        follow_redirects=False,
        timeout=timeout_s,
        headers={"Accept-Encoding": "identity", "User-Agent": USER_AGENT},
    )


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    import httpx2  # heavy: loaded by the first fetch, not by the first import

    return httpx2.create_ssl_context()
