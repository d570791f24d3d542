"""ReplyLimits: who is not answered now, because the owner ignores them or because a limit is reached.

A limit is that of a person, of a channel or a server, or of the whole day. What is refused is stored as everything is,
asks no model, and is told once a day to whom it concerns. The owner is bound by the caps of the day alone.

LimitLookup: which limits hold for a person with their roles, and for the channel and the server around a message.

Roles and the names of servers are what the platform stated with the newest message; they are kept in memory alone.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.limits import LimitsConfig, PersonLimits, PlaceLimits, RoleLimits
from familiar_connect.conversation.ignored import IgnoreList
from familiar_connect.conversation.place_readers import OwnerContact
from familiar_connect.conversation.spending import CapReached, SpendingMeter
from familiar_connect.conversation.types import Exchange, ResponseTrigger
from familiar_connect.errors import ConfigError, DeliveryError
from familiar_connect.identity import LOCAL_PLATFORMS, Author
from familiar_connect.observe.spending import NOBODY
from familiar_connect.support.aio import off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.lru import LruCache
from familiar_connect.support.text import how_often, one_line

MAX_PEOPLE = 10_000
"""People whose roles are known; to the others the limits for everyone apply until they speak again."""
MAX_SERVERS = 1_000
CHANNEL, SERVER = "channel", "server"


@dataclass(frozen=True)
class LimitedPlace:
    """A channel, or a server that has limits of its own."""

    kind: str
    id: int
    limits: PlaceLimits

    @property
    def key(self) -> str:
        """What it is counted under, as settings spell a place."""
        return f"{self.kind}:{self.id}"


class LimitLookup:
    """The limits of `[limits]` and of the channels' files, for one person in one place."""

    def __init__(self, limits: LimitsConfig, channels: ChannelConfigStore) -> None:
        self._limits = limits
        self._channels = channels
        self._servers = {name.casefold(): found for name, found in limits.servers.items()}
        self._roles = {name.casefold(): found for name, found in limits.roles.items()}
        self._roles_of: LruCache[tuple[str, int | None], tuple[str, ...]] = LruCache(MAX_PEOPLE)
        self._names: LruCache[int, str] = LruCache(MAX_SERVERS)

    def note(self, message: InboundMessage) -> None:
        """Remember what the platform states of the author and the server of *message*."""
        if self._roles and message.author_roles is not None:
            self._roles_of.put((message.author.canonical_key, message.guild_id), message.author_roles)
        if self._servers and message.guild_id is not None and message.server_name:
            self._names.put(message.guild_id, message.server_name)

    def person_limits(self, author: Author, guild_id: int | None) -> PersonLimits:
        """What *author* gets: of their roles that say something the most generous, else what everyone gets."""
        roles = self._roles_of.get((author.canonical_key, guild_id)) or ()
        found = [self._roles[role.casefold()] for role in roles if role.casefold() in self._roles]
        given: dict[str, Any] = {each.name: _most_generous(each.name, found) for each in fields(RoleLimits)}
        everyones: PersonLimits = self._limits
        return replace(everyones, **{name: value for name, value in given.items() if value is not None})

    def places(self, channel_id: int, guild_id: int | None) -> tuple[LimitedPlace, ...]:
        """The channel around a message, and its thread and the server where they have limits of their own; reads files.

        A thread counts with its channel also where it has a file of its own.
        """
        around = self._channels.parent_channel(channel_id)
        found = [self._channel_limits(around)]
        if around != self._channels.settings_channel(channel_id):  # a thread with a file of its own: both hold
            found.append(self._channel_limits(channel_id))
        if guild_id is not None and self._servers:
            by_id, name = self._servers.get(str(guild_id)), self._names.get(guild_id)
            named = self._servers.get(name.casefold()) if name is not None else None
            found.append(LimitedPlace(SERVER, guild_id, by_id or named or PlaceLimits()))
        return tuple(each for each in found if each is found[0] or each.limits.has_any)

    def _channel_limits(self, channel_id: int) -> LimitedPlace:
        held = PlaceLimits()
        with contextlib.suppress(ConfigError):  # the reply says so
            held = self._channels.get(channel_id).limits_in_force
        return LimitedPlace(CHANNEL, channel_id, held)


def _most_generous(setting: str, roles: list[RoleLimits]) -> float | None:
    """The largest value of *setting* among *roles*, where 0 is no limit at all; None: none of them says anything."""
    given = [value for role in roles if (value := getattr(role, setting)) is not None]
    return 0 if 0 in given else max(given, default=None)


logger = logging.getLogger(__name__)

MAX_RATES = 10_000
"""People whose rate is known; of the others everyone begins anew."""
MINUTE_S = 60.0
MAX_NAME = 60


class RefusalReason(Enum):
    """Why a message is not answered; the value is the setting's name, where there is one."""

    ignored = "ignored"
    too_fast = "replies_per_person_per_minute"
    too_many = "replies_per_person_per_hour"
    person_tokens = "tokens_per_person_per_day"
    person_money = "money_per_person_per_day"
    day_tokens = "tokens_per_day"
    day_money = "money_per_day"
    place_replies = "replies_per_hour"


@dataclass(frozen=True)
class ReplyRefusal:
    """Why a message is not answered, with the limit that is reached and the place that it is of."""

    reason: RefusalReason
    cap: CapReached | None = None
    place: LimitedPlace | None = None
    """None: a limit of a person, or of the whole day."""
    most: int = 0
    """Of replies, where those are limited."""

    @property
    def key(self) -> str:
        """What it is counted under."""
        return self.reason.value if self.place is None else f"{self.reason.value} {self.place.key}"

    @property
    def is_of_the_day(self) -> bool:
        return self.place is None and self.reason in (RefusalReason.day_tokens, RefusalReason.day_money)


@dataclass
class _Bucket:
    """Replies somebody may still have, and when that was so."""

    left: float
    at: float


class ReplyRate:
    """So many replies in a period for each person or place, at once or spread."""

    def __init__(self, period_s: float, clock: Clock) -> None:
        self._period_s = period_s
        self._clock = clock
        self._buckets: LruCache[str, _Bucket] = LruCache(MAX_RATES)

    def has_reply_left(self, key: str, most: int) -> bool:
        """Whether *key* may have another of *most* replies; 0: there is no limit."""
        return not most or self._filled(key, most).left >= 1

    def take(self, key: str, most: int) -> None:
        """One reply is made for *key*."""
        if most:
            bucket = self._filled(key, most)
            bucket.left -= 1
            self._buckets.put(key, bucket)

    def _filled(self, key: str, most: int) -> _Bucket:
        now = self._clock.monotonic()
        known = self._buckets.get(key)
        if known is None:
            return _Bucket(float(most), now)
        passed = max(0.0, now - known.at)
        return _Bucket(min(float(most), known.left + passed * most / self._period_s), now)


@dataclass(frozen=True)
class _LimitsInForce:
    """What holds for one message."""

    person: PersonLimits | None
    """None: it is the owner's, who is bound by the caps of the day alone."""
    places: tuple[LimitedPlace, ...]


class ReplyLimits:
    """Asked when a message is heard and again when it is answered."""

    def __init__(
        self,
        *,
        lookup: LimitLookup,
        meter: SpendingMeter,
        ignored: IgnoreList,
        owner: OwnerContact,
        clock: Clock,
    ) -> None:
        self._lookup = lookup
        self._meter = meter
        self._ignored = ignored
        self._owner = owner
        self._in_minute = ReplyRate(MINUTE_S, clock)

    async def refuse_message(self, message: InboundMessage, place: Place, *, is_addressed: bool) -> ReplyRefusal | None:
        """Why *message* is not answered, and no occasion to speak; None: it may be.

        Whoever spoke to us is told, once a day for each reason.
        """
        await self._meter.load()
        self._lookup.note(message)
        limits = await self._find_limits(message.author, message.channel_id, message.guild_id)
        refusal = await self._find(message.author, limits, is_reserving=False)
        if refusal is not None:
            await self._tell_of(refusal, message.author, place, is_addressed=is_addressed, asked=message)
        return refusal

    def person_limits(self, author: Author, guild_id: int | None) -> PersonLimits:
        """What *author* gets there, with the roles that they were last seen with."""
        return self._lookup.person_limits(author, guild_id)

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
        limits = await self._find_limits(author, exchange.channel_id, exchange.guild_id)
        if any(each.limits.has_any for each in limits.places) or self._meter.has_caps(limits.person):
            await self._meter.sync()
        is_direct = exchange.trigger is ResponseTrigger.direct_address
        is_addressed = is_direct or any(message.is_for_us for message in exchange.messages)
        refusal = await self._find(author, limits, is_reserving=True)
        if refusal is not None:
            await self._tell_of(refusal, author, place, is_addressed=is_addressed)
            yield False
            return
        self._take_reply(author, limits)
        try:
            with self._meter.reserve_turn(author.canonical_key, tuple(each.key for each in limits.places)):
                yield True
        finally:
            if author.platform not in LOCAL_PLATFORMS:  # who sits at the machine is told when they next speak
                await self._tell_owner_of_cap(self._meter.day_cap_reached())

    async def _find_limits(self, author: Author, channel_id: int, guild_id: int | None) -> _LimitsInForce:
        places = await off_loop(self._lookup.places, channel_id, guild_id)
        is_owner = self._is_owner(author)
        return _LimitsInForce(None if is_owner else self._lookup.person_limits(author, guild_id), places)

    def _take_reply(self, author: Author, limits: _LimitsInForce) -> None:
        """A reply is made for *author*; one for the owner counts where it is made."""
        if limits.person is not None:
            self._in_minute.take(author.canonical_key, limits.person.replies_per_person_per_minute)
            if limits.person.replies_per_person_per_hour:
                self._meter.count_reply(author.canonical_key)
        for each in limits.places:
            if each.limits.replies_per_hour:
                self._meter.count_reply(each.key)

    async def _tell_of(
        self,
        refusal: ReplyRefusal,
        author: Author,
        place: Place,
        *,
        is_addressed: bool,
        asked: InboundMessage | None = None,
    ) -> None:
        """Count a refusal, and tell who spoke to us, and the owner of a cap of the day."""
        is_own_door = author.platform in LOCAL_PLATFORMS
        is_telling = refusal.reason is not RefusalReason.ignored and is_addressed
        is_first = self._meter.count_refusal(author.canonical_key, refusal.key, is_telling=is_telling)
        logger.info("message not answered", extra={"reason": refusal.key, "person": author.canonical_key})
        if refusal.is_of_the_day and not is_own_door:
            await self._tell_owner_of_cap(refusal.cap)
        if is_telling and (is_first or is_own_door):
            told = owner_sentence(refusal.cap) if is_own_door and refusal.cap else _sentence(refusal, author)
            if asked is None or not place.features.tells_asker:
                await place.notice(told)
                return
            try:
                await place.tell_asker(asked, told)
            except DeliveryError as error:
                logger.warning("who asked could not be told of a limit", extra={"reason": str(error)})

    async def _find(self, author: Author, limits: _LimitsInForce, *, is_reserving: bool) -> ReplyRefusal | None:
        if limits.person is not None and await off_loop(self._ignored.is_ignored, author):
            return ReplyRefusal(RefusalReason.ignored)
        cap = self._meter.day_cap_reached(with_open_turns=is_reserving)
        if cap is not None:
            return ReplyRefusal(RefusalReason(cap.setting), cap)
        if limits.person is None:
            return None
        return self._find_of_person(author.canonical_key, limits.person, is_reserving=is_reserving) or next(
            filter(None, (self._find_of_place(each, is_reserving=is_reserving) for each in limits.places)), None
        )

    def _find_of_person(self, person: str, limits: PersonLimits, *, is_reserving: bool) -> ReplyRefusal | None:
        cap = self._meter.person_cap_reached(person, limits, with_open_turns=is_reserving)
        if cap is not None:
            return ReplyRefusal(RefusalReason(cap.setting), cap)
        most = limits.replies_per_person_per_minute
        if not self._in_minute.has_reply_left(person, most):
            return ReplyRefusal(RefusalReason.too_fast, most=most)
        most = limits.replies_per_person_per_hour
        if most and self._meter.replies_in_hour(person) >= most:
            return ReplyRefusal(RefusalReason.too_many, most=most)
        return None

    def _find_of_place(self, place: LimitedPlace, *, is_reserving: bool) -> ReplyRefusal | None:
        cap = self._meter.place_cap_reached(place.key, place.limits, with_open_turns=is_reserving)
        if cap is not None:
            return ReplyRefusal(RefusalReason(cap.setting), cap, place)
        most = place.limits.replies_per_hour
        if most and self._meter.replies_in_hour(place.key) >= most:
            return ReplyRefusal(RefusalReason.place_replies, place=place, most=most)
        return None

    def _is_owner(self, author: Author) -> bool:
        return author.platform in LOCAL_PLATFORMS or self._owner.is_owner(author)

    async def _tell_owner_of_cap(self, cap: CapReached | None) -> None:
        """Tell the owner once a day that no more is answered."""
        if cap is None or not self._owner.is_reachable or self._meter.was_told(NOBODY, cap.setting):
            return
        self._meter.count_refusal(NOBODY, cap.setting, is_telling=True)
        try:
            await self._owner.tell(owner_sentence(cap))
        except Exception as error:  # isolation: whoever is to be told may be out of reach
            logger.warning("the owner could not be told", extra={"error": type(error).__name__})


def _sentence(refusal: ReplyRefusal, author: Author) -> str:
    """What whoever is refused is told."""
    name = one_line(author.label)[:MAX_NAME]
    where = ""
    if refusal.place is not None:
        where = " in this channel" if refusal.place.kind == CHANNEL else " on this server"
    match refusal.reason:
        case RefusalReason.too_fast:
            return (
                f"{name}, I cannot keep up: I answer one person at most {how_often(refusal.most)} a minute. I have read"
                " what you wrote; ask me again in a moment."
            )
        case RefusalReason.too_many | RefusalReason.place_replies:
            whom = "" if refusal.place is not None else " one person"
            return (
                f"{name}, I answer{whom} at most {how_often(refusal.most)} an hour{where}. I have read what you wrote;"
                " ask me again in a while."
            )
        case RefusalReason.day_tokens | RefusalReason.day_money:
            return f"{name}, I have used up today's limit{where}. I have read what you wrote; ask me again tomorrow."
        case _:
            return f"{name}, we have talked as much as I may with one person in a day. Let us continue tomorrow."


def owner_sentence(cap: CapReached) -> str:
    """What the owner is told of a cap, with the fix."""
    return f"Today's limit is reached: {cap}. No one gets an answer until midnight; raise it in character.toml."


def person_answered(exchange: Exchange) -> Author | None:
    """Whose message is answered: that of the last who spoke to us, else of the last who spoke."""
    if exchange.asked.revises is not None:
        return exchange.speaker
    addressed = [message for message in exchange.messages if message.is_for_us]
    messages = addressed or list(exchange.messages)
    return messages[-1].author if messages else None
