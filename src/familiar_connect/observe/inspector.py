"""A turn explained to a person: blocks, cuts, providers, model, shared prefix, then the prompt itself.

Reads a trace and what was kept beside it; any part may be missing, and the page says so. `turn_facts`
is the same turn in one log line, without a word of what was said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from familiar_connect.observe.replay import ReplayRecord
from familiar_connect.observe.report import seconds
from familiar_connect.observe.trace import TurnTrace

MODEL_FACTS = (
    "model",
    "provider",
    "first_token_s",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "finish_reason",
    "attempts",
)
PREFIX_FACTS = ("prefix_ratio", "prefix_shared_tokens", "prefix_total_tokens", "prefix_ended_by")


@dataclass(frozen=True)
class BlockLine:
    """One block of the prompt, or one that did not make it."""

    place: int | None
    """Where it stands in the prompt, from 1; None when it was cut."""
    source: str
    tag: str
    layer: str
    tokens: int
    fate: str


def explain_turn(trace: TurnTrace, record: ReplayRecord | None = None, messages: bytes | None = None) -> str:
    """The turn as Markdown. *messages* is the prompt as it was written down when it was sent."""
    sections = [_heading(trace), _blocks(trace, record), _stages(trace), _providers(trace), _model(trace)]
    sections += [_prefix(trace), _replay(record), _prompt(messages)]
    return "\n\n".join(section for section in sections if section) + "\n"


def turn_as_json(trace: TurnTrace, record: ReplayRecord | None = None, messages: bytes | None = None) -> dict[str, Any]:
    """The turn as plain data, for other programs."""
    return {
        "trace": json.loads(json.dumps(asdict(trace), default=str)),
        "blocks": [asdict(line) for line in block_lines(trace, record)],
        "dropped": _dropped(trace, record),
        "providers": _outcomes(trace),
        "model": _model_facts(trace),
        "prefix": {key: trace.fact(key) for key in PREFIX_FACTS},
        "replayable": record is not None,
        "messages_hash": record.messages_hash if record else None,
        "seed": record.seed if record else None,
        "prompt": messages.decode("utf-8", errors="replace") if messages is not None else None,
    }


def turn_facts(trace: TurnTrace) -> dict[str, Any]:
    """What the one INFO line of a turn says beside its message."""
    model = _model_facts(trace)
    outcomes = _outcomes(trace)
    facts: dict[str, Any] = {
        "trace_id": trace.trace_id,
        "familiar_id": trace.familiar_id,
        "channel_id": trace.channel_id,
        "modality": trace.modality,
        "total_s": round(trace.total_duration_s, 3),
        **{key: model.get(key) for key in MODEL_FACTS},
        "prefix_ratio": trace.fact("prefix_ratio"),
        "cuts": len(_dropped(trace, None)),
        "providers_failed": sum(1 for outcome in outcomes if outcome.get("status") != "ok"),
    }
    return {
        key: round(value, 3) if isinstance(value, float) else value for key, value in facts.items() if value is not None
    }


def turn_line(trace: TurnTrace) -> str:
    """The same as text."""
    return "turn " + " ".join(f"{key}={value}" for key, value in turn_facts(trace).items())


def block_lines(trace: TurnTrace, record: ReplayRecord | None = None) -> list[BlockLine]:
    """Blocks in prompt order, then those that were cut, each with what became of it."""
    blocks = _recorded_blocks(trace, record)
    notes = _dropped(trace, record)
    shortened = {(note["source"], note["layer"]): note for note in notes if note["reason"] == "truncated"}
    kept = [block for block in blocks if block.get("kept", True)]
    lines = []
    for place, block in enumerate(kept, start=1):
        note = shortened.get((block.get("source"), block.get("layer")))
        fate = f"shortened by {note['tokens_dropped']}: {_why(note)}" if note else "kept"
        lines.append(_line(block, place, int(block.get("tokens") or 0), fate))
    for note in notes:
        if note["reason"] != "truncated":
            tag = _tag_of_cut(blocks, note)
            lines.append(_line({**note, "tag": tag}, None, int(note["tokens_dropped"]), f"cut: {_why(note)}"))
    return lines


def _line(block: Mapping[str, Any], place: int | None, tokens: int, fate: str) -> BlockLine:
    return BlockLine(
        place, str(block.get("source") or ""), str(block.get("tag") or ""), str(block.get("layer") or ""), tokens, fate
    )


def _tag_of_cut(blocks: Sequence[Mapping[str, Any]], note: Mapping[str, Any]) -> str | None:
    cut = (block for block in blocks if not block.get("kept", True))
    return next(
        (b.get("tag") for b in cut if (b.get("source"), b.get("layer")) == (note["source"], note["layer"])), None
    )


def _why(note: Mapping[str, Any]) -> str:
    full = note.get("full") or "layer"
    return {
        "layer": f"layer {note.get('layer')} is full",
        "total": "the prompt's budget is full",
        "window": "the model's window is full",
    }.get(str(full), f"{full} is full")


def _recorded_blocks(trace: TurnTrace, record: ReplayRecord | None) -> list[Mapping[str, Any]]:
    traced = trace.fact("tokens_by_block")
    if isinstance(traced, list) and traced:
        return [block for block in traced if isinstance(block, Mapping)]
    kept = record.kept if record else ()
    return [
        {
            "source": contribution.source,
            "tag": contribution.tag.value if contribution.tag else None,
            "layer": contribution.layer.value,
            "tokens": contribution.estimated_tokens,
        }
        for contribution in kept
    ]


def _dropped(trace: TurnTrace, record: ReplayRecord | None) -> list[dict[str, Any]]:
    """Every cut: those of assembly, and those a model's window asked for later."""
    traced = [note for span in trace.stages for note in span.metadata.get("dropped") or () if isinstance(note, Mapping)]
    found = traced or ([{**asdict(note), "layer": note.layer.value} for note in record.dropped] if record else [])
    unknown = {"layer": "", "source": "", "reason": "dropped", "tokens_dropped": 0, "full": "layer"}
    return [{**unknown, **note} for note in found]


def _outcomes(trace: TurnTrace) -> list[dict[str, Any]]:
    found = trace.fact("provider_outcomes")
    return [dict(outcome) for outcome in found if isinstance(outcome, Mapping)] if isinstance(found, list) else []


def _model_facts(trace: TurnTrace) -> dict[str, Any]:
    span = trace.stage("model")
    return {key: span.metadata[key] for key in MODEL_FACTS if key in span.metadata} if span else {}


def _heading(trace: TurnTrace) -> str:
    tags = "".join(f" · {key}={value}" for key, value in sorted(trace.tags.items()))
    return (
        f"# Turn {trace.trace_id}\n\n{trace.timestamp} · familiar {trace.familiar_id} · channel {trace.channel_id}"
        f" · {trace.modality} · {seconds(trace.total_duration_s)}{tags}"
    )


def _blocks(trace: TurnTrace, record: ReplayRecord | None) -> str:
    lines = block_lines(trace, record)
    if not lines:
        return "## Blocks\n\nNo blocks were noted for this turn."
    total = sum(line.tokens for line in lines if line.place is not None)
    rows = [[line.place or "–", line.source, line.tag, line.layer, line.tokens, line.fate] for line in lines]
    body = markdown_table(["place", "source", "tag", "layer", "tokens", "fate"], rows)
    return f"## Blocks\n\n{body}\n\n{total} tokens in the prompt."


def _stages(trace: TurnTrace) -> str:
    if not trace.stages:
        return ""
    rows = [
        [span.name, seconds(span.start_s), seconds(span.duration_s), span.metadata.get("error") or ""]
        for span in trace.stages
    ]
    return "## Stages\n\n" + markdown_table(["stage", "began at", "took", "failed with"], rows)


def _providers(trace: TurnTrace) -> str:
    rows = [
        [
            each.get("id", ""),
            each.get("status", ""),
            seconds(float(each.get("duration_s") or 0)),
            each.get("error") or "",
        ]
        for each in _outcomes(trace)
    ]
    return "## Providers\n\n" + markdown_table(["provider", "status", "took", "error"], rows) if rows else ""


def _model(trace: TurnTrace) -> str:
    facts = _model_facts(trace)
    if not facts:
        return ""
    words = [str(facts["model"])] if facts.get("model") else []
    if facts.get("provider"):
        words.append(f"by {facts['provider']}")
    if facts.get("first_token_s") is not None:
        words.append(f"first token after {seconds(float(facts['first_token_s']))}")
    for key, label in (("prompt_tokens", "prompt"), ("cached_tokens", "cached"), ("completion_tokens", "written")):
        if facts.get(key) is not None:
            words.append(f"{facts[key]} tokens {label}")
    if facts.get("finish_reason"):
        words.append(f"ended by {facts['finish_reason']}")
    if int(facts.get("attempts") or 1) > 1:
        words.append(f"{facts['attempts']} attempts")
    return "## Model\n\n" + " · ".join(words)


def _prefix(trace: TurnTrace) -> str:
    ratio = trace.fact("prefix_ratio")
    if ratio is None:
        return ""
    ended_by = trace.fact("prefix_ended_by")
    end = "the whole prompt is the same" if ended_by is None else f"message [{ended_by}] is the first that differs"
    return f"## Shared prefix\n\n{float(ratio):.0%} of the prompt repeats the start of the one before; {end}."


def _replay(record: ReplayRecord | None) -> str:
    if record is None:
        return "## Replay\n\nWhat this turn was made of is not kept (any more); it cannot be replayed."
    return (
        f"## Replay\n\n`familiar replay {record.trace_id}` · seed {record.seed} · messages {record.messages_hash[:12]}"
    )


def _prompt(messages: bytes | None) -> str:
    if messages is None:
        return "## Prompt\n\nThe prompt of this turn is not on disk."
    return "## Prompt\n\n" + messages.decode("utf-8", errors="replace").strip()


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; whatever a cell holds, it stays one cell."""
    lines = [list(header), ["---"] * len(header), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("\\", "\\\\").replace("|", "\\|")
