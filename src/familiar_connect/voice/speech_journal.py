"""SpeechJournal: puts words on disk the moment they are understood, however long their turn is in coming."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from uuid import uuid4

from familiar_connect.chat.place import Place
from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.intake import Intake
from familiar_connect.support.aio import BackgroundTasks


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
