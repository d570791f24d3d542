"""WindowLookup: asks an endpoint how many tokens its model takes in, and whether it sees and uses tools.

OpenAI-like servers tell it among their models, llama.cpp in its properties, Ollama of a model it shows. A server of
one's own is asked all three ways at once, any other only for its models. A reply waits a moment for the answer, once;
an endpoint that tells nothing, or nothing that can be read, leaves what was known before.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from familiar_connect.errors import ModelError
from familiar_connect.llm.types import Capabilities
from familiar_connect.support.web_origin import is_own_network

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

WAIT_S = 3.0
"""Longest that a reply waits for the answer."""
ASK_LIMIT_S = 10.0
ASK_AGAIN_S = 60.0
"""After an endpoint was too slow to tell."""
MAX_BODY_BYTES = 8 << 20
LEAST_WINDOW, MOST_WINDOW = 256, 100_000_000
"""What else a server says is no window."""
OLLAMA_DEFAULT_WINDOW = 4096
"""Ollama silently drops the start of a longer prompt, whatever the model could take, unless it is set up otherwise."""

_LISTED = ("context_length", "max_model_len", "context_window", "loaded_context_length", "max_context_length")

Ask = Callable[[], Awaitable[int | None]]


class WindowLookup:
    """The window of one model, asked for until the endpoint has answered."""

    def __init__(self, ask: Ask, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.window: int | None = None
        """What the endpoint said; None: it has not, or says nothing."""
        self._ask = ask
        self._clock = clock
        self._has_answer = False
        self._not_before = 0.0
        self._asking: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None

    async def learn(self, wait_s: float = WAIT_S) -> None:
        """Ask, unless that is done, and wait for the answer at most *wait_s*. Never raises for what goes wrong."""
        if self._has_answer or self._clock() < self._not_before:
            return
        loop = asyncio.get_running_loop()
        if self._asking is None or self._asking[0] is not loop or self._asking[1].done():
            self._asking = (loop, loop.create_task(self._run(), name="endpoint-window"))
        task = self._asking[1]
        _, late = await asyncio.wait({task}, timeout=wait_s)
        if late:  # it goes on, and the next reply knows
            self._not_before = self._clock() + ASK_AGAIN_S

    async def close(self) -> None:
        if self._asking is not None and self._asking[0] is asyncio.get_running_loop():
            task = self._asking[1]
            task.cancel()
            await asyncio.wait({task})
        self._asking = None

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(ASK_LIMIT_S):
                self.window = await self._ask()
            self._has_answer = True
        except Exception as error:  # isolation: a reply needs no window
            logger.debug("the endpoint did not tell its window", extra={"error": type(error).__name__})


@dataclass(frozen=True, kw_only=True)
class EndpointFacts:
    """What a server tells of a model; None: nothing."""

    window: int | None = None
    vision: bool | None = None
    tools: bool | None = None


def with_told_abilities(known: Capabilities, told: EndpointFacts) -> Capabilities:
    """*known* with what the server tells that the owner did not set."""
    vision = told.vision if told.vision is not None and not known.is_vision_set else known.vision
    tools = told.tools if told.tools is not None and not known.is_tools_set else known.tools
    if (vision, tools) == (known.vision, known.tools):
        return known
    return replace(known, vision=vision, tools=tools)


async def ask_endpoint(
    http: httpx2.AsyncClient, base_url: str, model: str, headers: Mapping[str, str]
) -> EndpointFacts:
    """What the server at *base_url* tells of *model*. Raises if nobody answers."""
    base = base_url.rstrip("/")
    questions = [_answer(http, "GET", f"{base}/models", headers)]
    if is_own_network(base_url):
        root = base.removesuffix("/v1")
        questions += [
            _answer(http, "GET", f"{root}/props", headers),
            _answer(http, "POST", f"{root}/api/show", headers, {"model": model}),
        ]
    answers = await asyncio.gather(*questions, return_exceptions=True)
    if all(isinstance(answer, BaseException) for answer in answers):
        raise ModelError(f"{len(answers)} questions about the window were not answered")
    listed, props, shown = ([each if isinstance(each, dict) else {} for each in answers] + [{}, {}])[:3]
    abilities = [abilities_of_show(shown), abilities_of_props(props), abilities_of_list(listed, model)]
    return EndpointFacts(
        window=window_of_show(shown) or window_of_props(props) or window_of_list(listed, model),
        vision=next((vision for vision, _ in abilities if vision is not None), None),
        tools=next((tools for _, tools in abilities if tools is not None), None),
    )


def abilities_of_show(answer: Mapping[str, Any]) -> tuple[bool | None, bool | None]:
    """Whether the model that Ollama shows sees and uses tools; None where it does not say."""
    found = answer.get("capabilities")
    return ("vision" in found, "tools" in found) if isinstance(found, list) else (None, None)


def abilities_of_props(answer: Mapping[str, Any]) -> tuple[bool | None, bool | None]:
    """As much, of llama.cpp's properties: it tells what a model sees."""
    vision = _table(answer.get("modalities")).get("vision")
    return (vision if isinstance(vision, bool) else None), None


def abilities_of_list(answer: Mapping[str, Any], model: str) -> tuple[bool | None, bool | None]:
    """As much, of a list of models as OpenRouter gives it."""
    row = next((each for each in _rows(answer) if isinstance(each, dict) and each.get("id") == model), {})
    inputs, parameters = _table(row.get("architecture")).get("input_modalities"), row.get("supported_parameters")
    return (
        "image" in inputs if isinstance(inputs, list) else None,
        "tools" in parameters if isinstance(parameters, list) else None,
    )


def window_of_list(answer: Mapping[str, Any], model: str) -> int | None:
    """What a list of models says of *model*, or of the only one in it."""
    rows = [row for row in _rows(answer) if isinstance(row, dict)]
    named = [row for row in rows if row.get("id") == model] or (rows if len(rows) == 1 else [])
    for row in named:
        meta, top = _table(row.get("meta")), _table(row.get("top_provider"))
        told = [meta.get("n_ctx"), *(row.get(name) for name in _LISTED), meta.get("n_ctx_train")]
        limits = [value for value in (_first_window(told), _first_window([top.get("context_length")])) if value]
        if limits:
            return min(limits)
    return None


def window_of_props(answer: Mapping[str, Any]) -> int | None:
    """What llama.cpp's properties say of a conversation's window."""
    return _first_window([_table(answer.get("default_generation_settings")).get("n_ctx"), answer.get("n_ctx")])


def window_of_show(answer: Mapping[str, Any]) -> int | None:
    """What Ollama uses of the model it shows: what it is set to, else its default; never more than the model has."""
    info = answer.get("model_info")
    if not isinstance(info, dict):
        return None
    most = _first_window(value for name, value in info.items() if str(name).endswith(".context_length"))
    words = str(answer.get("parameters") or "").split()
    set_to = _first_window(int(value) for name, value in pairwise(words) if name == "num_ctx" and value.isdecimal())
    return min(set_to or OLLAMA_DEFAULT_WINDOW, most or MOST_WINDOW)


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _rows(answer: Mapping[str, Any]) -> list[Any]:
    rows = answer.get("data") or answer.get("models")
    return rows if isinstance(rows, list) else []


def _first_window(values: Iterable[object]) -> int | None:
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool) and LEAST_WINDOW <= value <= MOST_WINDOW:
            return value
    return None


async def _answer(
    http: httpx2.AsyncClient,
    method: str,
    url: str,
    headers: Mapping[str, str],
    question: Mapping[str, object] | None = None,
) -> object:
    """The JSON at *url*; nothing where the server has no such page. Raises where it is not to be reached, or busy."""
    content = json.dumps(question).encode() if question is not None else None
    async with http.stream(method, url, headers=dict(headers), content=content) as response:
        if response.status_code >= 500:
            raise ModelError(f"answered with status {response.status_code}")
        if not response.is_success:
            return {}
        body = bytearray()
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    return {}
    try:
        return json.loads(bytes(body))
    except (ValueError, RecursionError):
        return {}
