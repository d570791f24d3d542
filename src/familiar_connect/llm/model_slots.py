"""ModelSlots: the models of one familiar by slot, each looked up when it is used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.metering import MeteredModel
from familiar_connect.llm.protocols import CallMeter, ChatModel
from familiar_connect.llm.types import Capabilities, Message


class ModelSlots:
    """A view of `llm_clients`: a client that is replaced there at run time takes effect at once."""

    def __init__(self, clients: Mapping[str, ChatModel], meter: CallMeter | None = None) -> None:
        """*meter* is asked before every call and told what it used."""
        self._clients = clients
        self._meter = meter

    def get(self, slot: str) -> ChatModel | None:
        """The client that has *slot* now; None: nobody has."""
        client = self._clients.get(slot)
        return client if client is None or self._meter is None else MeteredModel(client, slot, self._meter)

    async def learn_limits(self, slot: str) -> None:
        """Have the client of *slot* ask its endpoint what it does not know, if it can; soon over, never an error."""
        learn = getattr(self.get(slot), "learn_limits", None)
        if learn is not None:
            await learn()

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
        return found if isinstance(found, Capabilities) else Capabilities()

    async def chat(self, messages: list[Message]) -> Message:
        return await self._client().chat(messages)

    def stream(self, messages: Sequence[Message]) -> AsyncIterator[str]:
        return self._client().stream(messages)

    def _client(self) -> ChatModel:
        client = self._slots.get(self._slot)
        if client is None:
            raise ModelSetupError(
                f"no model for the slot {self._slot!r}: set `model` under [llm.{self._slot}] or [llm.default]"
            )
        return client
