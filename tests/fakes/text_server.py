"""A completion endpoint on loopback as llama.cpp, KoboldCpp, text-generation-webui and vLLM have one.

What goes on with the text is a script that does not stop by itself, as base models do not: it is cut at the first stop
word it was told, or runs into what it makes up for others. Each server takes the samplers it knows, in its own types,
and refuses what it would refuse: a list that is a text, a text that is a list; vLLM also names it does not know.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.fakes.model_server import DONE, Answer, ModelServer, error_answer, head, json_answer, raw_answer

LISTS = {"llama.cpp": ("stop", "dry_sequence_breakers", "samplers"), "koboldcpp": ("stop", "dry_sequence_breakers")}
TEXTS = {"text-generation-webui": ("dry_sequence_breakers", "grammar_string")}
VLLM_KNOWS = {
    *("model", "prompt", "stream", "stream_options", "max_tokens", "temperature", "top_p", "top_k", "min_p", "stop"),
    *("seed", "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias", "min_tokens", "ignore_eos"),
    *("skip_special_tokens", "spaces_between_special_tokens", "guided_grammar"),
}


def goes_on(server: str, words: str) -> Answer:
    """A *server* whose model goes on with *words*."""

    async def answer(endpoint: ModelServer, writer: asyncio.StreamWriter) -> None:
        asked = endpoint.requests[-1]
        if not asked.path.endswith("/v1/completions"):
            await error_answer(404)(endpoint, writer)
            return
        if problem := _problem(server, asked.payload):
            await json_answer({"object": "error", "message": problem, "code": 400}, 400)(endpoint, writer)
            return
        told = _cut(words, asked.payload.get("stop" if server != "koboldcpp" else "stop_sequence") or [])
        if not asked.payload.get("stream"):
            choice = {"index": 0, "text": told, "finish_reason": "stop"}
            await json_answer({"object": "text_completion", "choices": [choice]})(endpoint, writer)
            return
        pieces = [told[at : at + 3] for at in range(0, len(told), 3)]
        await raw_answer(head(), *[_event(piece) for piece in pieces], _event("", "stop"), DONE)(endpoint, writer)

    return answer


def _event(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
    return b"data: " + json.dumps({"object": "text_completion", "choices": [choice]}).encode() + b"\n\n"


def _cut(words: str, stop: list[str]) -> str:
    return words[: min((at for each in stop if (at := words.find(each)) >= 0), default=len(words))]


def _problem(server: str, payload: dict[str, Any]) -> str:
    if not isinstance(payload.get("prompt"), str) or "messages" in payload:
        return "prompt: Input should be a valid string"
    for name in LISTS.get(server, ()):
        if name in payload and not isinstance(payload[name], list):
            return f"{name} must be an array"
    for name in TEXTS.get(server, ()):
        if name in payload and not isinstance(payload[name], str):
            return f"{name}: Input should be a valid string"
    unknown = sorted(payload.keys() - VLLM_KNOWS) if server == "vllm" else []
    return f"Extra inputs are not permitted: {unknown[0]}" if unknown else ""
