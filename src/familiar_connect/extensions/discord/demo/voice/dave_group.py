"""DaveGroup: the part of Discord's voice servers that brings people into an encrypted call (MLS, RFC 9420).

The server signs who is to be let in as an outside sender of the group; the members make the keys among themselves. The
signature is ECDSA on P-256, written out here since nothing else needs it. Import this module only for a call: it needs
the library of the encryption.
"""

from __future__ import annotations

import hashlib
import secrets
import struct
from dataclasses import dataclass

import davey

PRIME = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
BASE = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
MLS_10, PUBLIC_MESSAGE, EXTERNAL_SENDER, PROPOSAL, ADD, BASIC_CREDENTIAL = 1, 1, 2, 2, 1, 1

Point = tuple[int, int] | None


@dataclass(frozen=True)
class KeyChange:
    """What lets somebody into a call: what the server proposes, what its members agree on, and the newcomer's keys."""

    proposals: bytes
    commit: bytes
    welcome: bytes


class DaveGroup:
    """A call: one person who is in it already, and whoever is let in after them."""

    def __init__(self, channel_id: int, first_user_id: int) -> None:
        pair = davey.generate_p256_keypair()
        self._channel_id = channel_id
        self._secret = int.from_bytes(pair.private, "big")
        self.external_sender = prefix(pair.public) + struct.pack(">H", BASIC_CREDENTIAL) + prefix(bytes(8))
        """Whom members take the server's word from."""
        self.first = self.make_member(first_user_id)
        self._others: dict[int, davey.DaveSession] = {}
        """People of ours who were let in, by id; the familiar is none of them."""

    def make_member(self, user_id: int) -> davey.DaveSession:
        """Somebody who is not in the call yet."""
        member = davey.DaveSession(davey.DAVE_PROTOCOL_VERSION, user_id, self._channel_id)
        member.set_external_sender(self.external_sender)
        member.get_serialized_key_package()
        return member

    def find(self, user_id: int) -> davey.DaveSession | None:
        """Somebody of ours who is in the call."""
        return self.first if self.first.user_id == user_id else self._others.get(user_id)

    def admit(self, key_package: bytes) -> KeyChange:
        """Let in whose *key_package* it is; all of ours who are in the call have their new keys at once."""
        proposals = prefix(self._propose(key_package, self.first.epoch or 0))
        made = self.first.process_proposals(davey.ProposalsOperationType.append, proposals)
        assert made is not None
        assert made.welcome is not None
        self.first.process_commit(made.commit)
        for other in self._others.values():
            other.process_proposals(davey.ProposalsOperationType.append, proposals)
            other.process_commit(made.commit)
        return KeyChange(proposals, made.commit, made.welcome)

    def admit_person(self, user_id: int) -> KeyChange:
        """Let in one more person of ours; what everybody else in the call has to be told."""
        member = davey.DaveSession(davey.DAVE_PROTOCOL_VERSION, user_id, self._channel_id)
        member.set_external_sender(self.external_sender)
        change = self.admit(member.get_serialized_key_package())
        member.process_welcome(change.welcome)
        self._others[user_id] = member
        return change

    def _propose(self, key_package: bytes, epoch: int) -> bytes:
        head = struct.pack(">HH", MLS_10, PUBLIC_MESSAGE)
        content = prefix(struct.pack(">Q", self._channel_id)) + struct.pack(">Q", epoch)
        content += struct.pack(">BI", EXTERNAL_SENDER, 0) + prefix(b"")
        content += struct.pack(">BH", PROPOSAL, ADD) + key_package
        return head + content + prefix(self._sign(head + content))

    def _sign(self, message: bytes) -> bytes:
        digest = hashlib.sha256(prefix(b"MLS 1.0 FramedContentTBS") + prefix(message)).digest()
        number = secrets.randbelow(ORDER - 1) + 1
        point = multiply_point(number, BASE)
        assert point is not None
        r = point[0] % ORDER
        s = pow(number, -1, ORDER) * (int.from_bytes(digest, "big") + r * self._secret) % ORDER
        both = encode_integer(r) + encode_integer(s)
        return b"\x30" + bytes([len(both)]) + both


def prefix(data: bytes) -> bytes:
    """*data* with its length before it, as MLS writes it."""
    size = len(data)
    if size < 1 << 6:
        return bytes([size]) + data
    return (struct.pack(">H", size | 1 << 14) if size < 1 << 14 else struct.pack(">I", size | 1 << 31)) + data


def encode_integer(number: int) -> bytes:
    """An INTEGER of DER."""
    data = number.to_bytes(number.bit_length() // 8 + 1, "big")
    return b"\x02" + bytes([len(data)]) + data


def add_points(one: Point, other: Point) -> Point:
    if one is None or other is None:
        return one or other
    if one[0] == other[0] and (one[1] + other[1]) % PRIME == 0:
        return None
    if one == other:
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, PRIME) % PRIME
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, PRIME) % PRIME
    x = (slope * slope - one[0] - other[0]) % PRIME
    return x, (slope * (one[0] - x) - one[1]) % PRIME


def multiply_point(times: int, point: Point) -> Point:
    made: Point = None
    while times:
        if times & 1:
            made = add_points(made, point)
        point, times = add_points(point, point), times >> 1
    return made
