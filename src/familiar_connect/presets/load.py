"""Preset files as values: Chat-Completion presets of any age, and text-completion ones made into such.

Whatever the bytes are, the answer is a `Preset` or one `PresetError` sentence, in bounded time and memory. Values
that do not fit are read as SillyTavern would take them: left out, or its default in their place.

read_samplers: how a preset wants words chosen. What is out of range or means "off" is left to the model slot.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast, get_args

from familiar_connect.errors import PresetError
from familiar_connect.llm.types import Role, Sampling
from familiar_connect.presets.prompt_order import BUILT_IN, DEFAULT_ORDER, GLOBAL_ORDER, STORY_NODE, STORY_ORDER
from familiar_connect.presets.regex_scripts import read_scripts
from familiar_connect.presets.text_completion import is_text_completion, nodes_from_text_completion, story_node
from familiar_connect.presets.text_template import (
    NAMES,
    has_text_template,
    names_of,
    read_text_samplers,
    read_text_template,
)
from familiar_connect.presets.types import OrderEntry, Preset, PresetNode, PresetSettings, PromptOrderList
from familiar_connect.support.text import grapheme_boundary, one_line, printable, without_surrogates

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


MAX_BYTES = 2 * 1024 * 1024
MAX_NAME_CHARS = 100
MAX_NAME_BYTES = 200
"""Of a name in UTF-8; file systems take 255, with room for what is put behind it."""
MAX_DEPTH = 64
"""Levels of nesting; a preset has about six, with add-ons a dozen."""
MAX_PROMPTS = 5_000
MAX_ORDER_ENTRIES = 50_000
"""Over all lists of a file."""

OLD_PROMPTS = {"main_prompt": "main", "nsfw_prompt": "nsfw", "jailbreak_prompt": "jailbreak"}
"""Settings that held prompts before presets had a list of them."""
UNAPPLIED = (
    *("temperature", "frequency_penalty", "presence_penalty", "top_p", "top_k", "top_a", "min_p"),
    *("repetition_penalty", "seed", "n", "stream_openai", "reasoning_effort", "verbosity", "bias_preset_selected"),
    *("chat_completion_source", "max_context_unlocked", "use_sysprompt", "claude_use_sysprompt"),
    *("use_makersuite_sysprompt", "function_calling", "show_thoughts", "enable_web_search", "media_inlining"),
    *("image_inlining", "request_images"),
)
"""Sampler and service settings; those that `read_samplers` heeds are applied, the others only named."""
CONNECTIONS = (
    *("reverse_proxy", "proxy_password", "custom_url", "custom_include_headers", "custom_include_body"),
    *("custom_exclude_body", "api_url_scale", "vertexai_region", "azure_base_url", "azure_deployment_name"),
    *("api_key", "secrets", "proxies", "additional_parameters_by_source"),
)
"""Endpoints and credentials; never taken from an imported file."""
STORY_KEEPS = ("main", "dialogueExamples", "chatHistory")
"""Beside a whole story string; its system prompt is filled in there."""
_CHAT_COMPLETION = (
    *("openai_max_context", "openai_max_tokens", "chat_completion_source", "names_behavior", "new_chat_prompt"),
    *("new_example_chat_prompt", "impersonation_prompt", "squash_system_messages", "wi_format", "assistant_prefill"),
)
"""Any of these marks a Chat-Completion preset that has no prompts of its own."""
_TEXTS = (
    *("new_chat_prompt", "new_group_chat_prompt", "new_example_chat_prompt", "continue_nudge_prompt"),
    *("group_nudge_prompt", "impersonation_prompt", "wi_format", "scenario_format", "personality_format"),
    *("assistant_prefill", "assistant_impersonation", "send_if_empty", "continue_postfix"),
)
_FLAGS = ("squash_system_messages", "wrap_in_quotes", "continue_prefill")
_OLD_POST_PROCESSING = {"claude": "merge"}
_NAMES_BEHAVIORS = (-1, 0, 1, 2)
_NOT_IN_NAMES = re.compile(r'[/\\:*?"<>|]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
_SPELT = re.compile(r"-?[0-9]{1,9}")
"""Names that mean a device on some systems."""


def read_preset(raw: bytes | str, name: str) -> Preset:
    """The preset in *raw*, called *name*; `PresetError` with one sentence when it is none."""
    document = parse_preset_document(raw, name)
    if is_chat_completion(document):
        return _chat_completion(document, name)
    if is_text_completion(document):
        nodes = tuple(
            replace(node, name=without_surrogates(node.name), content=without_surrogates(node.content))
            for node in nodes_from_text_completion(document)
        )
        order = tuple(OrderEntry(identifier=node.identifier) for node in nodes)
        orders = [PromptOrderList(character_id=GLOBAL_ORDER, entries=order)] if nodes else []
        if (story := story_node(document)) is not None:
            kept = [each.identifier for each in nodes if each.identifier in STORY_KEEPS or each.position == 1]
            entries = [OrderEntry(identifier=each, enabled=each != "main") for each in (STORY_NODE, *kept)]
            orders.append(PromptOrderList(character_id=STORY_ORDER, entries=tuple(entries)))
            nodes = (*nodes, story)
        return _with_extras(
            Preset(
                name=name,
                prompts=nodes,
                orders=tuple(orders),
                settings=PresetSettings(
                    names_behavior=NAMES[names_of(document)] if has_text_template(document) else None,
                    new_chat_prompt="",
                    new_example_chat_prompt="",
                    new_group_chat_prompt="",
                    group_nudge_prompt="",
                    impersonation_prompt="",
                    continue_nudge_prompt="",
                ),
                legacy=True,
                template=read_text_template(document, name),
            ),
            document,
        )
    raise _no(name, _what_else(document))


def is_chat_completion(document: Mapping[str, object]) -> bool:
    """Whether *document* is a preset of SillyTavern's Chat Completion, of any age."""
    if isinstance(document.get("prompts"), list) or isinstance(document.get("prompt_order"), list):
        return True
    if any(isinstance(document.get(key), str) for key in OLD_PROMPTS):
        return True
    return any(key in document for key in _CHAT_COMPLETION) and not has_text_template(document)


def parse_preset_document(raw: bytes | str, name: str) -> dict[str, object]:
    """The JSON object in *raw*, a preset's file called *name*; `PresetError` with one sentence when it is none."""
    size = len(raw) if isinstance(raw, bytes) else len(raw.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise _no(name, f"has {size:,} bytes; a preset has at most {MAX_BYTES:,}, so this is something else")
    try:
        text = _decoded(raw)
    except UnicodeDecodeError:
        raise _no(name, "is not UTF-8 text; export it from SillyTavern as JSON again") from None
    if not text.strip():
        raise _no(name, "is empty; export it from SillyTavern again")
    try:
        document = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise _no(name, f"is not valid JSON{where}; export it from SillyTavern again") from None
    if not isinstance(document, dict):
        kind = "a list" if isinstance(document, list) else "a single value"
        raise _no(name, f"holds {kind} where a preset has an object with `prompts`; choose another file")
    if _is_deep(document):
        raise _too_deep(name)
    return document


def _decoded(raw: bytes | str) -> str:
    if isinstance(raw, str):
        return raw.removeprefix("\ufeff")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16")
    return raw.decode("utf-8-sig")


def _refuse(constant: str) -> object:
    raise ValueError(constant)


def _is_deep(document: dict[str, object]) -> bool:
    level: list[object] = [document]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else cast(list[object], item))
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _chat_completion(document: Mapping[str, Any], name: str) -> Preset:
    listed = document.get("prompts")
    prompts = [
        _node(each, number)
        for number, each in enumerate(_bounded(listed, MAX_PROMPTS, "prompts", name))
        if isinstance(each, dict)
    ]
    orders = _orders(document.get("prompt_order"), name)
    old = {identifier: document[key] for key, identifier in OLD_PROMPTS.items() if isinstance(document.get(key), str)}
    if old and not prompts:
        prompts = list(BUILT_IN.values())
        orders = orders or (PromptOrderList(character_id=GLOBAL_ORDER, entries=DEFAULT_ORDER),)
        prompts = [
            replace(node, content=without_surrogates(old.get(node.identifier, node.content))) for node in prompts
        ]
    elif old:
        prompts = _filled_in(prompts, old)
    preset = Preset(name=name, prompts=tuple(prompts), orders=orders, settings=_settings(document))
    return _with_extras(preset, document)


def _filled_in(prompts: list[PresetNode], old: Mapping[str, str]) -> list[PresetNode]:
    """*prompts* with the texts of the older settings, which win where they say anything."""
    filled = [replace(node, content=without_surrogates(old.get(node.identifier) or node.content)) for node in prompts]
    there = {node.identifier for node in prompts}
    added = [
        replace(BUILT_IN[each], content=without_surrogates(text)) for each, text in old.items() if each not in there
    ]
    return filled + added


def _node(prompt: Mapping[str, object], number: int) -> PresetNode:
    given = prompt.get("identifier")
    identifier = without_surrogates(str(given)) if isinstance(given, str | int) and not isinstance(given, bool) else ""
    role = prompt.get("role")
    name = prompt.get("name")
    triggers = prompt.get("injection_trigger")
    system_prompt = prompt.get("system_prompt")
    identifier = identifier or f"prompt-{number + 1}"
    order = _whole_number(_from_text(prompt.get("injection_order")))
    return PresetNode(
        identifier=identifier,
        name=(without_surrogates(one_line(name)) if isinstance(name, str) else "") or identifier,
        role=cast(Role, role) if role in get_args(Role) else "system",
        content=_text(prompt.get("content")),
        is_marker=prompt.get("marker") is True,
        is_enabled=prompt.get("enabled") is not False,
        position=1 if _whole_number(prompt.get("injection_position")) == 1 else 0,
        depth=4 if prompt.get("injection_depth") is None else _whole_number(prompt.get("injection_depth")),
        depth_given=prompt.get("injection_depth") is not None,
        role_given=role in get_args(Role),
        order=100 if order is None else order,
        triggers=tuple(without_surrogates(each) for each in triggers if isinstance(each, str))
        if isinstance(triggers, list)
        else (),
        forbid_overrides=bool(prompt.get("forbid_overrides")),
        system_prompt=system_prompt if isinstance(system_prompt, bool) else None,
    )


def _orders(listed: object, name: str) -> tuple[PromptOrderList, ...]:
    lists = []
    total = 0
    for each in _bounded(listed, MAX_ORDER_ENTRIES, "order lists", name):
        if not isinstance(each, dict) or not isinstance(each.get("character_id"), str | int):
            continue
        entries = _bounded(each.get("order"), MAX_ORDER_ENTRIES - total, "order entries", name)
        total += len(entries)
        lists.append(
            PromptOrderList(
                character_id=without_surrogates(str(each["character_id"])),
                entries=tuple(
                    OrderEntry(
                        identifier=without_surrogates(str(entry["identifier"])), enabled=bool(entry.get("enabled"))
                    )
                    for entry in entries
                    if isinstance(entry, dict) and isinstance(entry.get("identifier"), str | int)
                ),
            )
        )
    return tuple(lists)


def _bounded(listed: object, most: int, what: str, name: str) -> list[object]:
    if not isinstance(listed, list):
        return []
    if len(listed) > most:
        raise _no(name, f"has {len(listed):,} {what}, more than the {most:,} that are read; this cannot be right")
    return listed


def _settings(document: Mapping[str, Any]) -> PresetSettings:
    given: dict[str, Any] = {
        key: without_surrogates(document[key]) for key in _TEXTS if isinstance(document.get(key), str)
    }
    given |= {key: document[key] for key in _FLAGS if isinstance(document.get(key), bool)}
    names = _whole_number(document.get("names_behavior"))
    if names in _NAMES_BEHAVIORS:
        given["names_behavior"] = names
    elif document.get("names_in_completion") is True:
        given["names_behavior"] = 1
    for key, field in (("openai_max_context", "max_context"), ("openai_max_tokens", "max_tokens")):
        size = _whole_number(document.get(key))
        if size is not None and size > 0:
            given[field] = size
    processing = _text(document.get("custom_prompt_post_processing"))
    given["post_processing"] = _OLD_POST_PROCESSING.get(processing, processing)
    return PresetSettings(**given)


def _with_extras(preset: Preset, document: Mapping[str, object]) -> Preset:
    """*preset* with the names of what its file brings besides, for the report."""
    found = document.get("extensions")
    extensions: Mapping[str, object] = found if isinstance(found, dict) else {}
    scripts = extensions.get("regex_scripts")
    inner = document.get("preset")
    given = inner if preset.legacy and isinstance(inner, dict) else document
    sampling, heeded = read_samplers(given)
    if preset.legacy:
        further, keys = read_text_samplers(given)
        sampling, heeded = replace(sampling, text=further), heeded | keys
    is_unread = preset.legacy and isinstance(inner, dict) and not heeded
    return replace(
        preset,
        sampling=sampling,
        unapplied=tuple(key for key in UNAPPLIED if key in document and key not in heeded)
        + (("preset",) if is_unread else ()),
        connections=tuple(key for key in CONNECTIONS if _says_something(document.get(key))),
        regex_scripts=len(scripts) if isinstance(scripts, list) else 0,
        scripts=read_scripts(scripts, origin="preset"),
        extensions=tuple(
            without_surrogates(one_line(key))[:60]
            for key, value in list(extensions.items())[:50]
            if key != "regex_scripts" and _says_something(value)
        ),
    )


def _says_something(value: object) -> bool:
    return bool(value.strip()) if isinstance(value, str) else bool(value)


def _text(value: object) -> str:
    return without_surrogates(value) if isinstance(value, str) else ""


def _whole_number(value: object) -> int | None:
    """*value* if it is a whole number, written with or without a point; text that looks like one is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, float) and math.isfinite(value) and value == int(value) else None


def _from_text(value: object) -> object:
    """The whole number that *value* spells, if it is a text that spells one."""
    return int(value) if isinstance(value, str) and _SPELT.fullmatch(value) else value


def _what_else(document: Mapping[str, object]) -> str:
    """What a document without prompts is instead, as far as one can tell."""
    if "spec" in document or "first_mes" in document or "mes_example" in document:
        return "is a character card, not a preset; make a familiar from it with `familiar init NAME --from-card FILE`"
    if "entries" in document:
        return "is a lorebook, not a preset; import it with `familiar import lorebook FILE`"
    if {"prefix", "suffix", "separator"} <= document.keys():
        return (
            'is a reasoning template: write what stands before and behind thoughts as `reasoning_tags = ["…", "…"]` '
            "under [llm.main_prose] in character.toml; usual ones, such as <think>, need nothing"
        )
    return "has neither `prompts` nor a story string; export a Chat Completion preset from SillyTavern"


def _no(name: str, why: str) -> PresetError:
    return PresetError(f"preset {without_surrogates(one_line(name))[:100]!r}: {why}")


def _too_deep(name: str) -> PresetError:
    return _no(name, f"is nested more than {MAX_DEPTH} levels deep, which no preset is; choose another file")


def safe_preset_name(name: str) -> str:
    """*name* as it can stand for a file on any system: letters of every script stay, what leads elsewhere does not.

    A name it gave stays as it is.
    """
    found = one_line(unicodedata.normalize("NFC", printable(without_surrogates(name))))
    found = _cut(_NOT_IN_NAMES.sub("_", found).strip(". "))
    if not found:
        raise PresetError(f"{name[:40]!r} cannot name a preset; give it letters or digits with --name")
    return _cut(f"_{found}") if _RESERVED.fullmatch(found) or is_no_preset(found) else found


def is_no_preset(name: str) -> bool:
    """Whether *name*, where a preset is named, means that there is to be none."""
    return name.strip().casefold() in ("", "none")


def _cut(name: str) -> str:
    found = name[: grapheme_boundary(name, MAX_NAME_CHARS)]
    while len(found.encode("utf-8")) > MAX_NAME_BYTES:
        found = found[: grapheme_boundary(found, len(found) - 1)]
    return found.rstrip(". ")
