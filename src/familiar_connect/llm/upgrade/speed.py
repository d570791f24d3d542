"""measure_speed: how fast this computer reads and writes with the small model; what a larger one would take follows.

The model runs in a process of its own for it, so that a chat keeps its prompt. What was measured is kept in the cache.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from familiar_connect.config.folders import HomeFolder
from familiar_connect.errors import FamiliarError
from familiar_connect.llm.embedded.client import EmbeddedModel
from familiar_connect.llm.embedded.run_plan import FEW_CORES, threads_for, usable_cores
from familiar_connect.llm.embedded.server import EmbeddedServer
from familiar_connect.llm.embedded.weights import find_weights
from familiar_connect.llm.local.catalogue import SMALL_MODEL
from familiar_connect.llm.types import CompletionRequest, Message
from familiar_connect.support.aio import off_loop
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes

logger = logging.getLogger(__name__)

MEASURE_S = 10.0
"""Longest measurement, loading included; a computer that needs longer is slow."""
READ_TOKENS, WRITE_TOKENS = 150, 50
"""What a usual reply costs: the server keeps what it read before, so only the new part of a prompt counts."""
SIZE_COST = 0.75
"""A model of five times the bytes took 3.7 times as long, not five times."""
SLOW_TOKENS_PER_S = 1.0
MAX_FILE_BYTES = 1_000
_QUESTION = "The kettle sings, rain falls on the harbour, and somebody asks what the lamp is for. " * 3
_ANSWER_TOKENS = 12


@dataclass(frozen=True, kw_only=True)
class MachineSpeed:
    """Tokens a second that the small model reads and writes here."""

    read: float
    write: float

    def reply_seconds(self, model_bytes: int, *, cores: int | None = None) -> float:
        """About how long a usual reply takes with a model of that size."""
        cores = usable_cores() if cores is None else cores
        more_threads = threads_for(cores) / min(FEW_CORES, max(1, cores))  # reading gains by them, writing hardly
        cost = max(1.0, model_bytes / SMALL_MODEL.bytes * SIZE_COST)
        return cost * (READ_TOKENS / (self.read * more_threads) + WRITE_TOKENS / self.write)


SLOW = MachineSpeed(read=SLOW_TOKENS_PER_S, write=SLOW_TOKENS_PER_S)
"""Of a computer on which the measurement did not end in time."""


async def measure_speed(home: Path) -> MachineSpeed | None:
    """What an earlier run measured, or a short measurement now; None where the small model does not run."""
    file = HomeFolder(home).speed_file
    known = await off_loop(_read, file)
    if known is not None:
        return known
    try:
        async with asyncio.timeout(MEASURE_S):
            found = await _measure(home)
    except TimeoutError:
        return SLOW  # not kept: it may have been busy
    except FamiliarError as error:
        logger.info("the speed of this computer is not known", extra={"reason": str(error)})
        return None
    await off_loop(_keep, file, found)
    return found


async def _measure(home: Path) -> MachineSpeed:
    client = EmbeddedModel(EmbeddedServer(find=partial(find_weights, home)), temperature=0.0)
    try:
        done = await client.complete(CompletionRequest([Message("user", _QUESTION)], max_tokens=_ANSWER_TOKENS))
    finally:
        await client.close()
    return MachineSpeed(
        read=_speed(done.timings, "prompt_per_second"), write=_speed(done.timings, "predicted_per_second")
    )


def _speed(timings: Mapping[str, object], name: str) -> float:
    value = timings.get(name)
    return max(SLOW_TOKENS_PER_S, float(value)) if isinstance(value, int | float) else SLOW_TOKENS_PER_S


def _read(file: Path) -> MachineSpeed | None:
    try:
        kept = json.loads(load_bytes(file, MAX_FILE_BYTES))
        read, write = float(kept["read"]), float(kept["write"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return MachineSpeed(read=read, write=write) if read > 0 and write > 0 else None


def _keep(file: Path, found: MachineSpeed) -> None:
    try:
        atomic_write(file, json.dumps(asdict(found)))
    except OSError as error:
        logger.info("the speed of this computer is not kept", extra={"reason": str(error)})
