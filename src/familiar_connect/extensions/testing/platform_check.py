"""check_platform: a stranger's platform, driven from the far end of its wire. Each fault names the method and the fix.

The author of the platform writes a `PlatformNetwork`: the network as people on it meet it, played by the test.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import familiar_connect
from familiar_connect.chat.place import Place
from familiar_connect.chat.place_check import check_place_class
from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.errors import DeliveryError, SetupError
from familiar_connect.extensions.host import PlatformHost, ReadBy
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.extensions.parts import Extension, ExtensionPlatform
from familiar_connect.extensions.testing.fair_time import LOOK_EVERY_S, LoopWatch, finish_within
from familiar_connect.extensions.testing.trial_familiar import NAME, TrialFamiliar, open_trial_familiar
from familiar_connect.llm.types import Message
from familiar_connect.slash.registry import BUILT_IN_COMMANDS

LIMIT_S = 10.0
"""How long each step of a check may take."""
HOLD_S = 1.0
"""Longer than anything of ours takes on the loop."""
LONG_WORDS = 400
"""Words of the reply that has to be split."""
SHORT, LONG = "short", "long"
GREETING = "Here I am."


class PlatformNetwork(ABC):
    """The network that a platform talks to, as the test plays it: people who write, and what they can read.

    `start` fills what depends on a port or a folder. Every method may wait until the familiar is there.
    """

    settings: str = ""
    """Text of character.toml that points the platform at this network."""
    secrets: Mapping[str, str] = {}
    """What `familiar keys set` would keep."""
    room_read_by: ReadBy = ReadBy.everyone
    """Who can read the room that people write in."""

    @abstractmethod
    async def start(self) -> None:
        """Be there, with one room in it."""

    @abstractmethod
    async def stop(self) -> None:
        """Be gone."""

    @abstractmethod
    async def say(self, person: str, text: str, *, is_dm: bool) -> None:
        """*person* writes *text*: in the room, in a way that speaks to the familiar, or to the familiar alone."""

    @abstractmethod
    async def list_shown(self, person: str | None) -> Sequence[str]:
        """What the familiar has written, oldest first: in the room, or with *person* to that person alone."""

    @abstractmethod
    async def refuse(self, *, is_refused: bool) -> None:
        """Let everything that is sent fail from now on, or take it again."""

    async def rename(self, person: str, name: str) -> bool:
        """Let *person* be called *name* from now on; False: nobody can be renamed on this network."""
        return False


@dataclass(frozen=True, kw_only=True)
class PlatformFault:
    """One thing that is wrong with a platform."""

    check: str
    """Which check found it."""
    method: str
    """The method, or the call, to look at."""
    fix: str
    """What is wrong and what to do, in a sentence."""

    def __str__(self) -> str:
        return f"{self.check}: {self.method}: {self.fix}"


class PlatformCheckFailed(AssertionError):
    """A platform does not do what the program counts on; `faults` says what, one by one."""

    def __init__(self, faults: Sequence[PlatformFault]) -> None:
        super().__init__("\n".join(["the platform fails its checks:", *(f"- {each}" for each in faults)]))
        self.faults = tuple(faults)


@dataclass(frozen=True)
class _Heard:
    """One call of `host.hear`."""

    message: InboundMessage
    place: Place


class WatchedHost(PlatformHost):
    """A host that notes what the platform hands on."""

    def __init__(
        self, trial: TrialFamiliar, platform: str, part: PartContext, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        super().__init__(trial.familiar, platform, part, tell, commands=BUILT_IN_COMMANDS)
        self.heard: list[_Heard] = []
        self.joined: set[int] = set()

    async def _receive(self, message: InboundMessage, place: Place) -> IntakeResult:
        self.heard.append(_Heard(message, place))
        return await super()._receive(message, place)

    async def join(self, channel: str, place: Place, *, is_dm: bool = False) -> None:
        self.joined.add(await self.number_of(channel))
        await super().join(channel, place, is_dm=is_dm)


async def check_platform(extension: Extension, network: PlatformNetwork, *, limit_s: float = LIMIT_S) -> None:
    """Drive the platform of *extension* over *network*; `PlatformCheckFailed` lists everything that is wrong.

    Checked are its places, hearing, answering, splitting, who people are, who can read what, sending that fails, that
    it lets others work meanwhile, and that it ends when it is told to. A step may take *limit_s* seconds, of which only
    those count in which this program could run.
    """
    await network.start()
    try:
        async with open_trial_familiar(
            [extension], _answer, settings=network.settings, secrets=network.secrets
        ) as trial:
            checker = _PlatformChecker(trial, extension, network, limit_s)
            await checker.run()
    finally:
        await network.stop()
    if checker.faults:
        raise PlatformCheckFailed(checker.faults)


def _answer(messages: list[Message]) -> str:
    """A long reply where one is asked for."""
    asked = messages[-1].content if messages else ""
    return " ".join(_long_words()) if LONG in asked else GREETING


def _long_words() -> list[str]:
    return [f"word{number}" for number in range(LONG_WORDS)]


class _PlatformChecker:
    """The checks, one after the other, over one running platform."""

    def __init__(self, trial: TrialFamiliar, extension: Extension, network: PlatformNetwork, limit_s: float) -> None:
        self._trial = trial
        self._extension = extension
        self._network = network
        self._limit_s = limit_s
        self._endings: list[BaseException | None] = []
        """How each run ended by itself: with an error, or None."""
        self._loop_watch = LoopWatch()
        self.faults: list[PlatformFault] = []

    async def run(self) -> None:
        """Every check. Those after hearing need a platform that hears, and are left out where it does not."""
        made = self._make()
        if made is None:
            return
        platform, host = made
        before = asyncio.all_tasks()
        running = asyncio.create_task(self._keep_running(platform), name="platform under test")
        with self._loop_watch.watch():
            try:
                if await self._check_hearing(host):
                    await self._check_splitting(host)
                    await self._check_people(host)
                    await self._check_readers(host)
                    await self._check_refused_sending(host)
            finally:
                await self._check_ending(running, host, before)
        if self._loop_watch.longest_hold_s > HOLD_S:
            held = f"it held the program's loop for {self._loop_watch.longest_hold_s:.1f} s"
            self._add("loop", "run", f"{held}, and nobody was answered: do what takes long in `asyncio.to_thread`")

    def _add(self, check: str, method: str, fix: str) -> None:
        self.faults.append(PlatformFault(check=check, method=method, fix=fix))

    # Making it

    def _make(self) -> tuple[ExtensionPlatform, WatchedHost] | None:
        if len(self._extension.platforms) != 1:
            self._add("start", "Extension.platforms", "name one PlatformPart there")
            return None
        part = self._extension.platforms[0]

        def create(context: PartContext) -> tuple[ExtensionPlatform, WatchedHost]:
            host = WatchedHost(self._trial, self._extension.name, context)
            return part.create(host), host

        made = self._trial.maker.make(part, self._extension, create)
        if made is None:
            self._add("start", "PlatformPart.create", f"it cannot be made: {self._trial.maker.troubles[-1]}")
            return None
        lacking = [each for each in ("places", "run") if not hasattr(made[0], each)]
        for each in lacking:
            self._add("start", each, f"the platform has no `{each}`: every platform has `places` and `run`")
        for kind in () if lacking else made[0].places:
            try:
                check_place_class(kind)
            except SetupError as error:
                self._add("start", "places", f"{error}")
        return None if self.faults else made

    async def _keep_running(self, platform: ExtensionPlatform) -> None:
        """Run it, and again after an error, as the program does, but without a wait that grows."""
        while True:
            try:
                await platform.run()
                self._endings.append(None)
                return
            except SetupError as error:
                self._endings.append(error)
                return
            except Exception as error:  # isolation: as the program runs it again
                self._endings.append(error)
            await asyncio.sleep(LOOK_EVERY_S)

    # Steps

    async def _wait_until(self, is_so: Callable[[], Awaitable[bool]]) -> bool:
        async def look_until_so() -> None:
            while True:
                if await is_so():
                    return
                await asyncio.sleep(LOOK_EVERY_S)

        return await finish_within(look_until_so(), self._limit_s)

    async def _say(self, host: WatchedHost, person: str, text: str, *, is_dm: bool) -> _Heard | None:
        """*person* writes; what was handed on of it, None where nothing was in time."""
        already = len(host.heard)

        async def is_heard() -> bool:
            return len(host.heard) > already

        await finish_within(self._network.say(person, text, is_dm=is_dm), self._limit_s)
        return host.heard[already] if await self._wait_until(is_heard) else None

    async def _is_shown(self, words: str, person: str | None) -> bool:
        async def is_there() -> bool:
            return words in " ".join(await self._network.list_shown(person))

        return await self._wait_until(is_there)

    async def _rest(self, host: WatchedHost) -> None:
        """Wait until nothing is being answered, so that the next step begins in quiet."""

        async def wait() -> None:
            await self._trial.familiar.intake.wait_until_idle()
            path = self._trial.familiar.reply_path
            for channel_id in {each.message.channel_id for each in host.heard}:
                await path.queue.wait_until_channel_idle(channel_id)
            await path.recorder.wait_until_idle()

        await finish_within(wait(), self._limit_s)

    # Checks

    async def _check_hearing(self, host: WatchedHost) -> bool:
        """Something said in the room is handed on, and answered there."""
        heard = await self._say(host, "ada", f"{NAME}, a {SHORT} word, please", is_dm=False)
        if heard is None:
            self._add("hear", "run", f"nothing said in the room was handed on{self._why_ended()}: call `host.hear`")
            return False
        if heard.message.channel_id not in host.joined:
            named = heard.message.channel_name
            self._add("hear", "host.join", f"{named!r} was not joined: call `host.join` before `host.hear`")
        if heard.message.author.platform != host.platform:
            self._add("hear", "host.author", "make every author with `host.author`, which knows the platform")
        if not heard.message.is_mention:
            self._add("hear", "host.hear", "say `is_mention=True` where someone speaks to the familiar")
        if not await self._is_shown(GREETING, None):
            self._add("answer", "Place.send", "the reply did not arrive in the room: send every text that it is given")
        await self._rest(host)
        return True

    def _why_ended(self) -> str:
        if not self._endings:
            return ""
        error = self._endings[-1]
        return " (run ended by itself)" if error is None else f" (run ended with {type(error).__name__}: {error})"

    async def _check_splitting(self, host: WatchedHost) -> None:
        """A reply longer than a message arrives whole, in order and once."""
        already = len(await self._network.list_shown(None))
        if await self._say(host, "ada", f"{NAME}, a {LONG} story, please", is_dm=False) is None:
            self._add("split", "run", "a second message in the room was not handed on")
            return
        words = _long_words()
        await self._is_shown(words[-1], None)
        await self._rest(host)
        shown = " ".join((await self._network.list_shown(None))[already:]).split()
        found = [word for word in shown if word in set(words)]
        if found != words:
            how = "twice" if len(found) > len(words) else "not all, or not in order"
            self._add(
                "split",
                "Place.features",
                f"of a long reply the words arrived {how}: `limit` is the longest text that one `send` takes",
            )

    async def _check_people(self, host: WatchedHost) -> None:
        """Who somebody is stays the same, and is nobody else's."""
        first = await self._say(host, "bo", f"{NAME}, {SHORT}", is_dm=False)
        again = await self._say(host, "bo", f"{NAME}, {SHORT} again", is_dm=False)
        other = await self._say(host, "cy", f"{NAME}, {SHORT}", is_dm=False)
        if first is None or again is None or other is None:
            self._add("people", "run", "a message of a second or third person was not handed on")
            return
        if first.message.author.user_id != again.message.author.user_id:
            self._add(
                "people", "host.author", "one person came with two user ids: take what the network keeps for them"
            )
        if first.message.author.user_id == other.message.author.user_id:
            self._add("people", "host.author", "two people came with one user id: take what the network tells apart")
        ids = [each.message.message_id for each in (first, again, other) if each.message.message_id is not None]
        if len(ids) != len(set(ids)):
            self._add("people", "host.hear", "two messages came with one `message_id`: the second would not be stored")
        await self._rest(host)
        if await self._network.rename("bo", "bea"):
            renamed = await self._say(host, "bo", f"{NAME}, {SHORT}", is_dm=False)
            if renamed is None or renamed.message.author.user_id != first.message.author.user_id:
                self._add("people", "host.author", "who took another name is another person: keep the id apart from it")
            await self._rest(host)

    async def _check_readers(self, host: WatchedHost) -> None:
        """A room is read by those who can read it, a direct message by the two of them."""
        room = next(each for each in host.heard if not each.message.is_dm)
        await finish_within(self._check_room(room.place), self._limit_s)
        direct = await self._say(host, "ada", f"a {SHORT} word", is_dm=True)
        if direct is None:
            self._add("readers", "run", "a direct message was not handed on: call `host.hear` with `is_dm=True`")
            return
        if not direct.message.is_dm:
            self._add("readers", "host.hear", "a direct message came without `is_dm=True`: others would be told of it")
        if direct.message.channel_id == room.message.channel_id:
            self._add("readers", "host.hear", "a direct message came in the room's channel: name it by the user id")
        scene = await direct.place.scene()
        if not scene.is_dm or direct.message.author.canonical_key not in scene.reader_keys:
            self._add(
                "readers",
                "Place.scene",
                "a direct message must say `read_by=ReadBy.people` and name its people, so that nobody else counts",
            )
        if not await self._is_shown(GREETING, "ada"):
            self._add("readers", "Place.send", "the answer to a direct message did not arrive there")
        await self._rest(host)

    async def _check_room(self, place: Place) -> None:
        scene = await place.scene()
        is_public = self._network.room_read_by is ReadBy.everyone
        if scene.is_dm or scene.is_public != is_public:
            named = self._network.room_read_by.name
            self._add("readers", "Place.scene", f"the room must say `read_by=ReadBy.{named}`, for so it is")

    async def _check_refused_sending(self, host: WatchedHost) -> None:
        """What cannot be sent is a `DeliveryError`; afterwards it goes on."""
        place = next(each.place for each in host.heard if not each.message.is_dm)
        await self._network.refuse(is_refused=True)
        try:
            is_sent = await finish_within(place.send("This does not arrive."), self._limit_s)
            fault = "the network refused a text and nothing was raised: raise DeliveryError"
            late = f"it waited longer than {self._limit_s:g} s: raise DeliveryError in time"
            self._add("failure", "Place.send", fault if is_sent else late)
        except DeliveryError:
            pass
        except Exception as error:  # isolation: whatever it is, it is the fault that is told
            kind = type(error).__name__
            self._add("failure", "Place.send", f"it raised {kind}, which ends the reply: raise DeliveryError from it")
        finally:
            await self._network.refuse(is_refused=False)
        already = len(await self._network.list_shown(None))
        await self._say(host, "ada", f"{NAME}, {SHORT} once more", is_dm=False)

        async def is_answered() -> bool:
            return GREETING in (await self._network.list_shown(None))[already:]

        if not await self._wait_until(is_answered):
            self._add("failure", "run", f"after a failure nothing is answered any more{self._why_ended()}")
        await self._rest(host)

    async def _check_ending(
        self, running: asyncio.Task[None], host: WatchedHost, before: set[asyncio.Task[object]]
    ) -> None:
        """Cancelled, it ends soon, and leaves nothing behind."""
        if self._endings and self._endings[-1] is None:
            self._add("end", "run", "it ended by itself: hear and answer until cancelled, or raise an error")
        running.cancel()

        async def has_ended() -> bool:
            return running.done()

        if not await self._wait_until(has_ended):
            self._add(
                "end", "run", f"it still runs {self._limit_s:g} s after it was cancelled: let CancelledError pass"
            )
            return
        await finish_within(host.aclose(), self._limit_s)
        await self._rest(host)

        async def are_over() -> bool:
            return not _list_strange(asyncio.all_tasks() - before)

        if not await self._wait_until(are_over):
            left = _list_strange(asyncio.all_tasks() - before)
            names = ", ".join(each.get_name() for each in left)
            self._add("end", "run", f"work of it goes on ({names}): begin what runs beside with `host.start`")
            for each in left:
                each.cancel()


def _list_strange(tasks: Iterable[asyncio.Task[object]]) -> list[asyncio.Task[object]]:
    """Those whose code is neither the program's nor Python's own."""
    ours = (str(Path(familiar_connect.__file__).parent), str(Path(asyncio.__file__).parent))
    codes = {task: getattr(task.get_coro(), "cr_code", None) for task in tasks if not task.done()}
    return [task for task, code in codes.items() if code is not None and not code.co_filename.startswith(ours)]
