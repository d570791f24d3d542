"""LLMClient: one model at any `/chat/completions` endpoint.

It streams, waits no longer than told, tries again what may pass and says in one sentence what will
not. A call holds a place in the process-wide limit while it talks, never while it waits to try again.
A stream is never started over once its first piece is out. What the model thinks to itself is left out,
streamed or not. Built outside any event loop, usable from one loop after another.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from familiar_connect.config.llm import (
    DEFAULT_REPLY_TIMEOUT_S,
    DEFAULT_TIMEOUT_S,
    OPENROUTER_KEY_VARIABLE,
    default_first_token_s,
)
from familiar_connect.config.llm import OPENROUTER_BASE_URL as OPENROUTER_BASE_URL
from familiar_connect.errors import ModelError, ModelSetupError
from familiar_connect.llm import sse
from familiar_connect.llm.call_clock import CallClock
from familiar_connect.llm.call_clock import CallLimits as CallLimits
from familiar_connect.llm.connection import Connections
from familiar_connect.llm.endpoint_window import EndpointFacts, WindowLookup, ask_endpoint, with_told_abilities
from familiar_connect.llm.protocols import CompletionStream
from familiar_connect.llm.read_answer import (
    WordReader,
    may_start_in_thought,
    read_whole_answer,
)
from familiar_connect.llm.request_limit import GaveWayError, RequestPlace, Reservation, request_semaphore
from familiar_connect.llm.retry import (
    Endpoint,
    RetryPolicy,
    error_of_object,
    error_of_status,
    error_of_transport,
    no_completion,
)
from familiar_connect.llm.sampling import SamplerRefusals, SamplersRefusedError, sampler_fields
from familiar_connect.llm.streams import PieceStream, pieces_of, report_completion, stream_from_chat
from familiar_connect.llm.types import Capabilities, Completion, CompletionRequest, Message, Sampling
from familiar_connect.support.aio import off_loop
from familiar_connect.support.web_origin import is_own_network, is_same_origin, may_carry_key, origin_of

if TYPE_CHECKING:
    import httpx2

DEFAULT_MAX_OUTPUT_TOKENS = 4096
"""Longest answer asked for where nothing says otherwise: no call goes on for ever."""
UNKNOWN_WINDOW_OUTPUT_TOKENS = 2048
OUTPUT_SHARE = 4
"""The part of a window, one in so many, that prompts leave to the answer."""
HOTTER, HOTTEST = 0.3, 1.5
"""How much higher the temperature is with each further try, and how high it may get."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 2.0
"""Between two looks at a server that comes up."""

logger = logging.getLogger(__name__)


class LLMClient:
    """A chat model behind an OpenAI-style address."""

    path = "chat/completions"
    """What is asked there."""

    def __init__(
        self,
        *,
        api_key: str | None,
        model: str,
        base_url: str = OPENROUTER_BASE_URL,
        temperature: float | None = None,
        limits: CallLimits | None = None,
        capabilities: Capabilities | None = None,
        key_name: str | None = None,
        fallbacks: tuple[LLMClient, ...] = (),
        is_main: bool = False,
        retry: RetryPolicy | None = None,
    ) -> None:
        self.call_limits = limits = limits or CallLimits()
        self.api_key = api_key
        self.model = model
        self.base_url = base_url
        self.temperature = temperature
        self.max_output_tokens = limits.max_output_tokens
        self.sampling = limits.sampling
        self.timeout_s = DEFAULT_TIMEOUT_S if limits.timeout_s is None else limits.timeout_s
        given_s = limits.reply_timeout_s
        self.reply_timeout_s = DEFAULT_REPLY_TIMEOUT_S if given_s is None else given_s
        self.first_token_s = limits.first_token_s
        if limits.first_token_s is None and limits.timeout_s is None:
            self.first_token_s = default_first_token_s(base_url)
        self._whole_timeout_s = self.timeout_s if self.first_token_s is None else self.reply_timeout_s
        self.key_name = key_name
        self.fallbacks = fallbacks
        self.is_main = is_main
        self.retry = retry or RetryPolicy()
        self.on_completion: Callable[[Completion], None] | None = None
        """Told of every call that ended, well or not."""
        self.waiting_for: str | None = None
        """What a call waits for because the server is only coming up, in a few words; None: nothing."""
        self._capabilities = capabilities or Capabilities()
        self._starts_in_thought = may_start_in_thought(model)
        self._refusals = SamplerRefusals(model)
        self._connections = Connections()
        self._told = EndpointFacts()
        self._window = WindowLookup(self._ask_window)

    @property
    def capabilities(self) -> Capabilities:
        """What is known of the model; its window and abilities as its endpoint told them, unless the owner did."""
        window = self._window.window
        known = self._capabilities if window is None else replace(self._capabilities, window=window)
        return with_told_abilities(known, self._told)

    async def learn_limits(self) -> None:
        """Ask the endpoint for the model's window, once; soon over whatever happens."""
        lookups = [each._window for each in (self, *self.fallbacks) if not each._capabilities.is_window_set]
        if lookups:
            await asyncio.gather(*(lookup.learn() for lookup in lookups))

    async def _ask_window(self) -> int | None:
        endpoint = await self._endpoint()
        self._check_key(endpoint)
        http = await self._connections.client_for(endpoint.base_url)
        self._told = await ask_endpoint(http, endpoint.base_url, self.model, self.build_headers())
        return self._told.window

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r})"

    # What is sent

    def build_headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return headers

    def build_payload(self, messages: Sequence[Message]) -> dict[str, object]:
        sent = [message.to_dict() for message in messages]
        if self._capabilities.prefix_completion and messages and messages[-1].role == "assistant":
            sent[-1]["prefix"] = True
        payload: dict[str, object] = {"model": self.model, "messages": sent}
        if self.temperature is not None:
            payload["temperature"] = self.temperature
        payload |= self._sampler_fields(self.sampling)
        if self.max_output_tokens is not None:
            payload[self._output_limit_name] = self.max_output_tokens
        return payload

    @property
    def _output_limit_name(self) -> str:
        # OpenAI's own endpoint refuses the older name for its newer models; everyone else knows only that one.
        return "max_completion_tokens" if is_same_origin(self.base_url, "https://api.openai.com") else "max_tokens"

    def _call_payload(self, request: CompletionRequest) -> dict[str, object]:
        payload = self.build_payload(request.messages)
        sampling = request.sampling
        if sampling is not None:
            payload |= self._call_fields(sampling)
        if request.attempt:
            payload |= self._resampled(payload, request.attempt)
        if request.stop:
            merged = self.sampling if sampling is None else sampling.over(self.sampling)
            payload["stop"] = [*request.stop, *merged.stop]
        if request.max_tokens is not None:
            payload[self._output_limit_name] = request.max_tokens
        if is_same_origin(self.base_url, OPENROUTER_BASE_URL):
            payload["usage"] = {"include": True}  # has the answer say what it cost
        window = self.capabilities.window
        usual = min(DEFAULT_MAX_OUTPUT_TOKENS, window // OUTPUT_SHARE) if window else UNKNOWN_WINDOW_OUTPUT_TOKENS
        payload.setdefault(self._output_limit_name, usual)
        if request.tools:
            # Tools stay described when no more may be called: some providers refuse their results otherwise.
            payload["tools"] = [tool.to_dict() for tool in request.tools]
            payload["tool_choice"] = "auto" if request.may_call else "none"
        return payload

    def _sampler_fields(self, sampling: Sampling) -> dict[str, object]:
        return sampler_fields(sampling, self.base_url)

    def _call_fields(self, sampling: Sampling) -> dict[str, object]:
        """What *sampling* changes for one call. Its answer may not be longer than the slot and the window allow."""
        merged = sampling.over(self.sampling)
        told = self._sampler_fields(merged)
        if (asked := sampling.max_output_tokens) is not None:
            window = self.capabilities.window
            limits = (asked, self.max_output_tokens, window // OUTPUT_SHARE if window else None)
            told[self._output_limit_name] = min(each for each in limits if each is not None)
        return told

    def _resampled(self, payload: Mapping[str, object], attempt: int) -> dict[str, object]:
        """What is changed for another try. Some models refuse a temperature: one that is not sent stays out."""
        changed: dict[str, object] = {}
        if isinstance(temperature := payload.get("temperature"), int | float):
            changed["temperature"] = min(temperature + HOTTER * attempt, max(temperature, HOTTEST))
        if isinstance(seed := payload.get("seed"), int):
            changed["seed"] = seed + attempt
        return changed

    # What is asked

    async def chat(self, messages: list[Message]) -> Message:
        """The whole answer; when this model fails, that of the first fallback that does not."""
        try:
            return Message("assistant", (await self.complete(CompletionRequest(messages))).text)
        except ModelError as error:
            last = error
        for fallback in self.fallbacks:
            logger.warning("Model failed; trying the next one", extra={"model": self.model, "next": fallback.model})
            try:
                return await fallback.chat(messages)
            except ModelError as error:
                last = error
        raise last

    def stream(self, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        """The answer in pieces, as they come."""
        return pieces_of(self.start(CompletionRequest(messages)))

    def start(self, request: CompletionRequest) -> CompletionStream:
        """The answer in pieces, with all the call tells beside them. The call begins with the iteration."""
        if getattr(self.chat, "__func__", None) is not LLMClient.chat:  # a stand-in that answers in `chat` alone
            return stream_from_chat(self, request.messages)
        return self._stream(request.messages, self._call_payload(request))

    def _stream(self, messages: Sequence[Message], payload: dict[str, object]) -> PieceStream:
        completion = self._new_completion()
        return PieceStream(completion, self._attempts(completion, list(messages), payload))

    async def complete(self, request: CompletionRequest) -> Completion:
        """The answer in one, with all the call tells. Fallbacks are not tried."""
        completion = self._new_completion()
        payload = self._call_payload(request)
        began = time.monotonic()
        clock = self._clock(first_token_s=None, timeout_s=self._whole_timeout_s)
        try:
            while True:
                try:
                    async with clock.limit_reply(), self._place(gives_way=True) as place:
                        clock.begin_try(place)
                        await self._ask_whole(completion, request.messages, payload, clock)
                    return completion
                except GaveWayError:
                    logger.info("Side call gave way to a reply", extra={"model": self.model})
                except ModelError as error:
                    await self._wait_or_raise(error, completion, clock)
        finally:
            self._end(completion, began)

    async def close(self) -> None:
        await self._window.close()
        await self._connections.close()
        for fallback in self.fallbacks:
            await fallback.close()

    # How a call goes

    async def _endpoint(self) -> Endpoint:
        """Where this attempt goes. A local server may have moved since the last one."""
        return Endpoint(base_url=self.base_url, model=self.model, api_key=self.api_key, key_name=self.key_name)

    def _explain(self, endpoint: Endpoint, error: Exception) -> ModelError:
        return error_of_transport(endpoint, error)

    def _new_completion(self) -> Completion:
        return Completion(model=self.model, provider=urlsplit(self.base_url).hostname or "")

    def _clock(self, *, first_token_s: float | None, timeout_s: float) -> CallClock:
        return CallClock(
            model=self.model, first_token_s=first_token_s, timeout_s=timeout_s, reply_timeout_s=self.reply_timeout_s
        )

    def _place(self, *, gives_way: bool) -> AbstractAsyncContextManager[Reservation]:
        """A place among the running requests; at a server of one's own, side calls come after replies."""
        limits = self.call_limits
        try:
            endpoint = origin_of(self.base_url)
        except ValueError:  # asking tells what is wrong with the address
            endpoint = self.base_url
        server = endpoint if is_own_network(self.base_url) else None
        place = RequestPlace(endpoint=endpoint, slot=limits.slot, at_once=limits.at_once)
        return request_semaphore().reserve(main=self.is_main, server=server, gives_way=gives_way, place=place)

    async def _wait_for_server(self, error: ModelError, clock: CallClock) -> bool:
        """Wait a moment for a server that comes up, and show it; False where that is not what *error* tells."""
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S + clock.waited_s)
        if error.waiting_for is None or not self.retry.waits_for_server:
            return False
        if not clock.may_wait_for_server(pause_s, is_listening=error.status is not None):
            return False
        if self.waiting_for != error.waiting_for:
            logger.info("Waiting for the model's server", extra={"model": self.model, "status": error.status})
        self.waiting_for = error.waiting_for
        clock.note_pause(pause_s)
        await self.retry.pause(pause_s)
        return True

    async def _wait_or_raise(self, error: ModelError, completion: Completion, clock: CallClock) -> None:
        if isinstance(error, SamplersRefusedError) or await self._wait_for_server(error, clock):
            completion.attempts += 1
            return
        attempt = completion.attempts - 1
        if clock.waited_s or not self.retry.should_retry(error, attempt):
            raise error
        logger.info(
            "Model call failed; trying again",
            extra={"model": self.model, "attempt": completion.attempts, "status": error.status},
        )
        await self.retry.wait(error, attempt)
        completion.attempts += 1

    def _end(self, completion: Completion, began: float) -> None:
        completion.duration_s = time.monotonic() - began
        report_completion(completion)
        self.waiting_for = None
        if self.on_completion is not None:
            try:
                self.on_completion(completion)
            except Exception:  # an observer cannot fail a call
                logger.exception("Observer of model calls failed")

    async def _attempts(
        self, completion: Completion, messages: Sequence[Message], payload: dict[str, object]
    ) -> AsyncGenerator[str, None]:
        payload = {**payload, "stream": True, "stream_options": {"include_usage": True}}
        began = time.monotonic()
        clock = self._clock(first_token_s=self.first_token_s, timeout_s=self.timeout_s)
        try:
            while True:
                try:
                    async with AsyncExitStack() as stack:
                        async with clock.limit_reply():
                            clock.begin_try(await stack.enter_async_context(self._place(gives_way=False)))
                        pieces = self._ask_in_pieces(completion, messages, payload, clock)
                        await stack.enter_async_context(aclosing(pieces))
                        while True:
                            async with clock.limit_reply():
                                piece = await anext(pieces, None)
                            if piece is None:
                                break
                            self.waiting_for = None
                            if completion.first_token_s is None:
                                completion.first_token_s = time.monotonic() - began
                            completion.text += piece
                            yield piece
                    return
                except ModelError as error:
                    if completion.text:
                        raise
                    await self._wait_or_raise(error, completion, clock)
        finally:
            self._end(completion, began)

    async def _ask_in_pieces(
        self, completion: Completion, messages: Sequence[Message], payload: dict[str, object], clock: CallClock
    ) -> AsyncGenerator[str, None]:
        endpoint = await self._endpoint()
        async with self._post(endpoint, messages, payload, clock) as response:
            if response.headers.get("content-type", "").startswith("application/json"):
                # An endpoint that cannot stream answers whole.
                body, tags = await self._body(response), self._capabilities.reasoning_tags
                text = read_whole_answer(completion, endpoint, body, messages, tags)
                if text:
                    yield text
                return
            events, calls = sse.EventReader(endpoint.safe_url), sse.ToolCallReader()
            tags = self._capabilities.reasoning_tags
            words = WordReader.for_model(self.model, starts_inside=self._starts_in_thought, tags=tags)
            async with aclosing(self._events(response, events, clock, endpoint)) as incoming:
                async for event in incoming:
                    if event.get("error"):
                        raise error_of_object(endpoint, event["error"], messages)
                    sse.copy_metadata(completion, event)
                    delta = sse.read_delta(event)
                    completion.finish_reason = delta.finish_reason or completion.finish_reason
                    calls.feed(delta.part)
                    if len(completion.text) + len(delta.text) > sse.MAX_REPLY_CHARS:
                        raise ModelError(f"{self.model!r} did not stop talking; its reply was cut.")
                    if text := words.feed(delta):
                        yield text
            if text := words.close():
                yield text
            self._starts_in_thought = self._starts_in_thought or words.has_stray_end
            if not events.done and completion.finish_reason is None:
                if events.is_something_else:
                    raise ModelError(no_completion(endpoint, events.garbage))
                raise ModelError(f"{endpoint.safe_url} ended the reply before it was finished.", retryable=True)
            completion.tool_calls = calls.calls

    async def _events(
        self, response: httpx2.Response, events: sse.EventReader, clock: CallClock, endpoint: Endpoint
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Events of a stream. Silence between two of them is bounded, whatever comments a server sends meanwhile."""
        async with aclosing(response.aiter_raw()) as chunks:
            while not events.done:
                async with clock.limit_silence(endpoint.safe_url):
                    chunk = await anext(chunks, None)
                for event in events.finish() if chunk is None else events.feed(chunk):
                    if sse.is_token(event):
                        clock.note_token()
                    else:
                        clock.note_event()
                    yield event
                    clock.note_event()
                if chunk is None:
                    return

    async def _ask_whole(
        self, completion: Completion, messages: Sequence[Message], payload: dict[str, object], clock: CallClock
    ) -> None:
        endpoint = await self._endpoint()
        async with self._post(endpoint, messages, payload, clock) as response:
            body = await self._body(response)
        completion.text = read_whole_answer(completion, endpoint, body, messages)

    async def _body(self, response: httpx2.Response, limit: int = sse.MAX_BODY_BYTES) -> bytes:
        """The body of *response*, cut at *limit*; nothing later than the time allowed."""
        body = bytearray()
        async with asyncio.timeout(self._whole_timeout_s), aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > limit:
                    break
        return bytes(body[:limit])

    async def _error_body(self, response: httpx2.Response) -> bytes:
        """The words beside a bad status, if they can be had: the status decides what happens, with or without them."""
        import httpx2  # loaded already by the call that failed

        try:
            return await self._body(response, sse.MAX_ERROR_BYTES)
        except (httpx2.HTTPError, httpx2.StreamError, OSError, TimeoutError):
            return b""

    def _check_key(self, endpoint: Endpoint) -> None:
        """Refuse what cannot work before anything is sent."""
        if endpoint.api_key:
            if not may_carry_key(endpoint.base_url):
                raise ModelSetupError(
                    f"{endpoint.safe_url} is another machine and the address is not https://, so no key is sent there: "
                    "use https:// in `base_url`."
                )
            if not (endpoint.api_key.isascii() and endpoint.api_key.isprintable()):
                raise ModelSetupError(
                    f"For {endpoint.safe_url}, {endpoint.key_description} holds characters no key has: "
                    "enter it again with `familiar connect`."
                )
        elif is_same_origin(endpoint.base_url, OPENROUTER_BASE_URL):
            raise ModelSetupError(
                f"There is no key for {endpoint.safe_url}: set {self.key_name or OPENROUTER_KEY_VARIABLE}, "
                "or run `familiar connect`."
            )

    @asynccontextmanager
    async def _post(
        self, endpoint: Endpoint, messages: Sequence[Message], payload: dict[str, object], clock: CallClock
    ) -> AsyncIterator[httpx2.Response]:
        """An answer with a good status. Whatever fails, here or while it is read, becomes a ModelError."""
        self._check_key(endpoint)
        http = await self._connections.client_for(endpoint.base_url)
        import httpx2  # loaded in a thread by the line above

        url = f"{endpoint.base_url.rstrip('/')}/{self.path}"
        payload = self._refusals.leave_out(payload)
        content = await off_loop(_encoded, payload) if any(each.media for each in messages) else _encoded(payload)
        try:
            async with AsyncExitStack() as stack:
                asked = http.stream("POST", url, headers=self.build_headers(), content=content)
                async with clock.limit_silence(endpoint.safe_url):
                    response = await stack.enter_async_context(asked)
                if not response.is_success:
                    body = await self._error_body(response)
                    self._refusals.check(payload, response.status_code, body)
                    retry_after = response.headers.get("retry-after")
                    raise error_of_status(endpoint, response.status_code, body, retry_after, messages)
                yield response
        except (httpx2.TransportError, httpx2.InvalidURL, OSError, TimeoutError, UnicodeError) as error:
            raise self._explain(endpoint, error) from error


def _encoded(payload: dict[str, object]) -> bytes:
    """Half a character, as a terminal may hand over, must not keep the rest from being sent."""
    return json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
