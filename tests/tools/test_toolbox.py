"""Which tools a turn is offered, and how calls are answered whatever a model writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.types import Imitated, TurnFlags
from familiar_connect.context.generate import Generation
from familiar_connect.context.protocols import ToolSet
from familiar_connect.context.types import Modality, Prompt
from familiar_connect.llm.scripted import ScriptedModel, ToolCallReply
from familiar_connect.llm.types import Capabilities, ToolCall
from familiar_connect.memory.store import MemoryStore
from familiar_connect.tools.toolbox import Toolbox, TurnTools
from familiar_connect.tools.types import ALL_TOOLS, MACROS
from tests.fakes.context import BO, said
from tests.fakes.toolbox import a_toolbox, a_turn, tools_request


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore(tmp_path / "memory")


def test_there_are_none_unless_the_owner_names_them(store: MemoryStore) -> None:
    """G9: off by default; a name nobody knows is none."""
    few = Toolbox(["forget_memory", "format_disk"], store=store).for_turn(tools_request())

    assert Toolbox([], store=store).for_turn(tools_request()) is None
    assert few is not None
    assert few.names == {"forget_memory"}


@pytest.mark.parametrize(
    "request_",
    [
        tools_request(modality=Modality.voice),
        tools_request(turn=a_turn(is_voice=True)),
        tools_request(turn=a_turn(imitated=Imitated(author=BO, name="Bo"))),
        tools_request(turn=a_turn(flags=TurnFlags(impersonation=True))),
        tools_request(turn=a_turn(flags=TurnFlags(disable_all_tools=True))),
    ],
)
def test_a_spoken_turn_and_one_for_somebody_else_have_none(store: MemoryStore, request_: Any) -> None:
    """G9, E32: never on voice, never while speaking for somebody."""
    box = a_toolbox(store)

    assert (box.is_on(request_), box.for_turn(request_)) == (False, None)


def test_macros_name_what_is_offered(store: MemoryStore) -> None:
    """B13: only what can be called this turn; each names a tool there is."""
    tools = Toolbox(["remember"], store=store).for_turn(tools_request())

    assert tools is not None
    assert tools.macros == {"memory_tool": "remember"}
    assert {"memory_tool", "short_term_memory_tool", "sticker_tool"} <= MACROS.keys()
    assert set(MACROS.values()) == set(ALL_TOOLS)
    assert isinstance(tools, ToolSet)


def test_every_tool_is_described(store: MemoryStore) -> None:
    """With a schema a model endpoint accepts."""
    tools = a_toolbox(store).for_turn(tools_request())
    assert tools is not None

    for spec in tools.specs:
        assert spec.description
        assert set(spec.parameters["required"]) <= set(spec.parameters["properties"])
        assert json.loads(json.dumps(spec.to_dict())) == spec.to_dict()


@pytest.mark.parametrize("arguments", ["", "[]", "{", "null", '"x"', "[" * 100_000, '{"id": 1'])
async def test_arguments_that_make_no_sense_are_told(store: MemoryStore, arguments: str) -> None:
    """Nothing is done, nothing raises."""
    tools = a_toolbox(store).for_turn(tools_request())
    assert tools is not None

    assert json.loads(await tools.call(ToolCall("a", "forget_memory", arguments)))["status"] == "invalid_arguments"


async def test_a_tool_nobody_has_is_told(store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
    """What the model called it does not reach the log."""
    tools = a_toolbox(store).for_turn(tools_request())
    assert tools is not None

    assert json.loads(await tools.call(ToolCall("a", "secret words", "{}")))["status"] == "disabled"
    assert [name for name, _ in tools.used] == ["unknown"]
    assert "secret words" not in caplog.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
KEYS = st.sampled_from(["content", "scope", "target", "id", "summary", "query", "name", "ref"])


@given(st.sampled_from(ALL_TOOLS), st.dictionaries(KEYS, JSON | st.sampled_from(["server_wide", "target_user", "Ada"])))
async def test_whatever_a_model_writes_is_answered(
    tmp_path_factory: pytest.TempPathFactory, name: str, given_: dict[str, Any]
) -> None:
    """Each call has a status, and nothing is written outside servers and people."""
    store = MemoryStore(tmp_path_factory.mktemp("m"))
    tools = a_toolbox(store).for_turn(tools_request())
    assert isinstance(tools, TurnTools)
    told = json.loads(await tools.call(ToolCall("a", name, json.dumps(given_))))

    assert told["status"]
    assert {each.name for each in store.list_dir()} <= {"servers", "people"}


async def test_a_model_remembers_during_a_reply(store: MemoryStore) -> None:
    """From the model's call to the line in memory, and its words to the reply."""
    model = ScriptedModel(
        [
            ToolCallReply((("remember", {"content": "Ada likes tea", "scope": "target_user", "target": "Ada"}),)),
            "Noted.",
        ],
        capabilities=Capabilities(tools=True),
    )
    tools = a_toolbox(store).for_turn(tools_request())
    generation = Generation(Prompt(items=(said("user", "I like tea"),)), [model], tools=tools)
    text = "".join([piece async for piece in generation.pieces()])

    assert text == "Noted."
    assert "- [id:1] Ada likes tea" in store.read_file("people/discord-1.md")
    assert json.loads(model.calls[1][-1].content)["status"] == "saved"
