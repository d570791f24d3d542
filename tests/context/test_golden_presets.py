"""A whole prompt laid out by a preset, as a person would read it, under both fidelities.

Set UPDATE_GOLDEN=1 to write them anew; then look at the difference.
"""

from __future__ import annotations

import difflib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from familiar_connect.chat.types import Directives, Turn
from familiar_connect.config.types import ChannelMode
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.providers.character import CharacterProvider
from familiar_connect.context.providers.history import HistoryProvider
from familiar_connect.context.providers.mode_instructions import ModeInstructionProvider
from familiar_connect.context.types import ContextRequest, Modality, PendingTurn
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Message
from familiar_connect.memory.card_fields import CardReader
from familiar_connect.memory.store import MemoryStore
from familiar_connect.presets.arranger import PresetArranger
from familiar_connect.presets.load import read_preset
from familiar_connect.presets.types import ActivePreset, PresetFidelity
from familiar_connect.support.clock import ManualClock
from tests.context.test_golden_prompts import NEW, NOTES, PROMPTS, SELF, an_archive, readable, the_rest
from tests.fakes.context import ADA, PLENTY, FixedProvider

MODE = ChannelMode.full_rp
NODES: list[dict[str, object]] = [
    {"identifier": "main", "role": "system", "content": "Write {{char}}'s next reply to {{user}}, vividly."},
    {"identifier": "charDescription", "marker": True},
    {"identifier": "charPersonality", "marker": True},
    {"identifier": "scenario", "marker": True},
    {"identifier": "style", "role": "user", "content": "{{setvar::pace::slow}}<style>{{random::slow::slow}}</style>"},
    {"identifier": "worldInfoBefore", "marker": True},
    {"identifier": "personaDescription", "marker": True},
    {"identifier": "off", "role": "system", "content": "Never sent."},
    {"identifier": "dialogueExamples", "marker": True},
    {"identifier": "chatHistory", "marker": True},
    {"identifier": "jailbreak", "role": "system", "content": "Stay in the scene; pace: {{getvar::pace}}."},
    {
        "identifier": "deep",
        "role": "system",
        "content": "[It is {{time}} where {{char}} lives.]",
        "injection_position": 1,
        "injection_depth": 2,
    },
]
PRESET = {
    "prompts": [{"name": node["identifier"], "system_prompt": False, **node} for node in NODES],
    "prompt_order": [
        {
            "character_id": 100001,
            "order": [{"identifier": node["identifier"], "enabled": node["identifier"] != "off"} for node in NODES],
        }
    ],
    "new_chat_prompt": "[A new scene]",
    "new_example_chat_prompt": "[An example]",
    "assistant_prefill": "Well,",
    "openai_max_context": 8000,
    "openai_max_tokens": 500,
}
OWN = SELF | {
    "system_prompt": "{{original}}\nYou are {{char}}, keeper of the lighthouse library. Stay in character.",
    "description": "{{char}} is small, grey and curious. {{// keep short }}She has read every book but one.",
    "depth_prompt": "{{char}} never lies.",
}
CARD = {"extensions": {"depth_prompt": {"prompt": "", "depth": 3, "role": "system"}}}


async def the_messages(fidelity: PresetFidelity, tmp_path: Path) -> list[Message]:
    """What the model is sent."""
    clock = ManualClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    memory = MemoryStore(tmp_path / "memory")
    for stem, text in OWN.items():
        memory.write_file(f"self/{stem}.md", text)
    memory.write_file("self/.card.json", json.dumps(CARD))
    (tmp_path / "modes").mkdir()
    (tmp_path / "modes" / f"{MODE.value}.md").write_text(NOTES[MODE], encoding="utf-8")
    store = an_archive(clock, MODE)
    clock.advance(90)
    rows = [
        store.append_turn(familiar_id="wren", channel_id=7, role="user", content=text, author=author, mode=MODE)
        for author, text in NEW
    ]
    model = ScriptedModel(["Bo, up."])
    history = HistoryProvider(store=store, llm_client=ScriptedModel(), window_size=10)
    pipeline = ContextPipeline(
        [
            CharacterProvider(memory),
            history,
            ModeInstructionProvider(modes_root=tmp_path / "modes", mode=MODE),
            FixedProvider(*the_rest()),
        ],
        model=model,
        budget_by_layer=PLENTY,
        arranger=PresetArranger(),
        persona="Wren",
    )
    request = ContextRequest(
        "wren",
        7,
        None,
        ADA,
        NEW[-1][1],
        Modality.text,
        8000,
        30.0,
        pending_turns=tuple(PendingTurn(r.author, r.content, r.id) for r in rows),
        mode=MODE,
        before_id=rows[0].id,
        turn=Turn(familiar_id="wren", channel_id=7, said=(), directives=Directives(tail=("Be brief.",))),
        preset=ActivePreset(preset=read_preset(json.dumps(PRESET), "tower"), fidelity=fidelity),
        card=CardReader(memory, "wren").read(),
        persona="{{user}} sails.",
        seed=1,
        now=clock.now(),
    )
    await pipeline.run(request)
    await history.aclose()
    store.close()
    return model.calls[0]


@pytest.mark.parametrize("fidelity", list(PresetFidelity), ids=lambda fidelity: fidelity.value)
async def test_the_prompt_of_a_preset_reads_as_it_did(fidelity: PresetFidelity, tmp_path: Path) -> None:
    """A18, C60, C61: with memory all our blocks in the preset's order; as SillyTavern none of them."""
    golden = PROMPTS / f"preset.{fidelity.value}.txt"
    now = readable(await the_messages(fidelity, tmp_path))
    if os.environ.get("UPDATE_GOLDEN") == "1":
        golden.write_text(now, encoding="utf-8")
    before = golden.read_text(encoding="utf-8")
    changes = difflib.unified_diff(before.splitlines(), now.splitlines(), golden.name, "now", lineterm="")

    assert now == before, "\n".join(changes)
