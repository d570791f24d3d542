"""SealedRoom: this process alone with the loopback, and a list of what it and its children tried to reach and wrote.

The kernel does the watching, so native code is seen as well: a network namespace whose every packet passes a listening
socket, and a mount namespace whose writes are reported by fanotify. It takes the rights of root; `why_not_sealed` says
in a sentence what this machine refuses. A process cannot leave the room, so enter it in one made for that.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

_NEW_NETWORK, _NEW_MOUNTS = 0x40000000, 0x00020000
_PRIVATE, _BIND = 0x4000 | 1 << 18, 0x1000
_SET_FLAGS, _ADD_ROUTE = 0x8914, 0x890B
_UP_AND_RUNNING = 0x41
_EVERY_PROTOCOL = 0x0003
_STATISTICS, _PACKET_LEVEL, _OUTGOING = 6, 263, 4
_FAN_NONBLOCK, _FAN_UNLIMITED = 0x2, 0x10
_FAN_ADD_MOUNT, _FAN_CLOSE_WRITE = 0x1 | 0x10, 0x8
_EVENT = struct.Struct("=IBBHQii")
_NAME_SERVER_PORT = 53
_RESOLVERS = ("/run/nscd", "/run/systemd/resolve")
"""Where programs outside the room would look up names for those in it."""


@dataclass(frozen=True)
class RoomReport:
    """What was tried and written since the last report."""

    lookups: tuple[str, ...]
    """Names asked for."""
    connections: tuple[str, ...]
    """Addresses other than this machine's own."""
    written: tuple[str, ...]
    """Files that were open for writing, as paths."""


@dataclass
class _Packets:
    """What the listening socket saw."""

    lookups: list[str] = field(default_factory=list)
    connections: list[str] = field(default_factory=list)

    def take(self, protocol: int, packet: bytes) -> None:
        if protocol == 0x0800:
            after, kind, to = packet[(packet[0] & 15) * 4 :], packet[9], ip_address(packet[16:20])
        elif protocol == 0x86DD:
            after, kind, to = packet[40:], packet[6], ip_address(packet[24:40])
            if kind == 58 and after[:1] == b"\x01":  # a packet for elsewhere comes back in this, with a refusal
                return self.take(protocol, after[8:])
        else:
            return None
        port = int.from_bytes(after[2:4], "big") if kind in (6, 17) else 0
        if port == _NAME_SERVER_PORT:
            self.lookups.append(_name_asked_for(after[8:] if kind == 17 else after[22:]))
        elif not to.is_loopback and kind in (6, 17):
            self.connections.append(f"{to} port {port}")
        return None


class SealedRoom:
    """Seals this process at once; there is no way back."""

    def __init__(self, scratch: Path) -> None:
        """*scratch*: a folder for the room's own small files."""
        _check(_libc().unshare(_NEW_NETWORK | _NEW_MOUNTS))
        _check(_libc().mount(b"none", b"/", None, _PRIVATE, None))
        _blind_resolvers(scratch)
        _raise_loopback()
        self._packets = _Packets()
        self._listening = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_EVERY_PROTOCOL))
        self._listening.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self._turn = threading.Lock()
        self._own_word, self._has_settled = os.urandom(16), threading.Event()
        threading.Thread(target=self._listen, name="sealed-room", daemon=True).start()
        self._writes = _check(_libc().fanotify_init(_FAN_NONBLOCK | _FAN_UNLIMITED, os.O_RDONLY))
        for mount in _mount_points():
            _libc().fanotify_mark(
                self._writes, _FAN_ADD_MOUNT, ctypes.c_uint64(_FAN_CLOSE_WRITE), -100, os.fsencode(mount)
            )

    def report(self) -> RoomReport:
        """What happened since this was last asked."""
        self._settle()
        with self._turn:
            lookups, connections = tuple(self._packets.lookups), tuple(self._packets.connections)
            self._packets = _Packets()
        if dropped := _dropped(self._listening):
            raise RuntimeError(f"{dropped} packets went by unseen")
        return RoomReport(lookups, connections, tuple(sorted(set(self._read_writes()))))

    def _settle(self) -> None:
        """Let a packet of our own go by: what was sent before it has been heard by then."""
        self._has_settled.clear()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind(("127.0.0.1", 0))
            own.sendto(self._own_word, own.getsockname())
            if not self._has_settled.wait(60):
                raise RuntimeError("the room hears nothing")

    def _listen(self) -> None:
        while True:
            packet, (_, protocol, direction, *_) = self._listening.recvfrom(65_536)
            if packet.endswith(self._own_word):
                self._has_settled.set()
            elif direction == _OUTGOING:
                with self._turn:
                    self._packets.take(protocol, packet)

    def _read_writes(self) -> Iterable[str]:
        while True:
            try:
                events = os.read(self._writes, 1 << 16)
            except BlockingIOError:
                return
            while events:
                length, _, _, _, _, descriptor, _ = _EVENT.unpack_from(events)
                if descriptor >= 0:
                    yield os.readlink(f"/proc/self/fd/{descriptor}").removesuffix(" (deleted)")
                    os.close(descriptor)
                events = events[length:]


def why_not_sealed() -> str | None:
    """What this machine refuses, in a sentence; None when a process can be sealed."""
    if not sys.platform.startswith("linux"):
        return "only Linux can seal a process off and see what its native code tries"
    tried = subprocess.run(
        [sys.executable, "-m", "tests.fakes.sealed_room"], capture_output=True, encoding="utf-8", check=False
    )
    if tried.returncode == 0:
        return None
    return f"this machine lets nobody seal a process off, which takes root: {tried.stderr.strip().splitlines()[-1]}"


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(answer: int) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def _blind_resolvers(scratch: Path) -> None:
    """Leave the loopback as the only one to ask for a name, where the room hears it and nobody answers."""
    for folder in filter(os.path.isdir, _RESOLVERS):
        _check(_libc().mount(b"none", os.fsencode(folder), b"tmpfs", 0, None))
    settings = scratch / "resolv.conf"
    settings.write_text("nameserver 127.0.0.1\noptions attempts:1 timeout:1\n")
    if os.path.exists("/etc/resolv.conf"):
        _check(_libc().mount(os.fsencode(settings), b"/etc/resolv.conf", None, _BIND, None))


def _raise_loopback() -> None:
    """Bring the loopback up and lead every address there: what goes elsewhere is heard, and gets no answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))
        device = ctypes.create_string_buffer(b"lo")
        nowhere = struct.pack("=HH4x8x", socket.AF_INET, 0)
        route = struct.pack(
            "@L16s16s16sHhLPhhPLLH", 0, nowhere, nowhere, nowhere, 1, 0, 0, 0, 0, 0, ctypes.addressof(device), 0, 0, 0
        )
        fcntl.ioctl(any_socket, _ADD_ROUTE, route)
    if not os.path.exists("/proc/net/if_inet6"):
        return
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as any_socket:
        everywhere = struct.pack("@48xIHHILIi", 0, 0, 0, 1024, 0, 1, socket.if_nametoindex("lo"))
        fcntl.ioctl(any_socket, _ADD_ROUTE, everywhere)


def _mount_points() -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [line.split()[4].encode().decode("unicode_escape") for line in lines]


def _dropped(listening: socket.socket) -> int:
    _, dropped = struct.unpack("II", listening.getsockopt(_PACKET_LEVEL, _STATISTICS, 8))
    return int(dropped)


def _name_asked_for(question: bytes) -> str:
    """The name in a question to a name server."""
    parts, at = [], 12
    while at < len(question) and question[at]:
        parts.append(question[at + 1 : at + 1 + question[at]].decode("ascii", "replace"))
        at += 1 + question[at]
    return ".".join(parts)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        SealedRoom(Path(folder)).report()
