"""Which addresses may be asked, and what a name stands for: checked before anything is connected to.

A name is looked up once. If any address behind it lies in a private, local or reserved network the name is
refused as a whole, and what is connected to is one of the very addresses that were checked.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from familiar_connect.errors import FetchError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port → the addresses behind them."""
IsAllowed = Callable[[Address], bool]

MAX_URL_CHARS = 4_096
MAX_ADDRESSES = 16
DEFAULT_PORTS = {"http": 80, "https": 443}

_UNICAST = ipaddress.ip_network("2000::/3")
"""The part of IPv6 that is given out at all."""
_WRAPPING = tuple(ipaddress.ip_network(each) for each in ("2002::/16", "2001::/32"))
"""IPv6 networks whose addresses hold an IPv4 one that somebody else would unwrap."""
_RELAYS = ipaddress.ip_network("192.88.99.0/24")


@dataclass(frozen=True)
class FetchTarget:
    """A URL taken apart, as far as connecting needs it."""

    scheme: str
    host: str
    port: int
    rest: str
    """Path and query."""

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def at(self, address: Address) -> str:
        """The same URL with the address itself where the name stood."""
        host = f"[{address}]" if address.version == 6 else str(address)
        return f"{self.scheme}://{host}:{self.port}{self.rest}"


def is_public(address: Address) -> bool:
    """Whether *address* lies in the open internet: no private, loopback, link-local or reserved network."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address not in _UNICAST or any(address in network for network in _WRAPPING):
            return False
    elif address in _RELAYS:
        return False
    inner = (
        address.is_private,
        address.is_loopback,
        address.is_link_local,
        address.is_multicast,
        address.is_reserved,
        address.is_unspecified,
    )
    return address.is_global and not any(inner)


def read_url(url: str, *, ports: frozenset[int] | None = frozenset(DEFAULT_PORTS.values())) -> FetchTarget:
    """*url* taken apart; `FetchError` for what is never asked. *ports* None allows all."""
    if len(url) > MAX_URL_CHARS or any(char.isspace() or ord(char) < 32 for char in url) or "\\" in url:
        raise FetchError("its address is malformed")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".")
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        raise FetchError("its address is malformed") from None
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise FetchError("only http and https addresses are fetched")
    if not host or "%" in host or "@" in parts.netloc:
        raise FetchError("its address is malformed")
    port = port or DEFAULT_PORTS[scheme]
    if ports is not None and port not in ports:
        raise FetchError("its address names an unusual port")
    return FetchTarget(scheme, host, port, urlunsplit(("", "", parts.path or "/", parts.query, "")))


async def resolve_allowed(target: FetchTarget, resolve: Resolve, allowed: IsAllowed = is_public) -> list[Address]:
    """Where *target* may be reached; `FetchError` unless every address behind its name is *allowed*."""
    try:
        found = list(await resolve(target.host, target.port))
    except OSError:
        raise FetchError("its host cannot be found") from None
    if not found:
        raise FetchError("its host cannot be found")
    addresses: list[Address] = []
    for text in found[:MAX_ADDRESSES]:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            raise FetchError("its host cannot be found") from None
        if not allowed(address):
            raise FetchError("its host lies in a private network")
        addresses.append(address)
    return list(dict.fromkeys(addresses))


async def resolve_host(host: str, port: int) -> list[str]:
    """The addresses the system knows for *host*."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except UnicodeError:
        raise FetchError("its address is malformed") from None
    return [str(entry[4][0]) for entry in found]
