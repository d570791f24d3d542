"""What is known of a model by its name."""

from __future__ import annotations

import pytest

from familiar_connect.config.llm import LLMSlotConfig
from familiar_connect.llm.profiles import capabilities_for, local_file_capabilities
from familiar_connect.llm.types import Capabilities


def test_the_embedded_model_is_small_and_says_so() -> None:
    """No side tasks, no tools, small budgets, time enough."""
    known = capabilities_for("embedded")

    assert (known.window, known.side_tasks, known.tools, known.vision) == (4096, False, False, False)
    assert known.budget_tokens is not None
    assert known.budget_tokens <= 1000
    assert known.prefill


def test_an_unknown_model_gets_no_invented_limits() -> None:
    """Nothing is cut or capped for it."""
    assert capabilities_for("acme/never-heard-of-it") == Capabilities()


@pytest.mark.parametrize(
    ("model", "vision", "tools", "strict"),
    [
        ("openai/gpt-4o-mini", True, True, False),
        ("gpt-5", True, True, False),
        ("anthropic/claude-sonnet-4.5", True, True, False),
        ("google/gemini-2.5-flash", True, True, False),
        ("meta-llama/llama-3.3-70b-instruct", False, True, False),
        ("llama3.2:3b", False, True, False),
        ("qwen3:8b", False, True, False),
        ("mistralai/mistral-small", False, True, True),
        ("gemma3:4b", True, False, True),
        ("deepseek/deepseek-chat", False, True, False),
    ],
)
def test_families_are_known_with_or_without_a_provider(model: str, vision: bool, tools: bool, strict: bool) -> None:
    """The prefix of a provider and the tag of a size do not matter."""
    known = capabilities_for(model, "https://openrouter.ai/api/v1")

    assert (known.vision, known.tools, known.strict_roles) == (vision, tools, strict)
    assert known.side_tasks


def test_what_the_operator_wrote_wins() -> None:
    """The slot's own limits go over the table."""
    known = capabilities_for("gpt-4o", slot_config=LLMSlotConfig("gpt-4o", context_window=9000, max_output_tokens=50))

    assert (known.window, known.max_output) == (9000, 50)


def test_ollama_is_taken_at_its_own_window() -> None:
    """It drops the start of longer prompts without a word, unless the operator says it has more."""
    url = "http://localhost:11434/v1"

    assert capabilities_for("qwen3:8b", url).window == 4096
    assert capabilities_for("qwen3:8b", url, LLMSlotConfig("qwen3:8b", context_window=16384)).window == 16384


@pytest.mark.parametrize(
    ("model", "is_small"),
    [
        ("llama3.2:1b", True),
        ("qwen/qwen2.5-0.5b-instruct", True),
        ("smollm2:360m", True),
        ("acme/unheard-of-3b", True),
        ("qwen3:8b", False),
        ("qwen3-30b-a3b", False),
        ("meta-llama/llama-3.3-70b-instruct", False),
        ("gpt-4o", False),
    ],
)
def test_a_model_that_says_how_small_it_is_has_its_replies_compared(model: str, is_small: bool) -> None:
    """On whatever server it runs: so small a model falls into its own last replies."""
    assert capabilities_for(model, "http://localhost:8080/v1").repeats_itself is is_small


def test_a_small_model_file_has_its_replies_compared_too() -> None:
    """Its size tells, whatever the file is called."""
    sizes = (400_000_000, 5_000_000_000)

    assert [local_file_capabilities("main_prose", 4096, size).repeats_itself for size in sizes] == [True, False]
