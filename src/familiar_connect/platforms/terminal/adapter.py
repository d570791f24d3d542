"""TerminalPlatform: read a line, let it be heard, print the answer; slashes, Ctrl-C and a clean end.

Ctrl-C during a reply ends that reply, and what was said so far is what is recorded. A second one,
or one at an empty prompt after another, leaves.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.intake import Heard
from familiar_connect.familiar import Familiar
from familiar_connect.history.recent import StoredRecent
from familiar_connect.identity import Author
from familiar_connect.platforms.terminal.place import CHANNEL_ID, TerminalPlace
from familiar_connect.platforms.terminal.reading import Reader
from familiar_connect.platforms.terminal.screen import Screen, printable
from familiar_connect.slash.command import SlashContext
from familiar_connect.slash.registry import COMMANDS, command
from familiar_connect.support.clock import Clock, SystemClock

EXIT_OK, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130
_LEAVE = {"/quit", "/exit", "/q"}


class TerminalPlatform:
    """One person, one familiar, one channel."""

    id = "terminal"

    def __init__(
        self,
        familiar: Familiar,
        *,
        user: Author,
        screen: Screen,
        reader: Reader,
        clock: Clock | None = None,
        busy_with: Callable[[], str] = lambda: "thinking…",
    ) -> None:
        self._familiar = familiar
        self._user = user
        self._screen = screen
        self._reader = reader
        self._clock = clock or SystemClock()
        stored = StoredRecent(familiar.history_store, familiar.id, CHANNEL_ID, platform=self.id)
        self._place = TerminalPlace(screen, familiar.name, user, stored, busy_with)
        self._interrupts = 0
        self._leaving = asyncio.Event()
        self.exit_code = EXIT_OK

    async def run(self) -> None:
        """Until the person leaves, the input ends or the program is told to stop."""
        with self._signals():
            while not self._leaving.is_set():
                line = await self._next_line()
                if line is None:
                    break
                if line.strip():
                    await self._take(line)

    async def _next_line(self) -> str | None:
        reading = asyncio.ensure_future(self._reader.line())
        leaving = asyncio.ensure_future(self._leaving.wait())
        try:
            await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                return None
            self._interrupts = 0
            return reading.result()
        except KeyboardInterrupt:
            return self._interrupted_at_prompt()
        finally:
            leaving.cancel()
            reading.cancel()

    def _interrupted_at_prompt(self) -> str | None:
        self._interrupts += 1
        if self._interrupts > 1:
            return None
        self._screen.note("Ctrl-C again, Ctrl-D or /quit to leave.")
        return ""

    async def _take(self, line: str) -> None:
        if line.startswith("/"):
            await self._slash(line.strip())
            return
        message = InboundMessage(
            platform=self.id,
            channel_id=CHANNEL_ID,
            author=self._user,
            text=line,
            timestamp=self._clock.now(),
            is_dm=True,
            is_mention=True,
            channel_name="terminal",
        )
        before = self._place.notices
        heard = await self._familiar.intake.receive(message, self._place)
        if heard is Heard.answering:
            await self._familiar.path.queue.idle(CHANNEL_ID)
        elif heard is Heard.private:
            self._screen.note("Your privacy level is FULL, so that was not heard. `privacy.toml` says so.")
        spoke = self._place.end()
        if not spoke and self._place.notices > before:
            self.exit_code = EXIT_FAILED

    async def _slash(self, line: str) -> None:
        name, _, words = line[1:].partition(" ")
        if line.split()[0] in _LEAVE:
            self._leaving.set()
        elif name == "help":
            self._help()
        elif (found := command(name)) is not None:
            context = SlashContext(channel_id=CHANNEL_ID, author=self._user, is_operator=True, words=words)
            reply = await found.run(context, self._familiar)
            self._screen.line(printable(reply.text))
        else:
            self._screen.note(f"There is no /{name}. Type /help to see what there is.")

    def _help(self) -> None:
        lines = [f"  /{each.name:<10} {each.description}" for each in COMMANDS]
        lines += ["  /help       This list.", "  /quit       Leave. Ctrl-D does too; Ctrl-C stops a reply."]
        self._screen.line("\n".join(lines))

    # Signals

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def on_interrupt(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._on_interrupt)

        def on_terminate(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._leave, EXIT_OK)

        previous = {}
        try:
            previous[signal.SIGINT] = signal.signal(signal.SIGINT, on_interrupt)
            previous[signal.SIGTERM] = signal.signal(signal.SIGTERM, on_terminate)
        except ValueError:  # not the main thread: whoever runs us handles signals
            pass
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _on_interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._leave(EXIT_OK if not self._screen.plain else EXIT_INTERRUPTED)
            return
        self._stopping = asyncio.ensure_future(self._stop_reply())

    async def _stop_reply(self) -> None:
        stopped = await self._familiar.path.queue.stop(CHANNEL_ID)
        if stopped:
            self._place.end()
            self._screen.note("(stopped; Ctrl-C again to leave)")
        elif self._screen.plain:
            self._leave(EXIT_INTERRUPTED)
        else:
            self._screen.note("Ctrl-C again, Ctrl-D or /quit to leave.")

    def _leave(self, code: int) -> None:
        self.exit_code = max(self.exit_code, code)
        self._leaving.set()
