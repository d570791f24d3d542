"""Prefix reuse: how much of each prompt a model has worked before, over a scripted conversation.

Whole turns through a familiar on disk: real character, real history, real window and summary; the people
files and the found memory come from a stand-in that gives them as content search does. Both prompt orders
see the same two hundred exchanges. Counted by the same meter as every turn's own trace. Run
`python -m benchmarks.prefix`; `--quick` for a short form, `--json` for a script.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.conversation_script import CHARACTER, NOTES, ScriptedLine, conversation, people_file, summary
from benchmarks.fixtures import (
    PEOPLE,
    QuietPlace,
    load_familiar,
    say,
    scripted_clients,
    without_warnings,
    write_character,
)
from benchmarks.table import Row, percentile, run_part
from familiar_connect.audience import EVERYONE
from familiar_connect.config.types import PromptOrder
from familiar_connect.context.confidence_gate import AUTHORED
from familiar_connect.context.processors.stepped_thinking import LAST_LINE
from familiar_connect.context.providers.content_search.unfiltered import FOUND_LABEL
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer, Priority
from familiar_connect.llm.types import Message
from familiar_connect.memory.file_audience import with_audience
from familiar_connect.memory.store import MemoryStore
from familiar_connect.observe.prompt_diff import PrefixShare, common_length, measure_prefix
from familiar_connect.support.clock import ManualClock
from familiar_connect.support.tokens import estimate_tokens

TURNS = 200
QUICK_TURNS = 48
LEAST_MEDIAN = 0.90
INDEX_LIMIT_S = 600.0
_STAMPED = re.compile(r"\[\d\d:\d\d\] ")
"""How an earlier message of a person begins in a text channel."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One way to hold the conversation."""

    name: str
    order: PromptOrder = PromptOrder.stable_first
    thinking: bool = False
    found_tokens: tuple[int, int] = (0, 400)
    searches: bool = False
    """Whether memory lies in files and is found by the program's own search, not by a stand-in."""
    window: int | None = None
    """What the model is known to read at once; None: nobody knows, and the mode's small prompt is used."""
    has_bar: bool = True


SETTINGS = (
    Setting(name="stable_first"),
    Setting(name="classic", order=PromptOrder.classic, has_bar=False),
    Setting(name="stable_first, a thought of the side model before each reply", thinking=True),
    Setting(name="stable_first, memory in files and found by the program's own search", searches=True),
    Setting(
        name="stable_first, 400 new found tokens every time, a model that reads 32k",
        found_tokens=(400, 400),
        window=32_768,
    ),
    Setting(
        name="stable_first, 400 new found tokens every time, the small prompt",
        found_tokens=(400, 400),
        has_bar=False,
    ),
    Setting(name="classic, a thought before each reply", order=PromptOrder.classic, thinking=True, has_bar=False),
)
"""The first two are the usual conversation: people's files and found memory. The last but one is the hardest reading of
"at most": every turn brings 400 tokens that no prompt held before, a tenth of the small prompt by themselves; its row
says how much could be shared at best."""


class ScriptedMemory:
    """People files in slug order and this turn's found memory, as content search gives them."""

    id = "content_search"
    deadline_s = 15.0

    def __init__(self) -> None:
        self.found = ""
        self._files = {author: people_file(author) for author in PEOPLE}

    async def contribute(self, request: ContextRequest) -> list[Contribution]:
        rank = {author: place for place, author in enumerate(PEOPLE, start=1)}
        people = [
            Contribution(
                Layer.content,
                int(Priority.PEOPLE),
                text,
                estimate_tokens(text),
                "content_search.people",
                tag=ItemTag.PEOPLE,
                order=0 if author == request.author else rank[author],
                key=author.slug,
                audiences=AUTHORED,
            )
            for author, text in self._files.items()
        ]
        if not self.found:
            return people
        return [
            *people,
            Contribution.of(
                Layer.content,
                self.found,
                source="content_search.rag",
                priority=int(Priority.FOUND),
                tag=ItemTag.FOUND,
                volatile=True,
                audiences=AUTHORED,
            ),
        ]


def write_memory(root: Path) -> None:
    """People's files and what there is to find, as Markdown that everybody may hear."""
    store = MemoryStore(root / "memory", audit_dir=root / "audit")
    for author in PEOPLE:
        store.write_file(f"people/{author.slug}.md", with_audience(people_file(author), EVERYONE), source="benchmark")
    for number, note in enumerate(NOTES):
        store.write_file(f"lore/note-{number}.md", f"# {note.split(':')[0][:60]}\n\n{note}\n", source="benchmark")


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Every setting's ratios and the sizes they were taken at."""
    turns = QUICK_TURNS if quick else TURNS
    settings = SETTINGS[:2] if quick else SETTINGS
    with without_warnings("familiar_connect"):
        return {"turns": turns, "settings": {each.name: asyncio.run(_hold(each, turns)) for each in settings}}


async def _hold(setting: Setting, turns: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="familiar-prefix-") as folder:
        root = Path(folder) / "wren"
        write_character(root, CHARACTER, _settings_of(setting))
        if setting.searches:
            write_memory(root)
        script = list(conversation(turns, found_tokens=setting.found_tokens))
        prompts, traces = await _talk(root, setting, script)
    shares = [measure_prefix(before, now) for before, now in pairwise(prompts)]
    return {
        **_ratios(shares),
        "has_bar": setting.has_bar,
        "at_best": percentile([_at_best(before, now) for before, now in pairwise(prompts)], 0.5),
        "recalled_tokens_p50": percentile([_recalled_tokens(prompt) for prompt in prompts], 0.5),
        "turns_with_recall": sum(1 for prompt in prompts if _recalled_tokens(prompt)) / len(prompts),
        "agrees_with_traces": [round(share.ratio, 4) for share in shares] == traces[1:],
        "window_moved": _changes([_first_of_window(prompt) for prompt in prompts]),
        "top_changed": _changes([prompt[0].content for prompt in prompts]),
        "prompt_tokens_p50": percentile([share.total_tokens for share in shares], 0.5),
        "prompt_tokens_most": max(share.total_tokens for share in shares),
        "found_tokens_p50": percentile([estimate_tokens(said.found) for said in script], 0.5),
        "found_tokens_most": max(estimate_tokens(said.found) for said in script),
        "message_tokens_p50": percentile([estimate_tokens(said.text) for said in script], 0.5),
        "reply_tokens_p50": percentile([estimate_tokens(said.reply) for said in script], 0.5),
        "thought_tokens_p50": percentile([estimate_tokens(said.thought) for said in script], 0.5)
        if setting.thinking
        else 0,
        "character_tokens": sum(estimate_tokens(text) for text in CHARACTER.values()),
        "people_tokens": sum(estimate_tokens(people_file(author)) for author in PEOPLE),
        "ratios": [round(share.ratio, 4) for share in shares],
    }


def _at_best(before: Sequence[Message], now: Sequence[Message]) -> float:
    """The share of *now* that any order could take over from *before*: all messages that stood there already."""
    known = {(message.role, message.content) for message in before}
    tokens = [(estimate_tokens(message.content), (message.role, message.content) in known) for message in now]
    total = sum(count for count, _ in tokens)
    top = _same_start(before[0].content, now[0].content) if before and now else 0
    shared = sum(count for count, is_known in tokens[1:] if is_known) + top
    return shared / total if total else 0.0


def _same_start(one: str, other: str) -> int:
    return estimate_tokens(other[: common_length(other, one)])


def _recalled_tokens(prompt: Sequence[Message]) -> int:
    """What memory brought, before the message it opens: a fence by the search, a plain list by the stand-in."""
    return sum(
        estimate_tokens(message.content.partition("\n\n[")[0])
        for message in prompt[1:]
        if message.role in ("system", "user") and (FOUND_LABEL in message.content or message.content.startswith("- "))
    )


def _settings_of(setting: Setting) -> str:
    """What `character.toml` says."""
    thinking = 'pre_processors = ["+stepped_thinking"]\n' if setting.thinking else ""
    return f'prompt_order = "{setting.order.value}"\n{thinking}'


async def _talk(
    root: Path, setting: Setting, script: Sequence[ScriptedLine]
) -> tuple[list[list[Message]], list[float]]:
    """Hold the conversation; what the model was shown each time, and the ratios its traces tell."""
    clock = ManualClock(datetime(2026, 5, 1, 18, 0, tzinfo=UTC))
    told = iter(said.reply for said in script)
    summaries = 0
    now = script[0]

    def side(messages: list[Message]) -> str:
        nonlocal summaries
        if LAST_LINE in messages[-1].content:
            return now.thought
        summaries += 1
        return summary(summaries)

    clients = scripted_clients(lambda _: next(told), side, window=setting.window)
    familiar = load_familiar(root, clients, clock)
    remembered = ScriptedMemory()
    if setting.searches:
        assert await familiar.update_memory_index(INDEX_LIMIT_S)
    else:
        familiar.providers[remembered.id] = remembered
    place = QuietPlace()
    history: Any = familiar.providers["history"]
    try:
        for now in script:
            clock.advance(now.after_s)
            remembered.found = now.found
            await say(familiar, place, now.author, now.text, clock.now())
            # The summary is written in the seconds until the next message; a scripted minute must not skip them.
            await history.refresher.background.wait_until_idle()
    finally:
        await familiar.aclose()
    assert not place.notices, place.notices
    recent = familiar.reply_path.collector.recent_traces(familiar_id=familiar.id, limit=len(script))
    in_order = sorted(recent, key=lambda trace: trace.timestamp)
    traces = [float(trace.fact("prefix_ratio") or 0.0) for trace in in_order]  # the first has none before it
    return clients["main_prose"].calls, traces


def _ratios(shares: Sequence[PrefixShare]) -> dict[str, float]:
    ratios = [share.ratio for share in shares]
    return {
        "median": percentile(ratios, 0.5),
        "p10": percentile(ratios, 0.10),
        "least": min(ratios),
        "mean": sum(ratios) / len(ratios),
    }


def _first_of_window(prompt: Sequence[Message]) -> str:
    return next((m.content for m in prompt[:-1] if m.role == "user" and _STAMPED.match(m.content)), "")


def _changes(values: Sequence[str]) -> int:
    """How often a value differs from the one before; its first appearance is no change."""
    return sum(1 for before, now in pairwise(values) if before and now != before)


def rows(found: dict[str, Any]) -> list[Row]:
    result = []
    for name, told in found["settings"].items():
        result.append(
            Row(
                name=f"prefix shared, median, {name}",
                value=f"{told['median']:.3f} (p10 {told['p10']:.3f}, mean {told['mean']:.3f}, at best "
                f"{told['at_best']:.3f}; found p50 {told['recalled_tokens_p50']} tokens, in "
                f"{told['turns_with_recall']:.0%} of turns; window moved {told['window_moved']} times, top changed "
                f"{told['top_changed']} times)",
                bar=f"≥ {LEAST_MEDIAN:.2f}" if told["has_bar"] else "",
                ok=told["median"] >= LEAST_MEDIAN if told["has_bar"] else None,
            )
        )
    sizes = found["settings"]["stable_first"]
    result.append(
        Row(
            name="the conversation",
            value=f"{found['turns']} turns, {len(PEOPLE)} people; tokens p50: prompt {sizes['prompt_tokens_p50']}, "
            f"found {sizes['found_tokens_p50']} (at most {sizes['found_tokens_most']}), message "
            f"{sizes['message_tokens_p50']}, reply {sizes['reply_tokens_p50']}; "
            f"character {sizes['character_tokens']}, people files {sizes['people_tokens']}",
        )
    )
    return result


def main(arguments: Sequence[str]) -> int:
    return run_part(arguments, title="prefix", description=__doc__, measure=measure, rows=rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
