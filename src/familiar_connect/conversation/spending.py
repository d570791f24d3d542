"""SpendingMeter: counts what every call used, for whom, and says when a cap of [limits] is reached.

A turn is reserved for before its first call: what it may still use counts as used, so turns side by side pass a cap
by one turn at most. Calls of a turn that was let in are not refused; others are, once the day's cap is reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from familiar_connect.config.limits import LimitsConfig, PersonLimits, PlaceLimits
from familiar_connect.config.llm import LLMSlotConfig
from familiar_connect.errors import SpendingLimitError
from familiar_connect.llm.types import Usage
from familiar_connect.observe.spending import (
    KEEP_MINUTES,
    NOBODY,
    DayRecord,
    RefusedMessages,
    Spending,
    SpendingStore,
)
from familiar_connect.support.aio import BackgroundTasks, KeyedLocks, off_loop, run_to_end
from familiar_connect.support.clock import Clock

BACKGROUND_SLOTS = frozenset({"memory_writer", "history_summary", "interjection_decision"})
"""Work that nobody in particular asked for, whoever's message set it off: it is the house's."""
FIRST_TURN = Spending(prompt_tokens=2_000)
"""What a turn is taken to use before one was seen."""
MILLION = 1_000_000
MAX_EARLIER_DAYS = 7


@dataclass
class _Payer:
    """Whom calls are counted for; *expected* of a turn that was let in, until it ends."""

    person: str
    expected: Spending = Spending()
    used: Spending = Spending()
    is_turn: bool = False
    places: tuple[str, ...] = ()
    """Where it is counted as well: the channel, and the server where that has limits of its own."""

    def add(self, spent: Spending) -> None:
        self.used += spent

    @property
    def open_tokens(self) -> int:
        return max(0, self.expected.tokens - self.used.tokens) if self.is_turn else 0

    @property
    def open_money(self) -> float:
        return max(0.0, self.expected.money - self.used.money) if self.is_turn else 0.0


_payer: ContextVar[_Payer | None] = ContextVar("payer", default=None)


@dataclass(frozen=True)
class TokenPrice:
    """What a million tokens cost."""

    input: float = 0.0
    output: float = 0.0

    def cost(self, usage: Usage) -> float:
        """What the provider says, else by the price."""
        if usage.cost is not None:
            return usage.cost
        return (usage.prompt_tokens * self.input + usage.completion_tokens * self.output) / MILLION


def token_prices(slots: Mapping[str, LLMSlotConfig]) -> dict[str, TokenPrice]:
    """The price of each slot, as its settings say; the embedded model costs nothing."""
    return {
        slot: TokenPrice(config.price_per_million_input or 0.0, config.price_per_million_output or 0.0)
        for slot, config in slots.items()
        if not config.is_embedded
    }


@dataclass(frozen=True)
class CapReached:
    """A cap of [limits] by its setting's name, with what was used of it."""

    setting: str
    used: float
    limit: float

    def __str__(self) -> str:
        if "money" in self.setting:
            return f"{self.used:.2f} of {self.limit:.2f} spent today ([limits] {self.setting})"
        return f"{self.used:,.0f} of {self.limit:,.0f} tokens used today ([limits] {self.setting})"


class SpendingMeter:
    """The spending of one familiar today, in memory and in the ledger."""

    def __init__(
        self,
        store: SpendingStore,
        *,
        limits: LimitsConfig,
        prices: Mapping[str, TokenPrice],
        zone: ZoneInfo,
        clock: Clock,
    ) -> None:
        self._store = store
        self._limits = limits
        self._prices = prices
        self._zone = zone
        self._clock = clock
        self._stored = DayRecord("")
        """Today as the ledger had it when it was last read."""
        self._unwritten = DayRecord("")
        """Today's changes since then."""
        self._writing: list[DayRecord] = []
        self._earlier: list[DayRecord] = []
        """Days that are over and could not be written yet."""
        self._loaded_day = ""
        self._is_write_queued = False
        self._turns: list[_Payer] = []
        self._largest = FIRST_TURN
        self._locks = KeyedLocks()
        self._background = BackgroundTasks("spending")

    def now(self) -> datetime:
        return self._clock.now().astimezone(self._zone)

    def today(self) -> DayRecord:
        """All that is known of today; another day begins at midnight."""
        day = self._day()
        stored = self._stored
        record = DayRecord(day, dict(stored.spending), dict(stored.refusals), dict(stored.places))
        for more in (*self._writing, self._unwritten):
            if more.day == day:
                record.add_day(more)
        return record

    # Calls

    def check_call(self, slot: str) -> None:
        """Refuse a call outside of a turn once the day's cap is reached."""
        payer = _payer.get()
        if payer is not None and payer.is_turn and slot not in BACKGROUND_SLOTS:
            return
        reached = self.day_cap_reached()
        if reached is not None:
            raise SpendingLimitError(f"no model is asked again today: {reached}")

    def record_call(self, slot: str, usage: Usage) -> None:
        """A call of *slot* ended: count it for the day and for whom it was made."""
        payer = None if slot in BACKGROUND_SLOTS else _payer.get()
        spent = Spending(
            calls=1,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            money=self._prices.get(slot, TokenPrice()).cost(usage),
        )
        self._day()
        if payer is not None:
            payer.add(spent)
        self._unwritten.add_spending(payer.person if payer is not None else NOBODY, spent)
        for place in payer.places if payer is not None else ():
            self._unwritten.add_place(place, spent)
        self._write_soon()

    # Caps

    def day_cap_reached(self, *, with_open_turns: bool = False) -> CapReached | None:
        """The cap of the whole day that is reached; *with_open_turns*: or would be by the turns under way."""
        if not (self._limits.tokens_per_day or self._limits.money_per_day):
            return None
        total = self.today().total
        turns = self._turns if with_open_turns else []
        tokens = ("tokens_per_day", self._limits.tokens_per_day)
        return _find_reached(tokens, ("money_per_day", self._limits.money_per_day), total, turns)

    def person_cap_reached(
        self, person: str, limits: PersonLimits, *, with_open_turns: bool = False
    ) -> CapReached | None:
        """As of the day, for what one person uses of *limits*."""
        if not (limits.tokens_per_person_per_day or limits.money_per_person_per_day):
            return None
        spent = self.today().spending.get(person, Spending())
        turns = [turn for turn in self._turns if turn.person == person] if with_open_turns else []
        tokens = ("tokens_per_person_per_day", limits.tokens_per_person_per_day)
        money = ("money_per_person_per_day", limits.money_per_person_per_day)
        return _find_reached(tokens, money, spent, turns)

    def place_cap_reached(self, place: str, limits: PlaceLimits, *, with_open_turns: bool = False) -> CapReached | None:
        """As of the day, for what everybody uses in one *place*."""
        if not (limits.tokens_per_day or limits.money_per_day):
            return None
        spent = self.today().places.get(place, Spending())
        turns = [turn for turn in self._turns if place in turn.places] if with_open_turns else []
        tokens = ("tokens_per_day", limits.tokens_per_day)
        return _find_reached(tokens, ("money_per_day", limits.money_per_day), spent, turns)

    # Turns

    @contextmanager
    def charge(self, person: str) -> Iterator[None]:
        """Count the calls of this block, and of the tasks it starts, for *person*."""
        with self._pay(_Payer(person)):
            yield

    @contextmanager
    def reserve_turn(self, person: str, places: tuple[str, ...] = ()) -> Iterator[None]:
        """As `charge`, for a turn that was let in: it counts as large as the largest seen until it ends.

        It counts for *places*, too: those around it.
        """
        turn = _Payer(person, self._largest, is_turn=True, places=places)
        self._turns.append(turn)
        try:
            with self._pay(turn):
                yield
        finally:
            turn.is_turn = False
            self._turns = [each for each in self._turns if each is not turn]
            self._largest = Spending(
                prompt_tokens=max(self._largest.tokens, turn.used.tokens),
                money=max(self._largest.money, turn.used.money),
            )

    @contextmanager
    def _pay(self, payer: _Payer) -> Iterator[None]:
        token = _payer.set(payer)
        try:
            yield
        finally:
            _payer.reset(token)

    # Refusals

    def count_refusal(self, person: str, reason: str, *, is_telling: bool) -> bool:
        """A message was not answered; *is_telling*: somebody is to hear of it. True: they have not today."""
        is_first = not self.was_told(person, reason)
        refused = RefusedMessages(messages=1, is_told=is_telling, last_at=self.now().isoformat(timespec="seconds"))
        self._unwritten.add_refusal(person, reason, refused)
        self._write_soon()
        return is_telling and is_first

    def was_told(self, person: str, reason: str) -> bool:
        """Whether *person* heard today that they are refused for *reason*."""
        return self.today().refusals.get((person, reason), RefusedMessages()).is_told

    # Replies of the last hour

    def count_reply(self, whose: str) -> None:
        """A reply is made for a person or in a place that has a limit an hour."""
        self._day()
        self._unwritten.add_replies(whose, self._minute(), 1)
        self._write_soon()

    def replies_in_hour(self, whose: str) -> int:
        """How many there were for *whose* in this minute and the sixty before it, by whichever program."""
        now = self._minute()
        records = (self._stored, *self._earlier, *self._writing, self._unwritten)
        return sum(
            each.replies.get((whose, minute), 0)
            for each in records
            if each.replies
            for minute in range(now - KEEP_MINUTES, now + 1)
        )

    def _minute(self) -> int:
        return int(self._clock.now().timestamp()) // 60

    # The ledger

    def has_caps(self, limits: PersonLimits | None) -> bool:
        """Whether somebody with *limits*, or the owner, who has none, may be refused for what was used.

        What other programs used counts then.
        """
        if self._limits.tokens_per_day or self._limits.money_per_day:
            return True
        return limits is not None and bool(limits.tokens_per_person_per_day or limits.money_per_person_per_day)

    async def sync(self) -> None:
        """Write what is not written, and learn what other programs added."""
        async with self._locks.lock("sync"):
            await run_to_end(self._sync())

    async def load(self) -> None:
        """Know what was used today before this program began; once a day."""
        if self._loaded_day != self._day():
            await self.sync()

    async def aclose(self) -> None:
        """Write what is left."""
        await self._background.wait_until_idle()
        await self.sync()

    def _write_soon(self) -> None:
        if not self._is_write_queued:
            self._is_write_queued = True
            self._background.start(self.sync(), name="write")

    async def _sync(self) -> None:
        self._is_write_queued = False
        day = self._day()
        batch = [record for record in (*self._earlier, self._unwritten) if not record.is_empty]
        self._writing, self._earlier, self._unwritten = batch, [], DayRecord(day)
        stored, failed = await off_loop(self._store.add_and_read, batch, day)
        self._writing = []
        if stored is not None and day == self._day():
            self._stored, self._loaded_day = stored, day
        elif day == self._day():
            self._loaded_day = day
            for record in batch:
                if record not in failed and record.day == day:
                    self._stored.add_day(record)
        for record in failed:
            hour_ago = self._minute() - KEEP_MINUTES
            record.replies = {key: number for key, number in record.replies.items() if key[1] >= hour_ago}
            if record.day == self._unwritten.day:
                self._unwritten.add_day(record)
            else:
                self._earlier = [*self._earlier, record][-MAX_EARLIER_DAYS:]

    def _day(self) -> str:
        """Today's date; at the first look after midnight everything counted before is yesterday's."""
        day = self.now().date().isoformat()
        if day != self._unwritten.day:
            if not self._unwritten.is_empty:
                self._earlier = [*self._earlier, self._unwritten][-MAX_EARLIER_DAYS:]
            self._stored, self._unwritten = DayRecord(day, replies=self._stored.replies), DayRecord(day)
        return day


def _find_reached(
    tokens: tuple[str, int], money: tuple[str, float], spent: Spending, turns: Sequence[_Payer]
) -> CapReached | None:
    """The first of two caps, each a name and a limit, that *spent* and what *turns* may still use come up to."""
    used_tokens = spent.tokens + sum(turn.open_tokens for turn in turns)
    used_money = spent.money + sum(turn.open_money for turn in turns)
    for (name, limit), used in ((tokens, used_tokens), (money, used_money)):
        if limit and used >= limit:
            return CapReached(name, used, limit)
    return None
