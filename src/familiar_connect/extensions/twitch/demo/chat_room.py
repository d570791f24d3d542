"""ChatRoom: the chat of one channel: who is there, who may write now, and what a line becomes."""

from __future__ import annotations

import re
import uuid
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from familiar_connect.extensions.twitch.demo.rate_limits import LineLimits

Payload = dict[str, Any]
MAX_CHARS = 500
MAX_LINES = 10_000
"""Lines that are kept, to be replied to and deleted."""
DUPLICATE_S = 30.0
"""Within this time nobody but moderators may write the same line again."""
UNIQUE_S = 600.0
EMOTES = ("Kappa", "PogChamp", "LUL", "HeyGuys", "NotLikeThis")
_FIRST_STRANGER = 100_000
_CHEER = re.compile(r"cheer(\d{1,6})", re.IGNORECASE)
_WORDS = re.compile(r"(\s+)")


def make_id() -> str:
    """An id of a message, which is never given again."""
    return str(uuid.uuid4())


@dataclass(eq=False)
class Viewer:
    """Somebody on Twitch, as this channel knows them."""

    id: str
    login: str
    name: str
    is_moderator: bool = False
    is_subscriber: bool = False
    followed_at: float | None = None

    def name_fields(self, prefix: str) -> Payload:
        """Who they are, in the fields of an event that begin with *prefix*."""
        return {f"{prefix}_id": self.id, f"{prefix}_login": self.login, f"{prefix}_name": self.name}


@dataclass(frozen=True)
class DropReason:
    """Why a line is not shown to anybody."""

    code: str
    message: str


@dataclass
class ChatModes:
    """What the streamer allows."""

    slow_s: int = 0
    """Seconds between two lines of one viewer."""
    followers_only_min: int | None = None
    """Minutes one must have followed; None: everybody may write."""
    is_subscribers_only: bool = False
    is_emotes_only: bool = False
    is_unique: bool = False


@dataclass
class ShownLine:
    """A line that is shown."""

    id: str
    viewer: Viewer
    text: str
    """As it was written."""
    at: float
    shown: str = ""
    """As it stands in the chat: a reply begins with the name of whom it answers."""


@dataclass
class ChatRoom:
    """The chat of *streamer*."""

    streamer: Viewer
    now: Callable[[], float]
    viewers: dict[str, Viewer] = field(default_factory=dict)
    """By login."""
    modes: ChatModes = field(default_factory=ChatModes)
    held_words: set[str] = field(default_factory=set)
    """AutoMod holds a line with any of them."""
    banned: set[str] = field(default_factory=set)
    limits: LineLimits = field(default_factory=LineLimits)
    lines: deque[ShownLine] = field(default_factory=lambda: deque(maxlen=MAX_LINES))
    _timed_out: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.viewers.setdefault(self.streamer.login, self.streamer)

    def viewer(self, login: str, user_id: str | None = None, name: str | None = None) -> Viewer:
        """Somebody by their login; whoever is new has the same id whenever they come."""
        key = login.lower()
        if key not in self.viewers:
            made = user_id or str(_FIRST_STRANGER + zlib.crc32(key.encode()))
            self.viewers[key] = Viewer(made, key, name or login.capitalize())
        return self.viewers[key]

    def find_viewer(self, user_id: str) -> Viewer | None:
        return next((each for each in self.viewers.values() if each.id == user_id), None)

    def find_line(self, line_id: str | None) -> ShownLine | None:
        return next((each for each in reversed(self.lines) if each.id == line_id), None)

    def is_in_charge(self, viewer: Viewer) -> bool:
        """Whether no mode and no slower limit holds them."""
        return viewer.is_moderator or viewer is self.streamer

    def time_out(self, viewer: Viewer, seconds: float) -> None:
        self._timed_out[viewer.id] = self.now() + seconds

    def is_timed_out(self, viewer: Viewer) -> bool:
        return self._timed_out.get(viewer.id, 0.0) > self.now()

    def why_dropped(self, viewer: Viewer, text: str) -> DropReason | None:
        """Why nobody is shown what *viewer* wants to write now; None: everybody is, and it counts."""
        if self.is_timed_out(viewer):
            return DropReason("msg_timedout", "You are timed out of this chat.")
        if not self.is_in_charge(viewer) and (found := self._why_not_allowed(viewer, text)) is not None:
            return found
        if any(word in text.casefold() for word in self.held_words):
            return DropReason("msg_rejected", "Your message is being checked by mods and has not been sent.")
        if not self.limits.take(viewer.id, self.now(), is_in_charge=self.is_in_charge(viewer)):
            return DropReason("msg_ratelimit", "You are sending messages too quickly.")
        return None

    def _why_not_allowed(self, viewer: Viewer, text: str) -> DropReason | None:
        """What the modes of the chat and the rule on repeated lines say."""
        modes, now = self.modes, self.now()
        own = [line for line in self.lines if line.viewer is viewer]
        if modes.is_subscribers_only and not viewer.is_subscriber:
            return DropReason("msg_subsonly", "This room is in subscribers only mode.")
        if modes.followers_only_min is not None:
            since = viewer.followed_at
            if since is None or now - since < modes.followers_only_min * 60:
                return DropReason("msg_followersonly", "This room is in followers-only mode.")
        if modes.is_emotes_only and not all(word in EMOTES for word in text.split()):
            return DropReason("msg_emoteonly", "This room is in emote-only mode.")
        if modes.is_unique and any(line.text == text and now - line.at < UNIQUE_S for line in self.lines):
            return DropReason("msg_r9k", "This room is in unique-chat mode and your message is not unique.")
        if modes.slow_s and own and (left := modes.slow_s - (now - own[-1].at)) > 0:
            return DropReason("msg_slowmode", f"You will be able to talk again in {int(left) + 1} seconds.")
        if any(line.text == text and now - line.at < DUPLICATE_S for line in own):
            return DropReason("msg_duplicate", "Your message is identical to one less than 30 seconds ago.")
        return None

    def show(self, line_id: str, viewer: Viewer, text: str, parent: ShownLine | None = None) -> Payload:
        """The line stands in the chat from now on; the event that tells of it."""
        shown = f"@{parent.viewer.name} {text}" if parent is not None else text
        self.lines.append(ShownLine(line_id, viewer, text, self.now(), shown))
        return self.chat_event(line_id, viewer, shown, parent)

    def chat_event(self, line_id: str, viewer: Viewer, text: str, parent: ShownLine | None = None) -> Payload:
        reply = None
        if parent is not None:
            reply = {"parent_message_id": parent.id, "parent_message_body": parent.shown}
            reply |= parent.viewer.name_fields("parent_user")
            reply |= {"thread_message_id": parent.id} | parent.viewer.name_fields("thread_user")
        return {
            **self.streamer.name_fields("broadcaster_user"),
            **viewer.name_fields("chatter_user"),
            "message_id": line_id,
            "message": {"text": text, "fragments": self.fragments(text)},
            "message_type": "text",
            "badges": self._badges(viewer),
            "cheer": None,
            "color": "#00FF7F",
            "reply": reply,
            "channel_points_custom_reward_id": None,
            "source_broadcaster_user_id": None,
            "source_message_id": None,
            "source_badges": None,
        }

    def _badges(self, viewer: Viewer) -> list[Payload]:
        held = {
            "broadcaster": viewer is self.streamer,
            "moderator": viewer.is_moderator,
            "subscriber": viewer.is_subscriber,
        }
        return [{"set_id": name, "id": "1", "info": ""} for name, has in held.items() if has]

    def fragments(self, text: str) -> list[Payload]:
        """*text* as Twitch takes it apart: words, emotes, cheers, and names of people."""
        found: list[Payload] = []
        for piece in _WORDS.split(text):
            kind, more = self._kind_of(piece)
            if kind == "text" and found and found[-1]["type"] == "text":
                found[-1]["text"] += piece
            elif piece:
                found.append({"type": kind, "text": piece, "cheermote": None, "emote": None, "mention": None} | more)
        return found

    def _kind_of(self, piece: str) -> tuple[str, Payload]:
        if piece in EMOTES:
            emote = {"id": str(EMOTES.index(piece)), "emote_set_id": "0", "owner_id": "0", "format": ["static"]}
            return "emote", {"emote": emote}
        if (cheer := _CHEER.fullmatch(piece)) is not None:
            return "cheermote", {"cheermote": {"prefix": "cheer", "bits": int(cheer[1]), "tier": 1}}
        name = piece.removeprefix("@").rstrip(",.!?:;").lower()
        if piece.startswith("@") and name in self.viewers:
            return "mention", {"mention": self.viewers[name].name_fields("user")}
        return "text", {}
