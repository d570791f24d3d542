"""ReminderTimer: tells people what they asked to be reminded of, when it is due, in the place where they asked.

The familiar says it in its own words; where no model answers, the plain words go out. What fell due while the program
or the platform was away is told late, with a word about it. A reminder is crossed out once it was told, so a program
that dies in between tells it after its next start. One that comes again is put forward to its next time instead; times
that passed meanwhile are not made up for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

from familiar_connect.chat.annotate.notes import LATE_AFTER
from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage, Reminder, TurnOptions
from familiar_connect.conversation.queue import ReplyQueue
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.errors import DeliveryError
from familiar_connect.history.reminders import ReminderBook, StoredReminder
from familiar_connect.identity import Privacy
from familiar_connect.support.aio import BackgroundTasks, CallLater, RestartableTimer, call_later, off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.lru import LruCache

logger = logging.getLogger(__name__)

LEAST_WAIT_S, LONGEST_WAIT_S = 0.02, 300.0
"""Looked again at least this often: a computer that slept has lost time."""
RETRY_S = 300.0
"""Until a reminder whose place is out of reach is tried again."""
GIVEN_UP_AFTER = timedelta(days=7)
"""How late a reminder whose place is out of reach may be before it is given up."""
RECURRING_GIVEN_UP_AFTER = timedelta(days=30)
"""As much, for one that comes again."""
MAX_REMEMBERED = 1_000

PlaceAt = Callable[[StoredReminder], Awaitable[Place | None]]
"""Where a reminder is told; None: it is out of reach now."""
TellPlainly = Callable[[str], Awaitable[None]]


class RemindersTold:
    """Which reminders a reply has told, as whoever makes replies notes it."""

    def __init__(self) -> None:
        self._told: LruCache[Reminder, bool] = LruCache(MAX_REMEMBERED)

    def note(self, reminder: Reminder | None) -> None:
        if reminder is not None:
            self._told.put(reminder, True)

    def take(self, reminder: Reminder) -> bool:
        """Whether *reminder* was told; asked once."""
        return bool(self._told.pop(reminder))


@dataclass(frozen=True, eq=False)
class _Door:
    """How people of one platform are reached, until the platform goes away; when it is back, all is tried at once."""

    place_at: PlaceAt | None
    tell: TellPlainly | None
    not_before: LruCache[int, float] = field(default_factory=lambda: LruCache(MAX_REMEMBERED))


class ReminderTimer:
    """Waits for the next reminder that can be told, and has it told."""

    def __init__(
        self,
        book: ReminderBook,
        *,
        queue: ReplyQueue,
        told: RemindersTold,
        privacy: Privacy,
        clock: Clock,
        zone: tzinfo,
        later: CallLater = call_later,
    ) -> None:
        self._book = book
        self._queue = queue
        self._told = told
        self._privacy = privacy
        self._clock = clock
        self._zone = zone
        self._doors: dict[str, _Door] = {}
        self._timer = RestartableTimer(self.arm, later)
        self._looking = asyncio.Lock()
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._done: LruCache[tuple[int, datetime], bool] = LruCache(MAX_REMEMBERED)
        """Those that are over, by when they were due: a look that began before may still find them."""
        self._background = BackgroundTasks("reminders")
        book.watch(self.arm)

    @contextmanager
    def connect(
        self, platform: str, *, place_at: PlaceAt | None = None, tell: TellPlainly | None = None
    ) -> Iterator[None]:
        """Reach people of *platform* while this is open: by a reply at a place, or by plain words."""
        door = self._doors[platform] = _Door(place_at, tell)
        self.arm()
        try:
            yield
        finally:
            if self._doors.get(platform) is door:
                del self._doors[platform]

    def can_reach(self, platform: str) -> bool:
        """Whether people of *platform* can be told something unasked now."""
        return platform in self._doors

    def arm(self) -> None:
        """Have told what is due, and look when the next reminder is."""
        if self._doors:
            self._background.start(self._wait_for_next(), name="arm")

    async def _wait_for_next(self) -> None:
        async with self._looking:  # one look at a time: the older of two must not end the timer of the newer
            overdue, upcoming = await off_loop(self._book.due_and_upcoming, tuple(self._doors))
            self._timer.cancel()
            if upcoming is None and not overdue:
                return
            self._start(overdue)
            left_s = (upcoming - self._clock.now()).total_seconds() if upcoming is not None else RETRY_S
            self._timer.restart(min(LONGEST_WAIT_S, max(LEAST_WAIT_S, left_s)))

    async def tell_due(self) -> None:
        """Tell whatever is due and can be told, and wait until it is, whoever began to."""
        due, _ = await off_loop(self._book.due_and_upcoming, tuple(self._doors))
        tasks = self._start(due)
        if tasks:
            await asyncio.wait(tasks)

    def _start(self, due: Sequence[StoredReminder]) -> list[asyncio.Task[None]]:
        """Begin to tell those of *due* that nobody tells already and that were not tried just now; who tells any."""
        for each in due:
            is_open = each.id not in self._under_way and self._done.get((each.id, each.due_at)) is None
            if is_open and self._is_reachable(each):
                self._under_way[each.id] = self._background.start(self._tell(each), name=str(each.id))
        return [self._under_way[each.id] for each in due if each.id in self._under_way]

    def _is_reachable(self, stored: StoredReminder) -> bool:
        """Whether the platform is here, and the place was not out of reach just now."""
        door = self._doors.get(stored.author.platform)
        now_s = self._clock.monotonic()
        return door is not None and (door.not_before.get(stored.id) or now_s) <= now_s

    async def _tell(self, stored: StoredReminder) -> None:
        door = self._doors.get(stored.author.platform)
        is_private = self._privacy.is_full(stored.author)
        try:
            is_over = is_private or (door is not None and await self._try(stored, door))
        except Exception:  # isolation: one reminder that cannot be told costs no other
            logger.exception("a reminder could not be told", extra={"reminder": stored.id})
            is_over = False
        if is_over:
            self._done.put((stored.id, stored.due_at), True)
        try:
            is_wanted_again = await self._put_away(stored, door, is_over=is_over, is_private=is_private)
        finally:
            del self._under_way[stored.id]
        if is_wanted_again:
            self.arm()

    async def _put_away(self, stored: StoredReminder, door: _Door | None, *, is_over: bool, is_private: bool) -> bool:
        """Cross out a reminder, or put it forward or off; whether to look again at once what is due."""
        if is_over and not is_private and stored.repeats is not None:
            upcoming = stored.repeats.next_after(self._clock.now(), self._zone, last=stored.due_at)
            await off_loop(self._book.move_on, stored.id, upcoming)
            return True
        patience = GIVEN_UP_AFTER if stored.repeats is None else RECURRING_GIVEN_UP_AFTER
        if is_over or self._clock.now() - stored.due_at > patience:
            await off_loop(self._book.remove, stored.id)
            return False
        if door is not None:
            door.not_before.put(stored.id, self._clock.monotonic() + RETRY_S)
        return self._doors.get(stored.author.platform) is not door  # the platform came back meanwhile

    async def _try(self, stored: StoredReminder, door: _Door) -> bool:
        """Have a reminder told; False: nobody can be reached now."""
        if door.tell is not None:
            await door.tell(self.plain_words(stored))
            await off_loop(self._book.record_plain, stored, self.plain_words(stored))
            return True
        place = await door.place_at(stored) if door.place_at is not None else None
        if place is None:
            return False
        reminder = Reminder(purpose=stored.purpose, recipient=stored.author, due_at=stored.due_at)
        self._queue.set_place(stored.channel_id, place, guild_id=stored.guild_id)
        is_dm = stored.guild_id is None and not (await place.scene()).is_room
        message = self._message(stored, TurnOptions(reminder=reminder), is_dm=is_dm)
        self._queue.answer(stored.channel_id, [message], trigger=ResponseTrigger.direct_address)
        await self._queue.wait_until_channel_idle(stored.channel_id)
        if self._told.take(reminder):
            return True
        marks = place.text_marks(())
        mention = marks.mention(stored.author.user_id) if marks is not None else ""
        try:
            await place.send(f"{mention} {self.plain_words(stored)}".strip())
        except DeliveryError as error:
            logger.warning("a reminder could not be sent", extra={"reminder": stored.id, "reason": str(error)})
            return False
        await off_loop(self._book.record_plain, stored, self.plain_words(stored))
        return True

    def _message(self, stored: StoredReminder, asked: TurnOptions, *, is_dm: bool) -> BufferedMessage:
        """What the queue answers: nobody said it, so it is in no dialogue."""
        now = self._clock.now()
        message = InboundMessage(
            platform=stored.author.platform,
            channel_id=stored.channel_id,
            author=stored.author,
            text=stored.purpose,
            timestamp=now,
            guild_id=stored.guild_id,
            is_dm=is_dm,
        )
        return BufferedMessage(stored.author, stored.purpose, now, None, message, asked, is_for_us=True)

    def plain_words(self, stored: StoredReminder) -> str:
        """A reminder as it is told where nobody puts it into words of their own."""
        due = stored.due_at.astimezone(self._zone)
        is_late = self._clock.now() - stored.due_at >= LATE_AFTER
        late = f" (late: it was due on {due:%Y-%m-%d} at {due:%H:%M})" if is_late else ""
        return f"Reminder for {stored.author.label}: {stored.purpose}{late}"

    async def wait_until_idle(self) -> None:
        await self._background.wait_until_idle()

    async def aclose(self) -> None:
        self._doors.clear()
        self._timer.cancel()
        await self._background.aclose()
