"""Too little memory in the middle of a turn: a sentence, and the next message is answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

RUNS_SHORT = """
import importlib, sys

module, name, method = sys.argv[1:4]
owner = getattr(importlib.import_module(module), name)
real, calls = getattr(owner, method), []

def run_short(*args, **kwargs):
    calls.append(1)
    if len(calls) == 1:
        raise MemoryError
    return real(*args, **kwargs)

setattr(owner, method, run_short)
sys.argv = ["familiar", "chat", "--plain"]
program = importlib.import_module("familiar_connect.cli")
program.end_program(program.main())
"""
"""The program, in which one call finds no memory the first time."""


@pytest.mark.parametrize(
    ("where", "replies"),
    [
        (("familiar_connect.llm.openai_compatible", "LLMClient", "_new_completion"), 1),
        (("familiar_connect.context.pipeline", "ContextPipeline", "_gather"), 1),
        (("familiar_connect.reply.turn_builder", "TurnBuilder", "build"), 1),
        (("familiar_connect.context.providers.character", "CharacterProvider", "contribute"), 2),
        (("familiar_connect.memory.index.retriever", "MemoryRetriever", "recall"), 2),
    ],
    ids=["the model's client", "the pipeline", "the turn", "a provider", "the index"],
)
def test_a_shortage_of_memory_costs_one_reply_at_most(
    tmp_path: Path, where: tuple[str, str, str], replies: int
) -> None:
    """Where the reply cannot be made, one sentence says what to do; the conversation goes on."""
    with model_endpoint(*[stream_answer("Hi")] * 4) as server:
        make_home(tmp_path, server)
        said = "hello, do you remember the tea we had?\nand again\n"
        done = run_program(tmp_path, *where, said=said, code=RUNS_SHORT)

    told = done.stdout + done.stderr
    assert done.returncode == (0 if replies == 2 else 3), told  # a chat that owes a reply says so to scripts
    assert "Traceback" not in told
    assert told.count("Hi") == replies
    assert told.count("too little memory for a reply: close other programs") == 2 - replies
