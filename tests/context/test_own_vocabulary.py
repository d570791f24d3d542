"""Every budget of a turn is in the tokens of the model that answers it, where its vocabulary is bundled."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from familiar_connect.support.aio import off_loop
from familiar_connect.support.tokens import chars_within, counting_for, estimate_tokens
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, run_program

JAPANESE = "昨日の夜、駅前の小さな喫茶店で友達と会って、仕事や引っ越しの計画について長い間話しました。"
MODELS = ("gpt-4o", "gpt-4", "qwen3-8b", "llama-3.1-8b-instruct", "deepseek-chat")


@pytest.mark.parametrize("model", MODELS[:2])
def test_the_blocks_of_a_prompt_are_counted_as_the_model_counts_them(tmp_path: Path, model: str) -> None:
    """Within 3 %, for a Japanese character and a Japanese talk."""
    with model_endpoint(stream_answer(JAPANESE), stream_answer(JAPANESE)) as server:
        root = make_home(tmp_path, server, model=model)
        (root / "memory" / "self" / "description.md").write_text(JAPANESE * 20, encoding="utf-8")
        run_program(tmp_path, "chat", "--plain", "--as", "Sam", said=f"{JAPANESE}\n{JAPANESE}\n")
        facts = json.loads(run_program(tmp_path, "inspect", "--json").stdout)
    sent = server.requests[-1].payload["messages"]

    counted = sum(block["tokens"] for block in facts["blocks"] if block["place"] is not None)
    assert counted == pytest.approx(sum(estimate_tokens(each["content"], model) for each in sent), rel=0.03)


@pytest.mark.parametrize("model", MODELS)
async def test_where_no_model_is_named_the_one_that_is_answered_for_counts(model: str) -> None:
    """In the block itself, in its tasks and in threads; afterwards tokens are estimated as before."""

    async def count() -> int:
        return estimate_tokens(JAPANESE)

    before = estimate_tokens(JAPANESE)
    with counting_for(model):
        found = [
            estimate_tokens(JAPANESE),
            await asyncio.create_task(count()),
            await off_loop(estimate_tokens, JAPANESE),
        ]
        kept = JAPANESE[: chars_within(JAPANESE, 20)]

    assert found == [estimate_tokens(JAPANESE, model)] * 3
    assert estimate_tokens(kept, model) <= 20
    assert estimate_tokens(JAPANESE) == before != found[0]
