"""`familiar voice` with the microphone and the speakers of this computer."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from familiar_connect.commands import exit_codes
from familiar_connect.commands.common import profile_of
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import SetupError
from familiar_connect.support.clock import machine_zone

if TYPE_CHECKING:  # a verb loads no more than it needs
    from familiar_connect.familiar import Familiar
    from familiar_connect.identity import Author
    from familiar_connect.platforms.terminal.line_input import LineReader
    from familiar_connect.platforms.terminal.screen import Screen
    from familiar_connect.voice.backends import VoiceBackends
    from familiar_connect.voice.devices.sound_card import SoundCard
    from familiar_connect.voice.session import SessionWatcher, VoiceSession


@dataclass(frozen=True, kw_only=True)
class LiveWish:
    """How somebody wants to talk."""

    user_name: str | None
    has_headphones: bool
    find_channel: Callable[[Familiar], int]


def talk_live(root: Path, home: Path, wish: LiveWish) -> int:
    """Talk by microphone, speakers and keyboard until the person leaves; the exit code."""
    asyncio.run(_talk(root, home, wish))
    return exit_codes.OK


async def _talk(root: Path, home: Path, wish: LiveWish) -> None:
    from familiar_connect.bot import load_familiar
    from familiar_connect.platforms.terminal.person import person_at_terminal
    from familiar_connect.platforms.terminal.screen import Screen
    from familiar_connect.support.aio import off_loop
    from familiar_connect.voice.backends import VoiceBackends
    from familiar_connect.voice.devices.sound_card import SoundCard
    from familiar_connect.voice.service_access import ServiceAccess

    card = SoundCard()
    await card.check()
    screen = Screen(sys.stdout, sys.stderr, plain=not (sys.stdin.isatty() and sys.stdout.isatty()))
    familiar, _ = load_familiar(root, home=home, defaults_path=profile_of(home), zone=machine_zone())
    async with AsyncExitStack() as ending:
        ending.push_async_callback(familiar.aclose)
        backends = VoiceBackends(familiar.config, ServiceAccess.of_home(home, file=FamiliarFolder(root).settings_file))
        ending.push_async_callback(backends.aclose)
        await familiar.start()
        user = await off_loop(person_at_terminal, wish.user_name or familiar.config.user_name, familiar)
        talk = _LiveTalk(familiar, user, screen)
        screen.note("Loading the ears and the voice…")
        await backends.load()
        session = await talk.begin(backends, card, wish, ending)
        screen.note(
            "Listening. Speak, or type and press Enter; Ctrl-C or Ctrl-D leaves."
            if wish.has_headphones
            else "Listening. Speak, or type and press Enter; Ctrl-C or Ctrl-D leaves. "
            f"While {familiar.name} speaks, the microphone is off (with headphones on: --headphones)."
        )
        await talk.run(session)


class _LiveTalk:
    """One conversation: what is said and typed goes in, what is answered is spoken and shown."""

    def __init__(self, familiar: Familiar, user: Author, screen: Screen) -> None:
        self._familiar = familiar
        self._user = user
        self._screen = screen
        self._leaving = asyncio.Event()

    async def begin(
        self, backends: VoiceBackends, card: SoundCard, wish: LiveWish, ending: AsyncExitStack
    ) -> VoiceSession:
        """Open the devices and start to listen; *ending* closes everything."""
        from familiar_connect.support.aio import off_loop
        from familiar_connect.voice.devices.echo_guard import EchoGuard
        from familiar_connect.voice.devices.loudspeakers import Loudspeakers
        from familiar_connect.voice.devices.microphone import Microphone
        from familiar_connect.voice.session import VoiceChannel, VoiceSession

        speakers = Loudspeakers(card, on_trouble=self._screen.note)
        session = VoiceSession(
            self._familiar,
            backends.make_ears,
            backends.synthesizer,
            speakers,
            VoiceChannel(
                platform=self._user.platform,
                channel_id=await off_loop(wish.find_channel, self._familiar),
                is_dm=True,
            ),
            show=self._screen.note,
            watcher=self._watcher(),
        )
        guard = EchoGuard(lambda: speakers.is_playing, lambda pcm: session.feed(self._user, pcm))
        hear = (lambda pcm: session.feed(self._user, pcm)) if wish.has_headphones else guard.feed
        microphone = Microphone(card, hear, on_trouble=self._screen.note)
        ending.push_async_callback(speakers.aclose)
        await session.start()
        ending.push_async_callback(session.stop)
        try:
            await microphone.start()
        except OSError as error:
            raise SetupError(f"voice: {error}; check the system's sound settings") from error
        ending.push_async_callback(microphone.aclose)
        return session

    async def run(self, session: VoiceSession) -> None:
        """Until Ctrl-C or Ctrl-D; a pipe that ends is answered first."""
        reader = self._open_reader()
        with self._signals():
            try:
                while (line := await self._next_line(reader)) is not None:
                    if line.strip():
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

        return SessionWatcher(
            on_said=lambda author, text: self._screen.line(f"{author.label}: {text}"), on_reply=show_reply
        )

    def _open_reader(self) -> LineReader:
        from familiar_connect.platforms.terminal.adapter import prompt_of
        from familiar_connect.platforms.terminal.line_input import EditorReader, PipeReader

        if self._screen.plain:
            return PipeReader(sys.stdin)
        return EditorReader(prompt_of(self._screen, self._user), None, screen=self._screen)

    async def _next_line(self, reader: LineReader) -> str | None:
        """What is typed next; None where the person leaves."""
        from familiar_connect.platforms.terminal.line_input import Interrupted
        from familiar_connect.support.aio import cancel_and_wait

        typing = asyncio.ensure_future(reader.line())
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
