"""A place that is heard: replies are spoken while they are written."""

from __future__ import annotations

import asyncio
from pathlib import Path

from familiar_connect.bot import load_familiar
from familiar_connect.chat.scene import ChannelContext, ChannelKind, Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.config.home import profile_path
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.voice.place import VoicePlace
from familiar_connect.voice.types import TTSResult
from tests.fakes.model_server import DONE, ModelServer, event, head, raw_answer
from tests.fakes.program import make_home
from tests.fakes.scripted_familiar import ANA, NOON

CHANNEL = 9


class OneTone:
    """Speaks anything in a sample."""

    sample_rate = 16_000

    async def synthesize(self, text: str) -> TTSResult:
        return TTSResult(bytes(2))


class NotedOut:
    """Tells when something is played."""

    def __init__(self) -> None:
        self.playing = asyncio.Event()

    async def play(self, pcm: bytes, sample_rate: int) -> None:
        self.playing.set()

    def position_ms(self) -> float:
        return 0.0


async def look_around() -> Scene:
    return Scene(channel=ChannelContext("voice", ChannelKind.voice), participants=(ANA,))


async def test_the_first_sentence_sounds_before_the_model_has_written_the_rest(tmp_path: Path) -> None:
    """With the settings that ship; neither actions nor markup are heard or kept."""
    out = NotedOut()

    async def rest(server: ModelServer, writer: asyncio.StreamWriter) -> None:
        await asyncio.wait_for(out.playing.wait(), 60)
        writer.write(event(" is **cold**.") + event(finish="stop") + DONE)
        await writer.drain()

    async with ModelServer([raw_answer(head(), event("*smiles warmly* Make soup. It"), then=rest)]) as server:
        root = make_home(tmp_path, server)
        familiar, _ = load_familiar(root, home=tmp_path, defaults_path=profile_path(tmp_path))
        try:
            await familiar.start()
            recent = StoredMessages(familiar.history_store, familiar.id, CHANNEL, platform="terminal")
            place = VoicePlace(OneTone(), out, recent, show=lambda _: None, scene=look_around)
            said = InboundMessage(
                platform="terminal",
                channel_id=CHANNEL,
                author=ANA,
                text="What should I cook?",
                timestamp=NOON,
                is_dm=True,
                is_mention=True,
                is_voice=True,
            )
            await familiar.intake.receive(said, place)
            await familiar.reply_path.queue.wait_until_channel_idle(CHANNEL)
            assert place.take_heard() == "Make soup. It is cold."
            turns = familiar.history_store.recent(familiar_id=familiar.id, channel_id=CHANNEL, limit=5)
            assert [turn.content for turn in turns if turn.role == "assistant"] == ["Make soup. It is cold."]
        finally:
            await familiar.aclose()
