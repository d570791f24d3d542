"""replay: a past turn's prompt, byte for byte as it was sent, and how it would be built today."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    json_option,
    profile_of,
    root_of,
    say,
    say_json,
    say_verbatim,
)
from familiar_connect.commands.inspect import explain_missing_turn
from familiar_connect.commands.prompt import format_message
from familiar_connect.commands.turn_choice import TurnCommand, find_turn, read_turn_word
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import HomeError

if TYPE_CHECKING:
    from familiar_connect.context.types import ContextItem
    from familiar_connect.observe.prompt_diff import BlockChange, PromptBlock
    from familiar_connect.observe.replay_store import ReplayRecord

EPILOG = """\b
Examples:
  familiar replay                 the last turn, and what would differ today
  familiar replay -2              the turn before the last one
  familiar replay TURN --as-sent  one turn as it was sent, and nothing else
  familiar replay TURN --today    only how it differs from what would be built today
`familiar inspect --list` shows the turns. Exit code 1: the rebuilt prompt differs from what was sent.
"""


@click.command(epilog=EPILOG, cls=TurnCommand)
@click.argument("turn", required=False)
@familiar_option
@click.option("--as-sent", is_flag=True, help="Only the prompt as it was sent.")
@click.option("--today", is_flag=True, help="Only how it differs from what would be built today.")
@json_option
@click.pass_context
def replay(
    ctx: click.Context, turn: str | None, familiar_id: str | None, as_sent: bool, today: bool, as_json: bool
) -> int:
    """Rebuild a past turn's prompt, byte for byte, from its record; without TURN, the last one's.

    Then compare it, block by block, with what today's settings, character, preset and memory would make of the same
    words. No model or person is asked, and nothing is kept.
    """
    from familiar_connect.observe.ledger import SQLiteCollector
    from familiar_connect.observe.prompt_diff import describe_changes
    from familiar_connect.observe.replay_store import ReplayStore, hash_messages
    from familiar_connect.reply.prompt_replay import replay_items, replay_messages

    if as_sent and today:
        raise click.UsageError("--as-sent and --today each leave out what the other shows: choose one, or neither")
    root = root_of(ctx, familiar_id)
    store = ReplayStore(FamiliarFolder(root).traces)
    asked = turn
    if asked is not None:
        turn = find_turn(SQLiteCollector(FamiliarFolder(root).metrics_db), root.name, asked) or read_turn_word(asked)
    else:
        turn = next(iter(store.ids()), None)
    if turn is None:
        raise HomeError(explain_missing_turn(root, None))
    record = store.load(turn)
    messages = replay_messages(record)
    same = hash_messages(messages) == record.messages_hash
    changes: list[BlockChange] = []
    lacking: list[str] = []
    if not as_sent:
        now, lacking = asyncio.run(build_today(root, profile_of(home_of(ctx)), record))
        changes = compare_items(replay_items(record), now)
    if as_json:
        told: dict[str, object] = {"trace_id": turn, "same": same, "messages": [each.to_dict() for each in messages]}
        say_json(told if as_sent else {**told, "today": [_plain(change) for change in changes], "lacking": lacking})
        return 0 if same else 1
    if not today:
        for message in messages:
            say_verbatim(format_message(message))
    say(f"{turn}: {'the same as was sent, byte for byte' if same else 'NOT the same as was sent'}", err=True)
    if not as_sent:
        say(describe_changes(changes))
        for words in lacking:
            say(f"Not compared: {words}", err=True)
    return 0 if same else 1


async def build_today(
    root: Path, profile: Path | None, record: ReplayRecord
) -> tuple[tuple[ContextItem, ...], list[str]]:
    """What the same words would be shown with now, at the same moment and with the same luck; and what is lacking."""
    from familiar_connect.commands.sandbox import open_sandbox, providers_that_failed
    from familiar_connect.support.aio import off_loop
    from familiar_connect.support.clock import ManualClock, SystemClock

    clock = ManualClock(record.request.now) if record.request.now is not None else SystemClock()
    async with open_sandbox(root, profile=profile, clock=clock) as (familiar, found):
        channel, request = await familiar.reply_path.turns.request_again(record.request)
        pipeline = await off_loop(familiar.build_pipeline, channel, modality=request.modality)
        reply, _ = await pipeline.preview(request)
    lacking = providers_that_failed(reply.output) + (
        [] if found else ["what memory search would find (its index is not ready)"]
    )
    return reply.prompt.items, lacking


def compare_items(then: Iterable[ContextItem], now: Iterable[ContextItem]) -> list[BlockChange]:
    from familiar_connect.observe.prompt_diff import diff_blocks

    return diff_blocks([_block(item) for item in then], [_block(item) for item in now])


def _block(item: ContextItem) -> PromptBlock:
    from familiar_connect.observe.prompt_diff import PromptBlock

    return PromptBlock(item.role, item.source, item.tag.value if item.tag else None, item.text)


def _plain(change: BlockChange) -> dict[str, object]:
    block = change.block
    return {
        "kind": change.kind,
        "source": block.source,
        "tag": block.tag,
        "role": block.role,
        "lines": list(change.lines),
    }
