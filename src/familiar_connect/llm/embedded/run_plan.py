"""plan_run: how a model file is run on this machine: window, threads, and whether there is memory for it at all."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from platform import machine

from familiar_connect.config.command import command_name
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.embedded.gguf import ModelFile
from familiar_connect.support.free_memory import free_memory

MEGABYTE = 1024 * 1024
WORK_BYTES = 300 * MEGABYTE
"""What the library takes beside weights and prompt: its own code, buffers for one batch, the vocabulary."""
MOST_OF_FREE = 0.9
"""Share of the free memory that a model may take; the rest is the program's and everybody else's."""
WINDOWS = (32_768, 16_384, 8_192, 4_096, 2_048)
MOST_WINDOW = 8_192
"""Without a graphics processor a longer prompt takes minutes to read; `context_window` asks for more."""
MOST_WINDOW_WITH_GPU = 32_768
LEAST_WINDOW = 2_048
SIDE_TOKENS = 4_096
"""Room for side calls, so that they leave what was read of the conversation alone."""
KV_GUESS = 0.05
"""Memory of a thousand tokens, as a share of the file, where the head does not tell it."""
FEW_CORES, MOST_THREADS = 4, 16
GPU_LIBRARIES = ("cuda", "vulkan", "hip", "metal", "sycl")


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What the child is told of a model file."""

    window: int
    threads: int
    memory_bytes: int
    """About what it will take."""


def plan_run(
    model: ModelFile,
    *,
    asked_window: int | None = None,
    free_bytes: int | None = None,
    cores: int | None = None,
    with_gpu: bool | None = None,
) -> RunPlan:
    """The largest usual window that the model was made for and that fits the memory; *asked_window* where given.

    A `ModelSetupError` says how much is missing when not even the smallest fits.
    """
    free = free_memory() if free_bytes is None else free_bytes
    most = MOST_WINDOW_WITH_GPU if (has_gpu() if with_gpu is None else with_gpu) else MOST_WINDOW
    trained = model.trained_window or most
    if asked_window is not None:
        wanted = [min(asked_window, trained)]
    else:
        wanted = [window for window in WINDOWS if window <= min(most, trained)] or [trained]
    threads = threads_for(usable_cores() if cores is None else cores)
    for window in wanted:
        needed = memory_needed(model, window)
        if free is None or needed <= free * MOST_OF_FREE:
            return RunPlan(window=window, threads=threads, memory_bytes=needed)
    raise ModelSetupError(memory_shortage(model.title, memory_needed(model, wanted[-1]), free or 0))


def memory_needed(model: ModelFile, window: int) -> int:
    """About how many bytes *model* takes with a window of that size."""
    per_token = model.kv_bytes_per_token or int(model.file_bytes * KV_GUESS / 1000)
    return model.file_bytes + per_token * (window + SIDE_TOKENS) + WORK_BYTES


def memory_shortage(name: str, needed: int, free: int) -> str:
    """The sentence for a model that does not fit."""
    return (
        f"{name} needs about {needed // MEGABYTE:,} MB of memory and {free // MEGABYTE:,} MB are free: close other "
        f"programs, or use a smaller model (`{command_name()} model list`)."
    )


def threads_for(cores: int) -> int:
    """All of a few cores; of many the half, since two often share one unit for this work."""
    return max(1, min(MOST_THREADS, cores if cores <= FEW_CORES else max(FEW_CORES, cores // 2)))


def usable_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def has_gpu() -> bool:
    """Whether the installed library can use a graphics processor: Apple's, or one its build brings a driver for."""
    if sys.platform == "darwin" and machine() == "arm64":
        return True
    spec = find_spec("xllamacpp")
    folders = [Path(each) for each in (spec.submodule_search_locations or ())] if spec else []
    beside = [each.with_name(f"{each.name}.libs") for each in folders]
    files = [file.name.lower() for folder in (*folders, *beside) if folder.is_dir() for file in folder.iterdir()]
    return any(f"ggml-{kind}" in name for kind in GPU_LIBRARIES for name in files)
