"""Fetching from addresses that strangers name."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import FetchError
from familiar_connect.support.fetch.addresses import Address, is_public, read_url
from familiar_connect.support.fetch.attachments import sniff_media_type
from familiar_connect.support.fetch.client import FetchLimits, GuardedFetch
from tests.fakes.file_server import JPEG, PNG, FileAnswer, FileServer

INSIDE = [
    "127.0.0.1",
    "127.8.8.8",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "192.0.2.1",
    "198.18.0.1",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "fd00:ec2::254",
    "fec0::1",
    "ff02::1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "64:ff9b::a00:1",
    "2002:7f00:1::1",
    "2001:0:53aa:64c:0:f00:80ff:ff00",
    "::7f00:1",
]


class Names:
    """A name server with a table; a name may stand for something else each time it is asked."""

    def __init__(self, **table: list[Any]) -> None:
        self._table: dict[str, list[Any]] = {
            "files.example": ["127.0.0.1"],
            **{name.replace("_", "."): v for name, v in table.items()},
        }
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self._table:
            raise OSError("no such host")
        found = self._table[host]
        return found.pop(0) if found and isinstance(found[0], list) else found


def only_the_server(address: Address) -> bool:
    """Stands in for the open internet: loopback is in it, everything else is as it is."""
    return str(address) == "127.0.0.1" or is_public(address)


def a_fetch(names: Names | None = None, **more: Any) -> GuardedFetch:
    return GuardedFetch(resolve=names or Names(), allowed=only_the_server, ports=None, **more)


async def reason(fetch: GuardedFetch, url: str, limits: FetchLimits | None = None) -> str:
    with pytest.raises(FetchError) as caught:
        await fetch.get(url, limits)
    return str(caught.value)


@pytest.mark.parametrize("text", INSIDE)
def test_no_address_inside_is_public(text: str) -> None:
    """Private, loopback, link-local, shared, reserved, and all of them wrapped in IPv6."""
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_the_open_internet_is_public(text: str) -> None:
    """Also an IPv4 address written as IPv6."""
    assert is_public(ipaddress.ip_address(text))


@given(st.ip_addresses())
def test_whatever_is_public_is_global(address: Address) -> None:
    """The check is never wider than what the registry calls global."""
    assert not is_public(address) or address.is_global or getattr(address, "ipv4_mapped", None)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://files.example/a",
        "data:image/png;base64,AA",
        "http://",
        "http:///a",
        "http://user:word@files.example/a",
        "http://files.example@127.0.0.1/",
        "http://files.example:99999/",
        "http://files.example:22/",
        "http://[fe80::1%25eth0]/",
        "http://files.example/a b",
        "http://files.example\\@inside/",
        "http://" + "a" * 5000,
        "gopher://files.example",
        "",
    ],
)
def test_odd_addresses_are_never_asked(url: str) -> None:
    """Other schemes, names with a password, ports of other services, malformed ones."""
    with pytest.raises(FetchError):
        read_url(url)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(url: str) -> None:
    """Nothing but a FetchError leaves."""
    try:
        target = read_url(f"http://{url}")
    except FetchError:
        return
    assert target.host


async def test_a_picture_is_fetched() -> None:
    """Its name goes with the request, though the connection goes to the address."""
    async with FileServer({"/a.png?size=2": FileAnswer()}) as server:
        got = await a_fetch().get(server.url("/a.png?size=2"))

        assert (got.data, got.content_type) == (PNG, "image/png")
        assert server.asked == [(f"files.example:{server.port}", "/a.png?size=2")]


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "::1", "192.168.0.10"])
async def test_a_name_that_stands_for_something_inside_is_refused(address: str) -> None:
    """One such address among good ones is enough."""
    names = Names(mixed_example=["127.0.0.1", address])
    async with FileServer({"/a": FileAnswer()}) as server:
        assert "private network" in await reason(a_fetch(names), server.url("/a", "mixed.example"))
        assert server.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "localhost", "127.1"])
async def test_this_machine_is_refused_however_it_is_written(host: str) -> None:
    """By the system's own reading of the name, with the checks every familiar has."""
    assert await reason(GuardedFetch(), f"http://{host}/a") in (
        "its host lies in a private network",
        "its host cannot be found",
    )


async def test_every_hop_is_checked() -> None:
    """A redirect inside is not followed, whether it names an address or a host."""
    async with FileServer({}) as server:
        for onward in ("http://10.0.0.1/a", "http://inside.example/a", "http://169.254.169.254/latest/meta-data"):
            server.files["/go"] = FileAnswer(status=302, headers={"Location": onward})
            names = Names(**{"inside_example": ["10.1.2.3"], "10.0.0.1": ["10.0.0.1"]})
            names._table["169.254.169.254"] = ["169.254.169.254"]
            assert "private network" in await reason(a_fetch(names), server.url("/go"))


async def test_a_good_redirect_is_followed_and_an_endless_one_is_not() -> None:
    """Three hops at most."""
    async with FileServer(
        {"/go": FileAnswer(status=302, headers={"Location": "/a.png"}), "/a.png": FileAnswer()}
    ) as server:
        server.files["/round"] = FileAnswer(status=301, headers={"Location": "/round"})

        assert (await a_fetch().get(server.url("/go"))).data == PNG
        assert "leads on" in await reason(a_fetch(), server.url("/round"))
        assert [path for _, path in server.asked].count("/round") == 4


async def test_a_name_that_changes_its_meaning_is_connected_to_as_it_was_checked() -> None:
    """It is looked up once for each hop, and never again for the connection."""
    names = Names(turning_example=[["127.0.0.1"], ["10.0.0.1"]])
    async with FileServer({"/a": FileAnswer()}) as server:
        got = await a_fetch(names).get(server.url("/a", "turning.example"))

        assert (got.data, names.asked) == (PNG, ["turning.example"])


@pytest.mark.parametrize("says_length", [True, False])
async def test_what_is_too_large_is_given_up(says_length: bool) -> None:
    """Whether it says so beforehand or not."""
    async with FileServer({"/a": FileAnswer(body=PNG * 1000, says_length=says_length)}) as server:
        assert await reason(a_fetch(), server.url("/a"), FetchLimits(max_bytes=1000)) == "it is too large"


async def test_what_takes_too_long_is_given_up() -> None:
    """The time counts for all of it."""
    async with FileServer({"/a": FileAnswer(stalls=True)}) as server:
        assert await reason(a_fetch(), server.url("/a"), FetchLimits(timeout_s=0.05)) == "it took too long to load"


@pytest.mark.parametrize(
    "served",
    [
        FileAnswer(kind="text/html", body=b"<html>"),
        FileAnswer(headers={"Content-Encoding": "gzip"}),
        FileAnswer(body=b""),
        FileAnswer(status=500),
        FileAnswer(status=206),
        FileAnswer(status=304, headers={"Location": "/a"}),
    ],
)
async def test_an_answer_that_is_no_picture_is_refused(served: FileAnswer) -> None:
    """Another kind, a packed body, nothing at all, a bad status."""
    async with FileServer({"/a": served}) as server:
        assert await reason(a_fetch(), server.url("/a"))


async def test_a_server_that_is_gone_is_told_in_a_few_words() -> None:
    """Without its address."""
    async with FileServer({}) as server:
        url = server.url("/a")

    assert await reason(a_fetch(), url) == "its server cannot be reached"
    assert await reason(a_fetch(), "http://nowhere.example/a") == "its host cannot be found"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (b"GIF89a....", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"\x00\x00\x00\x18ftypisom", "video/mp4"),
        (b"\x00\x00\x00\x14ftypqt  ", "video/quicktime"),
        (b"\x1a\x45\xdf\xa3....", "video/webm"),
        (b"\x00\x00\x00\x18ftypheic", None),
        (b"<svg xmlns=", None),
        (b"MZ\x90\x00", None),
        (b"RIFF\x00\x00\x00\x00WAVE", None),
        (b"", None),
    ],
)
def test_bytes_are_known_by_how_they_begin(data: bytes, kind: str | None) -> None:
    """Not by their name."""
    assert sniff_media_type(data) == kind
