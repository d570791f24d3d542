"""Samplers as endpoints call them: how the words of a reply are chosen, as a slot and an active preset say it.

Not every endpoint takes every sampler. `samplers_to_drop` reads from its refusal which ones to leave out.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

from familiar_connect.config.llm import OPENROUTER_BASE_URL, LLMSlotConfig
from familiar_connect.errors import ModelError
from familiar_connect.llm.types import Sampling
from familiar_connect.support.web_origin import is_same_origin

REFUSAL_STATUSES = (400, 422)
STANDARD = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "stop")
"""What the field's first endpoint takes, and with it nearly all others."""
EXTRA = ("top_k", "min_p", "top_a", "repeat_penalty", "repetition_penalty", "reasoning_effort", "reasoning")
OPTIONAL = (*STANDARD, *EXTRA, "logit_bias")
"""All that a call can do without."""

_REFUSAL = re.compile(
    r"un(?:known|recogni[sz]ed|supported|expected)|not (?:supported|permitted|allowed|recogni[sz]ed)"
    r"|extra (?:inputs?|fields?)|additional propert|invalid (?:parameter|argument|field)",
    re.IGNORECASE,
)


logger = logging.getLogger(__name__)


class SamplersRefusedError(ModelError):
    """The endpoint does not take some samplers; from now on they are left out, so the call is made once more."""


class SamplerRefusals:
    """What the endpoint of one model said it does not take: left out of every later call."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._refused: frozenset[str] = frozenset()

    def leave_out(self, payload: Mapping[str, object]) -> dict[str, object]:
        return {name: value for name, value in payload.items() if name not in self._refused}

    def check(self, payload: Mapping[str, object], status: int, body: bytes) -> None:
        """`SamplersRefusedError` where an answer of *status* with *body* refuses samplers of *payload*."""
        refused = samplers_to_drop(payload, status, body)
        if not refused:
            return
        self._refused |= refused
        names = ", ".join(sorted(refused))
        logger.warning("The endpoint refused samplers; going on without", extra={"model": self._model, "left": names})
        raise SamplersRefusedError(f"The endpoint of {self._model!r} does not take {names}.", status=status)


def sampling_of(config: LLMSlotConfig) -> Sampling:
    """What a slot's settings say besides its temperature and its longest answer, which its client has itself."""
    return Sampling(
        top_p=config.top_p,
        top_k=config.top_k,
        min_p=config.min_p,
        presence_penalty=config.presence_penalty,
        frequency_penalty=config.frequency_penalty,
        repeat_penalty=config.repeat_penalty,
        seed=config.seed,
        stop=config.stop,
        logit_bias=config.logit_bias,
        reasoning_effort=config.reasoning_effort,
    )


def sampler_fields(sampling: Sampling, base_url: str | None) -> dict[str, object]:
    """*sampling* as the endpoint at *base_url* calls it, its longest answer aside; None: the embedded model."""
    told = sampling.values_by_name()
    told.pop("max_output_tokens", None)
    told.pop("text", None)
    at_openrouter = base_url is not None and is_same_origin(base_url, OPENROUTER_BASE_URL)
    if sampling.repeat_penalty is not None and base_url is not None:
        told["repetition_penalty"] = sampling.repeat_penalty  # what OpenRouter and vLLM call it
        if at_openrouter:
            del told["repeat_penalty"]
    if sampling.stop:
        told["stop"] = list(sampling.stop)
    if sampling.logit_bias:
        told["logit_bias"] = dict(sampling.logit_bias)
    if effort := told.pop("reasoning_effort", None):
        if at_openrouter:
            told["reasoning"] = {"effort": effort}
        elif base_url is not None:
            told["reasoning_effort"] = effort
    return told


def samplers_to_drop(payload: Mapping[str, object], status: int, body: bytes) -> frozenset[str]:
    """The samplers of *payload* that an endpoint which answered so would do without.

    Those its words name; where they name none but speak of something unknown, those that few endpoints take.
    """
    if status not in REFUSAL_STATUSES:
        return frozenset()
    words = body[:4096].decode("utf-8", "replace")
    sent = [name for name in OPTIONAL if name in payload]
    named = frozenset(name for name in sent if re.search(rf"(?<![a-z_]){name}(?![a-z_])", words, re.IGNORECASE))
    if named:
        return named
    return frozenset(name for name in sent if name in EXTRA) if _REFUSAL.search(words) else frozenset()
