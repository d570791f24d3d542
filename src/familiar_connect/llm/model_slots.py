"""ModelSlots: the models of one familiar by slot, each looked up when it is used.

A side slot whose model was given up twice in a row for being too slow is switched off until the program ends:
its capabilities then say that it is fit for no side task, so that the deterministic forms stand in. A model put
into the slot at run time begins anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from familiar_connect.config.llm import MAIN_SLOT
from familiar_connect.errors import ModelSetupError, ModelTimeoutError
from familiar_connect.llm.metering import MeteredModel
from familiar_connect.llm.protocols import CallMeter, ChatModel, CompletionStream
from familiar_connect.llm.streams import open_stream
from familiar_connect.llm.types import Capabilities, Message, Sampling, ToolSpec
from familiar_connect.support.aio import BackgroundTasks

TIMEOUTS_BEFORE_OFF = 2
"""In a row."""
SLOW_S = 5.0
"""A call cancelled after this long was given up for being slow; one cancelled sooner was not wanted any more."""

Tell = Callable[[str], Awaitable[object]]

logger = logging.getLogger(__name__)


class ModelSlots:
    """A view of `llm_clients`: a client that is replaced there at run time takes effect at once."""

    def __init__(
        self, clients: Mapping[str, ChatModel], meter: CallMeter | None = None, *, tell: Tell | None = None
    ) -> None:
        """*meter* is asked before every call and told what it used; *tell* is told when a side slot is switched off."""
        self._clients = clients
        self._meter = meter
        self._tell = tell
        self._timeouts: dict[str, tuple[ChatModel | None, int]] = {}
        """Of a slot: the client that was too slow, and how often in a row."""
        self._background = BackgroundTasks("model-slots")

    def get(self, slot: str) -> ChatModel | None:
        """The client that has *slot* now; None: nobody has."""
        client = self._clients.get(slot)
        return client if client is None or self._meter is None else MeteredModel(client, slot, self._meter)

    async def learn_limits(self, slot: str) -> None:
        """Have the client of *slot* ask its endpoint what it does not know, if it can; soon over, never an error."""
        learn = getattr(self.get(slot), "learn_limits", None)
        if learn is not None:
            await learn()

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
                f"next start; simpler means stand in. A faster `model` under [llm.{slot}] would help."
            )
            self._background.start(_told(self._tell, sentence), name="tell")

    async def aclose(self) -> None:
        await self._background.wait_until_idle()

    def model(self, slot: str) -> SlotModel:
        """A model for *slot*, to be given to whoever lives longer than one client."""
        return SlotModel(self, slot)


class SlotModel:
    """The model of one slot; every call goes to the client that has the slot then."""

    def __init__(self, slots: ModelSlots, slot: str) -> None:
        self._slots = slots
        self._slot = slot

    @property
    def capabilities(self) -> Capabilities:
        """What the client says of itself; one that says nothing is trusted with everything."""
        found = getattr(self._slots.get(self._slot), "capabilities", None)
        known = found if isinstance(found, Capabilities) else Capabilities()
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
        return answer

    def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        return self._client().stream(messages)

    def start(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
        max_tokens: int | None = None,
        tools: Sequence[ToolSpec] = (),
        may_call: bool = True,
        sampling: Sampling | None = None,
    ) -> CompletionStream:
        return open_stream(
            self._client(),
            messages,
            stop=stop,
            max_tokens=max_tokens,
            tools=tools,
            may_call=may_call,
            sampling=sampling,
        )

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
