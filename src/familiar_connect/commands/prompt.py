"""prompt: the exact prompt for a conversation in a file, without a model and without a trace."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

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
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import ConfigError, PresetError
from familiar_connect.presets.types import GenerationKind, PresetFidelity

DATE_FORMATS = ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")

if TYPE_CHECKING:
    from familiar_connect.chat.transcript_file import Transcript
    from familiar_connect.chat.types import TurnOptions
    from familiar_connect.config.channel import ChannelConfig
    from familiar_connect.config.character import CharacterConfig
    from familiar_connect.context.pipeline import PipelineReply
    from familiar_connect.llm.types import Message

EPILOG = """\b
Examples:
  familiar prompt examples/see_the_prompt/busy.json
  familiar prompt busy.json --blocks              what it is made of, and what each part costs
  familiar prompt busy.json --order classic       the order of an older kind of prompt
  familiar prompt busy.json --preset "Plain Scene.json" --fidelity sillytavern
  familiar prompt busy.json --model claude-sonnet --blind
  familiar prompt busy.json --window 4096 --blocks
  familiar prompt "Wren - 2026-3-1.jsonl" --fidelity sillytavern --kind continue
No model is asked and nothing is kept: no history, no index, no notes. An endpoint that is set up is asked how much its
model takes in, unless `window` or --window says it.
"""


@dataclass(frozen=True)
class PromptOverrides:
    """What is tried out: each left alone where it is None."""

    order: str | None = None
    preset: str | None = None
    fidelity: str | None = None
    model: str | None = None
    capabilities: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    kind: str | None = None
    quiet_prompt: str = ""
    chance: float | None = None
    now: datetime | None = None


@click.command(epilog=EPILOG)
@click.argument("transcript", type=click.Path(path_type=Path, dir_okay=False))
@familiar_option
@click.option("--order", type=click.Choice(["stable_first", "classic"]), help="The order of the blocks.")
@click.option("--preset", metavar="NAME|FILE|none", help="One of the familiar's presets, a preset file, or none.")
@click.option(
    "--fidelity", type=click.Choice(["with_memory", "sillytavern"]), help="How closely to follow SillyTavern."
)
@click.option("--model-profile", "--model", "model", metavar="NAME", help="Another model, by name: what it can do.")
@click.option("--window", type=click.IntRange(min=64), metavar="TOKENS", help="The model's context window.")
@click.option("--seeing/--blind", "sees", default=None, help="Whether the model sees pictures and films.")
@click.option("--strict-roles/--free-roles", "strict", default=None, help="Whether turns must alternate strictly.")
@click.option("--tools/--no-tools", "tools", default=None, help="Whether the model can use tools.")
@click.option("--kind", type=click.Choice(get_args(GenerationKind)), help="What kind of answer is asked for.")
@click.option("--quiet-prompt", default="", metavar="TEXT", help="With --kind quiet: what is asked.")
@click.option(
    "--now", type=click.DateTime(DATE_FORMATS), metavar="TIME", help="The time (default: the last message's)."
)
@click.option(
    "--chance", type=click.FloatRange(0, 1), metavar="0..1", help="What every random choice comes to (sillytavern)."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed for random choices.")
@click.option("--blocks", is_flag=True, help="List the blocks and their cost instead of the text.")
@json_option
@click.pass_context
def prompt(
    ctx: click.Context,
    transcript: Path,
    familiar_id: str | None,
    order: str | None,
    preset: str | None,
    fidelity: str | None,
    model: str | None,
    window: int | None,
    sees: bool | None,
    strict: bool | None,
    tools: bool | None,
    kind: str | None,
    quiet_prompt: str,
    now: datetime | None,
    chance: float | None,
    seed: int,
    blocks: bool,
    as_json: bool,
) -> None:
    """Print the exact prompt for the conversation in TRANSCRIPT, as a reply would send it.

    TRANSCRIPT is a JSON file as in examples/see_the_prompt, or a SillyTavern chat (.jsonl).
    """
    from familiar_connect.bootstrap.chat_files.sillytavern_chat import SUFFIX, read_sillytavern_chat
    from familiar_connect.chat.transcript_file import read_transcript

    if not transcript.suffix and not transcript.exists():
        asked = f"`familiar ask {shlex.quote(str(transcript))}`"
        raise click.UsageError(f"there is no file {str(transcript)!r}; to say that to a familiar: {asked}")
    told = {"window": window, "vision": sees, "video": sees, "strict_roles": strict, "tools": tools}
    over = {name: value for name, value in told.items() if value is not None}
    wish = PromptOverrides(
        order=order,
        preset=preset,
        fidelity=fidelity,
        model=model,
        capabilities=over,
        seed=seed,
        kind=kind,
        quiet_prompt=quiet_prompt,
        chance=chance,
        now=now.replace(tzinfo=UTC) if now is not None and now.tzinfo is None else now,
    )
    root = root_of(ctx, familiar_id)
    is_chat = transcript.suffix.casefold() == SUFFIX
    conversation = read_sillytavern_chat(transcript) if is_chat else read_transcript(transcript)
    reply, parts, lacking = asyncio.run(preview_prompt(root, profile_of(home_of(ctx)), conversation, wish))
    if as_json:
        say_json(_as_json(reply, parts, lacking))
    elif blocks:
        say(block_table(parts, reply))
    else:
        for message in reply.messages:
            say_verbatim(format_message(message))
    for words in lacking:
        say(f"Left out: {words}", err=True)


async def preview_prompt(
    root: Path, profile: Path | None, transcript: Transcript, wish: PromptOverrides
) -> tuple[PipelineReply, list[dict[str, Any]], list[str]]:
    """What the familiar in *root* would be shown; its blocks; and what could not be had."""
    from familiar_connect.chat.unsent_place import UnsentPlace
    from familiar_connect.commands.sandbox import open_sandbox, providers_that_failed
    from familiar_connect.support.aio import off_loop
    from familiar_connect.support.clock import ManualClock

    clock = ManualClock(wish.now or transcript.messages[-1].timestamp)
    settings: dict[str, Any] = {"clock": clock, "capabilities": wish.capabilities, "model": wish.model}
    settings["searches"] = wish.fidelity != PresetFidelity.sillytavern.value
    async with open_sandbox(root, profile=profile, changed=lambda config: _with_order(config, wish), **settings) as (
        familiar,
        found,
    ):
        name = await off_loop(_preset_name, familiar.root, wish.preset)

        def with_wishes(channel: ChannelConfig) -> ChannelConfig:
            channel = replace(channel, preset=name) if wish.preset is not None else channel
            return replace(channel, preset_fidelity=wish.fidelity) if wish.fidelity else channel

        for author, level in transcript.levels:
            await off_loop(familiar.stores.privacy.set, author, level)
        exchange = transcript.exchange(familiar.id, _asked(transcript.asked, wish))
        _check_alter(exchange.asked.alter, [alter.name for alter in familiar.config.alters])
        channel, request = await familiar.reply_path.turns.request_for(
            exchange, transcript, seed=wish.seed, changed=with_wishes
        )
        request = replace(request, story=replace(request.story, chance=wish.chance))
        place = UnsentPlace(transcript)
        pipeline = await off_loop(familiar.pipelines.build, channel, modality=request.modality, place=place)
        reply, parts = await pipeline.preview(request)
    lacking = providers_that_failed(reply.output) + (
        [] if found else ["what memory search would find (its index is not ready)"]
    )
    return reply, parts, lacking


def _asked(asked: TurnOptions, wish: PromptOverrides) -> TurnOptions:
    """What the transcript asks for, with what was said on the command line."""
    if wish.kind is None:
        return asked
    asked = replace(asked, kind=cast("GenerationKind", wish.kind))
    return replace(asked, manual=True, manual_prompt=wish.quiet_prompt) if wish.kind == "quiet" else asked


def _with_order(config: CharacterConfig, wish: PromptOverrides) -> CharacterConfig:
    from familiar_connect.config.types import PromptOrder

    return replace(config, prompt_order=PromptOrder(wish.order)) if wish.order else config


def _check_alter(wanted: str | None, alters: Sequence[str]) -> None:
    if wanted is not None and wanted not in alters:
        there = f"it has {', '.join(alters)}" if alters else "it has none; add [[alters]] to its character.toml"
        raise ConfigError(f"The familiar has no further persona called {wanted!r}, which `asked.alter` names: {there}")


def _preset_name(copy: Path, wanted: str | None) -> str | None:
    """The preset that is meant, brought into the copy where it is a file."""
    from familiar_connect.bootstrap.import_preset import import_preset
    from familiar_connect.presets.store import PresetStore

    if wanted is None or wanted == "none":
        return wanted
    if Path(wanted).suffix.casefold() == ".json":
        return import_preset(Path(wanted), copy, overwrite=True).name
    store = PresetStore(FamiliarFolder(copy).presets)
    try:
        return store.find(wanted)
    except PresetError as error:
        raise PresetError(f"{error} A preset in a file is named with its ending, .json") from None


def format_message(message: Message) -> str:
    """One message as it is sent, for a person."""
    name = f" {message.name}" if message.name else ""
    media = "".join(f"<{type(part).__name__.removesuffix('Part').lower()} {part.uri}>\n" for part in message.media)
    return f"[{message.role}{name}]\n{media}{message.content}\n"


def block_table(parts: Sequence[dict[str, Any]], reply: PipelineReply) -> str:
    """The blocks in order, one line each, and what was cut."""
    from familiar_connect.context.budget import NO_BUDGET, OWN_REPLIES, OWN_REPLIES_UNSEEN

    rows = [("message", "role", "tokens", "layer", "block")]
    for part in parts:
        place = "-" if part["message"] is None else str(part["message"] + 1)
        block = f"{part['tag'] or 'untagged'} · {part['source']}"
        rows.append((place, part["role"], str(part["tokens"]), part["layer"], block))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows
    ]
    counted = tokens_by_segment(parts)
    shares = ", ".join(f"{segment} {tokens}" for segment, tokens in counted.items() if tokens)
    lines.append(f"{len(reply.messages)} messages, about {sum(counted.values())} tokens: {shares}")
    lines += [f"world info: {entry}: {reason}" for entry, reason in reply.prompt.reasons]
    for note in reply.prompt.dropped:
        why = "its layer has a budget of 0" if note.full == NO_BUDGET else f"no room in the {note.full}"
        why = OWN_REPLIES_UNSEEN if note.full == OWN_REPLIES else why
        lines.append(f"cut: {note.source} {note.reason}, {note.tokens_dropped} tokens; {why}")
    return "\n".join(lines)


def tokens_by_segment(parts: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Tokens by what they are spent on."""
    from familiar_connect.context.slots import SEGMENTS, segment_of
    from familiar_connect.context.types import ItemTag

    counted = dict.fromkeys(SEGMENTS, 0)
    for part in parts:
        counted[segment_of(ItemTag(part["tag"]) if part["tag"] else None)] += part["tokens"]
    return counted


def _as_json(reply: PipelineReply, parts: list[dict[str, object]], lacking: list[str]) -> dict[str, object]:
    from familiar_connect.support.serialize import to_plain

    return {
        "messages": [message.to_dict() for message in reply.messages],
        "blocks": parts,
        "segments": tokens_by_segment(parts),
        "dropped": to_plain(reply.prompt.dropped),
        "world_info": [{"entry": entry, "reason": reason} for entry, reason in reply.prompt.reasons],
        "lacking": lacking,
    }
