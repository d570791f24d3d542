"""Packets from a voice server become sound, whatever happens to them on the way."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import davey
import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.extensions.discord.demo.voice.dave_group import DaveGroup
from familiar_connect.extensions.discord.demo.voice.wire import seal
from familiar_connect.extensions.discord.voice.client import open_frame
from familiar_connect.extensions.discord.voice.opus import OpusHearing, OpusSpeech
from familiar_connect.extensions.discord.voice.packets import SILENCE, TransportCipher
from familiar_connect.extensions.discord.voice.receive import (
    DEPTH,
    MAX_GAP,
    MAX_IN_VAIN,
    MAX_UNKNOWN,
    TRAILING_S,
    JitterBuffer,
    VoiceKeys,
    VoiceReceiver,
)
from familiar_connect.voice.audio import loudness
from tests.fakes.tones import make_tone

KEY = bytes(range(32))
ADA, ME, SSRC = 1001, 1, 7
CHANNEL = 55
FRAME = 640
"""Bytes of 20 ms as they are heard."""


@dataclass
class Line:
    """A receiver, what it was told, and the time it goes by."""

    users: dict[int, int] = field(default_factory=lambda: {SSRC: ADA})
    session: davey.DaveSession | None = None
    now: float = 0.0
    heard: list[tuple[int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        keys = VoiceKeys(
            open_packet=TransportCipher(KEY).open,
            user_of=lambda ssrc: self.users.get(ssrc),
            open_frame=lambda user_id, payload: open_frame(self.session, user_id, payload),
        )
        self.receiver = VoiceReceiver(keys, lambda user, pcm: self.heard.append((user, pcm)), clock=lambda: self.now)

    def sound(self, user_id: int = ADA) -> bytes:
        return b"".join(pcm for who, pcm in self.heard if who == user_id)


@pytest.fixture
def tones() -> list[bytes]:
    """Half a second of a tone as packets of Opus."""
    encoder = OpusSpeech()
    return [encoder.encode(make_tone(at)) for at in range(25)]


# Packets


@given(
    payload=st.binary(min_size=1, max_size=300),
    words=st.none() | st.integers(0, 5),
    padding=st.integers(0, 9),
    sources=st.lists(st.integers(0, 2**32 - 1), max_size=4),
    sequence=st.integers(0, 65535),
)
def test_a_packet_gives_back_what_was_put_into_it(
    payload: bytes, words: int | None, padding: int, sources: list[int], sequence: int
) -> None:
    """With any extension, padding and list of sources."""
    extension = None if words is None else b"\x10\xff\x00\x00" * words
    datagram = seal(
        KEY, payload, ssrc=9, sequence=sequence, extension=extension, padding=padding, sources=tuple(sources)
    )

    packet = TransportCipher(KEY).open(datagram)

    assert packet is not None
    assert (packet.payload, packet.ssrc, packet.sequence) == (payload, 9, sequence)


@given(st.binary(max_size=200))
def test_what_is_no_packet_of_sound_is_refused(datagram: bytes) -> None:
    """Reports, answers about addresses, noise: None, and nothing raises."""
    assert TransportCipher(KEY).open(datagram) is None
    assert TransportCipher(KEY).open(b"\x90\x78" + datagram) is None


def test_a_packet_that_was_changed_on_its_way_is_refused() -> None:
    """One bit of the header or of the sound suffices."""
    datagram = seal(KEY, b"sound")

    for at in (2, 14, len(datagram) - 1):
        changed = bytearray(datagram)
        changed[at] ^= 1
        assert TransportCipher(KEY).open(bytes(changed)) is None


# Order


@given(st.integers(0, 65535), st.integers(1, 60), st.randoms(use_true_random=False))
def test_packets_that_overtake_each_other_a_little_are_given_out_in_order(
    first: int, count: int, dice: random.Random
) -> None:
    """All of them, over the end of the numbers too."""
    arriving = sorted(range(1, count), key=lambda at: at + dice.uniform(0, DEPTH - 2))
    buffer = JitterBuffer()

    given_out = [each for at in (0, *arriving) for each in buffer.put((first + at) % 65536, b"%d" % at, 0.0)]

    assert given_out == [b"%d" % at for at in range(count)]
    assert not buffer.is_waiting


@given(st.lists(st.tuples(st.integers(0, 65535), st.floats(0, 0.2)), max_size=120))
def test_a_buffer_holds_few_packets_and_gives_none_out_twice(arriving: list[tuple[int, float]]) -> None:
    """Whatever numbers come; in the end nothing is left in it."""
    buffer, now, given_out = JitterBuffer(), 0.0, list[bytes | None]()
    for at, (sequence, pause) in enumerate(arriving):
        now += pause
        given_out += buffer.take_overdue(now) + buffer.put(sequence, b"%d" % at, now)
        assert len(buffer._held) < DEPTH
    given_out += buffer.take_overdue(now + 1)

    packets = [each for each in given_out if each is not None]
    assert len(packets) == len(set(packets))
    assert not buffer.is_waiting


@given(st.lists(st.booleans(), min_size=1, max_size=80))
def test_what_never_comes_is_told_in_its_place(arrives: list[bool]) -> None:
    """Where the speaker goes on: nothing after a gap comes before it."""
    arrives = [True, *arrives, *[True] * DEPTH]
    buffer = JitterBuffer()
    lost_in_a_row = max(len(run) for run in "".join("x" if not each else " " for each in arrives).split(" "))

    given_out = [
        each for at, there in enumerate(arrives) if there for each in buffer.put(at, b"%d" % at, at * 0.02)
    ] + buffer.take_overdue(1e9)

    if lost_in_a_row <= MAX_GAP:
        assert given_out == [b"%d" % at if there else None for at, there in enumerate(arrives)]


def test_a_missing_packet_is_not_waited_for_when_the_speaker_stops() -> None:
    """The rest is heard after a moment, and the late one is let go."""
    buffer = JitterBuffer()

    assert buffer.put(1, b"a", 0.0) == [b"a"]
    assert buffer.put(3, b"c", 0.02) == []
    assert buffer.take_overdue(0.05) == []
    assert buffer.take_overdue(0.11) == [None, b"c"]
    assert buffer.put(2, b"b", 0.12) == []


# Sound


def test_sound_comes_through_the_codec(tones: list[bytes]) -> None:
    """As loud and as long as it went in, at the rate of hearing."""
    hearing = OpusHearing()

    sound = b"".join(hearing.decode(each) for each in tones)

    assert abs(len(sound) - 25 * FRAME) < FRAME
    assert 0.17 < loudness(sound[FRAME * 5 :]) < 0.21


@given(st.binary(max_size=300))
def test_what_is_no_opus_is_heard_as_silence_or_noise_and_raises_nothing(payload: bytes) -> None:
    """Anything may be in a packet."""
    hearing = OpusHearing()

    assert isinstance(hearing.decode(payload), bytes)
    assert hearing.decode(None) == bytes(FRAME)


def test_somebody_is_heard_in_an_unencrypted_call(tones: list[bytes]) -> None:
    """By their id, with what the header carries besides left out."""
    line = Line()

    for at, each in enumerate(tones):
        line.receiver.receive(seal(KEY, each, sequence=at, extension=b"\x10\xff\x00\x00"))

    assert {who for who, _ in line.heard} == {ADA}
    assert loudness(line.sound()) > 0.15
    assert line.receiver.counts.undecoded == line.receiver.counts.refused == 0


def test_lost_packets_are_silence_as_long_as_they_were(tones: list[bytes]) -> None:
    """What is heard keeps its time."""
    line = Line()

    for at, each in enumerate(tones):
        if at not in (5, 11, 12):
            line.receiver.receive(seal(KEY, each, sequence=at))

    assert line.receiver.counts.lost == 3
    assert abs(len(line.sound()) - 25 * FRAME) < FRAME


def test_somebody_whom_the_server_names_late_is_heard_from_their_first_word(tones: list[bytes]) -> None:
    """Up to a second is kept for them, and nothing for a stream that nobody ever claims."""
    line = Line(users={})

    for at, each in enumerate([*tones, *tones, *tones]):
        line.receiver.receive(seal(KEY, each, sequence=at))
    assert line.heard == []
    line.users[SSRC] = ADA
    line.receiver.tick()

    assert abs(len(line.sound()) - MAX_UNKNOWN * FRAME) < FRAME


def test_a_pause_is_heard_although_nothing_is_sent_during_it(tones: list[bytes]) -> None:
    """Discord stops sending; silence is filled in as time passes, for a while, so that an end can be heard."""
    line = Line()
    for at, each in enumerate(tones):
        line.receiver.receive(seal(KEY, each, sequence=at))
    spoken = len(line.sound())

    line.now = 0.06
    line.receiver.tick()
    assert len(line.sound()) == spoken
    line.now = 0.7
    line.receiver.tick()
    assert len(line.sound()) - spoken == 35 * FRAME
    line.now = 600.0
    line.receiver.tick()
    line.receiver.tick()

    assert len(line.sound()) - spoken == int(TRAILING_S / 0.02) * FRAME
    assert line.sound()[spoken:].strip(b"\0") == b""


def test_who_left_is_heard_no_more(tones: list[bytes]) -> None:
    """Also not in silence."""
    line = Line()
    line.receiver.receive(seal(KEY, tones[0]))
    heard = len(line.sound())

    line.users.clear()
    line.receiver.forget(SSRC)
    line.now = 1.0
    line.receiver.tick()

    assert len(line.sound()) == heard


# Encrypted from end to end


@pytest.fixture(scope="module")
def call() -> tuple[DaveGroup, davey.DaveSession]:
    """Ada in a call, and us let in by the server."""
    group = DaveGroup(CHANNEL, ADA)
    us = davey.DaveSession(davey.DAVE_PROTOCOL_VERSION, ME, CHANNEL)
    us.set_external_sender(group.external_sender)
    us.process_welcome(group.admit(us.get_serialized_key_package()).welcome)
    return group, us


def test_somebody_is_heard_in_an_encrypted_call(tones: list[bytes], call: tuple[DaveGroup, davey.DaveSession]) -> None:
    """Real keys, agreed on as Discord's calls do; silence between words is sent in the clear."""
    group, us = call
    line = Line(session=us)

    for at, each in enumerate([*tones, SILENCE]):
        payload = each if each == SILENCE else group.first.encrypt_opus(each)
        line.receiver.receive(seal(KEY, payload, sequence=at, extension=b"\x10\xff\x00\x00" * 2))

    assert line.receiver.counts.unopened == line.receiver.counts.undecoded == 0
    assert loudness(line.sound()) > 0.15


def test_packets_of_an_encrypted_call_that_change_places_are_still_opened(
    tones: list[bytes], call: tuple[DaveGroup, davey.DaveSession]
) -> None:
    """Keys do not need the order of packets."""
    group, us = call
    line = Line(session=us)
    sealed = [group.first.encrypt_opus(each) for each in tones]

    for at in (0, 2, 1, 4, 3, *range(5, 25)):
        line.receiver.receive(seal(KEY, sealed[at], sequence=at))

    assert line.receiver.counts.unopened == line.receiver.counts.lost == 0


def test_what_cannot_be_opened_is_silence(tones: list[bytes], call: tuple[DaveGroup, davey.DaveSession]) -> None:
    """Frames in the clear, frames that were changed, frames of somebody without keys."""
    group, us = call
    line = Line(session=us, users={SSRC: ADA, 8: 4444})
    changed = bytearray(group.first.encrypt_opus(tones[0]))
    changed[5] ^= 1

    line.receiver.receive(seal(KEY, tones[0], sequence=0))
    line.receiver.receive(seal(KEY, bytes(changed), sequence=1))
    line.receiver.receive(seal(KEY, group.first.encrypt_opus(tones[0]), ssrc=8))

    assert line.receiver.counts.unopened == 3
    assert b"".join(pcm for _, pcm in line.heard).strip(b"\0") == b""


def test_a_call_in_which_nothing_can_be_opened_is_said_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Once, with the reason."""
    line = Line()

    for at in range(2 * MAX_IN_VAIN):
        line.receiver.receive(seal(bytes(32), b"sound", sequence=at))

    assert [each.getMessage() for each in caplog.records] == ["nothing is heard in a voice channel"]
    assert vars(caplog.records[0])["reason"] == "the voice server's key does not open packets"


def test_before_the_keys_are_agreed_on_only_what_is_in_the_clear_is_heard(
    tones: list[bytes], call: tuple[DaveGroup, davey.DaveSession]
) -> None:
    """An encrypted frame is not given to the codec as if it were sound."""
    group, _ = call
    line = Line(session=group.make_member(ME))

    line.receiver.receive(seal(KEY, group.first.encrypt_opus(tones[0]), sequence=0))
    line.receiver.receive(seal(KEY, tones[1], sequence=1))

    assert line.receiver.counts.unopened == 1
    assert loudness(line.sound()) > 0.01
