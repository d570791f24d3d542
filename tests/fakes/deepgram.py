"""Deepgram on loopback, one connection at a time: it counts the sound it hears and tells how much it was."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.fakes.speech_server import Answer, talk_answer

BYTES_PER_S = 32_000


def result_of(text: str, start: float, length: float, *, is_final: bool = True, **more: Any) -> dict[str, Any]:
    """A transcript as the service tells it."""
    best = {"transcript": text, "confidence": 0.9, "words": [], **more}
    return {
        "type": "Results",
        "start": start,
        "duration": length,
        "is_final": is_final,
        "speech_final": is_final,
        "channel": {"alternatives": [best]},
    }


@dataclass
class DeepgramConnection:
    """What happens on one connection."""

    drops_after: int | None = None
    """Bytes after which it ends without a word."""
    says: str | None = None
    """The words of every transcript; None: the number of bytes that it is about."""
    noise: tuple[str | bytes, ...] = ()
    """What it sends besides, before everything else."""
    heard: bytearray = field(default_factory=bytearray)
    controls: list[str] = field(default_factory=list)
    empty_frames: int = 0
    _told: int = 0

    @property
    def answer(self) -> Answer:
        return talk_answer(self._talk)

    async def _talk(self, socket: web.WebSocketResponse) -> None:
        for each in self.noise:
            await (socket.send_str(each) if isinstance(each, str) else socket.send_bytes(each))
        async for message in socket:
            if message.type is WSMsgType.BINARY:
                self.heard += message.data
                self.empty_frames += not message.data
                if self.drops_after is not None and len(self.heard) >= self.drops_after:
                    await socket.send_json(result_of("maybe", 0.0, 0.1, is_final=False))
                    await socket.close(code=1011, message=b"NET-0001")
                    return
                continue
            kind = json.loads(message.data)["type"]
            self.controls.append(kind)
            if kind in ("Finalize", "CloseStream"):
                await self._tell(socket)
            if kind == "CloseStream":
                await socket.send_json({"type": "Metadata", "duration": len(self.heard) / BYTES_PER_S})
                return

    async def _tell(self, socket: web.WebSocketResponse) -> None:
        size = len(self.heard) - self._told
        start, length = self._told / BYTES_PER_S, size / BYTES_PER_S
        self._told = len(self.heard)
        words = self.says if self.says is not None else str(size)
        await socket.send_json(result_of("mayb", start, length, is_final=False))
        await socket.send_json(result_of(words if size else "", start, length))
