"""TerminalPlatform: read a line, let it be heard, print the answer; slashes, Ctrl-C and a clean end.

Ctrl-C during a reply ends that reply, and what was said so far is what is recorded. A second one,
or one at an empty prompt after another, leaves; one in a line that was begun gives that line up.
Lines that were typed ahead are dropped by a Ctrl-C, as a shell does.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType, MappingProxyType

from familiar_connect.chat.place_check import check_place_class
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.command import with_command
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.errors import FamiliarError
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.identity import Author
from familiar_connect.platforms.terminal.help import help_text, hint_for
from familiar_connect.platforms.terminal.language_offer import LanguageOffer
from familiar_connect.platforms.terminal.line_input import Interrupted, LineReader, unseen_typing
from familiar_connect.platforms.terminal.own_name import OwnName
from familiar_connect.platforms.terminal.place import CHANNEL_ID, TerminalPlace
from familiar_connect.platforms.terminal.screen import THINKING, Screen
from familiar_connect.platforms.terminal.unanswered import describe_unanswered
from familiar_connect.platforms.terminal.upgrade import UpgradeOffer
from familiar_connect.platforms.terminal.welcome import WarmUps, greet
from familiar_connect.slash.chats import CHAT
from familiar_connect.slash.command import SlashContext, SlashReply, run_command
from familiar_connect.slash.registry import find_command
from familiar_connect.support.aio import BackgroundTasks, cancel_and_wait, off_loop
from familiar_connect.support.clock import Clock, SystemClock
from familiar_connect.support.text import printable
from familiar_connect.support.translate import later, tr

EXIT_OK, EXIT_FAILED = 0, 1
UNANSWERED_REMEDY = later("/regenerate answers it now, or just go on.")
LEAVING = later("Ctrl-C again, Ctrl-D or /quit to leave.")
_LEAVE = {"quit", "exit", "q", "bye"}
_HELP = {"help", "?", "h"}
_TYPED_ALONE = {"quit", "exit", "help", "?"}
"""Understood without a slash where somebody types; from a pipe each is a message like any other."""


def prompt_of(screen: Screen, user: Author) -> str:
    """What stands before the lines that *user* types."""
    return screen.paint(f"{printable(user.label)}: ", "you")


class TerminalPlatform:
    """One person, one familiar, one channel."""

    id = "terminal"
    _more_commands: Mapping[str, str] = MappingProxyType({})
    """Commands of this place besides those of every terminal, with their meanings."""

    def __init__(
        self,
        familiar: Familiar,
        *,
        user: Author,
        screen: Screen,
        reader: LineReader,
        clock: Clock | None = None,
        busy_with: Callable[[], str] = lambda: THINKING,
        own_name: OwnName | None = None,
        channel_id: int = CHANNEL_ID,
        place: TerminalPlace | None = None,
        upgrade: UpgradeOffer | None = None,
    ) -> None:
        """*place* is how the familiar meets the terminal, where it is not the only one there.

        *upgrade* offers a better model; None: this chat offers none.
        """
        self._familiar = familiar
        self._channel_id = channel_id
        self._user = user
        self._screen = screen
        self._reader = reader
        self._clock = clock or SystemClock()
        self._place = place or TerminalPlace(screen, familiar.name, user, self._stored_messages(), busy_with)
        self._upgrade = upgrade
        self._own_name = own_name
        """Knows and keeps what the person is called; None: nobody keeps it."""
        self._interrupts = 0
        self._leaving = asyncio.Event()
        self._background = BackgroundTasks("terminal")
        self._warm_ups = WarmUps(familiar)
        self._languages = LanguageOffer(familiar, screen.note)
        self.exit_code = EXIT_OK

    def _stored_messages(self) -> StoredMessages:
        return StoredMessages(self._familiar.history_store, self._familiar.id, self._channel_id, platform=self.id)

    async def run(self) -> None:
        """Until the person leaves, the input ends or the program is told to stop."""
        check_place_class(type(self._place))
        try:
            with self._signals(), self._reachable_owner(), unseen_typing(sys.stdin):
                await self._tell_unanswered()
                await self._familiar.reply_path.reminders.tell_due()
                while not self._leaving.is_set():
                    line = await self._next_line()
                    if line is None:
                        break
                    if line.strip():
                        await self._take(line)
        finally:
            await self._warm_ups.aclose()
            await self._background.wait_until_idle()

    @contextmanager
    def _reachable_owner(self) -> Iterator[None]:
        reminders = self._familiar.reply_path.reminders
        with (
            self._familiar.owner.connect(tell=self._tell_owner),
            reminders.connect(self.id, tell=self._tell_owner),
        ):
            yield

    async def _tell_unanswered(self) -> None:
        """Say what the run before left open in this chat."""
        remedy = tr(UNANSWERED_REMEDY)
        told = await off_loop(partial(describe_unanswered, self._familiar, self._channel_id, remedy=remedy))
        if told is not None:
            self._screen.note(told, colour="warn")

    async def _tell_owner(self, sentence: str) -> None:
        """Who sits here is the owner."""
        self.note(sentence)

    def note(self, sentence: str) -> None:
        """Something about the program: above the line that is typed, behind the reply that is said."""
        self._place.note_aside(sentence)

    async def _next_line(self) -> str | None:
        reading = asyncio.create_task(self._reader.line(), name="read-line")
        leaving = asyncio.create_task(self._leaving.wait(), name="leaving")
        try:
            await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                return None
            line = reading.result()
            self._interrupts = 0
            return line
        except Interrupted as interrupted:
            return self._interrupted_at_prompt(had_text=interrupted.had_text)
        finally:
            for waiting in (leaving, reading):
                if not waiting.done():
                    await cancel_and_wait(waiting)

    def _interrupted_at_prompt(self, *, had_text: bool) -> str | None:
        if had_text:  # the line is given up, and nobody leaves for that
            self._interrupts = 0
            return ""
        self._interrupts += 1
        if self._interrupts > 1:
            return None
        self._screen.note(tr(LEAVING))
        return ""

    async def _take(self, line: str) -> None:
        if line.startswith("/"):
            name, _, words = line.strip()[1:].partition(" ")
            await self._slash(name.lower(), words)
        elif not self._screen.plain and line.strip().lower() in _TYPED_ALONE:
            await self._slash(line.strip().lower(), "")
        else:
            await self._say(line)

    async def _say(self, line: str) -> None:
        """Let *line* be heard, and wait for the answer."""
        await self._learn_name(line)
        message = InboundMessage(
            platform=self.id,
            channel_id=self._channel_id,
            author=self._user,
            text=line,
            timestamp=self._clock.now(),
            is_dm=True,
            is_mention=True,
            channel_name="terminal",
        )
        before = self._place.notices
        heard = await self._familiar.intake.receive(message, self._place)
        if heard is IntakeResult.answering:
            await self._familiar.reply_path.queue.wait_until_channel_idle(self._channel_id)
            self._warm_ups.start(self._user, self._channel_id)
        elif heard is IntakeResult.private:
            self._screen.note(tr("Your privacy level is full, so I did not hear that. `privacy.toml` sets it."))
        is_said = self._place.end()
        await self._languages.hear(line)
        if is_said:
            return
        if self._place.notices > before:
            self.exit_code = EXIT_FAILED
        elif heard is IntakeResult.answering and not self._interrupts:
            self._screen.note(
                tr("({familiar} said nothing. Try saying it differently.)").format(familiar=self._familiar.name)
            )
            self.exit_code = EXIT_FAILED

    async def _last_words(self, own_name: OwnName) -> str:
        """What the familiar said last, as long as the person's name is not known."""
        if own_name.is_known:
            return ""
        turns = await off_loop(
            self._familiar.history_store.recent, familiar_id=self._familiar.id, channel_id=self._channel_id, limit=1
        )
        return turns[-1].display_text if turns and turns[-1].role == "assistant" else ""

    async def _learn_name(self, line: str) -> None:
        """Call the person what they say they are called, from the line on in which they do."""
        own_name = self._own_name
        if own_name is None or self._familiar.stores.privacy.is_full(self._user):
            return
        name = await off_loop(own_name.learn, line, await self._last_words(own_name))
        if name is not None and name != self._user.display_name:
            self._rename(name)

    async def _call(self, name: str) -> None:
        """`/name`: say what the person is called, or call them something else."""
        own_name = self._own_name
        if not name or own_name is None:
            known = own_name is None or own_name.is_known
            told = (
                tr("I call you {user}.").format(user=self._user.label)
                if known
                else tr("You have not told me your name.")
            )
            self._screen.line(
                tr("{told} /name NAME changes it.").format(told=told)
                if known
                else tr("{told} Type /name NAME to tell me.").format(told=told)
            )
            return
        self._rename(await off_loop(own_name.keep, name))
        self._screen.line(tr("I call you {user} from now on.").format(user=self._user.label))

    def _rename(self, name: str) -> None:
        self._user = replace(self._user, display_name=name)
        self._place.set_listener(self._user)
        self._reader.set_prompt(prompt_of(self._screen, self._user))

    async def _slash(self, name: str, words: str) -> None:
        """Use the command *name*, which is in small letters."""
        if name in _LEAVE:
            self._leaving.set()
        elif name in _HELP:
            self._help(words.strip().removeprefix("/").lower())
        elif name == "name":
            await self._call(" ".join(words.split()))
        elif name == "upgrade":
            await self._answer_offer(words)
        elif (found := find_command(name, self._familiar)) is not None:
            context = SlashContext(
                channel_id=self._channel_id,
                author=self._user,
                is_operator=True,
                words=words,
                columns=self._screen.width(),
                answers_at=self._place,
            )
            reply = await run_command(found, context, self._familiar)
            self._show(reply)
            if reply.channel_id is not None and found is CHAT:
                await greet(self._familiar, self._screen, self._user, channel_id=self._channel_id)
        else:
            self._screen.note(
                tr("There is no /{name}. {hint}").format(name=name, hint=hint_for(name, self._more_commands))
            )

    async def _answer_offer(self, words: str) -> None:
        if self._upgrade is None:
            self._screen.note(tr("This chat offers no other model. `familiar model list` shows them."))
            return
        try:
            await self._upgrade.answer(words)
        except FamiliarError as error:
            self._screen.note(str(error), colour="warn")

    def _help(self, name: str) -> None:
        """`/help`: the commands on one screen; `/help all` explains each; `/help NAME`: that one."""
        told = help_text(self._screen.width(), self._more_commands, name)
        if told:
            self._screen.write(told + "\n")
        else:
            self._screen.note(
                tr("There is no /{name}. {hint}").format(name=name, hint=hint_for(name, self._more_commands))
            )

    def _show(self, reply: SlashReply) -> None:
        """Print the answer of a command; what it was to show in the chat stands there already."""
        self._place.end()
        if reply.channel_id is not None:
            self._channel_id = reply.channel_id
            self._place.set_stored(self._stored_messages())
        if reply.is_aside:
            self._screen.note(reply.text)
        elif reply.draft is not None and not self._screen.plain:
            self._reader.set_draft(reply.draft)
        else:
            self._screen.line(with_command(reply.text))

    # Signals

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def on_interrupt(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._on_interrupt)

        def on_terminate(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self._leave)

        handlers = {signal.SIGINT: on_interrupt, signal.SIGTERM: on_terminate}
        if hasattr(signal, "SIGHUP"):  # the window was closed
            handlers[signal.SIGHUP] = on_terminate
        previous = {}
        try:
            for number, handler in handlers.items():
                previous[number] = signal.signal(number, handler)
        except ValueError:  # not the main thread: whoever runs us handles signals
            pass
        try:
            yield
        finally:
            for number, earlier in previous.items():
                signal.signal(number, earlier)

    def _on_interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._leave()
        else:
            dropped = self._reader.drop_waiting()  # else the next of them would be answered, and none could leave
            self._background.start(self._stop_reply(dropped), name="stop-reply")

    async def _stop_reply(self, dropped: bool) -> None:
        if await self._end_reply():
            self._place.end()
            also = tr("the lines you typed ahead are dropped; ") if dropped else ""
            self._screen.note(tr("(stopped; {also}Ctrl-C again to leave)").format(also=also))
        elif self._screen.plain:
            self._leaving.set()
        else:
            self._screen.note(tr(LEAVING))

    def _leave(self) -> None:
        """Stop hearing and end the reply under way; what was said of it is recorded."""
        self._leaving.set()
        self._background.start(self._end_reply(), name="leave")

    async def _end_reply(self) -> bool:
        """End the reply under way; says whether there was one."""
        return await self._familiar.reply_path.queue.stop(self._channel_id)
