"""GroupMember: one familiar of several at a terminal. It hears everybody and answers when it is its turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.buffer import MAX_BUFFERED
from familiar_connect.conversation.groups.roster import GroupRoster
from familiar_connect.conversation.intake import IntakeResult
from familiar_connect.conversation.types import BufferedMessage, ResponseTrigger
from familiar_connect.familiar import Familiar
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.platforms.group_talk import (
    PLATFORM,
    answer_in_group,
    find_last_heard,
    find_unanswered,
    scene_of_group,
    story_of_group,
)
from familiar_connect.platforms.terminal.place import TerminalPlace
from familiar_connect.platforms.terminal.screen import Screen
from familiar_connect.presets.story.types import Story
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import printable


class GroupPlace(TerminalPlace):
    """The terminal as one familiar of a group meets it: it knows who else is there, and signs what it prints."""

    features = replace(TerminalPlace.features, keeps_owed=False)

    def __init__(
        self,
        screen: Screen,
        name: str,
        listener: Author,
        recent: StoredMessages,
        busy_with: Callable[[], str],
        *,
        roster: GroupRoster,
    ) -> None:
        super().__init__(screen, name, listener, recent, lambda: f"{name}: {busy_with()}")
        self._roster = roster

    async def send(self, text: str) -> None:
        if not self._is_speaking and self._screen.plain:
            self._screen.write(f"{printable(self._name)}: ")
        await super().send(text)

    def tell_story(self, story: Story) -> Story:
        """*story* with the names of everybody here."""
        return story_of_group(story, self._roster, self._listener, self._name)

    async def scene(self) -> Scene:
        return scene_of_group(self._roster, self._name, self._listener)


class GroupMember:
    """A familiar with its own history, memory and budgets; nothing of it but its words reaches the others."""

    def __init__(
        self,
        familiar: Familiar,
        *,
        user: Author,
        channel_id: int,
        screen: Screen,
        roster: GroupRoster,
        busy_with: Callable[[], str],
    ) -> None:
        self.familiar = familiar
        self.channel_id = channel_id
        self.user = user
        """Who sits here, as this familiar knows them."""
        self.name = roster.name_of(familiar.id)
        stored = StoredMessages(familiar.history_store, familiar.id, channel_id, platform=PLATFORM)
        self.place = GroupPlace(screen, self.name, user, stored, busy_with, roster=roster)
        self._waiting: list[BufferedMessage] = []
        """Heard since it last spoke."""
        familiar.monitor.hand_replies_to(self._collect)

    @property
    def id(self) -> str:
        return self.familiar.id

    @property
    def as_author(self) -> Author:
        """Who it is to the others."""
        return Author.from_familiar(self.id, self.name, platform=PLATFORM)

    async def _collect(self, channel_id: int, messages: list[BufferedMessage], trigger: ResponseTrigger) -> None:
        """Keep what was heard until it is its turn."""
        self._waiting = [*self._waiting, *messages][-MAX_BUFFERED:]

    def rename_user(self, name: str) -> None:
        """The same person, called otherwise from now on."""
        self.user = replace(self.user, display_name=name)
        self.place.set_listener(self.user)

    async def hear(
        self, text: str, when: datetime, *, author: Author | None = None, message_id: str | None = None
    ) -> IntakeResult:
        """Store what *author* said, else the person here; it is answered when it is this one's turn.

        Under *message_id* it is the same line for every member.
        """
        message = InboundMessage(
            platform=PLATFORM,
            channel_id=self.channel_id,
            author=author or self.user,
            text=text,
            timestamp=when,
            channel_name="terminal",
            message_id=message_id,
        )
        return await self.familiar.intake.receive(message, self.place)

    async def look_again(self) -> None:
        """What it heard since it last spoke, as it stands now: lines were changed or taken back."""
        self._waiting = await off_loop(find_unanswered, self.familiar, self.channel_id)

    async def speak(self, *, unasked: bool = False) -> HistoryTurn | None:
        """Answer what was heard since it last spoke; the turn it said, None for nothing.

        *unasked*: where nothing was heard since, it goes on with its own words.
        """
        messages, self._waiting = self._waiting, []
        if not messages and unasked:
            messages = await off_loop(find_last_heard, self.familiar, self.channel_id)
        said = await answer_in_group(self.familiar, self.channel_id, self.place, messages)
        self.place.end()
        return said
