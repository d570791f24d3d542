"""Samplers as endpoints call them, and which of them a refusal means."""

from __future__ import annotations

import pytest

from familiar_connect.llm.sampling import sampler_fields, samplers_to_drop
from familiar_connect.llm.types import Sampling

SENT = {"model": "m", "messages": [], "temperature": 1.0, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "max_tokens": 9}


@pytest.mark.parametrize(
    ("status", "words", "refused"),
    [
        (400, "Unrecognized request argument supplied: top_k", {"top_k"}),
        (400, "Unsupported value: 'temperature' does not support 1.0 with this model.", {"temperature"}),
        (422, '{"detail":[{"loc":["body","min_p"],"msg":"Extra inputs are not permitted"}]}', {"min_p"}),
        (400, "unknown parameter in request", {"top_k", "min_p"}),
        (400, "messages must not be empty", set()),
        (500, "top_k", set()),
        (400, "stop_k and top_keys", set()),
    ],
)
def test_a_refusal_is_read_by_what_it_names(status: int, words: str, refused: set[str]) -> None:
    """Named samplers go; where none is named but something is unknown, the uncommon ones; else nothing."""
    assert samplers_to_drop(SENT, status, words.encode()) == refused


def test_each_endpoint_gets_its_own_names() -> None:
    """OpenRouter, a server of one's own, the embedded model."""
    sampling = Sampling(repeat_penalty=1.1, reasoning_effort="low", max_output_tokens=5)
    assert sampler_fields(sampling, "https://openrouter.ai/api/v1") == {
        "repetition_penalty": 1.1,
        "reasoning": {"effort": "low"},
    }
    assert sampler_fields(sampling, "http://localhost:1234/v1") == {
        "repeat_penalty": 1.1,
        "repetition_penalty": 1.1,
        "reasoning_effort": "low",
    }
    assert sampler_fields(sampling, None) == {"repeat_penalty": 1.1}


def test_one_sampling_lies_over_another() -> None:
    """What it says wins, stop words add up, and the shorter longest answer holds."""
    slot = Sampling(top_k=40, top_p=0.5, stop=("a",), max_output_tokens=100)
    preset = Sampling(top_p=0.9, stop=("b", "a"), max_output_tokens=900)
    assert preset.over(slot) == Sampling(top_k=40, top_p=0.9, stop=("b", "a"), max_output_tokens=100)
