"""What goes over the wire: answers, events and refusals as OpenAI's endpoint words them."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping, Sequence

from familiar_connect.api.answering import Send
from familiar_connect.extensions.serve.program_tools import ToolRequest

SECURE = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
DONE = b"data: [DONE]\n\n"


async def send_json(send: Send, value: object, *, status: int = 200) -> None:
    """A whole answer."""
    body = json.dumps(value, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *SECURE]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_refusal(send: Send, sentence: str, *, status: int, code: str) -> None:
    """Why a request is not carried out."""
    await send_json(send, form_refusal(sentence, code), status=status)


def form_refusal(sentence: str, code: str) -> dict[str, object]:
    """A refusal as programs expect it."""
    return {"error": {"message": sentence, "type": code, "param": None, "code": code}}


async def begin_events(send: Send) -> None:
    """The head of an answer that comes in events."""
    headers = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"), *SECURE]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def send_event(send: Send, value: object) -> None:
    """One event."""
    body = b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def end_events(send: Send) -> None:
    """The end of such an answer."""
    await send({"type": "http.response.body", "body": DONE})


def form_models(names: Sequence[str], made: int) -> dict[str, object]:
    """The familiars as models."""
    return {"object": "list", "data": [form_model(name, made) for name in names]}


def form_model(name: str, made: int) -> dict[str, object]:
    """One familiar as a model."""
    return {"id": name, "object": "model", "created": made, "owned_by": "familiar-connect"}


def form_embeddings(model: str, vectors: Sequence[Sequence[float]], *, as_bytes: bool) -> dict[str, object]:
    """Vectors in the order of their texts."""
    data = [
        {"object": "embedding", "index": at, "embedding": _as_bytes(each) if as_bytes else list(each)}
        for at, each in enumerate(vectors)
    ]
    return {"object": "list", "data": data, "model": model, "usage": {"prompt_tokens": 0, "total_tokens": 0}}


def _as_bytes(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _form_call(call: ToolRequest) -> dict[str, object]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.call_id, "type": "function", "function": function}


class CompletionForm:
    """One reply in the form of a chat completion: its id, its model and when it began."""

    def __init__(self, completion_id: str, model: str, made: int) -> None:
        self._head = {"id": completion_id, "created": made, "model": model}

    def whole(self, text: str) -> dict[str, object]:
        """The reply in one piece."""
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {**self._head, "object": "chat.completion", "choices": [choice]}

    def whole_call(self, text: str, call: ToolRequest) -> dict[str, object]:
        """What was said so far and the call of a tool that the program is to run, in one piece."""
        message = {"role": "assistant", "content": text or None, "tool_calls": [_form_call(call)]}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
        return {**self._head, "object": "chat.completion", "choices": [choice]}

    def call(self, call: ToolRequest) -> dict[str, object]:
        """The event with such a call."""
        return self._chunk({"tool_calls": [{"index": 0, **_form_call(call)}]})

    def end_with_call(self) -> dict[str, object]:
        """The event behind it."""
        return self._chunk({}, finish="tool_calls")

    def begin(self) -> dict[str, object]:
        """The event before the first words."""
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, text: str) -> dict[str, object]:
        """The event with some words."""
        return self._chunk({"content": text})

    def end(self) -> dict[str, object]:
        """The event behind the last words."""
        return self._chunk({}, finish="stop")

    def _chunk(self, delta: Mapping[str, object], finish: str | None = None) -> dict[str, object]:
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}
