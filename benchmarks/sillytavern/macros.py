"""Macro vectors: each text worked out in its context, the output and the variables compared; and the seeded choices.

Where SillyTavern uses real entropy, a vector lists what may come out, and every roll of ours must be on the list.
Vectors record the variables a text leaves behind, not those it found. Where one cannot come out by itself, the
variables it found are worked out backwards from those it left, and the output is compared from there.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from benchmarks.sillytavern.results import CaseResult
from familiar_connect.presets.macros.engine import expand
from familiar_connect.presets.macros.random_choice import SeededRandom, pick_index, string_hash
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.macros.variables import format_number, number_of
from familiar_connect.presets.types import ChatLine

KIND = "macros"
SEEDS = 40
"""Rolls of each text that rests on entropy."""
SHOWN = 160
WINDOW, ANSWER = 4095, 300
"""Tokens, where a vector does not say: what SillyTavern begins with."""

Held = dict[str, str]


class HalfRandom(random.Random):
    """The source of chance the vectors were made with."""

    def random(self) -> float:
        return 0.5


def check(folder: Path) -> list[CaseResult]:
    """One result per macro vector, then one per kind of seeded number."""
    data = json.loads((folder / "expected" / "macros.json").read_text(encoding="utf-8"))
    results = [_case(data, vector, place) for place, vector in enumerate(data.get("vectors", ()))]
    hashes = folder / "expected" / "hash_vectors.json"
    if hashes.exists():
        results += _seeded(json.loads(hashes.read_text(encoding="utf-8")))
    return results


def context_of(data: Mapping[str, Any], vector: Mapping[str, Any]) -> MacroContext:
    """The context of one vector: the file's own, and what the vector says otherwise."""
    own = {**vector, **_mapping(vector.get("context"))}
    said = {**data, **{key: value for key, value in own.items() if value is not None}}
    options = _mapping(said.get("opts"))
    fields = {**_mapping(data.get("card_fields")), **_mapping(said.get("card_fields"))}
    group = said.get("group") or options.get("groupOverride") or ()
    return MacroContext(
        user=str(options.get("name1Override") or said.get("user", "User")),
        char=str(options.get("name2Override") or said.get("char", "")),
        group=(group,) if isinstance(group, str) else tuple(map(str, group)),
        persona=_text(fields, "persona") or str(said.get("persona") or ""),
        description=_text(fields, "description"),
        personality=_text(fields, "personality"),
        scenario=_text(fields, "scenario"),
        mes_example=_text(fields, "mesExamples"),
        system_prompt=_text(fields, "system"),
        post_history_instructions=_text(fields, "jailbreak"),
        creator_notes=_text(fields, "creatorNotes"),
        character_version=_text(fields, "version"),
        depth_prompt=_text(fields, "charDepthPrompt"),
        first_mes=_text(fields, "firstMessage"),
        alternate_greetings=tuple(map(str, fields.get("alternateGreetings") or ())),
        card=options.get("replaceCharacterCard", True) is not False,
        chat=tuple(map(_line, said.get("chat") or ())),
        input=str(said.get("input_box") or ""),
        now=_now(said),
        rng=HalfRandom(),
        chat_id=str(said.get("chat_id_for_pick") or ""),
        variables=Variables(local=_held(own, "vars"), shared=_held(own, "globals")),
        model=str(said.get("model") or ""),
        max_prompt=int(said.get("max_prompt") or WINDOW - ANSWER),
        max_context=int(said.get("max_context") or WINDOW),
        max_response=int(said.get("max_response") or ANSWER),
        generation=str(said.get("generation_type") or ""),
        dynamic={str(name): str(value) for name, value in _mapping(options.get("dynamicMacros")).items()},
        ours=False,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(fields: Mapping[str, Any], name: str) -> str:
    return str(fields.get(name) or "")


def _line(message: Mapping[str, Any]) -> ChatLine:
    return ChatLine(
        name=str(message.get("name") or ""),
        text=str(message.get("mes") or ""),
        is_user=bool(message.get("is_user")),
        is_hidden=bool(message.get("is_system")),
        sent_at=_date(message.get("send_date")),
        swipes=tuple(map(str, message.get("swipes") or ())),
        swipe_id=int(message.get("swipe_id") or 0),
    )


def _date(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value)).astimezone(UTC) if value else None
    except ValueError:
        return None


def _now(said: Mapping[str, Any]) -> datetime:
    now = _date(said.get("fixed_now_utc")) or datetime.fromtimestamp(0, UTC)
    return now.astimezone(ZoneInfo(str(said.get("timezone") or "UTC")))


def _held(own: Mapping[str, Any], kind: str) -> Held:
    """The variables a text finds, under any of the names a vector may give them."""
    places = (own, *(_mapping(own.get(name)) for name in ("pre", "before", "initial", "setup", "opts")))
    found: Mapping[str, Any] = next((place[kind] for place in places if isinstance(place.get(kind), dict)), {})
    return _as_text(found)


def _as_text(found: Mapping[str, Any]) -> Held:
    return {str(name): _value(value) for name, value in found.items()}


def _value(value: Any) -> str:
    if isinstance(value, bool | dict | list) or value is None:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return format_number(float(value)) if isinstance(value, int | float) else str(value)


def _case(data: Mapping[str, Any], vector: Any, place: int) -> CaseResult:
    name = str(vector.get("id", place)) if isinstance(vector, dict) else str(place)
    try:
        text, expected = str(vector["input"]), vector["new"]
        ctx = context_of(data, vector)
        original = _mapping(vector.get("opts")).get("original")
        if expected.get("nondeterministic"):
            told = _any_of(text, ctx, vector, expected)
        elif "output" not in expected:
            return CaseResult(KIND, name, False, "the vector has no output to compare with", out_of_scope=True)
        else:
            told = _differs(text, ctx, expected, original)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        told = f"the vector cannot be read: {type(error).__name__}: {error}"
    return CaseResult(KIND, name, not told, told)


def _differs(text: str, ctx: MacroContext, expected: Mapping[str, Any], original: str | None) -> str:
    wanted = (_as_text(_mapping(expected.get("vars"))), _as_text(_mapping(expected.get("globals"))))
    found = Variables(local=dict(ctx.variables.local), shared=dict(ctx.variables.shared))
    told = _compared(text, replace(ctx, variables=found), expected, wanted, original)
    if told and not ctx.variables.local and not ctx.variables.shared and (found.local, found.shared) != wanted:
        before = _before(text, ctx, wanted)
        if before is not None:
            return _compared(text, replace(ctx, variables=before), expected, wanted, original)
    return told


def _compared(
    text: str, ctx: MacroContext, expected: Mapping[str, Any], wanted: tuple[Held, Held], original: str | None
) -> str:
    output = expand(text, ctx, original=original).text
    if output != expected["output"]:
        return f"expected {expected['output'][:SHOWN]!r}, got {output[:SHOWN]!r}"
    for kind, want, have in zip(("vars", "globals"), wanted, (ctx.variables.local, ctx.variables.shared), strict=True):
        if want != have:
            return f"{kind}: expected {want}, got {have}"
    return ""


def _before(text: str, ctx: MacroContext, wanted: tuple[Held, Held]) -> Variables | None:
    """The variables *text* must have found to leave *wanted*: what one more reading would change is undone."""
    after = Variables(local=dict(wanted[0]), shared=dict(wanted[1]))
    expand(text, replace(ctx, variables=after))
    stores = [_undone(want, left) for want, left in zip(wanted, (after.local, after.shared), strict=True)]
    return None if None in stores else Variables(local=stores[0] or {}, shared=stores[1] or {})


def _undone(want: Held, left: Held) -> Held | None:
    before = {}
    for name, value in want.items():
        if left.get(name) != value:
            one, two = number_of(value), number_of(left.get(name, ""))
            if one is None or two is None:
                return None
            value = format_number(2 * one - two)
        before[name] = value
    return before


def _any_of(text: str, ctx: MacroContext, vector: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    rolled = [expand(text, replace(ctx, rng=random.Random(seed), variables=Variables())).text for seed in range(SEEDS)]
    allowed = vector.get("allowed_outputs")
    if allowed is None:
        samples = expected.get("samples") or []
        return "" if set(rolled) & set(samples) else f"none of {samples} came out in {SEEDS} rolls"
    strange = sorted(set(rolled) - set(allowed))
    return f"{strange[0][:SHOWN]!r} came out, which is none of {allowed}" if strange else ""


def _seeded(data: Mapping[str, Any]) -> list[CaseResult]:
    results = []
    for vector in data.get("getStringHash", ()):
        results.append(_number(f"hash of {vector['s'][:30]!r}", vector["hash"], string_hash(vector["s"])))
    for kind, end in (("seedrandom", ""), ("seedrandom_number_seed", "\0")):
        for vector in data.get(kind, ()):
            stream = SeededRandom(f"{vector['seed']}{end}")
            drawn = [stream.random() for _ in vector["doubles"]]
            results.append(_number(f"{kind} {vector['seed']!r}", vector["doubles"], drawn))
    for vector in data.get("pick", ()):
        index = pick_index(vector["chat"], vector["content"], vector["offset"], vector["n"])
        results.append(_number(f"pick at {vector['offset']}", vector["index_new_engine"], index))
    return results


def _number(name: str, expected: object, actual: object) -> CaseResult:
    same = expected == actual
    return CaseResult(KIND, name, same, "" if same else f"expected {expected}, got {actual}")
