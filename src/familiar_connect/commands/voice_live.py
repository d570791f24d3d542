"""`familiar voice` with the microphone and the speakers of this computer."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import profile_of
from familiar_connect.errors import SetupError
from familiar_connect.support.clock import machine_zone

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.familiar import Familiar
    from familiar_connect.identity import Author
    from familiar_connect.platforms.terminal.line_input import LineReader
    from familiar_connect.platforms.terminal.screen import Screen
    from familiar_connect.voice.backends import VoiceBackends
    from familiar_connect.voice.devices.sound_card import Direction, SoundCard
    from familiar_connect.voice.protocols import AudioOut
    from familiar_connect.voice.session import SessionWatcher, VoiceSession


@dataclass(frozen=True, kw_only=True)
class LiveWish:
    """How somebody wants to talk."""

    user_name: str | None
    has_headphones: bool
    recording: Path | None
    """Where what is said goes as sound, instead of the speakers."""
    find_channel: Callable[[Familiar], int]


def talk_live(root: Path, home: Path, wish: LiveWish) -> int:
    """Talk by microphone, speakers and keyboard until the person leaves; the exit code."""
    asyncio.run(_talk(root, home, wish))
    return exit_codes.OK


async def _talk(root: Path, home: Path, wish: LiveWish) -> None:
    from familiar_connect.bot import load_familiar
    from familiar_connect.extensions.speech import open_speech_access
    from familiar_connect.platforms.terminal.place import person_at_terminal
    from familiar_connect.platforms.terminal.screen import Screen
    from familiar_connect.support.aio import off_loop
    from familiar_connect.voice.backends import VoiceBackends
    from familiar_connect.voice.devices.sound_card import SoundCard

    card = SoundCard()
    lacking = await card.find_lacking()
    if wish.recording is not None:
        lacking.pop("output", None)
    screen = Screen(sys.stdout, sys.stderr, plain=not (sys.stdin.isatty() and sys.stdout.isatty()))
    lines = _TypedLines(screen)
    if lacking and screen.plain and not await lines.has_more():
        raise SetupError(f"voice: {next(iter(lacking.values()))}; or type, or talk by recordings with --wav FILE")
    familiar, _ = load_familiar(root, home=home, defaults_path=profile_of(home), zone=machine_zone())
    async with AsyncExitStack() as ending:
        ending.push_async_callback(familiar.aclose)
        backends = VoiceBackends(familiar.config, open_speech_access(root, home, familiar.config))
        ending.push_async_callback(backends.aclose)
        await familiar.start()
        user = await off_loop(person_at_terminal, wish.user_name or familiar.config.user_name, familiar)
        talk = _LiveTalk(familiar, user, screen)
        for note in describe_lack(lacking):
            screen.note(note)
        if len(lacking) < 2:
            screen.note("Loading the recogniser and the voice…")
            await backends.load(hears="input" not in lacking, speaks="output" not in lacking)
        session = await talk.begin(backends, card, wish, lacking, ending)
        await talk.run(session, lines)


def describe_lack(lacking: Mapping[Direction, str]) -> list[str]:
    """What cannot be done for want of a device, the reason, and what can be done instead."""
    instead = {"input": "type", "output": "replies are only shown (`--out FILE` keeps them as sound)"}
    reasons: dict[str, list[str]] = {}
    for way, reason in lacking.items():
        reasons.setdefault(reason, []).append(instead[way])
    return [f"{reason[0].upper()}{reason[1:]}. Until then {'; '.join(what)}." for reason, what in reasons.items()]


class _LiveTalk:
    """One conversation: what is said and typed goes in, what is answered is spoken and shown."""

    def __init__(self, familiar: Familiar, user: Author, screen: Screen) -> None:
        self._familiar = familiar
        self._user = user
        self._screen = screen
        self._leaving = asyncio.Event()
        self._on_screen: list[str] = []
        """Lines that stand where they were typed, until they are said."""

    async def begin(
        self,
        backends: VoiceBackends,
        card: SoundCard,
        wish: LiveWish,
        lacking: Mapping[Direction, str],
        ending: AsyncExitStack,
    ) -> VoiceSession:
        """Open the devices and start to listen; *ending* closes everything."""
        from familiar_connect.support.aio import off_loop
        from familiar_connect.voice.session import VoiceChannel, VoiceSession
        from familiar_connect.voice.wav import SilentVoice

        is_silent = "output" in lacking
        out, is_playing = self._open_out(card, wish, ending, is_silent=is_silent)
        session = VoiceSession(
            self._familiar,
            backends.make_ears,
            SilentVoice() if is_silent else backends.synthesizer,
            out,
            VoiceChannel(
                platform=self._user.platform,
                channel_id=await off_loop(wish.find_channel, self._familiar),
                is_dm=True,
            ),
            show=self._screen.note,
            watcher=self._watcher(),
        )
        await session.start()
        ending.push_async_callback(session.stop)
        if "input" in lacking:
            self._screen.note("Type and press Enter; Ctrl-C or Ctrl-D leaves.")
        else:
            await self._listen(session, card, is_playing if not wish.has_headphones else None, ending)
        return session

    def _open_out(
        self, card: SoundCard, wish: LiveWish, ending: AsyncExitStack, *, is_silent: bool
    ) -> tuple[AudioOut, Callable[[], bool] | None]:
        """Where speech goes, and what tells whether it is heard in the room; None: it never is."""
        from familiar_connect.voice.devices.loudspeakers import Loudspeakers
        from familiar_connect.voice.wav import UnplayedOut, write_wav

        if not is_silent and wish.recording is None:
            speakers = Loudspeakers(card, on_trouble=self._screen.note)
            ending.push_async_callback(speakers.aclose)
            return speakers, lambda: speakers.is_playing
        kept, target = UnplayedOut(), wish.recording
        if target is not None:
            ending.callback(lambda: write_wav(target, bytes(kept.pcm), kept.sample_rate) if kept.pcm else None)
        return kept, None

    async def _listen(
        self, session: VoiceSession, card: SoundCard, is_playing: Callable[[], bool] | None, ending: AsyncExitStack
    ) -> None:
        """Open the microphone; what it hears while *is_playing* is the familiar itself."""
        from familiar_connect.voice.devices.echo_guard import EchoGuard
        from familiar_connect.voice.devices.microphone import Microphone

        def hear(pcm: bytes) -> None:
            session.feed(self._user, pcm)

        microphone = Microphone(
            card, EchoGuard(is_playing, hear).feed if is_playing is not None else hear, on_trouble=self._screen.note
        )
        try:
            await microphone.start()
        except OSError as error:
            self._screen.note(f"voice: {error}; check the system's sound settings. Until then type.")
            return
        ending.push_async_callback(microphone.aclose)
        listening = "Listening. Speak, or type and press Enter; Ctrl-C or Ctrl-D leaves."
        off = f" While {self._familiar.name} speaks, the microphone is off (with headphones on: --headphones)."
        self._screen.note(listening + (off if is_playing is not None else ""))

    async def run(self, session: VoiceSession, lines: _TypedLines) -> None:
        """Until Ctrl-C or Ctrl-D; a pipe that ends is answered first."""
        reader = lines.open_reader(self._user)
        with self._signals():
            try:
                while (line := await self._next_line(lines)) is not None:
                    if line.strip():
                        self._on_screen += [] if self._screen.plain else [line.strip()]
                        session.type_text(self._user, line)
                if not self._leaving.is_set() and self._screen.plain:
                    await session.wait_until_idle()
            finally:
                reader.close()

    def _watcher(self) -> SessionWatcher:
        from familiar_connect.voice.session import SessionWatcher

        def show_reply(text: str) -> None:
            if text:
                self._screen.line(f"{self._familiar.name}: {text}")

        return SessionWatcher(on_said=self._show_said, on_reply=show_reply)

    def _show_said(self, author: Author, text: str) -> None:
        """What was heard; a line that was typed stands there already, also where it is put together with speech."""
        while self._on_screen and self._on_screen[0] in text:
            text = text.replace(self._on_screen.pop(0), "", 1)
        if text.strip():
            self._screen.line(f"{author.label}: {text.strip()}")

    async def _next_line(self, lines: _TypedLines) -> str | None:
        """What is typed next; None where the person leaves."""
        from familiar_connect.platforms.terminal.line_input import Interrupted
        from familiar_connect.support.aio import cancel_and_wait

        typing = asyncio.ensure_future(lines.next())
        leaving = asyncio.ensure_future(self._leaving.wait())
        try:
            await asyncio.wait({typing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return typing.result() if typing.done() and not self._leaving.is_set() else None
        except Interrupted:
            self._leaving.set()
            return None
        finally:
            await cancel_and_wait(typing)
            await cancel_and_wait(leaving)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C and a closed window leave as Ctrl-D does."""
        loop = asyncio.get_running_loop()

        def leave(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._leaving.set)

        numbers = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
        previous = {number: signal.signal(number, leave) for number in numbers}
        try:
            yield
        finally:
            for number, earlier in previous.items():
                signal.signal(number, earlier)


class _TypedLines:
    """What is typed: at an editor, or in a pipe, whose first line may be asked for before anything else is done."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._reader: LineReader | None = None
        self._first: list[str] = []

    async def has_more(self) -> bool:
        """Whether a line comes out of the pipe."""
        from familiar_connect.platforms.terminal.line_input import PipeReader

        self._reader = PipeReader(sys.stdin)
        line = await self._reader.line()
        self._first = [] if line is None else [line]
        return line is not None

    def open_reader(self, user: Author) -> LineReader:
        """What lines come from, which whoever opens it closes."""
        from familiar_connect.platforms.terminal.adapter import prompt_of
        from familiar_connect.platforms.terminal.line_input import EditorReader, PipeReader

        if self._reader is None:
            self._reader = (
                PipeReader(sys.stdin)
                if self._screen.plain
                else EditorReader(prompt_of(self._screen, user), None, screen=self._screen)
            )
        return self._reader

    async def next(self) -> str | None:
        """The next line; None where there is none."""
        if self._first:
            return self._first.pop()
        assert self._reader is not None
        return await self._reader.line()
