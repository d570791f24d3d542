"""Spot: one conversation as Telegram addresses it: a chat, and within it a topic. MovedGroups: groups with a new id."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from familiar_connect.api.support import atomic_write, load_bytes, off_loop

logger = logging.getLogger(__name__)

MAX_FILE = 256 * 1024


@dataclass(frozen=True)
class Spot:
    """Where a message goes. Ids of messages count within a chat, so ours say which chat they are of."""

    chat_id: int
    thread_id: int | None = None
    """The topic; None: the chat has none, or it is the general one, which Telegram addresses by no id."""
    known_as: int | None = None
    """The first id of a group that has become a supergroup; what was said in it stays its own."""

    @property
    def is_direct(self) -> bool:
        """Whether it is a chat with one person; ids of groups are below zero."""
        return self.chat_id > 0

    @property
    def group(self) -> str:
        """What the chat is called here, without a topic. A direct chat has the user id of its person."""
        return str(self.chat_id if self.known_as is None else self.known_as)

    @property
    def channel(self) -> str:
        """What the channel is called here."""
        return self.group if self.thread_id is None else f"{self.group}/{self.thread_id}"

    def name_message(self, number: int) -> str:
        return f"{self.chat_id}:{number}"

    def find_number(self, message_id: str | None) -> int | None:
        """The number of a message of this chat; None: it is of the group that this one was before, or of nobody."""
        chat, _, number = (message_id or "").partition(":")
        return int(number) if chat == str(self.chat_id) and number.isdigit() else None


class MovedGroups:
    """Groups that have become supergroups: the ids of then and of now, kept in *file*."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._first: dict[int, int] = {}
        """Id of now → the first one the group had."""

    async def load(self) -> None:
        """A file that cannot be read is as good as none: the groups are new ones then."""
        try:
            found: Mapping[str, int] = json.loads(await off_loop(load_bytes, self._file, MAX_FILE))
            self._first = {int(now): int(first) for now, first in found.items()}
        except FileNotFoundError:
            return
        except (OSError, ValueError, AttributeError, TypeError) as error:
            logger.warning("the list of groups that moved cannot be read", extra={"error": type(error).__name__})

    async def add(self, old: int, new: int) -> None:
        """The group *old* is *new* from now on."""
        first = self._first.pop(old, old)
        if self._first.get(new) == first:
            return
        self._first[new] = first
        await off_loop(atomic_write, self._file, json.dumps(self._first).encode())

    def spot(self, chat_id: int, thread_id: int | None = None) -> Spot:
        """A conversation by the id that Telegram has for its chat now."""
        return Spot(chat_id, thread_id, self._first.get(chat_id))

    def parse(self, channel: str) -> Spot | None:
        """The conversation that a channel's name stands for."""
        chat, _, thread = channel.partition("/")
        if not chat.removeprefix("-").isdigit() or (thread and not thread.isdigit()):
            return None
        first = int(chat)
        now = next((now for now, then in self._first.items() if then == first), first)
        return self.spot(now, int(thread) if thread else None)
