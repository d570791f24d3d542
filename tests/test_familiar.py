"""The bundle of one character."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config import ChannelMode, channel_config_for_mode
from familiar_connect.config.llm import SLOT_TEMPERATURES
from familiar_connect.context.types import Modality
from familiar_connect.errors import ConfigError, ModelSetupError
from familiar_connect.familiar import Familiar
from familiar_connect.llm.model_slots import ModelSlots
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities, Message
from tests.fakes.scripted_familiar import model_slots

CLIENTS = model_slots(ScriptedModel())


def load(root: Path, **more: Any) -> Familiar:
    return Familiar.load_from_disk(root, llm_clients=more.pop("llm_clients", CLIENTS), **more)


def close(familiar: Familiar) -> None:
    asyncio.run(familiar.aclose())


def test_it_is_loaded_from_its_folder_alone(tmp_path: Path) -> None:
    """An empty folder is enough: what lacks is made, and the folder's name is its id."""
    familiar = load(tmp_path / "wren")

    assert (familiar.id, familiar.root, familiar.name) == ("wren", tmp_path / "wren", "wren")
    for made in ("memory", "history.db", "channels", "modes"):
        assert (tmp_path / "wren" / made).exists(), made
    close(familiar)


def test_its_clients_are_kept_by_identity(tmp_path: Path) -> None:
    """What is replaced in the dict takes effect."""
    familiar = load(tmp_path / "wren")

    assert familiar.llm_clients is CLIENTS
    close(familiar)


def test_it_is_made_in_one_way() -> None:
    """Root, and by keyword the clients, speech in and out, and the profile."""
    parameters = inspect.signature(Familiar.load_from_disk).parameters

    assert list(parameters)[:5] == ["root", "llm_clients", "tts_client", "transcriber", "defaults_path"]
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in list(parameters)[1:])
    assert [parameters[name].default for name in ("tts_client", "transcriber", "defaults_path")] == [None] * 3


def test_it_bundles_everything_a_reply_needs(tmp_path: Path) -> None:
    """Under the names other software uses."""
    speech, hearing = object(), object()
    familiar = load(tmp_path / "wren", tts_client=speech, transcriber=hearing)

    for name in [
        "id",
        "root",
        "config",
        "memory_store",
        "history_store",
        "llm_clients",
        "providers",
        "pre_processors",
        "post_processors",
        "subscriptions",
        "channel_configs",
        "tts_client",
        "transcriber",
        "last_context_cache",
        "metrics_collector",
        "text_delivery_registry",
        "intake",
    ]:
        assert getattr(familiar, name) is not None, name
    assert familiar.tts_client is speech
    assert familiar.transcriber is hearing
    close(familiar)


def test_parts_are_registered_by_id_in_order(tmp_path: Path) -> None:
    """The dict's key is the part's own id."""
    familiar = load(tmp_path / "wren")

    assert list(familiar.providers)[:2] == ["character", "history"]
    assert list(familiar.pre_processors) == ["stepped_thinking"]
    assert list(familiar.post_processors) == ["recast", "spoken_text"]
    for parts in (familiar.providers, familiar.pre_processors, familiar.post_processors):
        assert all(part.id == key for key, part in parts.items())
    close(familiar)


@pytest.mark.parametrize("mode", list(ChannelMode))
def test_a_pipeline_has_what_the_mode_enables(tmp_path: Path, mode: ChannelMode) -> None:
    """B5: filtered by the enabled sets, in registration order; the long-lived parts themselves."""
    familiar = load(tmp_path / "wren")
    channel = channel_config_for_mode(mode)

    pipeline = familiar.build_pipeline(channel)

    ids = [p.id for p in pipeline.providers]
    assert (ids[:2], ids[-1]) == (["character", "history"], "mode_instructions")
    assert ids[:-1] == [id_ for id_ in familiar.providers if id_ in channel.providers_enabled]
    assert pipeline.providers[0] is familiar.providers["character"]
    assert {p.id for p in pipeline.pre_processors} == set(channel.preprocessors_enabled)
    assert {p.id for p in pipeline.post_processors} == set(channel.postprocessors_enabled)
    close(familiar)


def test_on_voice_no_model_stands_in_the_way(tmp_path: Path) -> None:
    """Whatever the mode."""
    familiar = load(tmp_path / "wren")
    pipeline = familiar.build_pipeline(channel_config_for_mode(ChannelMode.full_rp), modality=Modality.voice)

    assert (pipeline.pre_processors, [p.id for p in pipeline.post_processors]) == ((), ["spoken_text"])
    close(familiar)


def test_a_profile_beside_it_lies_under_its_settings(tmp_path: Path) -> None:
    """Without being named."""
    profile = tmp_path / "familiars" / "_default"
    profile.mkdir(parents=True)
    (profile / "character.toml").write_text('user_name = "Sam"\n', encoding="utf-8")
    familiar = load(tmp_path / "familiars" / "wren")

    assert familiar.config.user_name == "Sam"
    assert familiar.pipelines.defaults_modes_root == profile / "modes"
    close(familiar)


def test_two_familiars_never_see_each_others_data(tmp_path: Path) -> None:
    """Each its own history and memory."""
    one, two = load(make_starter(tmp_path, "one")), load(make_starter(tmp_path, "two", name="Two"))
    one.history_store.append_turn(familiar_id="one", channel_id=1, role="user", content="secret")

    assert two.history_store.count(familiar_id="one") == 0
    assert (one.name, two.name) == ("Ember", "Two")
    close(one)
    close(two)


def test_broken_settings_are_told_before_anything_is_opened(tmp_path: Path) -> None:
    """A clear error, and no database left behind."""
    root = tmp_path / "wren"
    root.mkdir()
    (root / "character.toml").write_text("aliases = 5\n", encoding="utf-8")

    with pytest.raises(ConfigError, match=r"character\.toml"):
        load(root)
    assert not (root / "history.db").exists()


def test_it_closes_once_more_without_harm_and_closes_each_client_once(tmp_path: Path) -> None:
    """Everything is ended in order, even if one part fails."""
    closed: list[str] = []

    class Client(ScriptedModel):
        async def close(self) -> None:
            closed.append("client")
            raise OSError("already gone")

    client = Client()
    familiar = load(tmp_path / "wren", llm_clients=dict.fromkeys(SLOT_TEMPERATURES, client))

    with pytest.raises(OSError, match="already gone"):
        close(familiar)
    assert closed == ["client"]
    with pytest.raises(Exception, match="closed"):
        familiar.history_store.count(familiar_id="wren")


async def test_a_slot_is_looked_up_when_it_is_used() -> None:
    """A client replaced at run time takes effect in parts that were built before."""
    clients: dict[str, Any] = {}
    slot = ModelSlots(clients).model("mood_eval")

    assert slot.capabilities == Capabilities()
    with pytest.raises(
        ModelSetupError, match=r"no model for the slot 'mood_eval': set `model` under \[llm\.mood_eval\]"
    ):
        await slot.chat([Message(role="user", content="?")])
    clients["mood_eval"] = ScriptedModel(["one"])
    assert (await slot.chat([Message(role="user", content="?")])).content == "one"
    clients["mood_eval"] = ScriptedModel(["two"])
    assert (await slot.chat([Message(role="user", content="?")])).content == "two"


@pytest.mark.slow
async def test_memory_is_found_once_its_index_is_loaded(tmp_path: Path) -> None:
    """Until then a search finds nothing, and nothing is assigned to whoever searches."""
    familiar = load(tmp_path / "wren")
    try:
        familiar.memory_store.write_file("topics/kettle.md", "# Kettle\nThe kettle is copper.", source="test")
        before = await familiar.index.recall("copper kettle")
        with familiar.index.pause_while_replying():
            assert familiar.memory_index is None
        await familiar.update_memory_index(60)
        after = await familiar.index.recall("copper kettle")
    finally:
        await familiar.aclose()

    assert before == []
    assert [hit.rel_path for hit in after] == ["topics/kettle.md"]
