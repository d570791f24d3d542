"""read_samplers: how a preset wants words chosen. What is out of range or means "off" is left to the model slot."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from familiar_connect.llm.types import Sampling
from familiar_connect.support.text import without_surrogates

MAX_STOP_WORDS = 32
MAX_BIASES = 300
"""What endpoints take at most."""

_RANGES: dict[str, tuple[float, float]] = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "top_a": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "repeat_penalty": (0, 10),
}
_OFF = {"top_k": 0, "min_p": 0, "top_a": 0, "repeat_penalty": 1, "seed": -1}
"""Values by which a preset says that it does not use a sampler which few endpoints take."""
_OTHER_NAMES = {
    "temp": "temperature",
    "repetition_penalty": "repeat_penalty",
    "rep_pen": "repeat_penalty",
    "freq_pen": "frequency_penalty",
    "presence_pen": "presence_penalty",
    "openai_max_tokens": "max_output_tokens",
}
"""What files call them, chat completion and text completion alike."""
_EFFORTS = {"min": "low", "low": "low", "medium": "medium", "high": "high", "max": "high"}
"""SillyTavern's words for the effort; `auto` leaves it to the endpoint."""
SAMPLER_KEYS = (
    *_OTHER_NAMES,
    *_RANGES,
    *("top_k", "seed", "stop", "custom_stopping_strings", "logit_bias", "reasoning_effort"),
)


def read_samplers(document: Mapping[str, object]) -> tuple[Sampling, frozenset[str]]:
    """What *document* says, and the keys of it that are heeded, values that mean "off" included."""
    given: dict[str, object] = {}
    heeded: set[str] = set()
    for key in SAMPLER_KEYS:
        if key not in document:
            continue
        name = _OTHER_NAMES.get(key, key)
        value, is_heeded = _read(name, document[key])
        if is_heeded:
            heeded.add(key)
        if value is not None:
            given["stop" if name == "custom_stopping_strings" else name] = value
    return Sampling(**given), frozenset(heeded)  # type: ignore[arg-type]


def _read(name: str, value: object) -> tuple[object, bool]:
    if name in ("stop", "custom_stopping_strings"):
        words = _words(value)
        return words or None, words is not None
    if name == "logit_bias":
        return _biases(value)
    if name == "reasoning_effort":
        return (_EFFORTS.get(value), value in _EFFORTS or value == "auto") if isinstance(value, str) else (None, False)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None, False
    if name in _OFF and value == _OFF[name]:
        return None, True
    if name in _RANGES:
        low, high = _RANGES[name]
        return (float(value), True) if low <= value <= high else (None, False)
    least = 1 if name in ("top_k", "max_output_tokens") else 0
    return (int(value), True) if value == int(value) and least <= value < 2**31 else (None, False)


def _words(value: object) -> tuple[str, ...] | None:
    """A list of words, or one written as JSON, as text-completion presets have it."""
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else []
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, list):
        return None
    words = [without_surrogates(each) for each in value if isinstance(each, str) and each]
    return tuple(dict.fromkeys(words))[:MAX_STOP_WORDS]


def _biases(value: object) -> tuple[object, bool]:
    if not isinstance(value, dict):
        return None, False
    found = tuple(
        (str(token), float(bias))
        for token, bias in value.items()
        if str(token).isascii()
        and str(token).isdecimal()
        and isinstance(bias, int | float)
        and not isinstance(bias, bool)
        and -100 <= bias <= 100
    )
    return found[:MAX_BIASES] or None, bool(found) or not value
