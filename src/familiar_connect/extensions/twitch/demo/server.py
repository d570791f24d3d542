"""TwitchServer: our own Twitch on loopback, with one channel and viewers who can be made to do things.

What the client did is kept; `until` waits for what is still to come.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from familiar_connect.api.stand_in import ChangeSignal
from familiar_connect.extensions.twitch.account import Addresses
from familiar_connect.extensions.twitch.demo import topics
from familiar_connect.extensions.twitch.demo.chat_room import ChatRoom, DropReason, Payload, ShownLine, Viewer, make_id
from familiar_connect.extensions.twitch.demo.faults import Faults
from familiar_connect.extensions.twitch.demo.helix import Helix, SentLine
from familiar_connect.extensions.twitch.demo.sessions import Sessions, stamp_now
from familiar_connect.extensions.twitch.demo.tokens import Tokens

MAX_KEPT = 100_000
STREAMER = Viewer("500", "ada_live", "Ada_Live")
DEFAULT_TIER = "1000"
BANNED = DropReason("msg_banned", "You are permanently banned from this chat.")


class TwitchServer:
    """Use as an async context manager; `addresses` is where a client finds it."""

    def __init__(self, streamer: Viewer | None = None, *, now: Callable[[], float] = time.time) -> None:
        self._port = 0
        self._changes = ChangeSignal()
        self._runner: web.AppRunner | None = None
        self._on_line: Callable[[SentLine], None] | None = None
        self._on_dropped: Callable[[str, DropReason], None] | None = None
        self.room = ChatRoom(streamer or Viewer(STREAMER.id, STREAMER.login, STREAMER.name), now)
        self.tokens = Tokens()
        self.faults = Faults()
        self.sessions = Sessions(self.room, lambda: self.socket_url, self._changes.notify)
        self.helix = Helix(
            self.room,
            self.tokens,
            self.sessions,
            self.faults,
            on_line=self._note_line,
            on_dropped=self._note_dropped,
        )
        self.lines: deque[SentLine] = deque(maxlen=MAX_KEPT)
        """What the client said and everybody was shown."""
        self.dropped: deque[tuple[str, DropReason]] = deque(maxlen=MAX_KEPT)
        """What the client said and nobody was shown."""
        self.refused_last: DropReason | None = None
        """Why the last line of a viewer that was not shown was not."""
        self.rewards: dict[str, str] = {}
        """Title of a reward → its id."""

    @property
    def addresses(self) -> Addresses:
        base = f"http://127.0.0.1:{self._port}"
        return Addresses(api=f"{base}/helix/", auth=f"{base}/oauth2/", eventsub=self.socket_url)

    @property
    def socket_url(self) -> str:
        return f"ws://127.0.0.1:{self._port}/ws"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes([*self.helix.routes(), web.get("/ws", self.sessions.handle_connection)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    # What happened

    def follow(
        self,
        on_line: Callable[[SentLine], None] | None,
        on_dropped: Callable[[str, DropReason], None] | None = None,
    ) -> None:
        """Tell of each line that the client sends from now on, as it is shown, and of each that is not."""
        self._on_line, self._on_dropped = on_line, on_dropped

    def _note_line(self, line: SentLine) -> None:
        self.lines.append(line)
        if self._on_line is not None:
            self._on_line(line)
        self._changes.notify()

    def _note_dropped(self, text: str, reason: DropReason) -> None:
        self.dropped.append((text, reason))
        if self._on_dropped is not None:
            self._on_dropped(text, reason)
        self._changes.notify()

    async def until(self, condition: Callable[[], object], *, within_s: float | None = 200.0) -> None:
        """Wait until *condition* holds; looked at whenever the client has done something."""
        await self._changes.wait_until(condition, within_s=within_s)

    async def until_listening(self, *kinds: str, within_s: float | None = 200.0) -> None:
        """Wait until somebody has asked for each of *kinds*; without any, for the chat and what is taken back there."""
        wanted = kinds or (topics.CHAT, topics.MESSAGE_DELETED, topics.USER_CLEARED, topics.CHAT_CLEARED)
        await self.until(lambda: all(any(self.sessions.find(kind)) for kind in wanted), within_s=within_s)

    def list_sent(self) -> list[str]:
        """The words of each line that the client sent and that was shown, oldest first."""
        return [line.text for line in self.lines]

    # What viewers do

    async def chat(self, viewer: Viewer, text: str, *, to: ShownLine | None = None, **more: Any) -> str | None:
        """Somebody writes a line; its id, or None where the chat does not take it. *more* goes over the event."""
        refused = BANNED if viewer.id in self.room.banned else self.room.why_dropped(viewer, text)
        if refused is not None:
            self.refused_last = refused
            return None
        return await self.show(viewer, text, to, **more)

    async def show(self, viewer: Viewer, text: str, to: ShownLine | None = None, **more: Any) -> str:
        """A line that the chat shows whatever its rules are; its id."""
        line_id = make_id()
        event = self.room.show(line_id, viewer, text, to)
        await self.sessions.tell(topics.CHAT, event | more)
        return line_id

    async def whisper(self, viewer: Viewer, to: Viewer, text: str) -> None:
        """A message that *to* alone can read."""
        event = viewer.name_fields("from_user") | to.name_fields("to_user")
        await self._tell(topics.WHISPER, event | {"whisper_id": make_id(), "whisper": {"text": text}})

    async def follow_channel(self, viewer: Viewer) -> None:
        viewer.followed_at = self.room.now()
        await self._tell(topics.FOLLOW, viewer.name_fields("user") | {"followed_at": stamp_now()})

    async def subscribe(self, viewer: Viewer, *, tier: str = DEFAULT_TIER, is_gift: bool = False) -> None:
        viewer.is_subscriber = True
        await self._tell(topics.SUBSCRIPTION, viewer.name_fields("user") | {"tier": tier, "is_gift": is_gift})

    async def resubscribe(self, viewer: Viewer, months: int, text: str = "", *, tier: str = DEFAULT_TIER) -> None:
        viewer.is_subscriber = True
        event = viewer.name_fields("user") | {"tier": tier, "cumulative_months": months, "streak_months": None}
        event |= {"duration_months": 1, "message": {"text": text, "emotes": None}}
        await self._tell(topics.RESUBSCRIPTION, event)

    async def gift(self, giver: Viewer | None, *receivers: Viewer, tier: str = DEFAULT_TIER) -> None:
        """*giver*, or nobody by name, gives subscriptions; Twitch tells of each receiver as well."""
        event = (
            giver.name_fields("user") if giver is not None else dict.fromkeys(("user_id", "user_login", "user_name"))
        )
        event |= {"total": len(receivers), "tier": tier, "cumulative_total": None, "is_anonymous": giver is None}
        await self._tell(topics.GIFT, event)
        for each in receivers:
            await self.subscribe(each, tier=tier, is_gift=True)

    async def cheer(self, viewer: Viewer, bits: int, words: str = "") -> None:
        """Somebody gives bits: a line of chat, and a cheer."""
        text = f"cheer{bits} {words}".strip()
        await self.show(viewer, text, cheer={"bits": bits})
        event = viewer.name_fields("user") | {"is_anonymous": False, "message": text, "bits": bits}
        await self._tell(topics.CHEER, event)

    async def redeem(self, viewer: Viewer, title: str, words: str = "") -> str | None:
        """Somebody spends channel points; words given with it are a line of chat too, whose id comes back."""
        reward_id = self.rewards.setdefault(title, f"reward-{len(self.rewards) + 1}")
        line_id = await self.show(viewer, words, channel_points_custom_reward_id=reward_id) if words else None
        reward = {"id": reward_id, "title": title, "cost": 100, "prompt": ""}
        event = viewer.name_fields("user") | {"id": make_id(), "user_input": words, "status": "unfulfilled"}
        await self._tell(topics.REDEMPTION, event | {"reward": reward, "redeemed_at": stamp_now()})
        return line_id

    async def raid(self, viewer: Viewer, viewers: int) -> None:
        event = viewer.name_fields("from_broadcaster_user") | self.room.streamer.name_fields("to_broadcaster_user")
        await self.sessions.tell(topics.RAID, event | {"viewers": viewers})

    async def begin_ads(self, seconds: int) -> None:
        event = self.room.streamer.name_fields("requester_user")
        event |= {"duration_seconds": seconds, "started_at": stamp_now(), "is_automatic": False}
        await self._tell(topics.ADS, event)

    async def _tell(self, kind: str, event: Payload) -> None:
        await self.sessions.tell(kind, self.room.streamer.name_fields("broadcaster_user") | event)

    # What moderators do

    async def delete(self, line_id: str) -> None:
        line = self.room.find_line(line_id)
        if line is not None:
            self.room.lines.remove(line)
            await self._tell(topics.MESSAGE_DELETED, line.viewer.name_fields("target_user") | {"message_id": line_id})

    async def time_out(self, viewer: Viewer, seconds: float) -> None:
        self.room.time_out(viewer, seconds)
        await self._clear_viewer(viewer)

    async def ban(self, viewer: Viewer) -> None:
        """Somebody is banned: their lines are gone, and they hear the chat no more."""
        self.room.banned.add(viewer.id)
        await self._clear_viewer(viewer)
        chat = tuple(kind for kind, rule in topics.RULES.items() if rule.is_chat)
        await self.sessions.revoke("chat_user_banned", user_id=viewer.id, kinds=chat)

    def unban(self, viewer: Viewer) -> None:
        self.room.banned.discard(viewer.id)

    async def _clear_viewer(self, viewer: Viewer) -> None:
        for line in [each for each in self.room.lines if each.viewer is viewer]:
            self.room.lines.remove(line)
        await self._tell(topics.USER_CLEARED, viewer.name_fields("target_user"))

    async def clear(self) -> None:
        """The whole chat is cleared."""
        self.room.lines.clear()
        await self._tell(topics.CHAT_CLEARED, {})

    async def set_modes(self, **modes: Any) -> None:
        """Change the modes of the chat, by the names of `ChatModes`."""
        for name, value in modes.items():
            if not hasattr(self.room.modes, name):
                raise AttributeError(name)
            setattr(self.room.modes, name, value)
        now = self.room.modes
        about: Payload = {"emote_mode": now.is_emotes_only, "subscriber_mode": now.is_subscribers_only}
        about |= {"slow_mode": bool(now.slow_s), "slow_mode_wait_time_seconds": now.slow_s or None}
        about |= {"follower_mode": now.followers_only_min is not None, "unique_chat_mode": now.is_unique}
        await self._tell(topics.SETTINGS_CHANGED, about | {"follower_mode_duration_minutes": now.followers_only_min})
