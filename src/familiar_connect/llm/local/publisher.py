"""download: one file from its publisher's address, gone on from where an earlier try stopped."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from familiar_connect.errors import ModelSetupError
from familiar_connect.support.no_follow import open_file, remove_file

if TYPE_CHECKING:
    import httpx2

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 60.0
MAX_BREAKS = 5
"""Times in a row a connection may break without a byte in between."""
CHUNK_BYTES = 1 << 20
AGAIN = "give the same command again: it continues from there"
"""How to go on after a download that broke off, wherever it came from."""
MAX_MOVES = 4
"""Times an address may lead to another one of the same publisher."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")


class PublisherUnreachable(Exception):
    """Nothing can be had from the publisher; the words begin a sentence."""


def download(url: str, part: Path, total: int, progress: Callable[[int, int], None]) -> None:
    """Bring *part* to *total* bytes of *url*, beginning with what it holds already."""
    import httpx2

    timeout = httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    host = urlsplit(url).hostname or url
    began, breaks = _size(part), 0
    progress(began, total)
    with httpx2.Client(follow_redirects=True, timeout=timeout) as client:
        while (have := _size(part)) < total:
            try:
                _append(client, url, part, have, total, progress)
            except (httpx2.TransportError, httpx2.TooManyRedirects) as error:
                breaks = 0 if _size(part) > have else breaks + 1
                if _size(part) <= began and breaks > 1:
                    raise PublisherUnreachable(f"{host} cannot be reached ({type(error).__name__})") from error
                if breaks >= MAX_BREAKS:
                    raise ModelSetupError(
                        f"The connection to {host} broke after {_size(part) / 1e6:,.0f} of {total / 1e6:,.0f} MB: "
                        f"{AGAIN}."
                    ) from error
    progress(total, total)


def ask_announced(url: str) -> tuple[int, str]:
    """How many bytes the file at *url* has, and its SHA-256, as its publisher says them before any of it is sent."""
    import httpx2

    host = urlsplit(url).hostname or url
    timeout = httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    try:
        with httpx2.Client(timeout=timeout) as client:
            for _ in range(MAX_MOVES):
                answer = client.head(url, headers={"Accept-Encoding": "identity"})
                count = answer.headers.get("x-linked-size", answer.headers.get("content-length", ""))
                sha256 = answer.headers.get("x-linked-etag", "").strip('"')
                if _SHA256.fullmatch(sha256) and count.isdecimal() and int(count) > 0:
                    return int(count), sha256
                moved = urljoin(url, answer.headers.get("location", ""))
                if not answer.is_redirect or urlsplit(moved).netloc != urlsplit(url).netloc:
                    break
                url = moved
    except httpx2.HTTPError as error:
        raise PublisherUnreachable(f"{host} cannot be reached ({type(error).__name__})") from error
    raise PublisherUnreachable(f"{host} answers with {answer.status_code} and does not say which file it has")


def _append(
    client: httpx2.Client, url: str, part: Path, have: int, total: int, progress: Callable[[int, int], None]
) -> None:
    headers = {"Range": f"bytes={have}-"} if have else {}
    with client.stream("GET", url, headers={**headers, "Accept-Encoding": "identity"}) as response:
        if response.status_code == 416:  # what is here cannot be gone on from
            remove_file(part)
            return
        if response.status_code not in (200, 206):
            raise PublisherUnreachable(f"{urlsplit(url).hostname} answers with {response.status_code}")
        starts = _RANGE.match(response.headers.get("content-range", "")) if response.status_code == 206 else None
        at = int(starts[1]) if starts else 0
        if at > have:
            raise PublisherUnreachable(f"{urlsplit(url).hostname} sent another part than was asked for")
        with os.fdopen(open_file(part, os.O_RDWR | os.O_CREAT), "r+b") as file:
            file.truncate(at)
            file.seek(at)
            for block in response.iter_raw(CHUNK_BYTES):
                at += len(block)
                if at > total:
                    remove_file(part)
                    raise ModelSetupError(f"{urlsplit(url).hostname} sent more than the {total:,} bytes of this file.")
                file.write(block)
                progress(at, total)


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
