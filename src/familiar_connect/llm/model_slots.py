"""ModelSlots: the models of one familiar by slot, each looked up when it is used and counted when it is called.

A side slot whose model was given up twice in a row for being too slow is switched off until the program ends:
its capabilities then say that it is fit for no side task, so that the deterministic forms stand in. A model put
into the slot at run time begins anew.

Every call is asked for first and counted afterwards (`MeteredModel`). What an endpoint does not count is estimated from
the text. A call that failed before its first word costs nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from familiar_connect.config.llm import MAIN_SLOT, is_embedded_model
from familiar_connect.errors import ConfigError, ModelSetupError, ModelTimeoutError
from familiar_connect.llm.local.discovery import list_models
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.profiles import capabilities_for
from familiar_connect.llm.protocols import CallMeter, ChatModel, CompletionStream
from familiar_connect.llm.side_calls import SideCalls
from familiar_connect.llm.streams import PieceStream, collect_completions, open_stream, pieces_of
from familiar_connect.llm.types import Capabilities, Completion, CompletionRequest, Message, Usage, capabilities_of
from familiar_connect.support.aio import BackgroundTasks, off_loop
from familiar_connect.support.clock import Clock
from familiar_connect.support.text import without_escapes
from familiar_connect.support.tokens import estimate_tokens, is_vocabulary_ready

logger = logging.getLogger(__name__)

TIMEOUTS_BEFORE_OFF = 2
"""In a row."""
MAX_VARIANTS = 64
"""Models that channels may name in one run."""
LIST_WITHIN_S = 2.0
"""A platform may wait three seconds, and no longer, for what somebody may mean."""
LISTED_FOR_S = 60.0
SLOW_S = 5.0
"""A call cancelled after this long was given up for being slow; one cancelled sooner was not wanted any more."""

Tell = Callable[[str], Awaitable[object]]


class ModelSlots:
    """A view of `llm_clients`: a client that is replaced there at run time takes effect at once."""

    def __init__(
        self,
        clients: Mapping[str, ChatModel],
        meter: CallMeter | None = None,
        *,
        tell: Tell | None = None,
        clock: Clock | None = None,
    ) -> None:
        """*meter* is asked before every call and told what it used; *tell* is told when a side slot is switched off."""
        self.side_calls = SideCalls(clock)
        self._clients = clients
        self._meter = meter
        self._tell = tell
        self._timeouts: dict[str, tuple[ChatModel | None, int]] = {}
        """Of a slot: the client that was too slow, and how often in a row."""
        self._variants = ModelVariants()
        self._background = BackgroundTasks("model-slots")
        self._listed: tuple[float, str, tuple[str, ...]] = (0.0, "", ())
        """When a server was last asked for its models, which one, and what it said."""

    def get(self, slot: str, *, model: str | None = None) -> ChatModel | None:
        """The client that has *slot* now, or one like it for another *model* of its server; None: nobody has.

        ConfigError: its server has no other models.
        """
        client = self._clients.get(slot)
        if client is not None and model is not None:
            client = self._variants.get(client, model)
        return (
            client
            if client is None or self._meter is None
            else MeteredModel(client, slot, self._meter, self.side_calls)
        )

    async def learn_limits(self, slot: str, *, model: str | None = None) -> None:
        """Have the client of *slot* ask its endpoint what it does not know, if it can; soon over, never an error."""
        learn = getattr(self.get(slot, model=model), "learn_limits", None)
        if learn is not None:
            await learn()

    async def list_models(self, slot: str) -> tuple[str, ...]:
        """The models that the server of *slot* says it has; none where it does not say, or not soon."""
        client = self._clients.get(slot)
        if type(client) is not LLMClient:
            return ()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LIST_WITHIN_S):
                return await off_loop(self._read_models, client)
        return ()

    def _read_models(self, client: LLMClient) -> tuple[str, ...]:
        """Asked anew after a while only: somebody may be typing. What comes too late is known the next time."""
        at, address, models = self._listed
        if address != client.base_url or time.monotonic() - at > LISTED_FOR_S:
            models = list_models(client.base_url, client.api_key or None) or ()
            self._listed = time.monotonic(), client.base_url, models
        return models

    def is_off(self, slot: str) -> bool:
        """Whether the side tasks of *slot* are switched off for the rest of the run."""
        client, times = self._timeouts.get(slot, (None, 0))
        return times >= TIMEOUTS_BEFORE_OFF and client is self._clients.get(slot)

    def note_answer(self, slot: str) -> None:
        if not self.is_off(slot):
            self._timeouts.pop(slot, None)

    def note_timeout(self, slot: str) -> None:
        """The model of *slot* was too slow; the second time in a row it is switched off, and somebody is told once."""
        if slot == MAIN_SLOT or self.is_off(slot):
            return
        client = self._clients.get(slot)
        before, times = self._timeouts.get(slot, (client, 0))
        times = times + 1 if before is client else 1
        self._timeouts[slot] = (client, times)
        if times < TIMEOUTS_BEFORE_OFF:
            return
        logger.warning("side task switched off", extra={"slot": slot, "timeouts": times})
        if self._tell is not None:
            sentence = (
                f"The model of [llm.{slot}] was too slow {times} times in a row, so it is not asked any more until the "
                f"next start; simpler rules do its work. A faster `model` under [llm.{slot}] would help."
            )
            self._background.start(_told(self._tell, sentence), name="tell")

    async def aclose(self) -> None:
        await self._background.wait_until_idle()
        await self._variants.aclose()

    def model(self, slot: str) -> SlotModel:
        """A model for *slot*, to be given to whoever lives longer than one client."""
        return SlotModel(self, slot)


class ModelVariants:
    """Made when they are first asked for, in whichever thread, and closed with the familiar."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, str], tuple[LLMClient, LLMClient]] = {}
        """By the client they were made from, which is kept so that its number stays its own."""

    def get(self, client: ChatModel, model: str) -> ChatModel:
        """*client* for another *model* of its server; one that is no such client is itself whatever is asked for.

        ConfigError: it runs inside the program, where there are no others.
        """
        if not isinstance(client, LLMClient) or client.model == model:
            return client
        if type(client) is not LLMClient and not is_embedded_model(client.model):  # no server behind it
            return client
        key = (id(client), model)
        if key not in self._made:
            if len(self._made) >= MAX_VARIANTS:
                raise ConfigError(
                    f"channels have named more than {MAX_VARIANTS} models since the program started: start it "
                    "again, or give fewer channels a `model` of their own"
                )
            self._made[key] = (client, client_for_model(client, model))
        return self._made[key][1]

    async def aclose(self) -> None:
        for _, made in self._made.values():
            await made.close()
        self._made.clear()


def client_for_model(client: LLMClient, model: str) -> LLMClient:
    """A client for another model of the same server: same key, limits and tries."""
    if is_embedded_model(client.model) or is_embedded_model(model):
        raise ConfigError(
            f"a channel's settings ask for the model {model!r}, but [llm.main_prose] runs {client.model!r}: only "
            "another model of the same server can be named there; set `base_url` and `model` under [llm.main_prose] of "
            "character.toml, or take `model` out of the channel's file"
        )
    known = client.capabilities
    return LLMClient(
        api_key=client.api_key,
        model=model,
        base_url=client.base_url,
        temperature=client.temperature,
        limits=client.call_limits,
        capabilities=replace(
            capabilities_for(model, client.base_url),
            first_token_s=known.first_token_s,
            prefix_completion=known.prefix_completion,
        ),
        key_name=client.key_name,
        is_main=client.is_main,
        retry=client.retry,
    )


class SlotModel:
    """The model of one slot; every call goes to the client that has the slot then."""

    def __init__(self, slots: ModelSlots, slot: str) -> None:
        self._slots = slots
        self._slot = slot

    @property
    def capabilities(self) -> Capabilities:
        """What the client says of itself; one that says nothing is trusted with everything."""
        known = capabilities_of(self._slots.get(self._slot))
        return replace(known, side_tasks=False) if self._slots.is_off(self._slot) else known

    async def chat(self, messages: list[Message]) -> Message:
        client, now = self._client(), asyncio.get_running_loop().time
        began = now()
        try:
            answer = await client.chat(messages)
        except (asyncio.CancelledError, TimeoutError, ModelTimeoutError) as error:
            if not isinstance(error, asyncio.CancelledError) or now() - began >= SLOW_S:
                self._slots.note_timeout(self._slot)
            raise
        self._slots.note_answer(self._slot)
        return replace(answer, content=without_escapes(answer.content))

    def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        return self._client().stream(messages)

    def start(self, request: CompletionRequest) -> CompletionStream:
        return open_stream(self._client(), request)

    def _client(self) -> ChatModel:
        client = self._slots.get(self._slot)
        if client is None:
            raise ModelSetupError(
                f"no model for the slot {self._slot!r}: set `model` under [llm.{self._slot}] or [llm.default]"
            )
        return client


async def _told(tell: Tell, sentence: str) -> None:
    try:
        await tell(sentence)
    except Exception as error:  # isolation: whoever is to be told may be out of reach
        logger.warning("nobody could be told of a side task", extra={"error": type(error).__name__})


class MeteredModel:
    """The model *client* of *slot*; whatever is not a call is the client's own."""

    def __init__(self, client: ChatModel, slot: str, meter: CallMeter, calls: SideCalls) -> None:
        self._client = client
        self._slot = slot
        self._meter = meter
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @property
    def capabilities(self) -> Capabilities:
        return capabilities_of(self._client)

    @property
    def fallbacks(self) -> tuple[MeteredModel, ...]:
        return tuple(
            MeteredModel(each, self._slot, self._meter, self._calls) for each in getattr(self._client, "fallbacks", ())
        )

    async def chat(self, messages: list[Message]) -> Message:
        self._meter.check_call(self._slot)
        began = time.monotonic()
        with collect_completions() as completions:
            answer: Message | None = None
            has_failed = False
            try:
                answer = await self._client.chat(messages)
                return answer
            except Exception:
                has_failed = True
                raise
            finally:
                for completion in completions[:-1]:  # earlier tries: what they told of themselves, and nothing else
                    self._record(messages, completion.usage, completion.text, began=began, is_free=True)
                last = completions[-1] if completions else None
                text = answer.content if answer is not None else last.text if last else ""
                self._record(messages, last.usage if last else Usage(), text, began=began, is_free=has_failed)

    async def complete(self, request: CompletionRequest) -> Completion:
        """As the client's own, where it has one."""
        self._meter.check_call(self._slot)
        began = time.monotonic()
        completion: Completion = await self._client.complete(request)  # type: ignore[attr-defined]
        self._record(request.messages, completion.usage, completion.text, began=began, is_free=False)
        return completion

    def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        return pieces_of(self.start(CompletionRequest(messages)))

    def start(self, request: CompletionRequest) -> CompletionStream:
        inner = open_stream(self._client, request)
        return PieceStream(inner.completion, self._count_stream(inner, request.messages))

    async def _count_stream(self, inner: CompletionStream, messages: Sequence[Message]) -> AsyncGenerator[str, None]:
        self._meter.check_call(self._slot)
        began = time.monotonic()
        has_failed = False
        try:
            async for piece in inner:
                yield piece
        except Exception:
            has_failed = True
            raise
        finally:
            await inner.aclose()
            completion = inner.completion
            self._record(messages, completion.usage, completion.text, began=began, is_free=has_failed)

    @property
    def _counts_as(self) -> str | None:
        """The model, where its own vocabulary is at hand at once."""
        model = str(getattr(self._client, "model", "") or "")
        return model if is_vocabulary_ready(model) else None

    def _record(self, messages: Sequence[Message], usage: Usage, text: str, *, began: float, is_free: bool) -> None:
        """Count one call. *is_free*: it failed, and nothing is estimated for it unless it said something."""
        has_counts = usage.prompt_tokens or usage.completion_tokens
        if not has_counts and is_free and not text:
            self._note(messages, usage, text, began, has_failed=True)
            return
        if not has_counts:
            usage = Usage(
                prompt_tokens=sum(estimate_tokens(message.content, self._counts_as) for message in messages),
                completion_tokens=estimate_tokens(text, self._counts_as),
                cost=usage.cost,
            )
        self._meter.record_call(self._slot, usage)
        self._note(messages, usage, text, began, has_failed=is_free)

    def _note(self, messages: Sequence[Message], usage: Usage, text: str, began: float, *, has_failed: bool) -> None:
        model = str(getattr(self._client, "model", "") or "")
        took_s = time.monotonic() - began
        self._calls.note(self._slot, model, messages, text, usage, took_s=took_s, has_failed=has_failed)
