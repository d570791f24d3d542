"""The runner of macro vectors: reads a folder, says what differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.sillytavern.macros import check


def folder_with(tmp_path: Path, *vectors: dict[str, Any], **context: Any) -> Path:
    data = {"user": "Ada", "char": "Fern", "fixed_now_utc": "2024-01-02T03:04:05.000Z", "vectors": vectors, **context}
    (tmp_path / "expected").mkdir()
    (tmp_path / "expected" / "macros.json").write_text(json.dumps(data), encoding="utf-8")
    return tmp_path


def vector(text: str, output: str, **more: Any) -> dict[str, Any]:
    result = {"output": output, "vars": more.pop("vars", {}), "globals": {}}
    return {"id": text, "input": text, "new": result, **more}


def test_a_vector_passes_or_tells_the_difference(tmp_path: Path) -> None:
    """Output and variables both count."""
    folder = folder_with(
        tmp_path,
        vector("{{user}} {{isodate}}", "Ada 2024-01-02"),
        vector("{{char}}", "Moss"),
        vector("{{.n=1}}", "", vars={"n": "2"}),
    )

    results = check(folder)

    assert [result.passed for result in results] == [True, False, False]
    assert results[1].difference == "expected 'Moss', got 'Fern'"
    assert "vars" in results[2].difference


def test_a_vector_may_bring_its_own_context(tmp_path: Path) -> None:
    """At its top, in `context`, or as options of the call."""
    folder = folder_with(
        tmp_path,
        vector("{{user}}", "Bo", user="Bo"),
        vector("{{char}}", "Moss", context={"char": "Moss"}),
        vector("{{mood}}{{original}}", "calmx", opts={"dynamicMacros": {"mood": "calm"}, "original": "x"}),
        vector("{{description}}", "", opts={"replaceCharacterCard": False}, card_fields={"description": "d"}),
    )

    assert [result for result in check(folder) if not result.passed] == []


def test_variables_a_text_found_are_worked_out(tmp_path: Path) -> None:
    """Vectors tell what was left, not what was there."""
    folder = folder_with(tmp_path, vector("{{getvar::k}} {{incvar::k}}", "6 7", vars={"k": 7}))

    assert [result.passed for result in check(folder)] == [True]


def test_what_rests_on_entropy_must_be_on_the_list(tmp_path: Path) -> None:
    """Every roll of ours is compared."""
    loose = {"nondeterministic": True, "samples": ["a"]}
    folder = folder_with(
        tmp_path,
        {"id": "good", "input": "{{random::a::b}}", "new": loose, "allowed_outputs": ["a", "b"]},
        {"id": "bad", "input": "{{random::a::c}}", "new": loose, "allowed_outputs": ["a", "b"]},
    )

    assert [result.passed for result in check(folder)] == [True, False]


def test_a_broken_vector_is_a_failed_case(tmp_path: Path) -> None:
    """A sentence, not a traceback."""
    (result,) = check(folder_with(tmp_path, {"id": "odd", "new": None}))

    assert not result.passed
    assert result.difference.startswith("the vector cannot be read")
