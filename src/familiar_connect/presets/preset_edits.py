"""Changes of a preset's file as a form makes them: samplers, one prompt, the order.

Each takes the file's document and gives it back changed; everything a form does not show stays. What is switched on and
off is no change of the file: `PresetStore.toggle` keeps that beside it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from familiar_connect.errors import PresetError
from familiar_connect.presets.load import read_preset, read_samplers
from familiar_connect.presets.prompt_order import BUILT_IN, DEFAULT_ORDER, GLOBAL_ORDER, nodes_of, prompts_of
from familiar_connect.presets.types import Preset, PresetFidelity, PresetNode

Document = dict[str, Any]
SAMPLERS = (
    ("temperature", "Temperature", ("temp",)),
    ("top_p", "Top P", ()),
    ("top_k", "Top K", ()),
    ("min_p", "Min P", ()),
    ("top_a", "Top A", ()),
    ("frequency_penalty", "Frequency penalty", ("freq_pen",)),
    ("presence_penalty", "Presence penalty", ("presence_pen",)),
    ("repetition_penalty", "Repetition penalty", ("rep_pen",)),
    ("seed", "Seed", ()),
    ("openai_max_tokens", "Longest reply, in tokens", ()),
    ("openai_max_context", "Size of the prompt, in tokens", ()),
)
"""Key of the file, what people call it, and what older files call it."""
CONTEXT = "openai_max_context"
PROMPT_FIELDS = ("name", "role", "content", "injection_position", "injection_depth", "injection_order")
ROLES = ("system", "user", "assistant")
MAX_NUMBER = 10_000_000
MAX_CONTENT_CHARS = 500_000
MAX_NAME_CHARS = 200


def sampler_texts(document: Mapping[str, Any]) -> dict[str, str]:
    """What the file says of each sampler; empty where it says nothing."""
    return {name: _as_text(document.get(_key(document, name, others))) for name, _, others in SAMPLERS}


def plain_document() -> dict[str, Any]:
    """A preset to begin with: the prompts in their usual order, and the model's own samplers."""
    nodes = [BUILT_IN[each.identifier] for each in DEFAULT_ORDER]
    prompts = [
        {
            "identifier": node.identifier,
            "name": node.name,
            "system_prompt": True,
            **({"marker": True} if node.is_marker else {"role": "system", "content": node.content}),
        }
        for node in nodes
    ]
    order = [{"identifier": each.identifier, "enabled": each.enabled} for each in DEFAULT_ORDER]
    return {"prompts": prompts, "prompt_order": [{"character_id": int(GLOBAL_ORDER), "order": order}]}


def with_samplers(document: Document, fields: Mapping[str, str]) -> Document:
    """*document* with these samplers; an empty one is taken out."""
    made = dict(document)
    for name, label, others in SAMPLERS:
        if name not in fields or fields[name] == sampler_texts(document)[name]:
            continue
        key, text = _key(document, name, others), fields[name].strip()
        made.pop(key, None)
        if text:
            made[key] = _number(label, text)
            is_taken = made[key] >= 1 if name == CONTEXT else key in read_samplers({key: made[key]})[1]
            if not is_taken:
                raise PresetError(f"{label} cannot be {text}")
    return made


def prompt_fields(node: PresetNode) -> dict[str, str]:
    """A prompt as the fields of a form."""
    values = (node.name, node.role, node.content, node.position, node.depth, node.order)
    return {name: _as_text(value) for name, value in zip(PROMPT_FIELDS, values, strict=True)}


def with_prompt(document: Document, identifier: str, fields: Mapping[str, str]) -> Document:
    """*document* with these fields of the prompt *identifier*; one the file does not define is added."""
    listed = [each for each in document.get("prompts") or [] if isinstance(each, dict)]
    there = next((each for each in listed if str(each.get("identifier")) == identifier), None)
    known = BUILT_IN.get(identifier)
    begun = {"identifier": identifier, "system_prompt": known is not None, "marker": False} if there is None else there
    made = {**begun, **_prompt(fields)}
    rest = [made if each is there else each for each in document.get("prompts") or []]
    return {**document, "prompts": rest if there is not None else [*rest, made]}


def with_new_prompt(document: Document, name: str, fidelity: PresetFidelity, fields: Mapping[str, str]) -> Document:
    """*document* with one prompt more, at the end of the order."""
    taken = {str(each.get("identifier")) for each in document.get("prompts") or [] if isinstance(each, dict)}
    number = next(number for number in range(1, len(taken) + 2) if f"prompt-{number}" not in taken)
    order = [*_entries(document, name, fidelity), {"identifier": f"prompt-{number}", "enabled": True}]
    return _with_order(with_prompt(document, f"prompt-{number}", fields), order)


def without_prompt(document: Document, name: str, fidelity: PresetFidelity, identifier: str) -> Document:
    """*document* without the prompt *identifier*; SillyTavern's own cannot go, only be switched off."""
    if identifier in BUILT_IN:
        raise PresetError("this prompt belongs to every preset: switch it off instead")
    kept = [each for each in document.get("prompts") or [] if _identifier(each) != identifier]
    order = [each for each in _entries(document, name, fidelity) if each["identifier"] != identifier]
    return _with_order({**document, "prompts": kept}, order)


def with_move(document: Document, name: str, fidelity: PresetFidelity, identifier: str, step: int) -> Document:
    """*document* with the prompt *identifier* one place up or down."""
    order = _entries(document, name, fidelity)
    at = next((at for at, each in enumerate(order) if each["identifier"] == identifier), None)
    if at is None or not 0 <= at + step < len(order):
        return document
    order[at], order[at + step] = order[at + step], order[at]
    return _with_order(document, order)


def _entries(document: Document, name: str, fidelity: PresetFidelity) -> list[dict[str, Any]]:
    """The order in force as the file says it, without the owner's switches; legacy files cannot be ordered."""
    if not isinstance(document.get("prompts"), list):
        raise PresetError("this preset has no list of prompts, so its order cannot be changed")
    preset: Preset = read_preset(json.dumps(document), name)
    known = prompts_of(preset, fidelity)
    return [
        {"identifier": node.identifier, "enabled": node.is_enabled}
        for node in nodes_of(preset, fidelity)
        if node.identifier in known
    ]


def _with_order(document: Document, order: list[dict[str, Any]]) -> Document:
    """*document* with *order* as the list that counts for every character; what else stands in an entry stays."""
    lists = [dict(each) for each in document.get("prompt_order") or [] if isinstance(each, dict)]
    found = next((each for each in lists if str(each.get("character_id")) == GLOBAL_ORDER), None)
    if found is None:
        return {**document, "prompt_order": [*lists, {"character_id": int(GLOBAL_ORDER), "order": order}]}
    before = {_identifier(each): each for each in found.get("order") or [] if isinstance(each, dict)}
    named = {each["identifier"] for each in order}
    missing = {_identifier(each) for each in document.get("prompts") or []} | set(BUILT_IN)
    rest = [each for known, each in before.items() if known not in named and known not in missing]
    found["order"] = [*({**before.get(each["identifier"], {}), **each} for each in order), *rest]
    return {**document, "prompt_order": lists}


def _identifier(each: object) -> str:
    return str(each.get("identifier")) if isinstance(each, dict) else ""


def _prompt(fields: Mapping[str, str]) -> dict[str, Any]:
    made: dict[str, Any] = {"name": fields["name"].strip()[:MAX_NAME_CHARS], "role": fields["role"]}
    if not made["name"]:
        raise PresetError("a prompt needs a name")
    if made["role"] not in ROLES:
        raise PresetError("the role is none of the choices there are")
    if len(fields["content"]) > MAX_CONTENT_CHARS:
        raise PresetError(f"a prompt has at most {MAX_CONTENT_CHARS:,} characters")
    made["content"] = fields["content"].replace("\r\n", "\n")
    made["injection_position"] = 1 if fields["injection_position"] == "1" else 0
    for name, label in (("injection_depth", "Depth"), ("injection_order", "Order")):
        if fields[name].strip():
            made[name] = int(_number(label, fields[name].strip()))
    return made


def _key(document: Mapping[str, Any], name: str, others: tuple[str, ...]) -> str:
    return next((each for each in (name, *others) if each in document), name)


def _as_text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None or isinstance(value, bool) else str(value)


def _number(label: str, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not -MAX_NUMBER <= value <= MAX_NUMBER:
        raise PresetError(f"{label} must be a number")
    return int(value) if value.is_integer() else value
