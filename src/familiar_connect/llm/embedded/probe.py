"""ask_model_file, ask_small_model: whether a model inside the program answers, asked for one word."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from familiar_connect.llm.embedded.client import EmbeddedModel
from familiar_connect.llm.embedded.server import EmbeddedServer, open_model_file
from familiar_connect.llm.embedded.weights import find_weights
from familiar_connect.llm.profiles import local_file_capabilities
from familiar_connect.llm.types import CompletionRequest, Message
from familiar_connect.support.text import one_line, sentences

GREETING = "Hi, how are you?"
"""A small model makes nothing of an order; to a greeting it has a word."""
MAX_TOKENS = 16
SHOWN_CHARS = 80


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What it said, and how long it took."""

    text: str
    load_s: float
    seconds: float


async def ask_model_file(name: str, path: Path) -> ProbeResult:
    """Load the model file and ask it for a word; a `ModelError` says why it does not answer."""
    local = open_model_file(name, path)
    suits = local_file_capabilities("main_prose", local.plan.window, local.file.file_bytes)
    return await _ask(
        EmbeddedModel(local.server, model=name, file=local.file, capabilities=suits, is_main=True, temperature=0.0)
    )


async def ask_small_model(home: Path) -> ProbeResult:
    """The same of the small model that comes with the program, or was fetched into *home*."""
    return await _ask(EmbeddedModel(EmbeddedServer(find=partial(find_weights, home)), temperature=0.0))


async def _ask(client: EmbeddedModel) -> ProbeResult:
    began = time.monotonic()
    try:
        await client.server.ready()
        ready = time.monotonic()
        done = await client.complete(CompletionRequest([Message("user", GREETING)], max_tokens=MAX_TOKENS))
    finally:
        await client.close()
    text = next(iter(sentences(one_line(done.text))), "")[:SHOWN_CHARS]
    return ProbeResult(text=text, load_s=ready - began, seconds=time.monotonic() - ready)
