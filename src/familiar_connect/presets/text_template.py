"""read_text_template: the signs around messages that an instruct and a context template of SillyTavern's name.

read_text_samplers: the samplers of a text-completion preset chat endpoints do not know, but for those switched off.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from familiar_connect.llm.types import SamplerValue, TextTemplate
from familiar_connect.support.text import without_surrogates

MAX_SIGN_CHARS = 2_000
"""Of one sequence; those there are have a few dozen."""
MAX_WORDS = 64
MAX_GRAMMAR_CHARS = 20_000
INSTRUCT_KEYS = ("input_sequence", "output_sequence", "system_sequence")
CONTEXT_KEYS = ("chat_start", "example_separator")
NAMES = {"none": -1, "force": 0, "always": 2}
"""How an instruct template writes names, as chat presets say it."""
_SIGNS = {
    "system": "system_sequence",
    "user": "input_sequence",
    "assistant": "output_sequence",
    "first_user": "first_input_sequence",
    "first_assistant": "first_output_sequence",
    "last_user": "last_input_sequence",
    "last_assistant": "last_output_sequence",
    "last_system": "last_system_sequence",
    "user_end": "input_suffix",
    "assistant_end": "output_suffix",
    "system_end": "system_suffix",
    "story_begin": "story_string_prefix",
    "story_end": "story_string_suffix",
    "user_first": "user_alignment_message",
}
_OLD_SIGNS = {
    "story_begin": "system_sequence_prefix",
    "story_end": "system_sequence_suffix",
    "assistant_end": "separator_sequence",
}
"""What older files call them."""
_STOPPING = ("user", "assistant", "first_assistant", "last_assistant", "system", "last_system")

_TEXT_SAMPLERS: dict[str, tuple[str, float | None]] = {
    "typical_p": ("typical_p", 1),
    "tfs": ("tfs", 1),
    "rep_pen_range": ("repetition_range", 0),
    "rep_pen_slope": ("repetition_slope", 1),
    "no_repeat_ngram_size": ("no_repeat_ngram_size", 0),
    "penalty_alpha": ("penalty_alpha", 0),
    "min_length": ("min_tokens", 0),
    "encoder_rep_pen": ("encoder_penalty", 1),
    "epsilon_cutoff": ("epsilon_cutoff", 0),
    "eta_cutoff": ("eta_cutoff", 0),
    "smoothing_factor": ("smoothing_factor", 0),
    "nsigma": ("top_n_sigma", 0),
    "min_keep": ("min_keep", 0),
}
"""Samplers that stand for themselves: our name, and the value that means "off"."""
_TOGETHER: dict[str, tuple[str, ...]] = {
    "mirostat_mode": ("mirostat_tau", "mirostat_eta"),
    "dry_multiplier": ("dry_base", "dry_allowed_length", "dry_penalty_last_n"),
    "xtc_probability": ("xtc_threshold",),
    "smoothing_factor": ("smoothing_curve",),
}
"""A sampler that 0 switches off, with what tunes it."""
_SWITCHES = {"temperature_last": False, "ban_eos_token": False, "add_bos_token": True, "skip_special_tokens": True}
_SWITCHES["spaces_between_special_tokens"] = True
"""Flags, and what they usually are."""
_ORDERS = ("samplers", "sampler_priority", "sampler_order")


def has_text_template(document: Mapping[str, object]) -> bool:
    """Whether *document* brings sequences, or a context template's lines."""
    instruct, context = _parts(document)
    return any(isinstance(instruct.get(key), str) for key in INSTRUCT_KEYS) or any(
        isinstance(context.get(key), str) for key in CONTEXT_KEYS
    )


def read_text_template(document: Mapping[str, object], name: str) -> TextTemplate | None:
    """The template in *document*; None where it has none. Macros in it are read when it is used."""
    if not has_text_template(document):
        return None
    instruct, context = _parts(document)
    signs: dict[str, Any] = {ours: _sign(instruct.get(theirs)) for ours, theirs in _SIGNS.items()}
    for ours, theirs in _OLD_SIGNS.items():
        signs[ours] = signs[ours] or _sign(instruct.get(theirs))
    is_instruct = any(signs[key] for key in ("user", "assistant", "system")) and instruct.get("enabled") is not False
    wraps = instruct.get("wrap", is_instruct) is True
    stop = [_sign(instruct.get("stop_sequence"))]
    if instruct.get("sequences_as_stop_strings", True):
        stop += [signs[key] for key in _STOPPING]
    if not is_instruct:
        stop = []
    lines = [line for text in stop for line in text.split("\n") if line.strip()]
    words = [f"\n{line}" if wraps else line for line in dict.fromkeys(lines)]
    if context.get("use_stop_strings") is True:
        words += [f"\n{text}" for key in CONTEXT_KEYS if (text := _sign(context.get(key)))]
    if context.get("single_line") is True:
        words.insert(0, "\n")
    return TextTemplate(
        name=name,
        **signs,
        chat_start=_sign(context.get("chat_start")),
        stop=tuple(words[:MAX_WORDS]),
        is_instruct=is_instruct,
        wraps=wraps,
        system_as_user=instruct.get("system_same_as_user") is True,
        names=names_of(document) if is_instruct else "always",
        stops_at_names=context.get("names_as_stop_strings", True) is not False,
        example_heading=_sign(context.get("example_separator")),
    )


def names_of(document: Mapping[str, object]) -> str:
    """When an instruct template writes names before words: none, force (in company) or always."""
    instruct, _ = _parts(document)
    said = instruct.get("names_behavior")
    if isinstance(said, str) and said in NAMES:
        return said
    if instruct.get("names") is True:
        return "always"
    return "force" if instruct.get("names_force_groups", True) is not False else "none"


def read_text_samplers(document: Mapping[str, object]) -> tuple[tuple[tuple[str, SamplerValue], ...], frozenset[str]]:
    """Our names and the values, and the keys of *document* that are heeded."""
    found: dict[str, SamplerValue] = {}
    heeded: set[str] = set()
    for key, (name, off) in _TEXT_SAMPLERS.items():
        number = _number(document.get(key))
        if number is not None:
            heeded.add(key)
            if number != off:
                found[name] = number
    for key, others in _TOGETHER.items():
        number = _number(document.get(key))
        heeded |= {each for each in (key, *others) if each in document}
        if number:
            found[key] = number
            found |= {each: value for each in others if (value := _number(document.get(each))) is not None}
    if "dry_multiplier" in found and (words := _words(document.get("dry_sequence_breakers"))):
        found["dry_sequence_breakers"] = words
    for key, usual in _SWITCHES.items():
        if isinstance(flag := document.get(key), bool):
            heeded.add(key)
            if flag is not usual:
                found[key] = flag
    found |= _dynamic_temperature(document)
    for key in _ORDERS:
        if order := _words(document.get(key)):
            heeded.add(key)
            found[key] = order
    grammar = document.get("grammar_string", document.get("grammar"))
    if isinstance(grammar, str) and grammar.strip() and len(grammar) <= MAX_GRAMMAR_CHARS:
        found["grammar"] = without_surrogates(grammar)
    heeded |= {"dynatemp", "min_temp", "max_temp", "dynatemp_exponent", "dry_sequence_breakers", "grammar_string"}
    return tuple(found.items()), frozenset(heeded & document.keys())


def _dynamic_temperature(document: Mapping[str, object]) -> dict[str, SamplerValue]:
    low, high = _number(document.get("min_temp")), _number(document.get("max_temp"))
    if document.get("dynatemp") is not True or low is None or high is None or not 0 <= low < high:
        return {}
    exponent = _number(document.get("dynatemp_exponent"))
    return {
        "dynamic_temperature": True,
        "dynatemp_low": low,
        "dynatemp_high": high,
        "dynatemp_range": (high - low) / 2,
        **({} if exponent is None else {"dynatemp_exponent": exponent}),
    }


def _parts(document: Mapping[str, object]) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """The instruct and the context template of *document*, which may be one of them itself."""
    instruct, context = document.get("instruct"), document.get("context")
    is_context = isinstance(document.get("story_string"), str) or "chat_start" in document
    return (
        instruct if isinstance(instruct, dict) else document if set(INSTRUCT_KEYS) & document.keys() else {},
        context if isinstance(context, dict) else document if is_context else {},
    )


def _sign(value: object) -> str:
    return without_surrogates(value)[:MAX_SIGN_CHARS] if isinstance(value, str) else ""


def _number(value: object) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > 1e6:
        return None
    return int(value) if value == int(value) else value


def _words(value: object) -> tuple[str | int, ...]:
    """A list, or one written as JSON or with commas, as text-completion presets have it."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = [each.strip() for each in str(value).split(",")]
    if not isinstance(value, list):
        return ()
    kept = [each for each in value if isinstance(each, str | int) and not isinstance(each, bool) and each != ""]
    return tuple(without_surrogates(each) if isinstance(each, str) else each for each in kept[:MAX_WORDS])
