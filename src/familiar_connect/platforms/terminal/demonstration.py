"""Demonstration: a platform on a small network of its extension's own, played as several people from one terminal.

The familiar goes through the platform itself, as it would live; only the network is ours. Whoever makes one decides
whether it is the familiar itself or a copy.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from familiar_connect.errors import SetupError
from familiar_connect.extensions.parts import PlatformDemo, PlatformPart, TourStep
from familiar_connect.extensions.platforms import make_host
from familiar_connect.familiar import Familiar
from familiar_connect.identity import ChannelKey
from familiar_connect.platforms.terminal.help import help_row
from familiar_connect.platforms.terminal.line_input import EditorReader, Interrupted, LineReader, PipeReader
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import cancel_and_wait, off_loop
from familiar_connect.support.text import one_line, printable
from familiar_connect.support.word_wrap import terminal_width, wrap_for, wrap_words

FORM_COLUMN = 26
PIPE_COLUMNS = 100
"""So wide is the help where there is no window."""
HEARD_WITHIN_S = 2.0
WAIT = "!wait"
"""So a line of a script says that what comes next comes after the answers."""
_LOOK_EACH_S = 0.02


def how_text(title: str, name: str, forms: Mapping[str, str], width: int) -> str:
    """How one talks there, for a window of *width* columns."""
    name = one_line(name)
    opening = f"This is a small local stand-in for {title}. A copy of {name} is here: try what you like."
    closing = "It answers when it is meant, and may speak up when all fall quiet. Ctrl-D ends it."
    rows = [
        help_row(_fill_in(form, name), _fill_in(meaning, name), width, names=FORM_COLUMN)
        for form, meaning in {**forms, WAIT: "waits until everything is answered"}.items()
    ]
    return "\n".join([wrap_words(opening, width), *rows, wrap_words(closing, width)])


def _fill_in(text: str, name: str) -> str:
    return text.replace("{name}", name)


def write_line(text: str) -> None:
    """A line of the demonstration, broken at words where there is a window."""
    sys.stdout.write(f"{wrap_for(sys.stdout, text)}\n")
    sys.stdout.flush()


class Demonstration:
    """The demonstration of one platform as the only platform that runs."""

    places = ()  # the platform inside has its own

    def __init__(
        self,
        familiar: Familiar,
        name: str,
        part: PlatformPart,
        *,
        reader: LineReader | None = None,
        say: Callable[[str], None] | None = None,
        tell: Callable[[str], None] = lambda sentence: None,
        is_scripted: bool = False,
        on_end: Callable[[], None] = lambda: None,
        home: Path | None = None,
    ) -> None:
        """Without *reader* and *say*, at this terminal or pipe. *tell* is for what the owner has to mend.

        *home* is where the keys of speech services are; a copy of a familiar has none.

        When it *is_scripted*, each line is shown and answered before the next one, and nobody is told how to type.
        *on_end* is called once all is said and answered, and not where it was ended before.
        """
        if part.demo is None:
            raise SetupError(f"{name} has no demonstration")
        self.id = name
        self._familiar = familiar
        self._create = part.demo.create
        self._keeps_numbers = part.keeps_numbers
        self._reader = reader
        self._say = say
        self._tell = tell
        self._is_scripted = is_scripted
        self._on_end = on_end
        self._home = home

    async def run(self) -> None:
        """Until the input ends and everything said is answered."""
        host = make_host(self._familiar, self.id, tell=self._tell, home=self._home)
        shown = self._say or write_line
        demo = self._create(host, lambda text: shown(printable(text)))
        reader = self._reader
        if reader is None:
            reader, screen = _open_terminal(demo)
            shown = self._say or screen
        numbers = {await self._number(channel): server for channel, server in demo.channels.items()}
        subscriptions, kind = self._familiar.subscriptions, SubscriptionKind.text
        for number, server in numbers.items():
            await off_loop(subscriptions.add, channel_id=number, kind=kind, guild_id=server)
        playing = asyncio.create_task(demo.run(), name=f"demo-{self.id}")
        talking = asyncio.create_task(self._talk(demo, reader, shown), name="demo-people")
        try:
            await asyncio.wait({playing, talking}, return_when=asyncio.FIRST_COMPLETED)
            for task in (playing, talking):
                if task.done():
                    task.result()
            self._on_end()
        finally:
            for task in (talking, playing):
                await cancel_and_wait(task)
            for number in numbers:
                await off_loop(subscriptions.remove, channel_id=number, kind=kind)
            await host.aclose()

    async def _talk(self, demo: PlatformDemo, reader: LineReader, say: Callable[[str], None]) -> None:
        if not self._is_scripted:
            width = terminal_width() if sys.stdout.isatty() else PIPE_COLUMNS
            say(how_text(self.id.title(), printable(self._familiar.name), demo.forms, width))
        await demo.wait_until_ready()
        while (line := await _next_line(reader)) is not None:
            if not line.strip():
                continue
            if line.strip() == WAIT:
                await self._quiet(demo)
                continue
            if self._is_scripted:
                say(line.strip())
            await demo.take(line.strip())
            reader.set_prompt(_prompt_in(demo))
            if self._is_scripted:
                await self._quiet(demo)
        await self._quiet(demo)

    async def _quiet(self, demo: PlatformDemo) -> None:
        """Wait until everything said is heard and answered."""
        newest = {await self._number(channel): message_id for channel, message_id in demo.newest.items()}
        for number, message_id in newest.items():
            await self._heard(number, message_id)
        await self._familiar.intake.wait_until_idle()
        for number in newest:
            await self._familiar.reply_path.queue.wait_until_channel_idle(number)
        await demo.wait_until_answered()

    async def _heard(self, number: int, message_id: str) -> None:
        """Wait until the message is stored, for a while: a private person's never is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HEARD_WITHIN_S):
                while not await off_loop(self._is_stored, number, message_id):  # noqa: ASYNC110 - a store tells nobody
                    await asyncio.sleep(_LOOK_EACH_S)

    def _is_stored(self, number: int, message_id: str) -> bool:
        recent = self._familiar.history_store.recent(familiar_id=self._familiar.id, channel_id=number, limit=20)
        return any(turn.platform_message_id == message_id for turn in recent)

    async def _number(self, channel: str) -> int:
        keys, key = self._familiar.history_store.channel_keys, ChannelKey(self.id, channel)
        return await off_loop(partial(keys.number_of, key, keeps_number=self._keeps_numbers))


def _open_terminal(demo: PlatformDemo) -> tuple[LineReader, Callable[[str], None]]:
    """Where lines come from and go to: at a terminal what is said stands above the line that is typed."""
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        return PipeReader(sys.stdin), write_line
    screen = Screen(sys.stdout, sys.stderr, plain=False)
    return EditorReader(_prompt_in(demo), None, screen=screen), screen.line


async def _next_line(reader: LineReader) -> str | None:
    """What is typed next; Ctrl-C ends it as Ctrl-D does, and in a line that was begun gives that line up."""
    try:
        return await reader.line()
    except Interrupted as interrupted:
        return "" if interrupted.had_text else None


def _prompt_in(demo: PlatformDemo) -> str:
    return f"{demo.room} > "


class TourReader:
    """Lines of the steps in their order; what a step shows is said before its first line."""

    def __init__(self, steps: Iterable[TourStep], name: str, say: Callable[[str], None]) -> None:
        self._lines: list[tuple[str, str | None]] = [
            (_fill_in(step.says, name) if number == 0 else "", _fill_in(line, name) if line is not None else None)
            for step in steps
            for number, line in enumerate(step.lines or (None,))
        ]
        self._say = say

    async def line(self) -> str | None:
        while self._lines:
            says, line = self._lines.pop(0)
            if says:
                self._say(f"\n— {says}")
            if line is not None:
                return line
        return None

    def set_prompt(self, prompt: str) -> None:
        """Nobody is prompted."""

    def drop_waiting(self) -> bool:
        return False

    def set_draft(self, text: str) -> None:
        """Nobody edits a line."""

    def close(self) -> None:
        """Nothing is open."""
