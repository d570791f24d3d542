"""ReplicatedModel: one model that several servers serve, such as those of a vLLM cluster.

Each conversation keeps to one server while that one is well, because a server keeps what it read of a prompt and need
not read it again. A server that fails rests a while, longer each time, and its conversations move to the others; when
it is well again they come back. A reply moves only before its first word. Each server has the calls at a time of the
slot to itself.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, fields

from familiar_connect.errors import ModelError, PromptTooLongError
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.protocols import CompletionStream
from familiar_connect.llm.retry import RetryPolicy
from familiar_connect.llm.streams import PieceStream
from familiar_connect.llm.types import Capabilities, Completion, CompletionRequest

FIRST_REST_S, LONGEST_REST_S = 5.0, 120.0
"""How long a server is left alone after a failure; each further one in a row doubles it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerHealth:
    """How one server did lately."""

    failures: int = 0
    """In a row."""
    rests_until: float = 0.0


class ReplicaChooser:
    """Which of several addresses a conversation is asked at: by weight, the same again while it is well."""

    def __init__(self, weights: Mapping[str, float], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._weights = dict(weights)
        self._clock = clock
        self._health = {address: ServerHealth() for address in weights}
        self._unplaced = 0

    def choose(self, place: str, tried: Collection[str] = ()) -> str | None:
        """The address for *place* among those not *tried*: a well one, else the one that may work soonest.

        Calls of no place are dealt out by weight. None: all were tried.
        """
        left = [address for address in self._weights if address not in tried]
        if not place:
            self._unplaced += 1
            place = f"call {self._unplaced}"
        now = self._clock()
        if well := [address for address in left if self._health[address].rests_until <= now]:
            return min(well, key=lambda address: self._distance(place, address))
        return min(left, key=lambda address: self._health[address].rests_until, default=None)

    def note_failure(self, address: str) -> None:
        failures = self._health[address].failures
        rest_s = min(LONGEST_REST_S, FIRST_REST_S * 2.0 ** min(failures, 10))
        self._health[address] = ServerHealth(failures + 1, self._clock() + rest_s)

    def note_success(self, address: str) -> None:
        self._health[address] = ServerHealth()

    def is_well(self, address: str) -> bool:
        return self._health[address].rests_until <= self._clock()

    def _distance(self, place: str, address: str) -> float:
        """Weighted rendezvous hashing: who leaves or comes back moves only the places that are its own."""
        drawn = int.from_bytes(hashlib.sha256(f"{place}\n{address}".encode()).digest()[:8], "big")
        return -math.log((drawn + 1) / (2**64 + 1)) / self._weights[address]


class ReplicatedModel(LLMClient):
    """A slot's model at all its addresses; the first member is the one whose settings it shows."""

    def __init__(
        self,
        members: Sequence[LLMClient],
        chooser: ReplicaChooser,
        *,
        fallbacks: tuple[LLMClient, ...] = (),
        retry: RetryPolicy | None = None,
    ) -> None:
        first = members[0]
        super().__init__(
            api_key=first.api_key,
            model=first.model,
            base_url=first.base_url,
            temperature=first.temperature,
            limits=first.call_limits,
            capabilities=first.capabilities,
            key_name=first.key_name,
            fallbacks=fallbacks,
            is_main=first.is_main,
            retry=retry,
        )
        self.servers = {member.base_url: member for member in members}
        self._chooser = chooser

    @property
    def capabilities(self) -> Capabilities:
        """Of the first server that is well; they serve the same model."""
        well = [each for each in self.servers.values() if self._chooser.is_well(each.base_url)]
        return (well or list(self.servers.values()))[0].capabilities

    async def learn_limits(self) -> None:
        for member in (*self.servers.values(), *self.fallbacks):
            await member.learn_limits()

    def start(self, request: CompletionRequest) -> CompletionStream:
        completion = self._new_completion()
        return PieceStream(completion, self._pieces(completion, request))

    async def complete(self, request: CompletionRequest) -> Completion:
        tried: list[str] = []
        while True:
            member = self._next_member(request, tried)
            try:
                completion = await member.complete(request)
            except ModelError as error:
                await self._go_on_or_raise(error, member, tried)
            else:
                self._chooser.note_success(member.base_url)
                return completion

    async def close(self) -> None:
        for member in (*self.servers.values(), *self.fallbacks):
            await member.close()

    async def _pieces(self, completion: Completion, request: CompletionRequest) -> AsyncGenerator[str, None]:
        tried: list[str] = []
        while True:
            member = self._next_member(request, tried)
            stream = member.start(request)
            try:
                async with aclosing(stream):
                    async for piece in stream:
                        _copy(stream.completion, completion)
                        yield piece
            except ModelError as error:
                if completion.text:
                    self._chooser.note_failure(member.base_url)
                    raise
                await self._go_on_or_raise(error, member, tried)
            else:
                self._chooser.note_success(member.base_url)
                return
            finally:
                _copy(stream.completion, completion)

    def _next_member(self, request: CompletionRequest, tried: list[str]) -> LLMClient:
        asked_now = tried[len(tried) // len(self.servers) * len(self.servers) :]
        address = self._chooser.choose(request.place, asked_now)
        if address is None:
            raise RuntimeError("some server is always left in a round")
        tried.append(address)
        return self.servers[address]

    async def _go_on_or_raise(self, error: ModelError, member: LLMClient, tried: Sequence[str]) -> None:
        """Let the next server be asked; when all were, wait as long as after a failure of one, or raise."""
        if isinstance(error, PromptTooLongError):  # it is too long for all of them
            raise error
        self._chooser.note_failure(member.base_url)
        rounds, asked_now = divmod(len(tried), len(self.servers))
        if asked_now:
            logger.warning("A model's server failed; asking another one", extra={"model": self.model})
            return
        if not self.retry.should_retry(error, rounds - 1):
            raise error
        await self.retry.wait(error, rounds - 1)


def _copy(found: Completion, kept: Completion) -> None:
    for each in fields(found):
        setattr(kept, each.name, getattr(found, each.name))
