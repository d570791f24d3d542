"""The languages asked and judged: a row for each, alone and among all the others."""

from __future__ import annotations

from statistics import fmean, quantiles
from typing import Any

from benchmarks.languages import HALVES, LanguageSet, as_dialogue, read_long_sets, read_sets
from benchmarks.recall import FIRST, MOST_TIMES_DENSE, WITHIN, Measured, measure
from familiar_connect.memory.index.protocols import EmbeddingModel

LEAST_IN_PROMPT = 0.9
LEAST_AMONG_TEN = 0.85
ALONE, TOGETHER, LONG = "alone", "among all languages", "among much talk"
JUDGED = (ALONE, LONG)


async def measure_languages(model: EmbeddingModel, dim: int, halves: tuple[str, ...] = HALVES) -> dict[str, Any]:
    """Every question of *halves*: in a chat of its own language, in one where all are spoken, and in a long one."""
    sets, long_sets = read_sets(), read_long_sets()
    found: dict[str, Any] = {}
    for half in halves:
        alone, of_alone = await _measure_each(sets, half, model, dim)
        long, of_long = await _measure_each(long_sets, half, model, dim)
        rows: dict[str, dict[str, dict[str, float]]] = {ALONE: of_alone, TOGETHER: {}, LONG: of_long}
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
        found[half] = rows | {"p95 times dense": _times_dense(alone, together, long)}
    return found


async def _measure_each(
    sets: list[LanguageSet], half: str, model: EmbeddingModel, dim: int
) -> tuple[dict[str, Measured], dict[str, dict[str, float]]]:
    """Every set asked by itself, and a row for each."""
    found = await measure([as_dialogue([each], half, asked=each.language) for each in sets], model, dim)
    names = found["ours"].dialogues
    return found, {each.language: _row(found, [name == each.language for name in names]) for each in sets}


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
        for where in (ALONE, TOGETHER, LONG):
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
        judged = [(where, *row) for where in JUDGED for row in rows[where].items()]
        for where, language, row in judged:
            for column, least in (("in the prompt", LEAST_IN_PROMPT), ("ours@10", LEAST_AMONG_TEN)):
                if row[column] < least:
                    told = f"{column} {100 * row[column]:.0f} %, not {100 * least:.0f}"
                    missed.append(f"{language}, {half}, {where}: {told}")
        if rows["p95 times dense"] > MOST_TIMES_DENSE:
            missed.append(f"{half}: {rows['p95 times dense']} times dense search, not {MOST_TIMES_DENSE:g}")
    return missed
