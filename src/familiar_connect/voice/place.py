"""VoicePlace: a conversation that is heard: replies are spoken, and what was heard of them is what was said."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.voice.protocols import AudioOut, SpeechSynthesizer
from familiar_connect.voice.speech import SpokenReply

PIECE_LIMIT = 100_000


class VoicePlace:
    """Speaks replies through a synthesiser; notices are shown, never spoken."""

    streams = True
    limit = PIECE_LIMIT

    def __init__(
        self,
        synthesizer: SpeechSynthesizer,
        out: AudioOut,
        recent: StoredMessages,
        *,
        show: Callable[[str], None],
        scene: Callable[[], Awaitable[Scene]],
        on_first_audio: Callable[[], None] | None = None,
    ) -> None:
        """*show* is given what can only be read: notices, and sentences that could not be spoken."""
        self._synthesizer = synthesizer
        self._out = out
        self._recent = recent
        self._scene = scene
        self._show = show
        self._on_first_audio = on_first_audio
        self._heard: list[str] = []
        self.speech: SpokenReply | None = None
        """The reply that is being spoken."""

    def take_heard(self) -> str:
        """What was heard of the familiar since this was asked last."""
        heard, self._heard = "".join(self._heard).strip(), []
        return heard

    @asynccontextmanager
    async def thinking(self) -> AsyncIterator[None]:
        yield

    async def speak(self, pieces: AsyncIterable[str], on_heard: Callable[[str], None]) -> None:

        def note(words: str) -> None:
            self._heard.append(words)
            on_heard(words)

        self.speech = SpokenReply(
            self._synthesizer,
            self._out,
            on_heard=note,
            on_unspoken=self._show_unspoken,
            on_first_audio=self._on_first_audio,
        )
        try:
            await self.speech.speak(pieces)
        finally:
            self.speech = None

    async def send(self, text: str) -> None:
        """Something that is said in one go."""

        async def whole() -> AsyncIterator[str]:
            yield text

        await self.speak(whole(), lambda _: None)

    async def notice(self, text: str) -> None:
        self._show(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._recent.recent(limit)

    async def scene(self) -> Scene:
        return await self._scene()

    def _show_unspoken(self, text: str) -> None:
        self._show(f"(could not be spoken) {text}")
