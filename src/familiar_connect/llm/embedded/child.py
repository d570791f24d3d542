"""The program that runs in the child process: a llama.cpp server on loopback, and nothing else.

It reads one JSON line of settings, answers with one JSON line, and ends when its parent is gone, however it
went and whatever the child is doing then: a thread waits for the end of the input, another looks at who the
parent is, because a process the parent forked may hold the input open. Started by file path, it imports nothing
of ours.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any

PARENT_CHECK_S = 1.0
BATCH_TOKENS = 32
"""Prompt tokens worked between two looks at whether anyone still listens. For the small default larger is no faster."""
LARGE_MODEL_BATCH_TOKENS = 128
LARGE_MODEL_BYTES = 400 << 20
"""From this size on a larger batch pays on a CPU: a 1.5B model reads 23 tokens a second instead of 17."""
GPU_BATCH_TOKENS = 512
REUSE_TOKENS = 32
"""Least length of a run of tokens that is kept when it has moved inside the prompt."""
HTTP_THREADS = 4


def run_llama_server() -> int:
    parent = os.getppid()
    # Ctrl-C in a terminal reaches every process there; the parent decides when we end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)
    # What native code prints must not get into our one line of answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    settings = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    input_watch = threading.Thread(target=_end_with_input, daemon=True)
    input_watch.start()
    try:
        import xllamacpp
    except ImportError as error:
        _say(answers, {"problem": "library", "detail": str(error)})
        return 3
    try:
        server = xllamacpp.Server(_params(xllamacpp, settings))
    except Exception as error:
        _say(answers, {"problem": "start", "detail": str(error)})
        return 4
    _say(answers, {"address": server.listening_address})
    input_watch.join()
    return 0


def _end_with_input() -> None:
    """End when the other end of our input is closed."""
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    os._exit(0)


def _end_with_parent(parent: int) -> None:
    """End when *parent* is no longer our parent; on Windows nobody tells, and the input must do."""
    while os.name == "nt" or os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(0)


def _params(xllamacpp: Any, settings: dict[str, Any]) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = settings["weights"]
    params.n_ctx = settings["window"]
    # A second place keeps side calls from pushing out what was read of the conversation; they share the window.
    params.n_parallel = settings.get("slots", 1)
    params.kv_unified = params.n_parallel > 1
    with_gpu = _has_gpu(xllamacpp)
    params.n_gpu_layers = -1 if with_gpu else 0
    params.n_batch = params.n_ubatch = GPU_BATCH_TOKENS if with_gpu else _cpu_batch_tokens(settings["weights"])
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.n_threads_http = HTTP_THREADS
    params.n_cache_reuse = REUSE_TOKENS
    # One conversation is kept, in the slot itself; the server's second cache would only take memory.
    params.cache_ram_mib = 0
    params.warmup = False
    params.verbosity = 0
    params.hostnames = ["127.0.0.1"]
    params.api_keys = [settings["token"]]
    if settings["cache_dir"]:
        params.slot_save_path = os.path.join(settings["cache_dir"], "")
    return params


def _cpu_batch_tokens(weights: str) -> int:
    is_large = os.path.isfile(weights) and os.path.getsize(weights) >= LARGE_MODEL_BYTES
    return LARGE_MODEL_BATCH_TOKENS if is_large else BATCH_TOKENS


def _has_gpu(xllamacpp: Any) -> bool:
    """Whether the library sees a graphics processor; as many layers as fit go there."""
    try:
        return any("GPU" in str(device["type"]) for device in xllamacpp.get_device_info())
    except Exception:  # an older library that cannot tell
        return False


def _say(answers: Any, fact: dict[str, str]) -> None:
    with suppress(OSError):  # nobody listens any more: the watching threads end us
        answers.write(json.dumps(fact) + "\n")
        answers.flush()


if __name__ == "__main__":
    # No unwinding: native threads may be in the middle of a token, and some wait for each other for ever.
    os._exit(run_llama_server())
