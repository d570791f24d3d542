"""ReplyLimits: who is not answered now, because the owner ignores them or because a limit is reached.

What is refused is stored as everything is, asks no model, and is told once a day to whom it concerns. The owner is
bound by the caps of the day alone.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import Enum

from familiar_connect.chat.place import Place
from familiar_connect.config.limits import LimitsConfig
from familiar_connect.conversation.ignored import IgnoreList
from familiar_connect.conversation.owner import OwnerContact
from familiar_connect.conversation.spending import CapReached, SpendingMeter
from familiar_connect.conversation.types import Exchange, ResponseTrigger
from familiar_connect.identity import LOCAL_PLATFORMS, Author
from familiar_connect.observe.spending import NOBODY
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.lru import LruCache
from familiar_connect.support.text import one_line

logger = logging.getLogger(__name__)

MAX_RATES = 10_000
"""People whose rate is known; of the others everyone begins anew."""
MINUTE_S = 60.0
MAX_NAME = 60


class RefusalReason(Enum):
    """Why a message is not answered; the value is the setting's name, where there is one."""

    ignored = "ignored"
    too_fast = "replies_per_person_per_minute"
    person_tokens = "tokens_per_person_per_day"
    person_money = "money_per_person_per_day"
    day_tokens = "tokens_per_day"
    day_money = "money_per_day"

    @property
    def is_of_the_day(self) -> bool:
        return self in (RefusalReason.day_tokens, RefusalReason.day_money)


@dataclass
class _Bucket:
    """Replies somebody may still have, and when that was so."""

    left: float
    at: float


class ReplyRate:
    """So many replies a minute for each person, at once or spread."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: LruCache[str, _Bucket] = LruCache(MAX_RATES)

    def has_reply_left(self, person: str) -> bool:
        return not self._per_minute or self._filled(person).left >= 1

    def take(self, person: str) -> None:
        """One reply is made for *person*."""
        if self._per_minute:
            bucket = self._filled(person)
            bucket.left -= 1
            self._buckets.put(person, bucket)

    def _filled(self, person: str) -> _Bucket:
        now = self._clock.monotonic()
        known = self._buckets.get(person)
        if known is None:
            return _Bucket(float(self._per_minute), now)
        passed = max(0.0, now - known.at)
        left = min(float(self._per_minute), known.left + passed * self._per_minute / MINUTE_S)
        return _Bucket(left, now)


class ReplyLimits:
    """Asked when a message is heard and again when it is answered."""

    def __init__(
        self,
        *,
        limits: LimitsConfig,
        meter: SpendingMeter,
        ignored: IgnoreList,
        owner: OwnerContact,
        clock: Clock,
    ) -> None:
        self._limits = limits
        self._meter = meter
        self._ignored = ignored
        self._owner = owner
        self._rate = ReplyRate(limits.replies_per_person_per_minute, clock)

    async def refuse_message(self, author: Author, place: Place, *, is_addressed: bool) -> RefusalReason | None:
        """Why a message of *author* is not answered, and no occasion to speak; None: it may be.

        Whoever spoke to us is told, once a day for each reason.
        """
        await self._meter.load()
        return await self._refuse(author, place, is_addressed=is_addressed, is_reserving=False)

    @contextmanager
    def charge(self, author: Author) -> Iterator[None]:
        """Count calls made to decide about a message of *author* for them."""
        with self._meter.charge(author.canonical_key):
            yield

    @asynccontextmanager
    async def admit(self, exchange: Exchange, place: Place) -> AsyncIterator[bool]:
        """Whether *exchange* is answered; while this is open, its calls are counted for whoever spoke to us last."""
        author = person_answered(exchange)
        if author is None:
            yield True
            return
        if self._meter.has_caps(is_owner=self._is_owner(author)):
            await self._meter.sync()
        is_direct = exchange.trigger is ResponseTrigger.direct_address
        is_addressed = is_direct or any(message.is_for_us for message in exchange.messages)
        if await self._refuse(author, place, is_addressed=is_addressed, is_reserving=True) is not None:
            yield False
            return
        if not self._is_owner(author):
            self._rate.take(author.canonical_key)
        try:
            with self._meter.reserve_turn(author.canonical_key):
                yield True
        finally:
            if author.platform not in LOCAL_PLATFORMS:  # who sits at the machine is told when they next speak
                await self._tell_owner_of_cap(self._meter.day_cap_reached())

    async def _refuse(
        self, author: Author, place: Place, *, is_addressed: bool, is_reserving: bool
    ) -> RefusalReason | None:
        found = await self._find(author, is_reserving=is_reserving)
        if found is None:
            return None
        refusal, cap = found
        is_own_door = author.platform in LOCAL_PLATFORMS
        is_telling = refusal is not RefusalReason.ignored and is_addressed
        is_first = self._meter.count_refusal(author.canonical_key, refusal.value, is_telling=is_telling)
        logger.info("message not answered", extra={"reason": refusal.value, "person": author.canonical_key})
        if refusal.is_of_the_day and not is_own_door:
            await self._tell_owner_of_cap(cap)
        if is_telling and (is_first or is_own_door):
            await place.notice(owner_sentence(cap) if is_own_door and cap else self._sentence(refusal, author))
        return refusal

    async def _find(self, author: Author, *, is_reserving: bool) -> tuple[RefusalReason, CapReached | None] | None:
        is_owner = self._is_owner(author)
        if not is_owner and await off_loop(self._ignored.is_ignored, author):
            return RefusalReason.ignored, None
        cap = self._meter.day_cap_reached(with_open_turns=is_reserving)
        if cap is None and not is_owner:
            cap = self._meter.person_cap_reached(author.canonical_key, with_open_turns=is_reserving)
        if cap is not None:
            return RefusalReason(cap.setting), cap
        if not is_owner and not self._rate.has_reply_left(author.canonical_key):
            return RefusalReason.too_fast, None
        return None

    def _is_owner(self, author: Author) -> bool:
        return author.platform in LOCAL_PLATFORMS or self._owner.is_owner(author)

    def _sentence(self, refusal: RefusalReason, author: Author) -> str:
        name = one_line(author.label)[:MAX_NAME]
        if refusal is RefusalReason.too_fast:
            return (
                f"{name}, I cannot keep up: I answer one person at most {self._limits.replies_per_person_per_minute}"
                " times a minute. I have read what you wrote; ask me again in a moment."
            )
        if refusal.is_of_the_day:
            return f"{name}, I have said all I may for today. I have read what you wrote; ask me again tomorrow."
        return f"{name}, we have talked as much as I may with one person in a day. Let us go on tomorrow."

    async def _tell_owner_of_cap(self, cap: CapReached | None) -> None:
        """Tell the owner once a day that no more is answered."""
        if cap is None or not self._owner.is_reachable or self._meter.was_told(NOBODY, cap.setting):
            return
        self._meter.count_refusal(NOBODY, cap.setting, is_telling=True)
        try:
            await self._owner.tell(owner_sentence(cap))
        except Exception as error:  # isolation: whoever is to be told may be out of reach
            logger.warning("the owner could not be told", extra={"error": type(error).__name__})


def owner_sentence(cap: CapReached) -> str:
    """What the owner is told of a cap, with the fix."""
    return f"Today's limit is reached: {cap}. Nobody is answered until midnight; raise it in character.toml to go on."


def person_answered(exchange: Exchange) -> Author | None:
    """Whose message is answered: that of the last who spoke to us, else of the last who spoke."""
    if exchange.asked.revises is not None:
        return exchange.speaker
    addressed = [message for message in exchange.messages if message.is_for_us]
    messages = addressed or list(exchange.messages)
    return messages[-1].author if messages else None
