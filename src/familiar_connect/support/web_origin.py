"""Web origins: scheme, host and port of an address, which decide who receives what is sent there."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

_OWN_NAMES = (".local", ".lan", ".home", ".internal", ".home.arpa", ".localhost")
"""Endings of names that only a private network gives out."""
_SHARED = ipaddress.ip_network("100.64.0.0/10")
"""Addresses of private networks that reach over several places."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_of(url: str) -> str:
    """`scheme://host`, with the port where it is not the scheme's own; a ValueError where *url* names no web host."""
    parts = urlsplit(url.strip())
    host, port = parts.hostname, parts.port
    if parts.scheme not in _DEFAULT_PORTS or not host or not host.isprintable() or " " in host:
        raise ValueError("an origin is http:// or https:// and a host")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port and port != _DEFAULT_PORTS[parts.scheme] else "")


def is_same_origin(one: str, other: str) -> bool:
    """Whether two URLs name the same scheme, host and port: the ones a key may be shared between."""
    try:
        return origin_of(one) == origin_of(other)
    except ValueError:
        return False


def is_this_machine(url: str) -> bool:
    """Whether *url* points at a loopback address."""
    try:
        host = urlsplit(url.strip()).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_own_network(url: str) -> bool:
    """Whether *url* points at this machine or at one in a private network, as far as its name or address tells."""
    try:
        host = (urlsplit(url.strip()).hostname or "").rstrip(".")
    except ValueError:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_OWN_NAMES))
    shared = isinstance(address, ipaddress.IPv4Address) and address in _SHARED
    return address.is_private or address.is_loopback or address.is_link_local or shared


def may_carry_key(url: str) -> bool:
    """Whether a key may be sent to *url*: not over plain HTTP, unless it stays on this machine."""
    return not url.strip().lower().startswith("http:") or is_this_machine(url)
