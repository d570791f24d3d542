"""Web origins: scheme, host and port of an address, which decide who receives what is sent there."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

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


def may_carry_key(url: str) -> bool:
    """Whether a key may be sent to *url*: not over plain HTTP, unless it stays on this machine."""
    return not url.strip().lower().startswith("http:") or is_this_machine(url)
