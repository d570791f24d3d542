"""DemoCall: the voice channel of the demonstration. People come, speak and talk over the familiar, which is shown.

People's words are spoken by the familiar's own voice, as its settings have it, or are a recording; they go through the
voice server of our own as encrypted packets, at the pace of speech, and what the familiar says comes back so.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from familiar_connect.api import Author, PlatformHost
from familiar_connect.api.calls import CallVoice, SessionWatcher, SoundFileError, VoiceSession, read_wav, write_wav
from familiar_connect.api.speech import HEARING_RATE
from familiar_connect.api.support import BackgroundTasks, how_to_install, off_loop
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import FakePerson, Guild, Room
from familiar_connect.extensions.discord.voice.opus import FRAME_S, OpusHearing
from familiar_connect.extensions.discord.voice.packets import SILENCE
from familiar_connect.extensions.discord.voice.parts import missing_extra
from familiar_connect.extensions.discord.voice.playback import cut_frames

if TYPE_CHECKING:  # whoever has no voice loads nothing of it
    from familiar_connect.extensions.discord.demo.voice.voice_server import VoiceServer

JOIN, LEAVE, SAY, OVER, PLAY, RECORD = "!join", "!leave", "!say", "!over", "!play", "!record"
DEEDS = frozenset({JOIN, LEAVE, SAY, OVER, PLAY, RECORD})
CALL_COMMAND = "subscribe-my-voice"
"""The familiar's own command, which brings it."""
FORMS = {
    "!join": "you come to the voice channel #lounge; `/subscribe-my-voice` brings {name}, `!leave` takes you away",
    "ada: !say hello {name}": "she says it aloud there, once nobody else speaks; `ada: !play hello.wav` plays a file",
    "ben: !over wait, wait": "he says it as soon as {name} speaks, and so talks over it",
    "!record answers.wav": "what it says aloud from now on is kept in that file",
}
"""What can be typed about the voice channel, and what that does."""
COME_S = 20.0
"""How long somebody who wants to speak waits for the familiar that was called."""
OVER_S = 300.0
"""How long somebody waits for the familiar to speak before they give up talking over it."""
HEARD_S = 45.0
"""How long what somebody said may take to be made out."""
MAX_OVERS = 10
MAX_SPOKEN_S = 60.0
MAX_KEPT_S = 600.0
"""How much of what the familiar says is kept for a file."""
LOOK_EACH_S = 0.05
SAMPLE_BYTES = 2


class DemoCall:
    """Use as an async context manager while the demonstration runs. Without the packages of voice it says so."""

    def __init__(
        self,
        host: PlatformHost,
        server: DiscordServer,
        guild: Guild,
        room: Room,
        say: Callable[[str], None],
        *,
        find_session: Callable[[], VoiceSession | None],
    ) -> None:
        """*find_session* gives the familiar's side of the call, once it is there."""
        self._host = host
        self._name = host.name
        self._server = server
        self._guild = guild
        self._room = room
        self._say = say
        self._find_session = find_session
        extra = missing_extra(host.calls.libraries)
        self.why_missing = None if extra is None else f"The voice channel is without sound: {how_to_install(extra)}."
        self._voice: VoiceServer | None = None
        self._made: CallVoice | None = None
        self._called_until = 0.0
        """Until when the familiar may still come, as it was called."""
        self._speaking: dict[int, FakePerson] = {}
        self._unheard: dict[int, tuple[FakePerson, float]] = {}
        """Who said something that was not made out yet, by id, and until when that may take."""
        self._is_answering = False
        """The familiar speaks."""
        self._packets: deque[bytes] = deque(maxlen=int(MAX_KEPT_S / FRAME_S))
        """What the familiar says now."""
        self._recording: Path | None = None
        self._recorded = b""
        self._file_lock = asyncio.Lock()
        self._overs = BackgroundTasks("demo interruptions")
        self._waiting = 0
        """People who wait to talk over the familiar."""
        self._writes = BackgroundTasks("demo recordings")

    async def __aenter__(self) -> Self:
        if self.why_missing is None:
            from familiar_connect.extensions.discord.demo.voice.voice_server import VoiceServer

            self._voice = VoiceServer(self._server, self._guild, on_packet=self._on_packet)
            await self._voice.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._overs.aclose()
        await self._writes.aclose()
        if self._voice is not None:
            await self._voice.__aexit__(kind, error, trace)

    # What the platform is given

    @property
    def make_voice(self) -> Callable[[], CallVoice] | None:
        """What makes the familiar's ears and voice; None: the packages are not there."""
        return self._make_voice if self.why_missing is None else None

    def _make_voice(self) -> CallVoice:
        self._made = self._host.calls.make_voice()
        return self._made

    @property
    def watcher(self) -> SessionWatcher:
        return SessionWatcher(
            on_said=self._note_said,
            on_first_audio=self._note_first_sound,
            on_reply=self._note_reply,
            on_yield=lambda: self._say(f"({self._name} stops: {self._list_speakers()} over it.)"),
            on_talk_on=lambda: self._say(f"({self._list_speakers()} over {self._name}, and it talks on.)"),
        )

    # What people do

    async def act(self, person: FakePerson, words: str) -> None:
        """*person* does something in the voice channel; the first word says what."""
        deed, _, rest = words.partition(" ")
        deed, rest = deed.lower(), rest.strip()
        if self.why_missing is not None:
            self._say(f"({self.why_missing})")
        elif deed == JOIN and person.id in self._guild.in_voice:
            self._say(f"({person.display_name} is in #{self._room.name} already.)")
        elif deed == JOIN:
            await self._come(person)
        elif deed == LEAVE:
            await self._leave(person)
        elif not rest:
            self._say(f"Say more after {deed}: `{deed} {'answers.wav' if deed in (PLAY, RECORD) else 'hello'}`.")
        elif deed == RECORD:
            self._recording, self._recorded = find_file(rest), b""
            self._say(f"(What {self._name} says aloud goes to {rest}.)")
        elif deed == PLAY:
            await self._speak(person, lambda: self._read_frames(rest))
        elif deed == SAY:
            await self._speak(person, lambda: self._make_frames(rest))
        else:
            await self._wait_to_interrupt(person, rest)

    def expect_familiar(self, caller: FakePerson) -> None:
        """*caller* has called the familiar: it comes, if they are there themselves."""
        if caller.id in self._guild.in_voice:
            self._called_until = asyncio.get_running_loop().time() + COME_S

    async def _come(self, person: FakePerson) -> None:
        if person.id in self._guild.in_voice:
            return
        await self._server.move_voice(self._guild, person, self._room)
        how = "" if self._is_familiar_here() else f" `/{CALL_COMMAND}` brings {self._name}."
        self._say(f"({person.display_name} comes to #{self._room.name}.{how})")

    async def _leave(self, person: FakePerson) -> None:
        from familiar_connect.extensions.discord.demo.voice.voice_server import GONE

        if person.id not in self._guild.in_voice:
            self._say(f"({person.display_name} is in no voice channel.)")
            return
        assert self._voice is not None
        await self._voice.tell(GONE, {"user_id": str(person.id)})
        await self._server.move_voice(self._guild, person, None)
        self._say(f"({person.display_name} leaves #{self._room.name}.)")

    async def _speak(self, person: FakePerson, make_frames: Callable[[], Awaitable[list[bytes]]]) -> None:
        """*person* says something, once what was said before is answered; returns when they have."""
        if person.id in self._speaking:
            self._say(f"({person.display_name} is still speaking.)")
            return
        await self._come(person)
        if not await self._is_heard():
            self._say(
                f"(No one hears it: {self._name} is not in #{self._room.name}. `/{CALL_COMMAND}` of someone there"
                " brings it.)"
            )
            return
        if frames := await make_frames():
            await self.wait_until_quiet()
            await self._send(person, frames)

    async def _wait_to_interrupt(self, person: FakePerson, words: str) -> None:
        if self._waiting >= MAX_OVERS:
            self._say("(Enough people wait to talk over it.)")
            return
        await self._come(person)
        if not await self._is_heard():
            self._say(f"({self._name} is not in #{self._room.name}, so nobody can talk over it.)")
            return
        frames = await self._make_frames(words)
        if frames:
            self._say(f"({person.display_name} waits until {self._name} speaks.)")
            self._overs.start(self._interrupt(person, frames), name=person.username)

    async def _interrupt(self, person: FakePerson, frames: list[bytes]) -> None:
        self._waiting += 1
        try:
            has_begun = await self._wait_for(lambda: self._is_answering, within_s=OVER_S)
        finally:
            self._waiting -= 1
        if has_begun and person.id not in self._speaking:
            await self._send(person, frames)

    async def _send(self, person: FakePerson, frames: list[bytes]) -> None:
        assert self._voice is not None
        self._say(f"({person.display_name} speaks, {len(frames) * FRAME_S:.1f} s.)")
        self._speaking[person.id] = person
        self._unheard[person.id] = person, asyncio.get_running_loop().time() + len(frames) * FRAME_S + HEARD_S
        try:
            await self._voice.speak(person, frames)
        finally:
            del self._speaking[person.id]

    async def _make_frames(self, words: str) -> list[bytes]:
        """*words* as the familiar's own voice speaks them; none, and a word about it, where it cannot."""
        if self._made is None:
            return []
        voice = self._made.synthesizer
        try:
            made = await voice.synthesize(words)
        except (RuntimeError, OSError) as error:
            self._say(f"(That could not be spoken: {error}. `!play` with a WAV file needs no voice.)")
            return []
        return await self._cut(made.audio, voice.sample_rate)

    async def _read_frames(self, path: str) -> list[bytes]:
        try:
            pcm = await off_loop(read_wav, find_file(path))
        except SoundFileError as error:
            self._say(f"({error}.)")
            return []
        return await self._cut(pcm, HEARING_RATE)

    @staticmethod
    async def _cut(pcm: bytes, rate: int) -> list[bytes]:
        frames = await off_loop(cut_frames, pcm, rate)
        return frames[: int(MAX_SPOKEN_S / FRAME_S)]

    async def _is_heard(self) -> bool:
        """Whether the familiar listens; waited for where it is on its way."""

        def may_come() -> bool:
            return self._is_familiar_here() or asyncio.get_running_loop().time() < self._called_until

        await self._wait_for(lambda: self._find_session() is not None or not may_come(), within_s=COME_S)
        return self._find_session() is not None

    def _is_familiar_here(self) -> bool:
        return self._server.world.bot.id in self._guild.in_voice

    @staticmethod
    async def _wait_for(condition: Callable[[], bool], *, within_s: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not condition():  # noqa: ASYNC110 - a connection tells nobody
                    await asyncio.sleep(LOOK_EACH_S)
        return condition()

    async def wait_until_quiet(self) -> None:
        """Wait until everything said is made out, and answered where it is; who waits to interrupt goes on waiting."""
        while (session := self._find_session()) is not None:
            await self._wait_for(lambda: not self._speaking, within_s=MAX_SPOKEN_S)
            while self._unheard:
                await asyncio.sleep(LOOK_EACH_S)
                self._give_up_unheard()
            await session.wait_until_idle()
            if not self._speaking and not self._unheard and not self._is_answering:
                break
        await self._writes.wait_until_idle()

    def _give_up_unheard(self) -> None:
        now = asyncio.get_running_loop().time()
        for key, (person, until) in list(self._unheard.items()):
            if now > until or self._find_session() is None:
                del self._unheard[key]
                self._say(f"({self._name} made nothing of what {person.display_name} said.)")

    # What the familiar does

    def show_move(self, channel_id: str | None) -> None:
        """The familiar comes to a voice channel, or leaves the one it is in."""
        self._say(f"({self._name} {'leaves' if channel_id is None else 'comes to'} #{self._room.name}.)")

    def _on_packet(self, packet: bytes) -> None:
        if packet != SILENCE:
            self._packets.append(packet)

    def _note_said(self, author: Author, text: str) -> None:
        self._unheard.pop(int(author.user_id), None)
        self._say(f"({self._name} heard {author.label}: {text})")

    def _note_first_sound(self) -> None:
        self._is_answering = True
        self._packets.clear()
        self._say(f"({self._name} speaks…)")

    def _note_reply(self, text: str) -> None:
        self._is_answering = False
        packets = list(self._packets)
        self._packets.clear()
        if text or packets:
            self._say(f"{self._name} (aloud, {len(packets) * FRAME_S:.1f} s): {text}")
        if self._recording is not None and packets:
            self._writes.start(self._keep(self._recording, packets), name="recording")

    async def _keep(self, path: Path, packets: list[bytes]) -> None:
        """Put what was said last behind what is in the file."""
        async with self._file_lock:
            spoken = await off_loop(decode_packets, packets)
            self._recorded = (self._recorded + spoken)[-int(MAX_KEPT_S * HEARING_RATE) * SAMPLE_BYTES :]
            try:
                await off_loop(write_wav, path, self._recorded, HEARING_RATE)
            except SoundFileError as error:
                self._recording = None
                self._say(f"({error}.)")

    def _list_speakers(self) -> str:
        names = [each.display_name for each in self._speaking.values()]
        return f"{' and '.join(names) or 'somebody'} {'talk' if len(names) > 1 else 'talks'}"


def find_file(typed: str) -> Path:
    """The file of that name, from where the program was started."""
    return Path(typed).expanduser()


def decode_packets(packets: list[bytes]) -> bytes:
    """Packets of one speaker as mono PCM at `HEARING_RATE`."""
    codec = OpusHearing()
    return b"".join(codec.decode(each) for each in packets)
