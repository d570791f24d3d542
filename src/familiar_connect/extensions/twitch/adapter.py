"""TwitchPlatform: hears a channel's chat and events, and answers in the chat.

Two accounts may take part: the one that speaks, and the streamer's, who alone may see subscriptions, cheers,
redemptions and ads. They are one where the familiar speaks as the streamer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from familiar_connect.api import DeliveryError, PlatformHost, SetupError
from familiar_connect.extensions.twitch.account import (
    NOT_ALLOWED,
    Addresses,
    Credentials,
    TwitchAccount,
    TwitchUser,
    open_account,
)
from familiar_connect.extensions.twitch.commands import ChatCommands
from familiar_connect.extensions.twitch.event_types import (
    Kind,
    Notification,
    Topic,
    TwitchEvent,
    TwitchWatcherConfig,
)
from familiar_connect.extensions.twitch.eventsub import EventSub, ShutOut, Sleep
from familiar_connect.extensions.twitch.inbound import (
    UNSEEN,
    HeardLine,
    SentLines,
    chat_message,
    event_message,
    is_moderator,
)
from familiar_connect.extensions.twitch.place import EVENT_ID, TwitchPlace
from familiar_connect.extensions.twitch.rewards import Rewards
from familiar_connect.extensions.twitch.secrets import refresh_name
from familiar_connect.extensions.twitch.settings import Settings
from familiar_connect.extensions.twitch.watcher import TwitchWatcher, ad_seconds, viewer_of

logger = logging.getLogger(__name__)

CHAT_SCOPES = ("user:read:chat", "user:write:chat")
EVENTSUB = "wss://eventsub.wss.twitch.tv/ws"
HEARD_IN_CHAT = (Kind.chat, Kind.message_deleted, Kind.user_cleared, Kind.chat_cleared)
BANNED = "chat_user_banned"
"""Why a chat is not told to us any more, in Twitch's word."""
CLEARED_FOR = timedelta(days=1)
"""How far back a chat reaches that is cleared, of one person or of all: a stream, not the years before."""
CHECK_TOKENS_S = 3600.0
"""Twitch wants each token to be looked at once an hour."""
SHOWN_WITHIN_S = 3.0
"""How long the chat may take to show a line of ours that Twitch gave no answer about."""
REWARD_OF_A_LINE = "channel_points_custom_reward_id"


class TwitchPlatform:
    """One channel."""

    places = (TwitchPlace,)

    def __init__(
        self,
        host: PlatformHost,
        *,
        speaker: Credentials,
        broadcaster: Credentials | None = None,
        addresses: Addresses | None = None,
        channel: str | None = None,
        sleep: Sleep = asyncio.sleep,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        """*channel* is taken in place of the one in the settings."""
        self._host = host
        self._settings: Settings = host.settings if channel is None else replace(host.settings, channel=channel)
        self._speaker = speaker
        self._broadcaster = broadcaster
        self._addresses = addresses or Addresses()
        self._sleep = sleep
        self._ready = ready
        self._rewards = Rewards(sleep)
        self._granted: set[str] = set()
        """What Twitch tells us of."""
        self._is_shut_out = False

    async def run(self) -> None:
        """Hear and answer until cancelled; what the owner must mend is raised as one sentence."""
        speaker = await self._open(self._speaker)
        self._check_may_chat(speaker)
        channel = await self._channel(speaker)
        streamer = await self._streamer(speaker, channel)
        room = _Room(self._host, speaker, channel)
        watcher = watcher_for(self._settings, channel, streamer, speaker)
        chat = {"broadcaster_user_id": channel.user_id, "user_id": speaker.user_id}
        wanted = [(speaker, Topic(kind=kind, condition=chat, scope=CHAT_SCOPES[0])) for kind in HEARD_IN_CHAT]
        wanted += [(self._ear(topic, speaker, streamer), topic) for topic in watcher.topics()]
        try:
            with self._host.connect(room.place_at):
                await room.join()
                await self._listen(room, watcher, wanted)
        except BaseExceptionGroup as errors:  # not `except*`: some 3.11 releases wrap what is raised in one again
            told = errors.subgroup(SetupError)
            if told is None:
                raise
            raise _first(told.exceptions) from None

    async def _listen(self, room: _Room, watcher: TwitchWatcher, wanted: list[tuple[TwitchAccount, Topic]]) -> None:
        """Hear what is wanted, each account in a session of its own."""
        async with asyncio.TaskGroup() as group:
            for account in {id(one): one for one, _ in wanted}.values():
                topics = tuple(topic for one, topic in wanted if one is account)
                session = self._session(account, topics, partial(self._heard, room, watcher))
                group.create_task(session.run(), name=f"eventsub {account.login}")
                group.create_task(self._check_token(account), name=f"token {account.login}")

    async def _check_token(self, account: TwitchAccount) -> None:
        """Look at a token from time to time; one that was taken back ends in a sentence."""
        from aiohttp import ClientError

        while True:
            await asyncio.sleep(CHECK_TOKENS_S)
            try:
                await account.authenticate()
            except (DeliveryError, ClientError, OSError) as error:  # Twitch's trouble: the next look tells
                logger.info("a token could not be looked at", extra={"reason": type(error).__name__})

    # Setting up

    async def _open(self, credentials: Credentials) -> TwitchAccount:
        async def on_renewal(token: str, refresh_token: str) -> None:
            await self._host.keep_secret(credentials.name, token)
            await self._host.keep_secret(refresh_name(credentials.name), refresh_token)

        return await open_account(credentials, self._addresses, on_renewal)

    def _check_may_chat(self, speaker: TwitchAccount) -> None:
        lacking = [scope for scope in CHAT_SCOPES if scope not in speaker.scopes]
        if lacking:
            raise SetupError(
                f"{self._speaker.name} lacks the right {' and '.join(lacking)}, so the chat of Twitch stays closed: "
                "make a token with it, as docs/guides/twitch.md describes"
            )

    async def _channel(self, speaker: TwitchAccount) -> TwitchUser:
        login = (self._settings.channel or "").lstrip("#@").lower()
        found = await speaker.find_user(login)
        if found is None or not found.user_id.isdigit():
            raise self._host.wrong_setting("channel", f"Twitch knows no {login!r}; write the channel's login name")
        return found

    async def _streamer(self, speaker: TwitchAccount, channel: TwitchUser) -> TwitchAccount | None:
        """The channel's own account, where we hold a token for it."""
        if speaker.user_id == channel.user_id:
            return speaker
        if self._broadcaster is None:
            return None
        streamer = await self._open(self._broadcaster)
        if streamer.user_id != channel.user_id:
            raise SetupError(
                f"{self._broadcaster.name} belongs to {streamer.login} and [twitch] channel is {channel.login}: the "
                "token must be the streamer's own"
            )
        return streamer

    def _ear(self, topic: Topic, speaker: TwitchAccount, streamer: TwitchAccount | None) -> TwitchAccount:
        """Who asks for a topic: whoever has the right, the streamer first."""
        allowed = [one for one in (streamer, speaker) if one is not None and topic.scope in one.scopes]
        return allowed[0] if allowed else speaker

    def _session(
        self, account: TwitchAccount, topics: tuple[Topic, ...], heard: Callable[[Notification], Awaitable[None]]
    ) -> EventSub:
        async def ask(topic: Topic, session_id: str) -> None:
            why_not = await account.subscribe(topic, session_id)
            if why_not is None:
                self._granted.add(topic.kind)
                self._is_shut_out = self._is_shut_out and topic.kind is not Kind.chat
                return
            self._granted.discard(topic.kind)
            if topic.kind is Kind.chat and why_not == NOT_ALLOWED:
                raise self._shut_out()
            if topic.kind is Kind.chat:
                raise SetupError(f"the chat of {self._settings.channel} cannot be read: {why_not}")
            self._host.tell_owner(f"Twitch sends no {topic.kind.value} events: {why_not}. See docs/guides/twitch.md.")

        return EventSub(
            self._addresses.eventsub or EVENTSUB,
            topics=topics,
            ask=ask,
            heard=heard,
            revoked=partial(self._revoked, account.token_name),
            ready=self._ready,
            sleep=self._sleep,
        )

    def _revoked(self, token_name: str, kind: str, status: str) -> None:
        if status in ("authorization_revoked", "user_removed"):
            raise SetupError(
                f"Twitch withdrew the permission to listen ({status}): make a new token as docs/guides/twitch.md "
                f"describes and put it into secrets.env as {token_name}"
            )
        self._granted.discard(kind)
        if kind == Kind.chat and status == BANNED:
            raise self._shut_out()
        if status != BANNED:  # what goes with a ban is told once, with the chat
            self._host.tell_owner(f"Twitch no longer reports {kind} ({status}).")

    def _shut_out(self) -> ShutOut:
        """The owner is told once, however often we look."""
        if not self._is_shut_out:
            self._is_shut_out = True
            self._host.tell_owner(
                f"{self._host.name} is banned from the chat of {self._settings.channel} on Twitch, so it hears nothing "
                "there. It comes back by itself within minutes of being let in again."
            )
        return ShutOut()

    # Hearing

    async def _heard(self, room: _Room, watcher: TwitchWatcher, notification: Notification) -> None:
        if notification.kind in HEARD_IN_CHAT[1:]:
            await room.retract(notification)
            return
        if notification.kind == Kind.chat:
            message = room.chat(notification)
            if message is not None and room.is_command(message):
                by_moderator = is_moderator(notification)
                self._host.start(room.answer_command(message, is_moderator=by_moderator), name="command")
                return
            if notification.event.get("cheer") and Kind.cheer in self._granted:
                return  # told as a cheer, words and all
            if message is not None:
                await self._heard_in_chat(room, message, watcher, notification.event.get(REWARD_OF_A_LINE))
            return
        event = watcher.event_of(notification)
        if notification.kind == Kind.redemption and (reward := notification.event.get("reward")):
            self._rewards.learn(str(reward.get("id")), is_told=event is not None)
        if event is None:
            return
        await room.receive(room.event_line(event, f"{EVENT_ID}{notification.message_id}"))
        if notification.kind == Kind.ads_begin:
            ending = self._ads_end(room, watcher, ad_seconds(notification.event), notification.message_id)
            self._host.start(ending, name="ads")

    async def _heard_in_chat(self, room: _Room, message: HeardLine, watcher: TwitchWatcher, reward_id: object) -> None:
        """A line of chat; one written with a reward that is told as an event is told with that, words and all."""
        known = self._rewards.lookup(str(reward_id)) if reward_id and watcher.config.redemption_names else False
        if known is None:
            self._host.start(self._hold(room, room.hold(message), str(reward_id)), name="reward")
        elif not known:
            await room.receive(message)

    async def _hold(self, room: _Room, held: _HeldLine, reward_id: str) -> None:
        """Hand a line on unless its redemption tells of it; also when there is no time left to wait."""
        is_told = False
        try:
            is_told = await self._rewards.lookup_or_wait(reward_id)
        finally:
            await room.release(held, is_told=is_told)

    async def _ads_end(self, room: _Room, watcher: TwitchWatcher, after_s: float, message_id: str) -> None:
        await self._sleep(after_s)
        event = watcher.ads_ended(self._host.clock.now())
        if event is not None:
            await room.receive(room.event_line(event, f"{EVENT_ID}{message_id}:end"))


class _Room:
    """The channel we are in: who we are there, and how to answer."""

    def __init__(self, host: PlatformHost, speaker: TwitchAccount, channel: TwitchUser) -> None:
        self._host = host
        self._speaker = speaker
        self._channel = channel
        self._id = channel.user_id
        self._own = SentLines()
        self._last_answer = ""
        self._held: list[_HeldLine] = []
        self._commands = ChatCommands(host, self._id, speaker.find_user)
        recent = partial(host.recent, self._id)
        self._place = TwitchPlace(channel.login, say=self._say, tell=host.tell_owner, recent=recent)

    async def place_at(self, channel: str) -> TwitchPlace | None:
        """The channel as a place; there is this one alone."""
        return self._place if channel == self._id else None

    async def join(self) -> None:
        """Naming the channel in the settings is subscribing to it; who was left waiting there is answered."""
        if self._id in await self._host.waiting_channels():
            self._place.note_message("")  # whatever was said since: the answer shows what it answers
        await self._host.join(self._id, self._place)

    async def receive(self, message: HeardLine) -> None:
        await self._host.hear(
            self._id,
            message.author,
            message.text,
            self._place,
            message_id=message.message_id,
            said_at=message.said_at,
            is_mention=message.is_mention,
            is_self=message.is_self,
            is_reply_to_us=message.is_reply_to_us,
            reply_to=message.reply_to,
            wants_answer=message.wants_answer,
            channel_name=self._channel.login,
            roles=message.roles,
        )

    def event_line(self, event: TwitchEvent, message_id: str) -> HeardLine:
        return event_message(event, message_id, us=self._speaker.login)

    def hold(self, message: HeardLine) -> _HeldLine:
        """Keep a line for a while, in which moderators may take it back; `release` ends that."""
        self._held.append(_HeldLine(message))
        return self._held[-1]

    async def release(self, held: _HeldLine, *, is_told: bool) -> None:
        """Hand a line on that is still there, unless an event tells of it."""
        self._held.remove(held)
        if not held.is_gone and not is_told:
            await self.receive(held.message)

    def chat(self, notification: Notification) -> HeardLine | None:
        message = self._chat_message(notification)
        if message is not None and not message.is_self:
            self._place.note_message(message.message_id)
        elif message is not None:
            self._own.note_shown(message.text, message.message_id)
        return message

    def is_command(self, message: HeardLine) -> bool:
        return not message.is_self and self._commands.parse(message.text) is not None

    async def answer_command(self, message: HeardLine, *, is_moderator: bool) -> None:
        """Do what a line of chat asks for, and answer whoever wrote it."""
        answer = await self._commands.answer(message, self._place, is_moderator=is_moderator)
        if answer is None:
            return
        try:
            await self._say(self._told_anew(answer), parent_id=message.message_id)
        except DeliveryError as error:
            logger.warning("a command could not be answered", extra={"reason": str(error)})

    def _told_anew(self, answer: str) -> str:
        """*answer*, marked so that nobody sees it where the last command had the same: Twitch shows no line twice."""
        is_same, self._last_answer = answer == self._last_answer, answer
        if is_same:
            self._last_answer = ""
        return f"{answer} {UNSEEN[0]}" if is_same else answer

    async def retract(self, notification: Notification) -> None:
        """Moderators took something back: a message, all of one person's, or the whole chat."""
        facts, since = notification.event, notification.timestamp - CLEARED_FOR
        for held in self._held:
            held.is_gone |= notification.kind == Kind.chat_cleared
            held.is_gone |= facts.get("message_id") == held.message.message_id
            held.is_gone |= facts.get("target_user_id") == held.message.author.user_id and "message_id" not in facts
        if notification.kind == Kind.message_deleted:
            await self._host.withdraw(self._id, [str(facts["message_id"])])
        elif notification.kind == Kind.chat_cleared:
            await self._host.withdraw_since(self._id, since, ours=True)
        elif (person := viewer_of(facts, "target_user")) is not None:
            ours = person.user_id == self._speaker.user_id
            await self._host.withdraw_since(self._id, since, of=person, ours=ours)

    def _chat_message(self, notification: Notification) -> HeardLine | None:
        return chat_message(
            notification,
            us=self._speaker.user_id,
            shared=self._speaker.user_id == self._channel.user_id,
            own=self._own,
        )

    async def _say(self, line: str, *, parent_id: str | None = None) -> str:
        self._own.add(line)
        try:
            return await self._speaker.send_message(self._channel.user_id, line, parent_id=parent_id)
        except DeliveryError as error:
            shown = await self._own.wait_until_shown(line, SHOWN_WITHIN_S) if error.may_have_arrived else None
            if shown is None:
                raise
            return shown
        finally:
            self._own.forget_pending(line)


@dataclass(eq=False)
class _HeldLine:
    """A line that is not handed on yet."""

    message: HeardLine
    is_gone: bool = False


def watcher_for(
    settings: Settings, channel: TwitchUser, streamer: TwitchAccount | None, speaker: TwitchAccount
) -> TwitchWatcher:
    """The watcher the settings ask for; followers are seen by the streamer, else by the speaker as a moderator."""
    config = TwitchWatcherConfig(
        subscriptions_enabled=settings.subscriptions_enabled,
        cheers_enabled=settings.cheers_enabled,
        follows_enabled=settings.follows_enabled,
        ads_enabled=settings.ads_enabled,
        ads_immediate=settings.ads_immediate,
        redemption_names=list(settings.redemption_names),
        raids_enabled=settings.raids_enabled,
        immediate_events=frozenset(settings.immediate_events),
    )
    sees_followers = streamer or speaker
    return TwitchWatcher(
        config=config, broadcaster_id=channel.user_id, channel=channel.login, moderator_id=sees_followers.user_id
    )


def _first(errors: Iterable[BaseException]) -> SetupError:
    for error in errors:
        if isinstance(error, BaseExceptionGroup):
            return _first(error.exceptions)
        if isinstance(error, SetupError):
            return error
    raise AssertionError("a group without errors")
