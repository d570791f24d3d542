"""Summaries of turns as text: one turn in a few lines, many as a table. Never what was said."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from familiar_connect.context.layers import ItemTag, Layer
from familiar_connect.observe.inspector import (
    BlockLine,
    block_lines,
    cut_reason,
    cuts,
    has_own_count,
    message_mark,
    model_facts,
    model_facts_line,
    prefix_line,
    prompt_size_line,
    writer_of,
)
from familiar_connect.observe.report import NOTHING, seconds
from familiar_connect.observe.trace import TurnTrace, count_or_zero, finite_number, provider_notes, provider_outcomes
from familiar_connect.support.text import one_line, pluralize
from familiar_connect.support.text_table import text_table
from familiar_connect.support.word_wrap import ENDLESS

if TYPE_CHECKING:  # a report loads no more than it needs
    from familiar_connect.observe.replay_store import ReplayRecord

CHARACTER_CUT = (
    "! Part of the character was not shown: {tokens} tokens of its character were left out. Shorten the files in"
    " memory/self, raise `budget_tokens`, or give it more with `character` under [budget]."
)
SHOWN_ID_CHARS = 12
"""The end of a turn's id, which is enough to ask for it; the rest is its time."""
_GATHERED = {ItemTag.SAMPLE.value: ("example", ""), ItemTag.DIALOGUE.value: ("turn", " of dialogue")}
"""Blocks of which a prompt holds many alike: one row tells them all."""


def outline_turn(trace: TurnTrace, record: ReplayRecord | None = None, width: int = ENDLESS) -> str:
    """What the model was shown and what it cost, without the prompt itself, in a window of *width* columns."""
    parts = [f"Turn {trace.trace_id} · {trace.timestamp} · {seconds(trace.total_duration_s)}"]
    parts += [_blocks(trace, record, width), _cuts(trace, record), _providers(trace)]
    parts += [_labelled("Model", model_facts_line(trace)), _labelled("Repeated", prefix_line(trace))]
    return "\n\n".join(part for part in parts if part)


def turn_table(traces: Sequence[TurnTrace], width: int = ENDLESS) -> str:
    """One row a turn: when, which, by whom, how fast, how large, how many cuts."""
    if not traces:
        return NOTHING
    header = ["time", "turn", "model", "first token", "prompt", "written", "cuts"]
    return text_table(header, [_row(each) for each in traces], width)


def _row(trace: TurnTrace) -> list[str]:
    facts = model_facts(trace)
    first = finite_number(facts.get("first_token_s"))
    sizes = [str(count_or_zero(facts[key])) if key in facts else "-" for key in ("prompt_tokens", "completion_tokens")]
    if not has_own_count(trace):
        estimated = sum(line.tokens for line in block_lines(trace) if line.place is not None)
        sizes = [f"~{estimated}" if estimated else "-", "-"]
    moment = one_line(trace.timestamp)[:19].replace("T", " ")
    model = one_line(writer_of(trace)) or "-"
    return [
        moment,
        trace.trace_id[-SHOWN_ID_CHARS:],
        model,
        "-" if first is None else seconds(first),
        *sizes,
        str(len(cuts(trace))),
    ]


def _blocks(trace: TurnTrace, record: ReplayRecord | None, width: int) -> str:
    lines = [line for line in block_lines(trace, record) if line.place is not None]
    if not lines:
        return "No blocks were noted for this turn."
    rows = [_block_row(list(alike)) for _, alike in groupby(lines, key=_kind)]
    return text_table(["block", "message", "tokens"], rows, width) + f"\n  {prompt_size_line(trace, lines)}"


def _kind(line: BlockLine) -> tuple[str, str | int | None]:
    return (line.tag, "") if line.tag in _GATHERED else ("", line.place)


def _block_row(alike: Sequence[BlockLine]) -> list[str]:
    first, last = alike[0], alike[-1]
    where = message_mark(first)
    if message_mark(last) != where:
        where = f"{where}–{message_mark(last)}"
    what, more = _GATHERED.get(first.tag, ("", ""))
    name = f"{pluralize(len(alike), what)}{more}" if what else one_line(first.source)
    shortened = "" if first.fate == "kept" else f" ({first.fate})"
    return [name + shortened, where, str(sum(line.tokens for line in alike))]


def _cuts(trace: TurnTrace, record: ReplayRecord | None) -> str:
    notes = cuts(trace, record)
    found = [cut for cut in notes if cut["full"] != "no budget"]
    without_budget = [cut for cut in notes if cut["full"] == "no budget"]
    lines = [f"  {one_line(str(cut['source']))}: {cut['tokens_dropped']} tokens, {cut_reason(cut)}" for cut in found]
    text = "Cut\n" + "\n".join(lines) if lines else "Nothing was cut."
    lost = sum(count_or_zero(cut["tokens_dropped"]) for cut in found if cut["layer"] == Layer.character.value)
    if lost:
        text = f"{CHARACTER_CUT.format(tokens=lost)}\n\n{text}"
    for layer, alike in groupby(without_budget, key=lambda cut: str(cut["layer"])):
        names = ", ".join(one_line(str(cut["source"])) for cut in alike)
        text += f"\nLeft out, because the layer {layer} has a budget of 0 here: {names}."
    return text


def _providers(trace: TurnTrace) -> str:
    words = []
    for each in provider_outcomes(trace):
        took = seconds(finite_number(each.get("duration_s")) or 0.0)
        trouble = (
            "" if each.get("status") == "ok" else f" {each.get('status')}: {one_line(str(each.get('error') or ''))}"
        )
        lacked = "".join(f" ({one_line(note)})" for note in provider_notes(each))
        words.append(f"{one_line(str(each.get('id', '?')))} {took}{trouble}{lacked}")
    return _labelled("Providers", " · ".join(words))


def _labelled(label: str, words: str) -> str:
    return f"{label}: {words}" if words else ""
