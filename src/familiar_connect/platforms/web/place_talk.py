"""PlaceTalk: taking part from the page in channels of platforms that are connected in the same program.

The owner has no account there, so there are two things to do: put words into the familiar's mouth, which it remembers
as its own, and have it speak now of its own accord.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from uuid import uuid4

from familiar_connect.chat.message_parts import MessagePiece
from familiar_connect.chat.place import Place
from familiar_connect.errors import DeliveryError, FamiliarError, HistoryError, HomeError
from familiar_connect.familiar import Familiar
from familiar_connect.history.message_metadata import own_turn_facts
from familiar_connect.history.outbox import NONCE_CHARS
from familiar_connect.history.types import HistoryTurn
from familiar_connect.identity import Author
from familiar_connect.platforms.web.chats import WebChats
from familiar_connect.platforms.web.place_pages import OtherPlace
from familiar_connect.reply.chat_controls import NOTHING_SAID, ControlDoor
from familiar_connect.reply.chunks import pack_reply
from familiar_connect.reply.deliver import send_with_retry
from familiar_connect.support.aio import off_loop

logger = logging.getLogger(__name__)

MAX_SAID_CHARS = 8_000


class PlaceTalk:
    """Speaks in the channels of one familiar."""

    def __init__(self, familiar: Familiar, chats: WebChats) -> None:
        """*chats* do what takes long in the background."""
        self._familiar = familiar
        self._chats = chats

    def can_reach(self, place: OtherPlace) -> bool:
        """Whether the platform of *place* is connected in this program."""
        return self._familiar.live_places.has(place.platform)

    async def say(self, place: OtherPlace, text: str) -> None:
        """Post *text* as the familiar's own words; what arrived of it is in the history afterwards."""
        text = text.replace("\r\n", "\n").strip()
        if not text or len(text) > MAX_SAID_CHARS:
            raise HomeError(f"there is nothing to say, or more than {MAX_SAID_CHARS:,} characters")
        there, last = await self._reach(place)
        pieces: list[MessagePiece] = []
        try:
            for part in pack_reply(text, limit=there.features.limit):
                pieces.append(MessagePiece(message_id=await _post(there, part), text=part))
        finally:
            if pieces:
                await self._record(place.channel_id, last, pieces)

    async def _record(self, channel_id: int, last: HistoryTurn, pieces: list[MessagePiece]) -> None:
        familiar = self._familiar
        posted = [piece for piece in pieces if piece.message_id]
        write = partial(
            familiar.history_store.append_turn,
            familiar_id=familiar.id,
            channel_id=channel_id,
            role="assistant",
            content="\n\n".join(piece.text for piece in pieces),
            guild_id=last.guild_id,
            mode=last.mode,
            platform_message_id=posted[0].message_id if posted else None,
            facts=own_turn_facts(posted),
        )
        await off_loop(write)
        await familiar.memory_writer_scheduler.notify_turn()

    async def speak_now(self, place: OtherPlace) -> None:
        """Have the familiar say something there, and wait until it has."""
        there, last = await self._reach(place)
        speaker = last.author or Author(place.platform, self._familiar.id, None, None)
        door = ControlDoor(channel_id=place.channel_id, speaker=speaker, place=there, guild_id=last.guild_id)
        await self._familiar.reply_path.controls.speak_now(door)

    def start_speaking(self, place: OtherPlace) -> None:
        """As `speak_now`, without waiting; what goes wrong is told to the owner as with any reply."""
        self._chats.start_task(self._try_speaking(place), name=f"speak-{place.channel_id}")

    async def _try_speaking(self, place: OtherPlace) -> None:
        try:
            await self.speak_now(place)
        except FamiliarError as error:
            logger.warning("nothing was said", extra={"channel_id": place.channel_id, "reason": str(error)})

    async def _reach(self, place: OtherPlace) -> tuple[Place, HistoryTurn]:
        """The channel, and what was said there last."""
        there = await self._familiar.live_places.find(place.platform, place.channel_id)
        if there is None:
            raise HomeError(f"{place.name} cannot be reached now; try again when its platform is connected")
        why_not = await there.why_not_writable()
        if why_not is not None:
            raise HomeError(f"nothing can be said in {place.name}: {why_not}")
        history = self._familiar.history_store
        turns = await off_loop(
            partial(history.recent, familiar_id=self._familiar.id, channel_id=place.channel_id, limit=1)
        )
        if not turns:
            raise HistoryError(NOTHING_SAID)
        return there, turns[-1]


async def _post(place: Place, text: str) -> str:
    """Say one message for sure; its id, empty where the platform tells none."""
    found: list[str] = []
    nonce = uuid4().hex[:NONCE_CHARS]

    async def step() -> None:
        if place.features.posts_once:
            found.append((await place.post_once(text, nonce)).message_id)
        elif place.features.posts_answers:
            found.append(await place.post_answer(text) or "")
        else:
            await place.send(text)

    try:
        await send_with_retry(step, asyncio.sleep)
    except DeliveryError as error:
        raise HomeError(f"it did not arrive ({error})") from error
    return found[-1] if found else ""
