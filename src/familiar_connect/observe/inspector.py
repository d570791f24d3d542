"""A turn explained to a person: blocks, cuts, providers, model, shared prefix, then the prompt itself.

Reads a trace and what was kept beside it; any part may be missing, and the page says so. `turn_facts`
is the same turn in one log line, without a word of what was said.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from familiar_connect.observe.last_context import NOTES, SEPARATOR
from familiar_connect.observe.replay_files import RecordSummary
from familiar_connect.observe.report import seconds
from familiar_connect.observe.trace import (
    QUOTED,
    TurnTrace,
    count_or_zero,
    finite_number,
    only_mappings,
    provider_notes,
    provider_outcomes,
)
from familiar_connect.support.text import one_line
from familiar_connect.support.text_table import TableStyle, text_table
from familiar_connect.support.tokens import MESSAGE_OVERHEAD
from familiar_connect.support.word_wrap import ENDLESS, display_width, pad

if TYPE_CHECKING:  # a report loads no more than it needs
    from familiar_connect.observe.replay_store import ReplayRecord

    TurnRecord = ReplayRecord | RecordSummary

NO_MODEL = "none (quoted)"
"""In a table, the model of a reply for which none was asked."""
MODEL_FACTS = (
    "model",
    "provider",
    "first_token_s",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "finish_reason",
    "attempts",
    "cost",
)
MAX_FAILURES, MAX_FAILURE_CHARS = 5, 300
PREFIX_FACTS = ("prefix_ratio", "prefix_shared_tokens", "prefix_total_tokens", "prefix_ended_by", "prefix_ended_at")
BLOCKS = TableStyle(left=(0, 1, 2, 3, 4, 6), name=2, indent=0)
STAGES = TableStyle(left=(0, 3), indent=0)
PROVIDERS = TableStyle(left=(0, 1, 3), indent=0)
MOST_PADDED = 40
"""A cell that is wider than this pushes its own line only."""


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
    message: int | None = None
    """Which message of the prompt holds it, counted from 0 as the prompt itself does."""


def explain_turn(
    trace: TurnTrace, record: TurnRecord | None = None, messages: bytes | None = None, *, width: int = ENDLESS
) -> str:
    """The turn as Markdown, but for its tables where they are shown in a window of *width* columns.

    *messages* is the prompt as it was written down when it was sent.
    """
    sections = [_heading(trace), _blocks(trace, record, width), _world_info(trace)]
    sections += [_stages(trace, width), _providers(trace, width)]
    sections += [_model(trace), _prefix(trace), _replay(record), _prompt(messages), _summary(trace, record)]
    return "\n\n".join(section for section in sections if section) + "\n"


def turn_as_json(trace: TurnTrace, record: TurnRecord | None = None, messages: bytes | None = None) -> dict[str, Any]:
    """The turn as plain data, for other programs."""
    return {
        "trace": json.loads(json.dumps(asdict(trace), default=str)),
        "blocks": [asdict(line) for line in block_lines(trace, record)],
        "dropped": _dropped(trace, record),
        "world_info": world_info_lines(trace),
        "providers": provider_outcomes(trace),
        "model": model_facts(trace),
        "prefix": {key: trace.fact(key) for key in PREFIX_FACTS},
        "replayable": record is not None,
        "messages_hash": record.messages_hash if record else None,
        "seed": record.seed if record else None,
        "prompt": messages.decode("utf-8", errors="replace") if messages is not None else None,
    }


def turn_facts(trace: TurnTrace) -> dict[str, object]:
    """What the one INFO line of a turn says beside its message."""
    model = model_facts(trace)
    outcomes = provider_outcomes(trace)
    facts: dict[str, object] = {
        "trace_id": trace.trace_id,
        "familiar_id": trace.familiar_id,
        "channel_id": trace.channel_id,
        "modality": trace.modality,
        "total_s": round(trace.total_duration_s, 3),
        **{key: model.get(key) for key in MODEL_FACTS},
        "prefix_ratio": trace.fact("prefix_ratio"),
        "cuts": len(cuts(trace)),
        "providers_failed": sum(1 for outcome in outcomes if outcome.get("status") != "ok"),
    }
    return {
        key: round(value, 3) if isinstance(value, float) else value for key, value in facts.items() if value is not None
    }


def block_lines(trace: TurnTrace, record: TurnRecord | None = None) -> list[BlockLine]:
    """Blocks in prompt order, then those that were cut, each with what became of it."""
    blocks = _recorded_blocks(trace, record)
    notes = cuts(trace, record)
    kept = [block for block in blocks if block.get("kept", True)]
    from_same = Counter(_origin(block) for block in kept)
    shortened = {
        _origin(note): note for note in notes if note["reason"] == "truncated" and from_same[_origin(note)] == 1
    }
    lines = []
    for place, block in enumerate(kept, start=1):
        note = shortened.get(_origin(block))
        fate = f"shortened by {note['tokens_dropped']}: {cut_reason(note)}" if note else "kept"
        lines.append(_line(block, place, count_or_zero(block.get("tokens")), fate))
    for note in notes:
        if note not in shortened.values():
            tag = _tag_of_cut(blocks, note)
            lines.append(_line({**note, "tag": tag}, None, note["tokens_dropped"], f"cut: {cut_reason(note)}"))
    return lines


def _origin(of: Mapping[str, object]) -> tuple[str, str]:
    return str(of.get("source")), str(of.get("layer"))


def _line(block: Mapping[str, object], place: int | None, tokens: int, fate: str) -> BlockLine:
    source, tag, layer = (str(block.get(key) or "") for key in ("source", "tag", "layer"))
    message = block.get("message")
    return BlockLine(place, source, tag, layer, tokens, fate, message if isinstance(message, int) else None)


def _tag_of_cut(blocks: Sequence[Mapping[str, Any]], note: Mapping[str, Any]) -> str | None:
    cut = (block for block in blocks if not block.get("kept", True))
    return next((block.get("tag") for block in cut if _origin(block) == _origin(note)), None)


def cut_reason(note: Mapping[str, object]) -> str:
    """What had no room for what was cut."""
    full = note.get("full") or "layer"
    return {
        "layer": f"layer {note.get('layer')} is full",
        "no budget": f"layer {note.get('layer')} has a budget of 0 here",
        "own replies": "so small a model is not shown its own replies",
        "total": "the prompt's budget is full",
        "window": "the model's window is full",
    }.get(str(full), f"{full} is full")


def _recorded_blocks(trace: TurnTrace, record: TurnRecord | None) -> list[Mapping[str, object]]:
    if traced := only_mappings(trace.fact("tokens_by_block")):
        return traced
    kept = record.kept if record and not isinstance(record, RecordSummary) else ()
    return [
        {
            "source": contribution.source,
            "tag": contribution.tag.value if contribution.tag else None,
            "layer": contribution.layer.value,
            "tokens": contribution.estimated_tokens,
        }
        for contribution in kept
    ]


def cuts(trace: TurnTrace, record: TurnRecord | None = None) -> list[dict[str, Any]]:
    """Every cut once: what one source lost to one limit, whether at one go or piece by piece."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for note in _dropped(trace, record):
        key = (*_origin(note), str(note["reason"]), str(note["full"]))
        before = found.get(key, {"tokens_dropped": 0})
        found[key] = {**note, "tokens_dropped": before["tokens_dropped"] + count_or_zero(note["tokens_dropped"])}
    return list(found.values())


def world_info_lines(trace: TurnTrace) -> list[dict[str, object]]:
    """The entries of World Info that the turn called up, each with its reason."""
    return [dict(line) for span in trace.stages for line in only_mappings(span.metadata.get("world_info"))]


def _world_info(trace: TurnTrace) -> str:
    lines = [f"- {line.get('entry', '')}: {line.get('reason', '')}" for line in world_info_lines(trace)]
    return "\n".join(["## World Info", "", *lines]) if lines else ""


def _dropped(trace: TurnTrace, record: TurnRecord | None) -> list[dict[str, object]]:
    """Every cut: those of assembly, and those a model's window asked for later; where nothing was lost is none."""
    traced = [note for span in trace.stages for note in only_mappings(span.metadata.get("dropped"))]
    dropped = record.dropped if record and not isinstance(record, RecordSummary) else ()
    found = traced or [{**asdict(note), "layer": note.layer.value} for note in dropped]
    unknown = {"layer": "", "source": "", "reason": "dropped", "tokens_dropped": 0, "full": "layer"}
    return [{**unknown, **note} for note in found if note.get("tokens_dropped") != 0]


def model_facts(trace: TurnTrace) -> dict[str, object]:
    """What is known of the model's part."""
    span = trace.stage("model")
    return {key: span.metadata[key] for key in MODEL_FACTS if key in span.metadata} if span else {}


def writer_of(trace: TurnTrace) -> str:
    """Which model wrote the reply, in a table; "" where nothing is known of it."""
    facts = model_facts(trace)
    return NO_MODEL if facts.get("provider") == QUOTED else str(facts.get("model") or "")


def has_own_count(trace: TurnTrace) -> bool:
    """Whether the model counted what it read: one whose reply is ended before its own end tells nothing."""
    return count_or_zero(model_facts(trace).get("prompt_tokens")) > 0


def _heading(trace: TurnTrace) -> str:
    tags = "".join(f" · {key}={value}" for key, value in sorted(trace.tags.items()))
    return (
        f"# Turn {trace.trace_id}\n\n{trace.timestamp} · familiar {trace.familiar_id} · channel {trace.channel_id}"
        f" · {trace.modality} · {seconds(trace.total_duration_s)}{tags}"
    )


def _blocks(trace: TurnTrace, record: TurnRecord | None, width: int) -> str:
    lines = block_lines(trace, record)
    if not lines:
        return "## Blocks\n\nNo blocks were noted for this turn."
    names = _preset_names(record)
    rows = [
        [
            line.place or "–",
            message_mark(line),
            ", ".join(names.get(source, source) for source in line.source.split(", ")),
            line.tag,
            line.layer,
            line.tokens,
            line.fate,
        ]
        for line in lines
    ]
    header = ["place", "message", "source", "tag", "layer", "tokens", "fate"]
    body = _table(header, rows, width, BLOCKS)
    return f"## Blocks\n\n{body}\n\n{prompt_size_line(trace, lines)}."


def prompt_size_line(trace: TurnTrace, lines: Sequence[BlockLine]) -> str:
    """How large the prompt was, and what its parts add up to: the blocks as estimated, what stands around messages.

    Where the model counted the prompt itself, that is the sum, and the rest is by what the estimate is off.
    """
    kept = [line for line in lines if line.place is not None]
    estimated, messages = sum(line.tokens for line in kept), _count_messages(kept)
    around = MESSAGE_OVERHEAD * messages
    parts = f"about {estimated} in the blocks"
    if messages:
        parts += f", {around} around {messages} messages" if messages > 1 else f", {around} around its one message"
    counted = count_or_zero(model_facts(trace).get("prompt_tokens"))
    if not counted:
        return f"{estimated + around} tokens in the prompt (estimated): {parts}"
    off = counted - estimated - around
    more = f", and {abs(off)} {'more' if off > 0 else 'fewer'} than estimated" if off else ""
    return f"{counted} tokens in the prompt by the model's own count: {parts}{more}"


def _count_messages(lines: Sequence[BlockLine]) -> int:
    """Messages that *lines* stand in; 0 where nothing tells."""
    return len({line.message for line in lines if line.message is not None})


def _preset_names(record: TurnRecord | None) -> dict[str, str]:
    """The sources of a preset's prompts, each with the name its author gave it for the identifier."""
    if record is None:
        return {}
    if isinstance(record, RecordSummary):
        preset, names = record.preset, record.node_names
    else:
        active = record.request.preset
        preset = active.preset.name if active else ""
        names = {node.identifier: node.name for node in active.preset.prompts} if active else {}
    start = f"preset:{preset}:"
    return {start + identifier: start + name for identifier, name in names.items() if name.strip()}


def message_mark(line: BlockLine) -> str:
    """The message of a block as the prompt numbers it."""
    return "–" if line.message is None else f"[{line.message}]"


def _stages(trace: TurnTrace, width: int) -> str:
    if not trace.stages:
        return ""
    rows = [
        [span.name, seconds(span.start_s), seconds(span.duration_s), span.metadata.get("error") or ""]
        for span in trace.stages
    ]
    return "## Stages\n\n" + _table(["stage", "began at", "took", "failed with"], rows, width, STAGES)


def _blocked(outcome: Mapping[str, object]) -> str:
    """That a provider kept everybody else waiting, where it did."""
    held = finite_number(outcome.get("blocked_s"))
    return f"blocked the event loop for {seconds(held)}" if held else ""


def _providers(trace: TurnTrace, width: int) -> str:
    rows = [
        [
            each.get("id", ""),
            each.get("status", ""),
            seconds(finite_number(each.get("duration_s")) or 0.0),
            "; ".join(filter(None, (str(each.get("error") or ""), *provider_notes(each), _blocked(each)))),
        ]
        for each in provider_outcomes(trace)
    ]
    header = ["provider", "status", "took", "trouble"]
    return "## Providers\n\n" + _table(header, rows, width, PROVIDERS) if rows else ""


def _model(trace: TurnTrace) -> str:
    line = model_facts_line(trace)
    return f"## Model\n\n{line}" if line else ""


def model_facts_line(trace: TurnTrace) -> str:
    """The model's part in one line; what it counted itself is said to be its own count."""
    facts = model_facts(trace)
    words = [str(facts["model"])] if facts.get("model") else []
    if facts.get("provider"):
        words.append(f"by {facts['provider']}")
    if (first := finite_number(facts.get("first_token_s"))) is not None:
        words.append(f"first token after {seconds(first)}")
    labels = (("prompt_tokens", "prompt"), ("cached_tokens", "cached"), ("completion_tokens", "written"))
    counts = [f"{count_or_zero(facts[key])} {label}" for key, label in labels if facts.get(key) is not None]
    if has_own_count(trace):
        words.append(f"tokens by the model's own count: {', '.join(counts)}")
    elif facts:
        words.append("no token count reported")
    if (ended_by := trace.fact("ended_by")) is not None:
        words.append(f"stopped: {ended_by}")
    elif facts.get("model") and not facts.get("finish_reason"):
        words.append("stopped before its end")
    if facts.get("finish_reason"):
        words.append(f"ended by {facts['finish_reason']}")
    if count_or_zero(facts.get("attempts")) > 1:
        words.append(f"{count_or_zero(facts['attempts'])} attempts")
    if (cost := finite_number(facts.get("cost"))) is not None:
        words.append(f"cost {cost:.4g} by the provider's own account")
    return " · ".join([*words, *_failed_attempts(trace)])


def _failed_attempts(trace: TurnTrace) -> list[str]:
    """Which models failed or wrote a reply that was thrown away, before the one that counts."""
    failures = trace.fact("failures")
    told = failures[:MAX_FAILURES] if isinstance(failures, list) else []
    return [f"before that {one_line(': '.join(map(str, each)))[:MAX_FAILURE_CHARS]}" for each in told if each]


def _prefix(trace: TurnTrace) -> str:
    line = prefix_line(trace)
    return f"## Shared prefix\n\n{line}" if line else ""


def prefix_line(trace: TurnTrace) -> str:
    """How much of the prompt was new; a first prompt after a start has none before it to be compared with."""
    if trace.fact("prefix_compared") is False:
        return "This run has no earlier prompt, so there is nothing to compare."
    ratio = finite_number(trace.fact("prefix_ratio"))
    if ratio is None:
        return ""
    ended_by = trace.fact("prefix_ended_by")
    end = "the whole prompt is the same" if ended_by is None else f"message [{ended_by}] is the first that differs"
    return f"{ratio:.0%} of the prompt repeats the start of the one before; {end}."


def _replay(record: TurnRecord | None) -> str:
    if record is None:
        return "## Replay\n\nThe record of this turn is not kept (any more), so it cannot be replayed."
    return (
        f"## Replay\n\n`familiar replay {record.trace_id}` · seed {record.seed} · messages {record.messages_hash[:12]}"
    )


def _prompt(messages: bytes | None) -> str:
    if messages is None:
        return "## Prompt\n\nThe prompt of this turn is not on disk."
    text = messages.decode("utf-8", errors="replace")
    prompt, _, notes = text.rpartition(f"{SEPARATOR}{NOTES}")
    return "## Prompt\n\n" + (prompt if notes and prompt else text).strip()


def _summary(trace: TurnTrace, record: TurnRecord | None) -> str:
    """The turn in a few lines, last, where a terminal stops scrolling."""
    lines = block_lines(trace, record)
    kept = [line for line in lines if line.place is not None]
    lost = [line for line in lines if line.fate != "kept"]
    tokens = sum(line.tokens for line in kept)
    counts = f"{len(kept)} blocks, about {tokens:,} tokens"
    cut = ", ".join(dict.fromkeys(line.source for line in lost))
    facts = [
        ("turn", f"{trace.trace_id} · {trace.timestamp[:19].replace('T', ' ')} · channel {trace.channel_id}"),
        ("took", seconds(trace.total_duration_s)),
        ("model", model_facts_line(trace)),
        (
            "prompt",
            f"{counts}; {f'{len(lost)} cut or shortened: {cut}' if lost else 'nothing was cut'}" if lines else "",
        ),
        ("failed", ", ".join(str(each.get("id")) for each in provider_outcomes(trace) if each.get("status") != "ok")),
    ]
    return "## Summary\n\n" + "\n".join(f"- {name}: {says}" for name, says in facts if says)


def _table(header: Sequence[str], rows: Sequence[Sequence[object]], width: int, style: TableStyle) -> str:
    if width == ENDLESS:
        return markdown_table(header, rows)
    return text_table(header, [[one_line(str(value)) for value in row] for row in rows], width, style)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table in even columns; whatever a cell holds, it stays one cell."""
    lines = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [min(MOST_PADDED, max(3, *map(display_width, column))) for column in zip(*lines, strict=True)]
    widths[-1] = 3  # nothing stands behind the last one
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(map(pad, line, widths))} |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("\\", "\\\\").replace("|", "\\|")
