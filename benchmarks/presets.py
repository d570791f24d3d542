"""How long a preset takes to be laid over a prompt: 100 nodes over 200 messages, in milliseconds.

Measured are the reassembly alone and the whole arrangement with every macro read; beside them, in the same run, a
naive pass that only joins the nodes' texts in order, as a peer. Run `python -m benchmarks.presets [--quick] [--json]`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.table import machine, parse_arguments, spread
from familiar_connect.chat.types import Sender
from familiar_connect.context.types import ContextItem, ContextRequest, ItemTag, Modality, Prompt
from familiar_connect.identity import Author
from familiar_connect.presets.arranger import PresetArranger
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.prompt_order import nodes_of
from familiar_connect.presets.reassemble import PresetLayout, reassemble
from familiar_connect.presets.resolve_nodes import resolve_nodes
from familiar_connect.presets.types import (
    ActivePreset,
    CardFields,
    OrderEntry,
    Preset,
    PresetFidelity,
    PresetNode,
    PromptOrderList,
)

NODES, MESSAGES = 100, 200
BAR_MS = 5.0
RUNS, QUICK_RUNS = 300, 30
MARKERS = ("charDescription", "charPersonality", "scenario", "worldInfoBefore", "dialogueExamples", "chatHistory")
BLOCKS = (ItemTag.PREAMBLE, ItemTag.RULES, ItemTag.PERSONA, ItemTag.TRAITS, ItemTag.SCENARIO, ItemTag.SUMMARY)
TEXT = (
    "Write {{char}}'s reply to {{user}}; keep it {{getvar::tone}} and {{random::short::long}}. " + "Plain words. " * 20
)


def a_preset() -> Preset:
    """Markers, texts in order and texts at ten depths."""
    texts = [
        PresetNode(identifier=f"n{number}", content=TEXT, position=number % 2, depth=number % 10, order=number % 3)
        for number in range(NODES - len(MARKERS))
    ]
    markers = [PresetNode(identifier=identifier, is_marker=True) for identifier in MARKERS]
    nodes = (*texts[:30], *markers, *texts[30:])
    order = PromptOrderList(character_id="100001", entries=tuple(OrderEntry(identifier=n.identifier) for n in nodes))
    return Preset(name="large", prompts=nodes, orders=(order,))


def a_prompt() -> Prompt:
    """A few blocks and a long chat."""
    blocks = [ContextItem.of("system", f"block {tag.value}", tag=tag) for tag in BLOCKS]
    turns = [
        replace(
            ContextItem.of("assistant" if number % 2 else "user", f"Ada: turn {number}", tag=ItemTag.DIALOGUE),
            sender=None if number % 2 else Sender(name="Ada"),
            words=f"turn {number}",
        )
        for number in range(MESSAGES)
    ]
    return Prompt(items=(*blocks, *turns))


def naive_layout(preset: Preset, prompt: Prompt) -> list[str]:
    """The peer: node texts in order, then the chat; no macros, no blocks, no depth."""
    return [*(node.content for node in preset.prompts if node.content), *(item.text for item in prompt.items)]


def time_runs(work: Callable[[], object], runs: int) -> dict[str, float]:
    taken = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return spread(taken, 1000.0)


def measure(runs: int) -> dict[str, Any]:
    preset, prompt = a_preset(), a_prompt()
    ada = Author(platform="terminal", user_id="1", username="ada", display_name="Ada")
    request = ContextRequest("wren", 1, None, ada, "hello", Modality.text, 0, 0.0)
    request = replace(request, preset=ActivePreset(preset=preset), card=CardFields(name="Wren", description="A bird."))
    resolved = resolve_nodes(nodes_of(preset, PresetFidelity.with_memory), MacroContext(char="Wren", user="Ada"))
    layout = PresetLayout(preset=preset.name)
    found: dict[str, Any] = {
        "reassembly_ms": time_runs(lambda: reassemble(prompt.items, resolved, layout), runs),
        "whole_ms": time_runs(lambda: PresetArranger().arrange(prompt, request), runs),
        "naive_ms": time_runs(lambda: naive_layout(preset, prompt), runs),
        "machine": machine(),
    }
    found["ratio_to_naive"] = round(found["reassembly_ms"]["p50"] / max(found["naive_ms"]["p50"], 1e-6), 1)
    found["ok"] = found["reassembly_ms"]["p95"] < BAR_MS
    return found


def show(found: dict[str, Any]) -> str:
    reassembly, whole, peer = found["reassembly_ms"], found["whole_ms"], found["naive_ms"]
    return "\n".join(
        [
            f"{'✓' if found['ok'] else '✗'} {NODES} nodes over {MESSAGES} messages: {reassembly['p50']:.2f} ms in the"
            f" middle, {reassembly['p95']:.2f} ms at p95 (bar: {BAR_MS:g} ms)",
            f"  with every macro read and names written: {whole['p50']:.2f} ms, p95 {whole['p95']:.2f} ms",
            f"  joining the texts in order, nothing more: {peer['p50']:.3f} ms; ratio {found['ratio_to_naive']}",
        ]
    )


def main(arguments: list[str]) -> int:
    options = parse_arguments(arguments, __doc__)
    found = measure(QUICK_RUNS if options.quick else RUNS)
    print(json.dumps(found, indent=2) if options.json else show(found))
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
