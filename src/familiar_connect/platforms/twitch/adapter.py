"""TwitchPlatform: hears a channel's chat and events, and answers in the chat.

Two accounts may take part: the one that speaks, and the streamer's, who alone may see subscriptions, cheers,
redemptions and ads. They are one where the familiar speaks as the streamer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from datetime import timedelta
from functools import partial

from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.platforms import TwitchConfig
from familiar_connect.errors import ConfigError, DeliveryError, SetupError
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.platforms.twitch.account import Addresses, Credentials, TwitchAccount, TwitchUser, open_account
from familiar_connect.platforms.twitch.commands import ChatCommands
from familiar_connect.platforms.twitch.eventsub import EventSub, Sleep
from familiar_connect.platforms.twitch.inbound import SentLines, chat_message, event_message, is_moderator
from familiar_connect.platforms.twitch.place import EVENT_ID, TwitchPlace
from familiar_connect.platforms.twitch.rewards import Rewards
from familiar_connect.platforms.twitch.types import Kind, Notification, Topic, TwitchEvent, TwitchWatcherConfig
from familiar_connect.platforms.twitch.watcher import TwitchWatcher, ad_seconds, viewer_of
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.support.aio import BackgroundTasks, off_loop

logger = logging.getLogger(__name__)

CHAT_SCOPES = ("user:read:chat", "user:write:chat")
EVENTSUB = "wss://eventsub.wss.twitch.tv/ws"
HEARD_IN_CHAT = (Kind.chat, Kind.message_deleted, Kind.user_cleared, Kind.chat_cleared)
CLEARED_FOR = timedelta(days=1)
"""How far back a chat reaches that is cleared, of one person or of all: a stream, not the years before."""
REWARD_OF_A_LINE = "channel_points_custom_reward_id"

KeepToken = Callable[[Credentials, str, str], None]
"""Told of a renewed token and its refresh token, to keep them."""


class TwitchPlatform:
    """One channel."""

    id = "twitch"
    places = (TwitchPlace,)

    def __init__(
        self,
        familiar: Familiar,
        *,
        speaker: Credentials,
        broadcaster: Credentials | None = None,
        keep: KeepToken = lambda credentials, token, refresh_token: None,
        tell: Callable[[str], None] = lambda sentence: None,
        addresses: Addresses | None = None,
        sleep: Sleep = asyncio.sleep,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._familiar = familiar
        self._settings = familiar.config.twitch
        self._speaker = speaker
        self._broadcaster = broadcaster
        self._keep = keep
        self._tell = tell
        self._addresses = addresses or Addresses()
        self._sleep = sleep
        self._ready = ready
        self._background = BackgroundTasks("twitch")
        self._rewards = Rewards(sleep)

    async def run(self) -> None:
        """Hear and answer until cancelled; what the owner must mend is raised as one sentence."""
        speaker = await self._open(self._speaker)
        self._check_may_chat(speaker)
        channel = await self._channel(speaker)
        streamer = await self._streamer(speaker, channel)
        room = await off_loop(self._room, speaker, channel)
        watcher = watcher_for(self._settings, channel, streamer, speaker)
        chat = {"broadcaster_user_id": channel.user_id, "user_id": speaker.user_id}
        wanted = [(speaker, Topic(kind=kind, condition=chat, scope=CHAT_SCOPES[0])) for kind in HEARD_IN_CHAT]
        wanted += [(self._ear(topic, speaker, streamer), topic) for topic in watcher.topics()]
        try:
            with self._familiar.live_places.connect(self.id, room.place_at):
                await room.finish_replies()
                await self._listen(room, watcher, wanted)
        except BaseExceptionGroup as errors:  # not `except*`: some 3.11 releases wrap what is raised in one again
            told = errors.subgroup(SetupError)
            if told is None:
                raise
            raise _first(told.exceptions) from None
        finally:
            await self._background.aclose()

    async def _listen(self, room: _Room, watcher: TwitchWatcher, wanted: list[tuple[TwitchAccount, Topic]]) -> None:
        """Hear what is wanted, each account in a session of its own."""
        async with asyncio.TaskGroup() as group:
            for account in {id(one): one for one, _ in wanted}.values():
                topics = tuple(topic for one, topic in wanted if one is account)
                session = self._session(account, topics, partial(self._heard, room, watcher))
                group.create_task(session.run(), name=f"eventsub {account.login}")

    # Setting up

    async def _open(self, credentials: Credentials) -> TwitchAccount:
        async def on_renewal(token: str, refresh_token: str) -> None:
            await off_loop(self._keep, credentials, token, refresh_token)

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
            path = FamiliarFolder(self._familiar.root).settings_file
            raise ConfigError(f"{path}: [twitch] channel: Twitch knows no {login!r}; write the channel's login name")
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

    def _room(self, speaker: TwitchAccount, channel: TwitchUser) -> _Room:
        """The channel as we meet it; naming it in the settings is subscribing to it."""
        channel_id, familiar = int(channel.user_id), self._familiar
        if familiar.subscriptions.get(channel_id=channel_id, kind=SubscriptionKind.text) is None:
            familiar.subscriptions.add(channel_id=channel_id, kind=SubscriptionKind.text, guild_id=None)
        return _Room(self, speaker, channel)

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
                return
            if topic.kind is Kind.chat:
                raise SetupError(f"the chat of {self._settings.channel} cannot be read: {why_not}")
            self._tell(f"Twitch tells nothing of {topic.kind.value}: {why_not}. See docs/guides/twitch.md.")

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
                f"Twitch took back our right to listen ({status}): make a new token as docs/guides/twitch.md "
                f"describes and put it into secrets.env as {token_name}"
            )
        self._tell(f"Twitch no longer tells of {kind} ({status}).")

    # Hearing

    async def _heard(self, room: _Room, watcher: TwitchWatcher, notification: Notification) -> None:
        if notification.kind in HEARD_IN_CHAT[1:]:
            await room.retract(notification)
            return
        if notification.kind == Kind.chat:
            message = room.chat(notification)
            if message is not None and room.is_command(message):
                by_moderator = is_moderator(notification)
                self._background.start(room.answer_command(message, is_moderator=by_moderator), name="command")
                return
            if notification.event.get("cheer") and watcher.config.cheers_enabled:
                return  # told as a cheer, words and all
            if message is not None:
                await self._heard_in_chat(room, message, watcher, notification.event.get(REWARD_OF_A_LINE))
            return
        event = watcher.event_of(notification)
        if notification.kind == Kind.redemption and (reward := notification.event.get("reward")):
            self._rewards.learn(str(reward.get("id")), is_told=event is not None)
        if event is None:
            return
        await room.receive(room.event(event, f"{EVENT_ID}{notification.message_id}"))
        if notification.kind == Kind.ads_begin:
            ending = self._ads_end(room, watcher, ad_seconds(notification.event), notification.message_id)
            self._background.start(ending, name="ads")

    async def _heard_in_chat(
        self, room: _Room, message: InboundMessage, watcher: TwitchWatcher, reward_id: object
    ) -> None:
        """A line of chat; one written with a reward that is told as an event is told with that, words and all."""
        known = self._rewards.lookup(str(reward_id)) if reward_id and watcher.config.redemption_names else False
        if known is None:
            self._background.start(self._hold(room, message, str(reward_id)), name="reward")
        elif not known:
            await room.receive(message)

    async def _hold(self, room: _Room, message: InboundMessage, reward_id: str) -> None:
        """Hand a line on unless its redemption tells of it; also when there is no time left to wait."""
        try:
            is_told = await self._rewards.lookup_or_wait(reward_id)
        except asyncio.CancelledError:
            await room.receive(message)
            raise
        if not is_told:
            await room.receive(message)

    async def _ads_end(self, room: _Room, watcher: TwitchWatcher, after_s: float, message_id: str) -> None:
        await self._sleep(after_s)
        event = watcher.ads_ended(self._familiar.clock.now())
        if event is not None:
            await room.receive(room.event(event, f"{EVENT_ID}{message_id}:end"))


class _Room:
    """The channel we are in: who we are there, and how to answer."""

    def __init__(self, platform: TwitchPlatform, speaker: TwitchAccount, channel: TwitchUser) -> None:
        familiar = self._familiar = platform._familiar
        self._intake = familiar.intake
        self._speaker = speaker
        self._channel = channel
        self._channel_id = int(channel.user_id)
        self._own = SentLines()
        self._edits = familiar.reply_path.message_edits
        self._commands = ChatCommands(familiar, speaker.find_user)
        stored = StoredMessages(familiar.history_store, familiar.id, self._channel_id, platform=platform.id)
        self._place = TwitchPlace(channel.login, say=self._say, tell=platform._tell, recent=stored)

    async def place_at(self, channel_id: int) -> TwitchPlace | None:
        """The channel as a place; there is this one alone."""
        return self._place if channel_id == self._channel_id else None

    async def finish_replies(self) -> None:
        """Say what was on its way when the program died; answer who was heard and not answered."""
        familiar, channel_id = self._familiar, self._channel_id
        if channel_id not in await off_loop(familiar.history_store.outbox.channels_with_leftovers, familiar.id):
            return
        self._place.note_message("")  # whatever was said since: the answer shows what it answers
        try:
            await familiar.reply_path.outbox.recover(channel_id, self._place)
        except DeliveryError as error:  # left for the next start; who waits for it is not answered twice
            logger.warning("a reply could not be finished", extra={"channel_id": channel_id, "reason": str(error)})
            return
        within_s = familiar.config.discord.answer_late_s
        await self._intake.answer_owed(channel_id, self._place, within_s=within_s, now=familiar.clock.now())

    async def receive(self, message: InboundMessage) -> None:
        heard = await self._intake.receive(message, self._place)
        logger.debug("heard", extra={"channel_id": self._channel_id, "outcome": heard.value})

    def chat(self, notification: Notification) -> InboundMessage | None:
        message = self._chat_message(notification)
        if message is not None and not message.is_self:
            self._place.note_message(message.message_id)
        return message

    def is_command(self, message: InboundMessage) -> bool:
        return not message.is_self and self._commands.parse(message.text) is not None

    async def answer_command(self, message: InboundMessage, *, is_moderator: bool) -> None:
        """Do what a line of chat asks for, and answer whoever wrote it."""
        answer = await self._commands.answer(message, self._place, is_moderator=is_moderator)
        if answer is None:
            return
        try:
            await self._say(answer, parent_id=message.message_id)
        except DeliveryError as error:
            logger.warning("a command could not be answered", extra={"reason": str(error)})

    async def retract(self, notification: Notification) -> None:
        """Moderators took something back: a message, all of one person's, or the whole chat."""
        facts, since = notification.event, notification.timestamp - CLEARED_FOR
        if notification.kind == Kind.message_deleted:
            await self._edits.on_delete(self._channel_id, [str(facts["message_id"])])
        elif notification.kind == Kind.chat_cleared:
            await self._edits.on_purge(self._channel_id, since=since, ours=True)
        elif (person := viewer_of(facts, "target_user")) is not None:
            ours = person.user_id == self._speaker.user_id
            await self._edits.on_purge(self._channel_id, since=since, of=person, ours=ours)

    def _chat_message(self, notification: Notification) -> InboundMessage | None:
        return chat_message(
            notification,
            channel_id=self._channel_id,
            channel=self._channel.login,
            us=self._speaker.user_id,
            shared=self._speaker.user_id == self._channel.user_id,
            own=self._own,
        )

    def event(self, event: TwitchEvent, message_id: str) -> InboundMessage:
        return event_message(event, channel_id=self._channel_id, message_id=message_id)

    async def _say(self, line: str, *, parent_id: str | None = None) -> str:
        self._own.add(line)
        return await self._speaker.send_message(self._channel.user_id, line, parent_id=parent_id)


def watcher_for(
    settings: TwitchConfig, channel: TwitchUser, streamer: TwitchAccount | None, speaker: TwitchAccount
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
