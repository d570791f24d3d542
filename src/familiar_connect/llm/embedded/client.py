"""EmbeddedModel: a model that runs inside the program, behind the same client as every other.

Its prompt is kept worked between calls. The small one that comes along says little, and repeats itself less than it
would like to; a model file of the owner's is asked as its makers meant it. Breaking off a reply frees it within a
token, or within a batch while it still reads.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from familiar_connect.config.llm import EMBEDDED_MODEL
from familiar_connect.errors import ModelError
from familiar_connect.llm.call_clock import CallClock, CallLimits
from familiar_connect.llm.embedded.gguf import ModelFile
from familiar_connect.llm.embedded.server import EmbeddedServer
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.profiles import EMBEDDED
from familiar_connect.llm.retry import Endpoint, RetryPolicy
from familiar_connect.llm.sampling import sampler_fields
from familiar_connect.llm.types import Capabilities, Completion, CompletionRequest, Message, Sampling

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

TIMEOUT_S = 120.0
FILE_TIMEOUT_S = 600.0
"""Longest silence of a larger model, which may read a long prompt on a slow processor first."""
MAX_RETRIES = 1
RESTART_WAIT_S = 0.3
"""A process that was killed needs a moment until it is seen to be gone."""
SAMPLING = {
    "min_p": 0.1,
    "repeat_penalty": 1.1,
    "repeat_last_n": 64,
    "dry_multiplier": 0.8,
    "dry_allowed_length": 4,
    "dry_penalty_last_n": 128,
    "logit_bias": [["<|im_end|>", 2.0]],
}
"""Without penalties so small a model says one sentence over and over: one against words, one against whole runs
of them. They also fall on the end of a turn, which stands in every prompt; the bias gives that back, or replies
would run on to the limit."""

RESAMPLING: dict[str, object] = {"repeat_penalty": 1.15, "repeat_last_n": 128}
"""Where a reply was thrown away. With more of it so small a model finds no words but those of web pages."""
FILE_SAMPLING: dict[str, object] = {"min_p": 0.05}
SIDE_SAMPLING: dict[str, object] = {
    "dry_multiplier": 0.8,
    "dry_allowed_length": 12,
    "dry_penalty_last_n": 256,
    "dry_sequence_breakers": ["---FILE:"],
}
"""For side calls. A model of 1.5 billion parameters that writes memory repeats a sentence of its summary, or a list of
topics, up to the limit: minutes on one core. What it copies stands further back, in the prompt, so only long runs of
its own last words are punished; the marks that stand around each file break a run, and an end of line does not."""
REPLY_PLACE, SIDE_PLACE = 0, 1
"""Where the server keeps what it read: the conversation apart from side calls."""

_MARK = re.compile(r"<\|(\w+)\|>")
"""Marks of turns in the model's own language. Said by people they would open a turn in another's name."""
_USUAL_MARKS = ("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<start_of_turn>", "<end_of_turn>")
"""Marks of models whose files do not list them as such."""


class EmbeddedModel(LLMClient):
    """One slot's view of the embedded model. All of them share one server."""

    def __init__(
        self,
        server: EmbeddedServer,
        *,
        model: str = EMBEDDED_MODEL,
        file: ModelFile | None = None,
        temperature: float | None = None,
        limits: CallLimits | None = None,
        capabilities: Capabilities = EMBEDDED,
        fallbacks: tuple[LLMClient, ...] = (),
        is_main: bool = False,
        retry: RetryPolicy | None = None,
    ) -> None:
        given = limits or CallLimits()
        super().__init__(
            api_key=server.token,
            model=model,
            base_url="http://127.0.0.1",
            temperature=capabilities.temperature if temperature is None else temperature,
            limits=CallLimits(
                max_output_tokens=capabilities.max_output
                if given.max_output_tokens is None
                else given.max_output_tokens,
                first_token_s=given.first_token_s or (TIMEOUT_S if file is None else FILE_TIMEOUT_S),
                timeout_s=given.timeout_s or (TIMEOUT_S if file is None else FILE_TIMEOUT_S),
                reply_timeout_s=given.reply_timeout_s,
                sampling=given.sampling,
                slot=given.slot,
                at_once=given.at_once,
            ),
            capabilities=capabilities,
            fallbacks=fallbacks,
            is_main=is_main,
            retry=retry or RetryPolicy(max_retries=MAX_RETRIES),
        )
        self.server = server
        self._file = file
        self._marks = _pattern_of(file.control_marks) if file is not None else None
        self._released = False
        server.retain()

    def build_payload(self, messages: Sequence[Message]) -> dict[str, Any]:
        payload = super().build_payload(
            [replace(message, media=(), content=self._without_marks(message.content)) for message in messages]
        )
        payload |= {
            **(FILE_SAMPLING if self._file else SAMPLING),
            **self._sampler_fields(self.sampling),
            "cache_prompt": True,
        }
        if self._file is not None:
            payload |= {"id_slot": REPLY_PLACE} if self.is_main else {"id_slot": SIDE_PLACE, **SIDE_SAMPLING}
            if self._file.has_optional_thinking:
                payload["chat_template_kwargs"] = {"enable_thinking": False}
        return payload

    def _sampler_fields(self, sampling: Sampling) -> dict[str, object]:
        return sampler_fields(sampling, None)

    def _call_fields(self, sampling: Sampling) -> dict[str, object]:
        """What a preset was made for is not the small default model, which keeps its own way of choosing words."""
        if self._file is None:
            sampling = Sampling(stop=sampling.stop, max_output_tokens=sampling.max_output_tokens)
        return super()._call_fields(sampling)

    def _resampled(self, payload: Mapping[str, object], attempt: int) -> dict[str, object]:
        return {**RESAMPLING, **super()._resampled(payload, attempt)}

    async def learn_limits(self) -> None:
        """Nothing: what runs here is known."""

    async def prime(self, messages: Sequence[Message]) -> bool:
        """Work a prompt's beginning before it is needed. False when a real call was there or came first."""
        try:
            worked = await self.server.run_when_idle(self._work_ahead(messages))
            logger.debug("Worked ahead" if worked else "Gave way to a call")
            return worked
        except ModelError as error:
            logger.debug("Working ahead failed", extra={"error": str(error)})
            return False

    async def tokenize_count(self, text: str) -> int:
        """How many tokens *text* is as it is sent, exactly."""
        return await self.server.tokenize_count(self._without_marks(text).encode("utf-8", "replace").decode())

    async def close(self) -> None:
        await super().close()
        if not self._released:
            self._released = True
            await self.server.release()

    async def _work_ahead(self, messages: Sequence[Message]) -> None:
        endpoint = await self._endpoint()
        payload = {**self._call_payload(CompletionRequest(messages, max_tokens=0)), "stream": True}
        clock = self._clock(first_token_s=None, timeout_s=self.timeout_s)
        async with super()._post(endpoint, messages, payload, clock) as response:
            async for _ in response.aiter_raw():
                pass

    async def _endpoint(self) -> Endpoint:
        address = await self.server.ready()
        return Endpoint(base_url=f"{address}/v1", model=self.model, api_key=self.api_key)

    @asynccontextmanager
    async def _post(
        self, endpoint: Endpoint, messages: Sequence[Message], payload: dict[str, Any], clock: CallClock
    ) -> AsyncIterator[httpx2.Response]:
        with self.server.call():
            await self.server.cancel_idle_work()
            async with super()._post(endpoint, messages, payload, clock) as response:
                yield response

    def _explain(self, endpoint: Endpoint, error: Exception) -> ModelError:
        import httpx2  # loaded already by the call that failed

        if isinstance(error, TimeoutError | httpx2.TimeoutException):
            return ModelError(
                "The embedded model was silent for too long: raise `timeout_s` under [llm] where this machine is slow.",
                retryable=True,
            )
        return ModelError(
            "The embedded model stopped in the middle of its work; the next call starts it again.",
            retryable=True,
            retry_after_s=RESTART_WAIT_S,
        )

    def _new_completion(self) -> Completion:
        return Completion(model=self.model, provider=EMBEDDED_MODEL)

    def _without_marks(self, text: str) -> str:
        """*text* with every mark of a turn in it broken up."""
        text = _MARK.sub(r"< |\1| >", text)
        return text if self._marks is None else self._marks.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)


def _pattern_of(marks: Sequence[str]) -> re.Pattern[str]:
    longest_first = sorted({*marks, *_USUAL_MARKS}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))
