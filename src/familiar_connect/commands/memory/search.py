"""memory search, reindex, stats: what a familiar would recall, and the index that lets it.

They use the same retriever as a reply does. The index is derived: bringing it level, or making it anew,
changes no memory.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from familiar_connect.commands.common import (
    familiar_option,
    json_option,
    progress_bar,
    root_of,
    say,
    say_json,
    spinner,
)
from familiar_connect.commands.logs import name_places
from familiar_connect.commands.memory.session import MemorySession, open_session
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.errors import FamiliarError, HomeError
from familiar_connect.memory.search import say_cut
from familiar_connect.support.files import is_held

if TYPE_CHECKING:
    from familiar_connect.config.character import CharacterConfig
    from familiar_connect.memory.index.embeddings import BuildStats, EmbeddingIndex
    from familiar_connect.memory.index.protocols import EmbeddingModel, RecallScope, Recollection
    from familiar_connect.memory.index.retriever import MemoryRetriever
    from familiar_connect.memory.index.turns import TurnIndex

SHOWN_CHARS = 400
MEANING_S = 10.0
"""So long a search takes in what talk means before it looks; its words are taken in at any length."""
SEARCH_EPILOG = """\b
Examples:
  familiar memory search "where did Bo bury the spoon"
  familiar memory search "what did we say last week" --explain
  familiar memory search boats --files --limit 3 --json
Exit codes: 0 something found, 1 nothing found.
"""
REINDEX_EPILOG = """\b
Examples:
  familiar memory reindex              add what changed
  familiar memory reindex --rebuild    delete the index and build it again
  familiar memory reindex --fetch      get the embedder's weights first, if they are not here
"""
STATS_EPILOG = """\b
Examples:
  familiar memory stats                what there is, and how much of it is indexed
  familiar memory stats --json
"""

MOST_SHOWN = 200


@dataclass(frozen=True)
class OpenIndex:
    """The index over one familiar's memory, and what searches it."""

    memory: MemorySession
    config: CharacterConfig
    model: EmbeddingModel
    files: EmbeddingIndex
    turns: TurnIndex | None
    """None before the first word was said."""
    retriever: MemoryRetriever

    @property
    def model_name(self) -> str:
        return _name_of(self.model)


@click.command(epilog=SEARCH_EPILOG)
@click.argument("question", nargs=-1, required=True)
@familiar_option
@click.option(
    "-n", "--limit", default=10, show_default=True, type=click.IntRange(1, MOST_SHOWN), help="How many to show."
)
@click.option("--files", "only", flag_value="files", help="Search only the memory files.")
@click.option("--turns", "only", flag_value="turns", help="Search only what was said.")
@click.option("--channel", type=int, metavar="ID", help="Ask as if in this channel.")
@click.option("--explain", is_flag=True, help="Show how each hit got its score.")
@json_option
@click.pass_context
def search(
    ctx: click.Context,
    question: tuple[str, ...],
    familiar_id: str | None,
    limit: int,
    only: Literal["files", "turns"] | None,
    channel: int | None,
    explain: bool,
    as_json: bool,
) -> int:
    """Show what the familiar would recall for a QUESTION, best first."""
    words = " ".join(question)
    with open_index(ctx, familiar_id) as index:
        sync_index(index, quiet=as_json, meaning_s=MEANING_S)
        index.retriever.warm(words)
        found = index.retriever.recall_now(words, limit=limit + 1, scope=_owners_scope(index, channel, only))
        cut = index.memory.store.files_over_cap() if only != "turns" else []
    hits = found[:limit]
    if as_json:
        say_json([_as_json(hit) for hit in hits])
    elif not hits:
        say("Nothing in memory matches that.")
    else:
        places = name_places(index.memory.root)
        say("\n\n".join(_shown(number, hit, places, explain=explain) for number, hit in enumerate(hits, 1)))
        if explain:
            say(f"\n{_legend(hits)}")
    if len(found) > limit:
        say(f"familiar: these are the best {limit}, there are more: `--limit` shows up to {MOST_SHOWN}", err=True)
    for path in cut:
        say(f"familiar: {say_cut(path, index.memory.store.limits.max_file_bytes)}", err=True)
    return 0 if hits else 1


@click.command(epilog=REINDEX_EPILOG)
@familiar_option
@click.option("--rebuild", "--anew", "anew", is_flag=True, help="Delete the index and build it again.")
@click.option("--fetch", is_flag=True, help="First download the embedder that the settings name.")
@json_option
@click.pass_context
def reindex(ctx: click.Context, familiar_id: str | None, anew: bool, fetch: bool, as_json: bool) -> None:
    """Update the index of the memory files and of everything said."""
    root = root_of(ctx, familiar_id)
    if fetch or (not as_json and _offer_weights(root)):
        _fetch_weights(root, quiet=as_json)
    with open_index(ctx, familiar_id, anew=anew) as index:
        began = time.monotonic()
        if anew:
            index.files.forget()
            if index.turns is not None:
                index.turns.forget()
        built, taken = sync_index(index, quiet=as_json, strict=True)
        facts = {
            "embedder": index.model_name,
            "files_taken_in": len(built.rebuilt_paths),
            "files_removed": len(built.removed_paths),
            "chunks_written": built.chunks_written,
            "turns_taken_in": taken,
            "seconds": round(time.monotonic() - began, 2),
            **_sizes(index),
        }
    if as_json:
        say_json(facts)
        return
    say(
        f"Added {facts['files_taken_in']:,} files and {facts['turns_taken_in']:,} turns, removed "
        f"{facts['files_removed']:,} files, in {facts['seconds']} s.\n{_sizes_line(facts)}"
    )


@click.command(epilog=STATS_EPILOG)
@familiar_option
@json_option
@click.pass_context
def stats(ctx: click.Context, familiar_id: str | None, as_json: bool) -> None:
    """Show how large memory is and how much of it the index holds."""
    with open_index(ctx, familiar_id) as index:
        folders: dict[str, int] = {}
        total = 0
        for path in _markdown(FamiliarFolder(index.memory.root).memory):
            folder = path.parts[0] if len(path.parts) > 1 else "."
            folders[folder] = folders.get(folder, 0) + 1
            total += (FamiliarFolder(index.memory.root).memory / path).stat().st_size
        facts = {
            "embedder": index.model_name,
            "memory_files": sum(folders.values()),
            "memory_bytes": total,
            "files_by_folder": dict(sorted(folders.items())),
            **_sizes(index),
        }
    if as_json:
        say_json(facts)
        return
    by_folder = ", ".join(f"{folder} {count:,}" for folder, count in sorted(folders.items())) or "none yet"
    say(f"memory files: {facts['memory_files']:,}, {_bytes(total)} ({by_folder})\n{_sizes_line(facts)}")


@contextmanager
def open_index(ctx: click.Context, familiar_id: str | None, *, anew: bool = False) -> Iterator[OpenIndex]:
    from familiar_connect.memory.index.embeddings import INDEX_FILE, EmbeddingIndex
    from familiar_connect.memory.index.retriever import MemoryRetriever
    from familiar_connect.memory.index.turns import TURNS_FILE, TurnIndex
    from familiar_connect.memory.people import read_aliases
    from familiar_connect.memory.persona import persona_name
    from familiar_connect.privacy import PrivacyRegistry

    with ExitStack() as stack:
        memory = stack.enter_context(open_session(ctx, familiar_id, may_be_new=True))
        store, own = memory.store, FamiliarFolder(memory.root)
        config = config_of(memory.root)
        model = _embedder(memory.root, config.embedder, anew=anew)
        name = _name_of(model)
        files = EmbeddingIndex(own.index / INDEX_FILE, dim=model.dim, model_name=name)
        stack.callback(files.close)
        turns = None
        if own.history_db.exists():
            turns = TurnIndex(
                own.index / TURNS_FILE,
                history=memory.history,
                familiar_id=memory.familiar_id,
                dim=model.dim,
                model_name=name,
                own_name=persona_name(store, memory.familiar_id),
                privacy=PrivacyRegistry(own.privacy_file),
            )
            stack.callback(turns.close)
        retriever = MemoryRetriever(model=model, files=files, turns=turns, names=lambda: read_aliases(store))
        yield OpenIndex(memory, config, model, files, turns, retriever)


def _owners_scope(index: OpenIndex, channel: int | None, only: Literal["files", "turns"] | None) -> RecallScope:
    """Everything the owner may hear, who asks here."""
    from familiar_connect.memory.visible_memory import owner_scope

    policy = index.config.telling_policy
    return owner_scope(index.memory.audiences, policy, channel_id=channel, only=only)


def config_of(root: Path) -> CharacterConfig:
    """The settings of the familiar in *root*."""
    from familiar_connect.config.load import load_character_config

    folder = FamiliarFolder(root)
    profile = folder.profile.settings_file
    return load_character_config(folder.settings_file, defaults_path=profile if profile.exists() else None)


def _embedder(root: Path, wanted: str, *, anew: bool = False) -> EmbeddingModel:
    """The embedder *wanted* by the settings; where the index was made with another, that one: nothing is made again.

    A familiar that runs may be using it. Only *anew* takes the one of the settings, where none does.
    """
    from familiar_connect.memory.index.embedders.choice import choose_embedder, read_maker
    from familiar_connect.memory.index.embeddings import INDEX_FILE
    from familiar_connect.memory.index.indexing_store import IN_USE_FILE

    folder = FamiliarFolder(root).index
    model, said = choose_embedder(wanted, index=folder / INDEX_FILE)
    made_with = read_maker(folder / INDEX_FILE)
    if made_with in (None, (_name_of(model), model.dim)):
        return model
    name, dim = made_with or ("", 0)
    if anew and is_held(folder / IN_USE_FILE):
        raise HomeError(
            f"{root.name} is running and uses its index with {name}: stop it, then `familiar memory reindex --rebuild`"
            f" makes the index again with {_name_of(model)}."
        )
    if anew:
        return model
    other = choose_embedder(name, index=folder / INDEX_FILE)[0]
    anew_makes = f"`familiar memory reindex --rebuild` makes it again with {_name_of(model)}"
    if (_name_of(other), other.dim) != (name, dim):
        raise HomeError(f"the index was made with {name}, which cannot be used now ({said}): {anew_makes}.")
    say(f"familiar: the index was made with {name}, which is used here: {anew_makes}.", err=True)
    return other


def _name_of(model: EmbeddingModel) -> str:
    return str(getattr(model, "name", type(model).__name__))


def _fetch_weights(root: Path, *, quiet: bool) -> None:
    """Get the weights of the embedder that the settings name, with a sign of life; what stands in the way is said."""
    from familiar_connect.memory.index import fastembed
    from familiar_connect.memory.index.embedders.choice import is_address, is_our_own

    wanted = config_of(root).embedder
    if is_our_own(wanted) or is_address(wanted):
        say(f"familiar: {wanted} needs no download.", err=True)
        return
    if (lacking := fastembed.why_unavailable(wanted, may_fetch=True)) is not None:
        raise HomeError(lacking)
    if fastembed.weights_are_cached(wanted):
        return
    size = fastembed.download_size_gb(wanted)
    much = f" ({size * 1000:,.0f} MB)" if size is not None else ""
    folder = fastembed.default_cache_path()
    if not quiet:
        say(f"Fetching the weights of {wanted}{much} into {folder} ...", err=True)
    with spinner(f"fetching {wanted}", quiet=quiet):
        fastembed.FastEmbedModel(wanted).fetch()


def _offer_weights(root: Path) -> bool:
    """Ask once, at a terminal, whether weights that are missing may be fetched."""
    from familiar_connect.memory.index import fastembed
    from familiar_connect.memory.index.embedders.choice import is_address, is_our_own

    wanted = config_of(root).embedder
    if is_our_own(wanted) or is_address(wanted) or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    if fastembed.why_unavailable(wanted, may_fetch=True) is not None or fastembed.weights_are_cached(wanted):
        return False
    size = fastembed.download_size_gb(wanted)
    much = f" ({size * 1000:,.0f} MB)" if size is not None else ""
    return click.confirm(f"The weights of {wanted}{much} are not here. Fetch them now?", default=False, err=True)


def sync_index(
    index: OpenIndex, *, quiet: bool, strict: bool = False, meaning_s: float | None = None
) -> tuple[BuildStats, int]:
    """Take in what changed, with a bar where somebody watches. An index that another program holds is used as it is.

    With *meaning_s*, what talk means is taken in for so long at most, by this program's own work: on a busy machine as
    much is taken in as on an idle one.
    """
    from familiar_connect.memory.index.embeddings import BuildStats

    built, taken = BuildStats(), 0
    try:
        with progress_bar("memory files", quiet=quiet) as progress:
            built = index.files.build_if_stale(index.memory.store, index.model, progress=progress)
        if index.turns is not None:
            with progress_bar("turns", quiet=quiet) as progress:
                taken = index.turns.sync(None)
                ends = math.inf if meaning_s is None else time.process_time() + meaning_s
                index.turns.sync(index.model, go_on=lambda: time.process_time() < ends, progress=progress)
            if left := index.turns.count_without_meaning():
                say(
                    f"familiar: {left:,} pieces of talk can only be found by their words so far; "
                    "`familiar memory reindex` adds their meaning, and so does the familiar while it runs.",
                    err=True,
                )
    except KeyboardInterrupt:
        say("What is indexed so far stays; the next run continues from there.", err=True)
        raise
    except FamiliarError as error:
        if strict:
            raise HomeError(
                f"the index could not be updated: {error} Try again when no other program uses it."
            ) from None
        say(f"familiar: using the index as it is: {error}", err=True)
    return built, taken


def _shown(number: int, hit: Recollection, places: Mapping[int, str], *, explain: bool) -> str:
    lines = [f"{number:>2}. {_where(hit, places)}"]
    for text, speaker in (
        *((beside.text, beside.speaker) for beside in hit.before),
        (hit.text, hit.speaker),
        *((beside.text, beside.speaker) for beside in hit.after),
    ):
        mark = ">" if text is hit.text else " "
        lines.append(f"  {mark} {speaker + ': ' if speaker else ''}{_one_line(text)}")
    if explain:
        lines.append(f"    {_sum(hit)}")
    return "\n".join(lines)


def _where(hit: Recollection, places: Mapping[int, str]) -> str:
    when = f"{hit.when:%Y-%m-%d %H:%M}" if hit.when else ""
    if hit.source == "turn":
        place = places.get(hit.channel_id or 0) or f"channel {hit.channel_id}"
        return f"said {when} in {place} (turn {hit.turn_id})"
    return f"{hit.rel_path}{f', {hit.heading_path}' if hit.heading_path else ''}"


def _sum(hit: Recollection) -> str:
    """The score as the sum it is, largest part first."""
    parts = sorted(hit.explained.signals.items(), key=lambda part: -abs(part[1]))
    shown = "".join(f" {'-' if value < 0 else '+'} {name} {abs(value):.2f}" for name, value in parts)
    return f"{hit.score:.2f} = {shown.removeprefix(' + ').strip()}"


def _legend(hits: list[Recollection]) -> str:
    from familiar_connect.memory.index.protocols import SIGNALS

    used = {name for hit in hits for name in hit.explained.signals}
    width = max(len(name) for name in used) if used else 0
    known = [name for name in SIGNALS if name in used]
    return "\n".join(f"  {name:<{width}}  {SIGNALS[name]}" for name in known)


def _one_line(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN_CHARS else f"{flat[:SHOWN_CHARS]}…"


def _as_json(hit: Recollection) -> dict[str, object]:
    return {
        "score": round(hit.score, 4),
        "signals": {name: round(value, 4) for name, value in hit.explained.signals.items()},
        "source": hit.source,
        "path": hit.rel_path,
        "heading": hit.heading_path,
        "turn_id": hit.turn_id,
        "channel_id": hit.channel_id,
        "speaker": hit.speaker,
        "when": hit.when.isoformat() if hit.when else None,
        "before": [beside.text for beside in hit.before],
        "text": hit.text,
        "after": [beside.text for beside in hit.after],
    }


def _sizes(index: OpenIndex) -> dict[str, object]:
    """What the index holds and takes."""
    counts = index.files.counts()
    units, conversations = index.turns.counts() if index.turns is not None else (0, 0)
    folder = FamiliarFolder(index.memory.root).index
    return {
        "indexed_files": counts["files"],
        "chunks": counts["chunks"],
        "passages": counts["passages"],
        "pieces_of_talk": units,
        "conversations": conversations,
        "index_bytes": sum(path.stat().st_size for path in folder.glob("*") if path.is_file()),
    }


def _sizes_line(facts: dict[str, Any]) -> str:
    return (
        f"index: {facts['indexed_files']:,} files in {facts['chunks']:,} chunks and {facts['passages']:,} passages, "
        f"{facts['pieces_of_talk']:,} pieces of talk in {facts['conversations']:,} conversations, "
        f"{_bytes(facts['index_bytes'])}\nembedder: {facts['embedder']}"
    )


def _markdown(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*.md")):
        relative = path.relative_to(root)
        if path.is_file() and not any(part.startswith(".") for part in relative.parts):
            yield relative


def _bytes(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1_000_000:.1f} MB"
