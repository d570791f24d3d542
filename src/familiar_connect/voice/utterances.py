"""What people said between two pauses: whose words they are, which are answered, and what a reply is told of them.

SpeechJournal: puts words on disk the moment they are understood, however long their turn is in coming.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage
from familiar_connect.context.providers.scene.text import inline_safe
from familiar_connect.conversation.intake import Intake
from familiar_connect.conversation.types import ReplyDue
from familiar_connect.identity import Author
from familiar_connect.support.aio import BackgroundTasks

MAX_QUOTED_CHARS = 600


@dataclass(frozen=True, kw_only=True)
class Utterance:
    """Some words of one person."""

    author: Author
    text: str
    is_back_channel: bool = False
    """It only shows that they listen, while the familiar speaks."""
    keys: tuple[str, ...] = ()
    """Under which it is on disk, until it is a turn."""


def merge_by_speaker(said: Sequence[Utterance]) -> list[Utterance]:
    """*said* with what one person said in a row put together; back-channels stay apart."""
    merged: list[Utterance] = []
    for each in said:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.author.canonical_key == each.author.canonical_key
            and last.is_back_channel == each.is_back_channel
        ):
            merged[-1] = replace(last, text=f"{last.text} {each.text}", keys=(*last.keys, *each.keys))
        else:
            merged.append(each)
    return merged


def when_due(said: Sequence[Utterance]) -> list[ReplyDue]:
    """When each of *said* is answered: all together, with the last that is no back-channel."""
    last = max((at for at, each in enumerate(said) if not each.is_back_channel), default=-1)
    return [
        ReplyDue.never if each.is_back_channel else ReplyDue.now if at == last else ReplyDue.with_next
        for at, each in enumerate(said)
    ]


def note_while_generating(said: Sequence[Utterance]) -> str:
    """For a reply that is made anew, because people went on."""
    return f"You were interrupted while forming a reply, and it was not said. Meanwhile {_quote(said)}. Answer anew."


def note_while_speaking(heard: str, said: Sequence[Utterance]) -> str:
    """For a new reply after the last one was cut."""
    told = f"only this was heard: “{inline_safe(heard, MAX_QUOTED_CHARS)}”" if heard.strip() else "no word was heard"
    return f"You were interrupted while speaking; of your reply {told}. Then {_quote(said)}."


def note_talked_on(said: Sequence[Utterance]) -> str:
    """For the next reply, where the familiar was talked over and went on."""
    return f"While you were speaking, {_quote(said)}. You talked on."


def _quote(said: Sequence[Utterance]) -> str:
    """Who said what, fit to stand in a line of ours."""
    limit = max(40, MAX_QUOTED_CHARS // max(1, len(said)))
    return "; ".join(f"{inline_safe(each.author.label, 80)} said: “{inline_safe(each.text, limit)}”" for each in said)


class SpeechJournal:
    """What was said in one channel and is no turn yet. `add` never waits."""

    def __init__(self, intake: Intake, place: Place) -> None:
        self._intake = intake
        self._place = place
        self._background = BackgroundTasks("voice words")
        self._writing: dict[str, asyncio.Task[None]] = {}

    def add(self, message: InboundMessage) -> str:
        """Write *message* down; the key under which it is, until it is received."""
        key = uuid4().hex
        self._writing[key] = self._background.start(
            self._intake.keep_speech(key, message, self._place), name=str(message.channel_id)
        )
        return key

    async def wait_for(self, keys: Collection[str]) -> None:
        """Wait until these are on disk."""
        writing = [task for key in keys if (task := self._writing.pop(key, None)) is not None]
        if writing:
            await asyncio.wait(writing)
