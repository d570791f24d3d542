"""What has been said since we last spoke, and why we answer now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from familiar_connect.chat.types import InboundMessage, TurnOptions
from familiar_connect.identity import Author


class ReplyDue(Enum):
    """When something that is heard is answered, if at all."""

    now = "now"
    with_next = "with_next"
    """Together with what follows at once."""
    never = "never"
    """It is stored, and that is all."""


class ResponseTrigger(Enum):
    direct_address = "direct_address"
    interjection = "interjection"
    lull = "lull"

    @property
    def is_unsolicited(self) -> bool:
        return self is ResponseTrigger.interjection


@dataclass(frozen=True)
class BufferedMessage:
    """One message waiting to be answered; its row in the history is already written."""

    author: Author
    text: str
    timestamp: datetime
    history_id: int | None = None
    message: InboundMessage | None = None
    """All that came with it; None: the words are all there was."""
    asked: TurnOptions = TurnOptions()
    """What else is asked with it: it waits with the message."""
    is_for_us: bool = False
    """Said to the familiar beyond doubt: a mention, a reply to it, or a talk between two."""

    @property
    def display_text(self) -> str:
        """The words as prompts have them."""
        return self.text if self.message is None else self.message.display_text

    def with_text(self, text: str) -> BufferedMessage:
        """The same message in other words."""
        message = replace(self.message, text=text, view=None) if self.message is not None else None
        return replace(self, text=text, message=message)


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """What was said since we last spoke, with every input that changes the reply."""

    familiar_id: str
    channel_id: int
    guild_id: int | None
    messages: tuple[BufferedMessage, ...]
    trigger: ResponseTrigger
    is_voice: bool = False
    from_queue: bool = False
    asked: TurnOptions = TurnOptions()
    may_stay_silent: bool = False
    """The model that replies may decline to."""
    was_cut: bool = False
    """The reply before this one was ended by a newer message before its first word."""
    interruption_context: str | None = None
    """What the model is told of being talked over before this reply."""

    @property
    def is_awaited(self) -> bool:
        """Whether somebody spoke to us and waits for an answer."""
        return self.trigger is ResponseTrigger.direct_address or any(each.is_for_us for each in self.messages)

    @property
    def people_answered(self) -> tuple[Author, ...]:
        """Those who spoke to us beyond doubt; without such, whoever spoke last, and nobody where nobody asked."""
        surely = tuple(each.author for each in self.messages if each.is_for_us)
        return surely or (tuple(each.author for each in self.messages[-1:]) if self.is_awaited else ())

    @property
    def speaker(self) -> Author | None:
        """Who is answered: who asked for a reply to be made anew, else who spoke last."""
        if self.asked.revises is not None:
            return self.asked.revises.asker
        return self.messages[-1].author if self.messages else None
