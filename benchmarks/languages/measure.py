"""The languages asked and judged: a row for each, alone and among all the others."""

from __future__ import annotations

from statistics import fmean, quantiles
from typing import Any

from benchmarks.languages import HALVES, as_dialogue, read_sets
from benchmarks.recall import FIRST, MOST_TIMES_DENSE, WITHIN, Measured, measure
from familiar_connect.memory.index.protocols import EmbeddingModel

LEAST_IN_PROMPT = 0.9
LEAST_AMONG_TEN = 0.85
ALONE, TOGETHER = "alone", "among all languages"


async def measure_languages(model: EmbeddingModel, dim: int, halves: tuple[str, ...] = HALVES) -> dict[str, Any]:
    """Every question of *halves*: in a chat of its own language, and in one where all languages are spoken."""
    sets = read_sets()
    found: dict[str, Any] = {}
    for half in halves:
        rows: dict[str, dict[str, dict[str, float]]] = {ALONE: {}, TOGETHER: {}}
        dialogues = [as_dialogue([each], half, asked=each.language) for each in sets]
        alone = await measure(dialogues, model, dim)
        for each in sets:
            rows[ALONE][each.language] = _row(alone, [name == each.language for name in alone["ours"].dialogues])
        everyone = as_dialogue(sets, half)
        together = await measure([everyone], model, dim)
        asked_in = {
            question.text: each.language
            for each in sets
            for question in as_dialogue([each], half, asked=each.language).questions
        }
        languages = [asked_in[question.text] for question in everyone.questions]
        for each in sets:
            rows[TOGETHER][each.language] = _row(together, [name == each.language for name in languages])
        found[half] = rows | {"p95 times dense": _times_dense(alone, together)}
    return found


def _row(found: dict[str, Measured], chosen: list[bool]) -> dict[str, float]:
    at = [number for number, is_chosen in enumerate(chosen) if is_chosen]
    row: dict[str, float] = {"count": len(at), "in the prompt": round(fmean(found["ours"].told[n] for n in at), 4)}
    for name in ("ours", "BM25", "dense"):
        row[f"{name}@10"] = round(fmean(found[name].first[n][FIRST.index(10)] for n in at), 4)
        row[f"{name} within 500"] = round(fmean(found[name].within[n][WITHIN.index(500)] for n in at), 4)
    return row


def _times_dense(*measured: dict[str, Measured]) -> float:
    """How the tail of our processor time stands to that of dense search."""
    tails = {}
    for name in ("ours", "dense"):
        tails[name] = quantiles([second for found in measured for second in found[name].seconds], n=20)[18]
    return round(tails["ours"] / max(tails["dense"], 1e-6), 2)


def language_table(found: dict[str, Any]) -> str:
    """The rows as Markdown, in percent."""
    lines: list[str] = []
    columns = ("in the prompt", "ours@10", "ours within 500", "BM25@10", "dense@10")
    for half, rows in found.items():
        for where in (ALONE, TOGETHER):
            lines += ["", f"{half}, {where}", "", "| language | n | " + " | ".join(columns) + " |"]
            lines.append("|---|---:|" + "---:|" * len(columns))
            for language, row in rows[where].items():
                cells = " | ".join(f"{100 * row[column]:.0f}" for column in columns)
                lines.append(f"| {language} | {row['count']} | {cells} |")
        lines += ["", f"{half}: processor time p95 {rows['p95 times dense']} × dense search, ≤ {MOST_TIMES_DENSE:g} ×"]
    return "\n".join([*lines, "", *(missed_bars(found) or ["every bar is met"])])


def missed_bars(found: dict[str, Any]) -> list[str]:
    """What falls short, in a sentence each."""
    missed = []
    for half, rows in found.items():
        for language, row in rows[ALONE].items():
            for column, least in (("in the prompt", LEAST_IN_PROMPT), ("ours@10", LEAST_AMONG_TEN)):
                if row[column] < least:
                    missed.append(f"{language}, {half}: {column} {100 * row[column]:.0f} %, not {100 * least:.0f}")
        if rows["p95 times dense"] > MOST_TIMES_DENSE:
            missed.append(f"{half}: {rows['p95 times dense']} times dense search, not {MOST_TIMES_DENSE:g}")
    return missed
