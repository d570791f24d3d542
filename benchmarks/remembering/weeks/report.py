"""The table of the weeks: who may know is told, who may not is told nothing, beside the plain ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.remembering.weeks.trial import Outcome
from benchmarks.table import Row

LEAST_FOUND = 0.9


def rows_of(outcomes: Mapping[str, Sequence[Outcome]], *, with_model: bool) -> list[Row]:
    """A few rows for each way; the bars are the familiar's."""
    rows = []
    for way, each in outcomes.items():
        rows += _rows(way, each, with_model=with_model)
    return rows


def _rows(way: str, outcomes: Sequence[Outcome], *, with_model: bool) -> list[Row]:
    is_ours = way == "familiar"
    right = [each for each in outcomes if each.question.may_know]
    wrong = [each for each in outcomes if not each.question.may_know and not each.question.is_forgotten]
    gone = [each for each in outcomes if each.question.is_forgotten]
    found = sum(each.is_found for each in right)
    rows = [
        Row(
            name=f"{way}: evidence in the prompt of who may know",
            value=share(found, len(right)),
            bar=f"≥ {LEAST_FOUND:.0%}" if is_ours else "",
            ok=found >= LEAST_FOUND * len(right) if is_ours else None,
        ),
        _told_row(f"{way}: in the prompt of who was not there", sum(each.is_found for each in wrong), wrong, is_ours),
        _told_row(f"{way}: in the prompt after it was deleted", sum(each.is_found for each in gone), gone, is_ours),
    ]
    if with_model:
        told = [each for each in (*wrong, *gone) if each.is_answered]
        rows.append(Row(name=f"{way}: right answers", value=share(sum(each.is_answered for each in right), len(right))))
        rows.append(_told_row(f"{way}: told to who may not know", len(told), [*wrong, *gone], is_ours))
    return rows


def _told_row(name: str, told: int, asked: Sequence[Outcome], is_ours: bool) -> Row:
    bar, ok = ("0", told == 0) if is_ours else ("", None)
    return Row(name=name, value=f"{told} of {len(asked)}", bar=bar, ok=ok)


def share(count: int, of: int) -> str:
    return f"{count} of {of} ({count / max(1, of):.0%})"
