"""The Discord library's voice connection with a receiving end of our own.

The library reads packets with a thread that starts a task on the event loop for each, from outside of it; its thread
spins where a socket was closed; and somebody who leaves ends a connection that records nothing. Import this module only
once voice is wanted: it needs the library with its voice packages.
"""

from __future__ import annotations

import asyncio
import logging
import select
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import discord
from discord.enums import SpeakingState
from discord.voice.client import VoiceClient
from discord.voice.state import VoiceConnectionState

from familiar_connect.extensions.discord.voice.packets import SILENCE, SoundPacket, TransportCipher
from familiar_connect.extensions.discord.voice.receive import OnSound, ReceiveCounts, VoiceKeys, VoiceReceiver

if TYPE_CHECKING:
    from davey import DaveSession


TICK_S = 0.02
PAUSE_S = 0.05
MAX_DATAGRAM = 4096

logger = logging.getLogger(__name__)


class PacketReader(threading.Thread):
    """Reads the socket of a connection. Has the methods that the library calls on a reader of its own."""

    def __init__(self, state: VoiceConnectionState) -> None:
        super().__init__(daemon=True, name="discord-voice-packets")
        self._state = state
        self._is_open = threading.Event()
        self._is_over = threading.Event()
        self._listeners: list[Callable[[bytes], Any]] = []
        self._receiver: VoiceReceiver | None = None

    def hear(self, receiver: VoiceReceiver | None) -> None:
        """Give packets to *receiver* from now on; None: to nobody."""
        self._receiver = receiver

    def register(self, callback: Callable[[bytes], Any]) -> None:
        self._listeners.append(callback)

    def unregister(self, callback: Callable[[bytes], Any]) -> None:
        if callback in self._listeners:
            self._listeners.remove(callback)

    def resume(self, *, force: bool = False) -> None:
        self._is_open.set()

    def pause(self) -> None:
        self._is_open.clear()

    def stop(self) -> None:
        self._is_over.set()
        self._is_open.set()

    def run(self) -> None:
        while not self._is_over.is_set():
            self._is_open.wait()
            datagram = self._read()
            receiver = self._receiver
            try:
                if datagram:
                    self._tell_listeners(datagram)
                if receiver is not None:
                    if datagram:
                        receiver.receive(datagram)
                    receiver.tick()
            except Exception:  # isolation: one packet costs itself only
                logger.exception("a packet of sound could not be taken in")

    def _read(self) -> bytes | None:
        """The next datagram; None: there is none yet."""
        try:
            readable, _, _ = select.select([self._state.socket], [], [], TICK_S)
            return self._state.socket.recv(MAX_DATAGRAM) if readable else None
        except (OSError, TypeError, ValueError):  # no socket, or one that was closed just now
            self._is_over.wait(PAUSE_S)
            return None

    def _tell_listeners(self, datagram: bytes) -> None:
        for callback in list(self._listeners):
            try:
                self._state.loop.call_soon_threadsafe(callback, datagram)
            except RuntimeError:  # the loop is closed: the program ends
                self._is_over.set()


class _ConnectionState(VoiceConnectionState):
    """A connection whose packets our reader reads."""

    @property  # type: ignore[override]
    def _socket_reader(self) -> PacketReader:
        return self._reader

    @_socket_reader.setter
    def _socket_reader(self, _of_the_library: object) -> None:
        self._reader = PacketReader(self)


class ListeningVoiceClient(VoiceClient):
    """A voice connection that hears; made by `channel.connect(cls=ListeningVoiceClient)`."""

    supported_modes = ("aead_xchacha20_poly1305_rtpsize",)

    def __init__(self, client: discord.Client, channel: Any) -> None:
        super().__init__(client, channel)
        self._cipher: tuple[bytes, TransportCipher] | None = None
        self._receiver: VoiceReceiver | None = None
        self.counts = ReceiveCounts()
        """What came of the packets, as far as anybody listened."""
        self.was_sent_away = False
        """Somebody disconnected us from the channel."""
        self.closed = asyncio.Event()
        """The library has given this connection up."""

    def create_connection_state(self) -> VoiceConnectionState:
        return _ConnectionState(self, hook=self._recv_hook)

    def listen(self, on_sound: OnSound | None) -> None:
        """Have *on_sound* given everybody's sound on the event loop; None: nobody's."""
        loop = asyncio.get_running_loop()

        def tell(user_id: int, pcm: bytes) -> None:
            if on_sound is not None and not loop.is_closed():
                loop.call_soon_threadsafe(on_sound, user_id, pcm)

        if on_sound is not None:
            self._receiver = VoiceReceiver(self._keys(), tell)
            self.counts = self._receiver.counts
        else:
            self._receiver = None
        self._connection._socket_reader.hear(self._receiver)  # type: ignore[attr-defined]

    def is_ready(self) -> bool:
        """Whether what is sent now can be heard: in a call with keys, nobody listens to what has none."""
        state = self._connection
        session = state.dave_session if state.dave_protocol_version > 0 else None
        return self.is_connected() and (session is None or session.ready)

    async def announce_speech(self) -> None:
        await self.ws.speak(SpeakingState.voice)

    def send_frame(self, packet: bytes) -> None:
        self.send_audio_packet(packet, encode=False)

    def cleanup(self) -> None:
        super().cleanup()
        self.closed.set()

    async def on_voice_state_update(self, data: Any) -> None:
        state = self._connection
        if data.channel_id is None and not state._expecting_disconnect:
            if not state.is_connected():
                return  # tells of the connection before this one
            self.was_sent_away = True
        await super().on_voice_state_update(data)

    def _keys(self) -> VoiceKeys:
        return VoiceKeys(
            open_packet=self._open_packet,
            user_of=lambda ssrc: self._ssrc_to_id.get(ssrc),
            open_frame=lambda user_id, payload: open_frame(self._connection.dave_session, user_id, payload),
        )

    def _open_packet(self, datagram: bytes) -> SoundPacket | None:
        given = self._connection.secret_key
        if not given:
            return None
        key = bytes(given)
        if self._cipher is None or self._cipher[0] != key:
            self._cipher = key, TransportCipher(key)
        return self._cipher[1].open(datagram)

    def _remove_ssrc(self, *, user_id: int) -> None:
        ssrc = self._id_to_ssrc.pop(user_id, None)
        if ssrc is not None:
            self._ssrc_to_id.pop(ssrc, None)
            if self._receiver is not None:
                self._receiver.forget(ssrc)


SEALED = b"\xfa\xfa"
"""Ends every frame that is encrypted from end to end."""


def open_frame(session: DaveSession | None, user_id: int, payload: bytes) -> bytes | None:
    """The Opus in *payload*; None where it cannot be opened.

    Before the call has agreed on its keys people send in the clear, and what is encrypted already is for others.
    """
    if payload == SILENCE:
        return payload
    if session is None or not session.ready:
        return None if payload.endswith(SEALED) else payload
    import davey

    try:
        return session.decrypt(user_id, davey.MediaType.audio, payload)
    except (ValueError, RuntimeError):  # not for us, changed on its way, or keys that changed meanwhile
        return None
