"""memory write-now: what was said since the last time becomes memory now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    json_option,
    profile_of,
    progress_bar,
    root_of,
    say,
    say_json,
)
from familiar_connect.commands.exit_codes import asking_a_model
from familiar_connect.support.aio import off_loop
from familiar_connect.support.text import pluralize

if TYPE_CHECKING:
    from familiar_connect.memory.writer import MemoryWriter, MemoryWriterResult

EPILOG = """\b
Examples:
  familiar memory write-now
  familiar memory write-now --retry ID    try again a batch the writer gave up on (see review --list)
Exit codes: 0 written, or nothing to write; 1 the model gave no usable answer; 3 it cannot be reached.
"""
MAX_PASSES = 10_000


@click.command(name="write-now", epilog=EPILOG)
@click.option("--retry", metavar="ID", help="Try again a batch that was put aside.")
@familiar_option
@json_option
@click.pass_context
def write_now(ctx: click.Context, retry: str | None, familiar_id: str | None, as_json: bool) -> int:
    """Write what was said since the last time into memory, without waiting for the scheduler."""
    home = home_of(ctx)
    root = root_of(ctx, familiar_id)
    with asking_a_model():
        results = asyncio.run(write_waiting(root, home, retry=retry, quiet=as_json))
    if as_json:
        say_json([_facts(result) for result in results])
    else:
        say(_summary(results))
    return 1 if any(result.state in ("unparsed", "quarantined") for result in results) else 0


async def write_waiting(
    root: Path, home: Path, *, retry: str | None = None, quiet: bool = False
) -> list[MemoryWriterResult]:
    """Write up everything that waits, with a bar where somebody watches; or one batch that was put aside."""
    from familiar_connect.bot import load_familiar
    from familiar_connect.llm.model_slots import ModelSlots
    from familiar_connect.wiring.build_memory import build_memory_writer

    familiar, _ = load_familiar(root, home=home, defaults_path=profile_of(home), wake=False)
    try:
        models = ModelSlots(familiar.llm_clients, familiar.spending)
        writer = build_memory_writer(familiar.id, familiar.stores, familiar.config, models)
        if retry is not None:
            return [await writer.replay(retry)]
        with progress_bar("Writing memory", quiet=quiet) as progress:
            return await _write_all(writer, quiet=quiet, progress=progress)
    finally:
        await familiar.aclose()


async def _write_all(
    writer: MemoryWriter, *, quiet: bool, progress: Callable[[int, int], None] | None
) -> list[MemoryWriterResult]:
    """Pass after pass, until nothing waits or one brings nothing."""
    results: list[MemoryWriterResult] = []
    total = await off_loop(writer.history_store.watermarks.count_unwritten, familiar_id=writer.familiar_id)
    while len(results) < MAX_PASSES:
        result = await writer.run()
        if result.state == "nothing":
            break
        results.append(result)
        if progress is not None:
            left = await off_loop(writer.history_store.watermarks.count_unwritten, familiar_id=writer.familiar_id)
            progress(max(0, total - left), max(1, total))
        elif not quiet:
            say(f"… {result.state}, up to turn {result.watermark_id}", err=True)
        if result.state == "unparsed":
            break
    pages = await writer.look_back()
    if pages and not quiet:
        say(f"Looked back at the last month: {', '.join(pages)}", err=True)
    suggested = await writer.look_over() if any(result.state == "written" for result in results) else []
    if suggested and not quiet:
        say(
            f"Checked memory: {pluralize(len(suggested), 'suggestion')}. `familiar memory review` shows them.", err=True
        )
    return results


def _facts(result: MemoryWriterResult) -> dict[str, object]:
    return {
        "state": result.state,
        "run": result.run_id,
        "turns": result.turns_summarized,
        "watermark": result.watermark_id,
        "session": result.session_file,
        "people": result.people_files,
        "topics": result.topic_files,
        "questions": result.questions,
        "refused": [{"name": edit.name, "reason": edit.reason} for edit in result.refused],
    }


def _summary(results: list[MemoryWriterResult]) -> str:
    if not results or all(result.state == "nothing" for result in results):
        return "Nothing new was said since the last time."
    lines = []
    for result in results:
        files = [result.session_file, *result.people_files, *result.topic_files]
        said = pluralize(result.turns_summarized, "turn") if result.turns_summarized else "a batch"
        if result.state == "proposed":
            lines.append(f"{said}: waits as {result.run_id}; `familiar memory review`")
        elif result.state == "unparsed":
            lines.append(f"{said}: the model gave no usable answer; it is tried again later")
        elif result.state == "quarantined":
            lines.append(
                f"{said}: put aside as {result.run_id} after too many attempts; `familiar memory review --list`"
            )
        else:
            lines.append(f"{said}: {', '.join(file for file in files if file) or 'nothing worth keeping'}")
        lines += [
            f"  would change one of your lines: `familiar memory review --show {each}`" for each in result.questions
        ]
        lines += [f"  refused {edit.name}: {edit.reason}" for edit in result.refused]
    return "\n".join(lines)
