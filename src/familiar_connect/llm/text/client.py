"""TextCompletionModel: a model that goes on with a text, at the `/completions` of llama.cpp, KoboldCpp,
text-generation-webui, vLLM and the like.

The messages of a call become one text by the template of the preset in force, else by the slot's own. Each server is
sent the samplers it knows, by the names it has for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from familiar_connect.config.llm import TEXT_SERVERS
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.llm.text.template import CHATML, TextTemplate, render_text
from familiar_connect.llm.types import CompletionRequest, Message, Sampling

LLAMA_CPP, KOBOLD_CPP, WEBUI, VLLM = TEXT_SERVERS
MAX_STOP = 64
"""Words that end an answer, of one call."""
LIST_OF_WORDS = "dry_sequence_breakers"

_SHARED = ("xtc_probability", "xtc_threshold", "dry_multiplier", "dry_base", "dry_allowed_length")
_DRY_REST = ("dry_penalty_last_n", LIST_OF_WORDS)
SPELLINGS: dict[str, dict[str, str]] = {
    LLAMA_CPP: {
        **{name: name for name in (*_SHARED, *_DRY_REST, "typical_p", "mirostat_tau", "mirostat_eta", "samplers")},
        "repetition_range": "repeat_last_n",
        "mirostat_mode": "mirostat",
        "top_n_sigma": "top_n_sigma",
        "dynatemp_range": "dynatemp_range",
        "dynatemp_exponent": "dynatemp_exponent",
        "ban_eos_token": "ignore_eos",
        "grammar": "grammar",
        "min_keep": "min_keep",
    },
    KOBOLD_CPP: {
        **{name: name for name in (*_SHARED, *_DRY_REST, "tfs", "top_a", "mirostat_tau", "mirostat_eta")},
        "typical_p": "typical",
        "repetition_range": "rep_pen_range",
        "repetition_slope": "rep_pen_slope",
        "mirostat_mode": "mirostat",
        "top_n_sigma": "nsigma",
        "smoothing_factor": "smoothing_factor",
        "dynatemp_range": "dynatemp_range",
        "dynatemp_exponent": "dynatemp_exponent",
        "sampler_order": "sampler_order",
        "grammar": "grammar",
    },
    WEBUI: {
        **{name: name for name in (*_SHARED, LIST_OF_WORDS, "typical_p", "tfs", "top_a", "mirostat_mode")},
        **{name: name for name in ("mirostat_tau", "mirostat_eta", "epsilon_cutoff", "eta_cutoff", "penalty_alpha")},
        **{name: name for name in ("no_repeat_ngram_size", "smoothing_factor", "smoothing_curve", "top_n_sigma")},
        **{name: name for name in ("temperature_last", "sampler_priority", "ban_eos_token", "add_bos_token")},
        **{name: name for name in ("skip_special_tokens", "dynatemp_low", "dynatemp_high", "dynatemp_exponent")},
        "repetition_range": "repetition_penalty_range",
        "encoder_penalty": "encoder_repetition_penalty",
        "min_tokens": "min_length",
        "grammar": "grammar_string",
        "dynamic_temperature": "dynamic_temperature",
    },
    VLLM: {
        **{name: name for name in ("min_tokens", "skip_special_tokens", "spaces_between_special_tokens")},
        "ban_eos_token": "ignore_eos",
        "grammar": "guided_grammar",
    },
}
"""Each server, and what it calls the samplers beyond those that all have; one it does not know is not sent."""
USUAL_NAMES: dict[str, dict[str, str]] = {
    LLAMA_CPP: {"repeat_penalty": "repeat_penalty"},
    KOBOLD_CPP: {"repeat_penalty": "rep_pen", "seed": "sampler_seed"},
    WEBUI: {"repeat_penalty": "repetition_penalty"},
    VLLM: {"repeat_penalty": "repetition_penalty"},
}
"""What each calls the samplers that we have settings for, where that is not our name."""
UNKNOWN: dict[str, tuple[str, ...]] = {
    LLAMA_CPP: ("top_a", "reasoning_effort"),
    KOBOLD_CPP: ("reasoning_effort",),
    WEBUI: ("reasoning_effort",),
    VLLM: ("top_a", "reasoning_effort"),
}


class TextCompletionModel(LLMClient):
    """A model behind a completion endpoint."""

    path = "completions"

    def __init__(self, *, server: str, template: TextTemplate = CHATML, **settings: Any) -> None:
        super().__init__(**settings)
        self._server = server
        self._template = template

    def build_payload(self, messages: Sequence[Message]) -> dict[str, object]:
        payload = super().build_payload(())
        del payload["messages"]
        payload["prompt"] = render_text(messages, self._template)
        return payload

    def _call_payload(self, request: CompletionRequest) -> dict[str, object]:
        template = request.template or self._template
        payload = super()._call_payload(request)
        payload["prompt"] = render_text(request.messages, template)
        given = payload.get("stop")
        words = (*template.stop, *(given if isinstance(given, list) else ()))
        payload["stop"] = list(dict.fromkeys(words))[:MAX_STOP]
        for name in ("tools", "tool_choice"):
            payload.pop(name, None)
        return self._as_server_says(payload)

    def _sampler_fields(self, sampling: Sampling) -> dict[str, object]:
        told = super()._sampler_fields(sampling)
        told.pop("repetition_penalty", None)
        told.pop("text", None)
        if sampling.repeat_penalty is not None:
            told["repeat_penalty"] = sampling.repeat_penalty
        return {**told, **text_samplers(sampling, self._server)}

    def _as_server_says(self, payload: Mapping[str, object]) -> dict[str, object]:
        usual = USUAL_NAMES[self._server]
        told = {usual.get(key, key): value for key, value in payload.items() if key not in UNKNOWN[self._server]}
        if self._server == KOBOLD_CPP:
            told["stop_sequence"], told["trim_stop"] = told["stop"], True
            told["max_length"] = told["max_tokens"]
        elif self._server == LLAMA_CPP:
            told["cache_prompt"] = True
        return told


def text_samplers(sampling: Sampling, server: str) -> dict[str, object]:
    """The samplers of text completion in *sampling*, by the names *server* has; those it does not know are left out."""
    names = SPELLINGS[server]
    told = {names[name]: value for name, value in sampling.text if name in names}
    if server == WEBUI and LIST_OF_WORDS in told:
        told[LIST_OF_WORDS] = json.dumps(told[LIST_OF_WORDS], ensure_ascii=False)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}
