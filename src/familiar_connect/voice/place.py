"""VoicePlace: a conversation that is heard: replies are spoken, and what was heard of them is what was said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from familiar_connect.chat.place import Place, PlaceFeatures
from familiar_connect.chat.scene import Scene
from familiar_connect.chat.types import InboundMessage
from familiar_connect.conversation.types import Exchange
from familiar_connect.history.stored_messages import StoredMessages
from familiar_connect.voice.protocols import AudioOut, SpeechSynthesizer
from familiar_connect.voice.speech import SpokenReply

PIECE_LIMIT = 100_000


class VoicePlace(Place):
    """Speaks replies through a synthesiser; notices are shown, never spoken."""

    features = PlaceFeatures(limit=PIECE_LIMIT, streams=True, speaks=True)

    def __init__(
        self,
        synthesizer: SpeechSynthesizer,
        out: AudioOut,
        recent: StoredMessages,
        *,
        show: Callable[[str], None],
        scene: Callable[[], Awaitable[Scene]],
        on_first_audio: Callable[[], None] | None = None,
        follow: Callable[[Exchange], AbstractContextManager[None]] | None = None,
        longest_reply_s: float | None = None,
    ) -> None:
        """*show* is given what can only be read: notices, and sentences that could not be spoken. *follow* is open
        while a reply is made and spoken, which ends with the sentence that reaches *longest_reply_s*.
        """
        self._synthesizer = synthesizer
        self._out = out
        self._recent = recent
        self._scene = scene
        self._show = show
        self._on_first_audio = on_first_audio
        self._follow = follow
        self._longest_reply_s = longest_reply_s
        self._heard: list[str] = []
        self._speech: SpokenReply | None = None
        """The reply that is being spoken."""
        self._speaking: asyncio.Task[object] | None = None

    def follow_reply(self, exchange: Exchange) -> AbstractContextManager[None]:
        return self._follow(exchange) if self._follow is not None else nullcontext()

    @property
    def is_waiting(self) -> bool:
        """Whether a reply under way waits for words or for their sound."""
        return self._speech is not None and self._speech.is_waiting

    def pause(self) -> None:
        """Be silent at once; `resume` goes on with what was not heard."""
        if self._speech is not None:
            self._speech.pause()

    def resume(self) -> None:
        if self._speech is not None:
            self._speech.resume()

    def cut(self) -> None:
        """End what is being spoken; what was heard of it is what was said."""
        if self._speaking is not None:
            self._speaking.cancel()

    def take_heard(self) -> str:
        """What was heard of the familiar since this was asked last."""
        heard, self._heard = "".join(self._heard).strip(), []
        return heard

    async def speak(self, pieces: AsyncIterable[str], on_heard: Callable[[str], None]) -> None:

        def note(words: str) -> None:
            self._heard.append(words)
            on_heard(words)

        self._speech = SpokenReply(
            self._synthesizer,
            self._out,
            on_heard=note,
            on_unspoken=self._show_unspoken,
            on_first_audio=self._on_first_audio,
            longest_s=self._longest_reply_s,
        )
        self._speaking = asyncio.current_task()
        try:
            await self._speech.speak(pieces)
        finally:
            self._speech = self._speaking = None

    async def send(self, text: str) -> None:
        """Something that is said in one go."""

        async def whole() -> AsyncIterator[str]:
            yield text

        await self.speak(whole(), lambda _: None)

    async def say_aside(self, text: str) -> None:
        """Speak *text* beside the conversation: nothing waits for it, and nobody is recorded as having said it."""

        async def whole() -> AsyncIterator[str]:
            yield text

        aside = SpokenReply(self._synthesizer, self._out, on_heard=lambda _: None, on_unspoken=self._show_unspoken)
        await aside.speak(whole())

    async def notice(self, text: str) -> None:
        self._show(text)

    def show(self, text: str) -> None:
        """Something that can only be read."""
        self._show(text)

    async def recent(self, limit: int) -> Sequence[InboundMessage]:
        return await self._recent.recent(limit)

    async def scene(self) -> Scene:
        return await self._scene()

    def _show_unspoken(self, text: str) -> None:
        self._show(f"(could not be spoken) {text}")
