"""Whole-house stories: a familiar with a preset, a card with macros, and what its model is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.llm.types import Capabilities
from familiar_connect.observe.replay_store import hash_messages
from familiar_connect.presets.store import PresetStore
from familiar_connect.reply.prompt_replay import replay_messages
from tests.fakes.scripted_familiar import CHANNEL, ScriptedFamiliar, scripted_familiar

NODES: list[dict[str, Any]] = [
    {"identifier": "main", "content": "Write as {{char}} to {{user}}; {{random::gently::softly::kindly}}."},
    {"identifier": "charDescription", "marker": True},
    {"identifier": "dialogueExamples", "marker": True},
    {"identifier": "chatHistory", "marker": True},
    {"identifier": "after", "content": "Roll: {{roll::1d100}}, {{pick::a::b::c}}, {{isotime}}."},
    {"identifier": "deep", "content": "Deep words.", "injection_position": 1, "injection_depth": 1},
]


def use_preset(root: Path, name: str = "tower", **settings: Any) -> None:
    raw = {
        "prompts": [{"name": "n", "role": "system", "system_prompt": False, **node} for node in NODES],
        "prompt_order": [
            {"character_id": 100001, "order": [{"identifier": n["identifier"], "enabled": True} for n in NODES]}
        ],
        **settings,
    }
    PresetStore(FamiliarFolder(root).presets).import_bytes(name, json.dumps(raw).encode())


def settle(house: ScriptedFamiliar, **lines: str) -> None:
    """Write settings of the channel."""
    text = 'mode = "text_conversation_rp"\n' + "".join(f'{key} = "{value}"\n' for key, value in lines.items())
    path = house.familiar.root / "channels" / f"{CHANNEL}.toml"
    path.write_text(f"{text}[typing_simulation]\nenabled = false\n", encoding="utf-8")


def sent(house: ScriptedFamiliar, turn: int = -1) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in house.model.calls[turn]]


def without_notes(messages: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What was said and written, without lines of ours such as the clock."""
    return [message for message in messages if not message[1].startswith("[System:")]


async def test_a_preset_lays_out_the_prompt_of_a_reply(tmp_path: Path) -> None:
    """A2, A5: its words, our blocks, and the chat, in its order."""
    async with scripted_familiar(tmp_path, ["One.", "Two."]) as house:
        use_preset(house.familiar.root)
        await house.talk("hello?")
        found = sent(house)

    assert "Write as Ember to Ana; " in found[0][1]
    assert found[0][1].index("Write as Ember") < found[0][1].index("fire spirit")
    assert [text for _, text in found[-3:-1]] == ["Deep words.", "Ana: hello?"]
    assert found[-1][1].startswith("Roll: ")


async def test_macros_of_the_card_are_read_and_those_of_people_are_not(tmp_path: Path) -> None:
    """B3, B4, C42: the one person there by name, the chat as it was typed."""
    async with scripted_familiar(tmp_path) as house:
        house.familiar.memory_store.write_file("self/scenario.md", "{{char}} waits for {{user}}.{{// soon }}")
        await house.talk("what is {{char}}? {random::a::b}")
        found = sent(house)

    assert "Ember waits for Ana." in found[0][1]
    assert found[-1] == ("user", "Ana: what is {{char}}? {random::a::b}")


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("fidelity", ["with_memory", "sillytavern"])
@pytest.mark.parametrize("strict", [False, True])
async def test_a_turn_with_a_preset_is_made_anew_byte_for_byte(
    tmp_path: Path, fidelity: str, streams: bool, strict: bool
) -> None:
    """A14, A16: chance, clock and card of the turn are kept with it."""
    async with scripted_familiar(
        tmp_path, ["One.", "Two."], streams=streams, capabilities=Capabilities(strict_roles=strict, prefill=streams)
    ) as house:
        use_preset(house.familiar.root, squash_system_messages=True, assistant_prefill="Well,")
        house.familiar.memory_store.write_file("self/system_prompt.md", "{{original}} Own {{random::x::y::z}}.")
        settle(house, preset_fidelity=fidelity)
        await house.talk("first")
        await house.talk("second")
        replays = house.familiar.reply_path.replays
        records = [replays.load(trace_id) for trace_id in sorted(replays.ids())]
        PresetStore(FamiliarFolder(house.familiar.root).presets).use_none()

        assert [replay_messages(record) for record in records] == house.model.calls
        assert [hash_messages(call) for call in house.model.calls] == [record.messages_hash for record in records]


async def test_as_sillytavern_nothing_of_ours_is_sent(tmp_path: Path) -> None:
    """C60, C61, C65: card, preset and chat; macros in the chat are read there."""
    async with scripted_familiar(tmp_path) as house:
        use_preset(house.familiar.root)
        settle(house, preset_fidelity="sillytavern")
        await house.talk("what is {{char}}?")
        found = sent(house)

    assert found[0][1].startswith("Write as Ember to Ana; ")
    assert not any("prefixed" in text for _, text in found)
    assert ("user", "what is Ember?") in found


async def test_a_channel_may_do_without_the_preset(tmp_path: Path) -> None:
    """A5: `none` there leaves the native order."""
    async with scripted_familiar(tmp_path) as house:
        use_preset(house.familiar.root)
        settle(house, preset="none")
        await house.talk("hello?")

    assert not any("Write as" in text for _, text in sent(house))


async def test_the_inspector_knows_the_presets_blocks(tmp_path: Path) -> None:
    """C33: each node by preset and identifier."""
    async with scripted_familiar(tmp_path) as house:
        use_preset(house.familiar.root)
        await house.talk("hello?")
        trace = house.familiar.reply_path.collector.recent_traces(familiar_id="ember")[0]
        model = next(span for span in trace.stages if span.name == "model")
        sources = [block["source"] for block in model.metadata["tokens_by_block"]]

    assert {"preset:tower:main", "preset:tower:after", "preset:tower:deep"} <= set(sources)


async def test_the_cards_depth_prompt_stands_at_its_depth(tmp_path: Path) -> None:
    """C35: so many turns follow it, in the role the card gives it."""
    async with scripted_familiar(tmp_path, ["One.", "Two.", "Three."]) as house:
        memory = house.familiar.memory_store
        memory.write_file("self/depth_prompt.md", "{{char}} glows.")
        memory.write_file("self/.card.json", json.dumps({"extensions": {"depth_prompt": {"depth": 2, "role": "user"}}}))
        await house.talk("a")
        await house.talk("b")
        native = without_notes(sent(house))
        use_preset(house.familiar.root)
        await house.talk("c")
        laid_out = without_notes(sent(house))

    assert native[-3] == ("user", "Ember glows.")
    at = laid_out.index(("user", "Ember glows."))
    assert [text for _, text in laid_out[at:]][1:] == [
        "Ember: Two.",
        "Deep words.",
        "Ana: c",
        laid_out[-1][1],
    ]
