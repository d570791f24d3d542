"""/model and /preset on Discord: a channel's own, from the next reply on, over a restart."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from familiar_connect.config import CharacterConfig
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.llm.openai_compatible import LLMClient
from familiar_connect.presets.store import PresetStore
from familiar_connect.slash.command import MAY_NOT_CONTROL
from tests.extensions.discord.test_commands import used, words
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.model_server import ModelServer, stream_answer


@asynccontextmanager
async def served_on_discord(home: Path, server: ModelServer, **more: Any) -> AsyncIterator[FamiliarOnDiscord]:
    """A familiar on Discord that speaks through the models of *server*, and offers one of them to others."""

    def settings(config: CharacterConfig) -> CharacterConfig:
        slot = replace(config.llm["main_prose"], model="small-one", base_url=server.base_url)
        return replace(config, llm={**config.llm, "main_prose": slot}, model_choices=["fine-one"])

    async with familiar_on_discord(home, settings=settings, **more) as den:
        den.familiar.llm_clients["main_prose"] = LLMClient(api_key=None, model="small-one", base_url=server.base_url)
        yield den


async def answer(den: FamiliarOnDiscord, name: str, **how: Any) -> str:
    return words((await used(den, name, **how))[0])


async def offered(den: FamiliarOnDiscord, who: Any, command: str, option: str, begun: str) -> list[str]:
    token = await den.server.autocomplete(den.room, who, command, option, begun)
    return [each["value"] for each in (await den.server.until_answered(token))[0]["data"]["choices"]]


async def test_a_model_chosen_for_a_channel_answers_there_alone(tmp_path: Path) -> None:
    """The owner may name any of the server, a manager one that the owner offers, everyone else none."""
    script = [stream_answer("Hello.")]
    async with (
        ModelServer(script, models=["small-one", "large-one"]) as server,
        served_on_discord(tmp_path, server, arrive=False) as den,
    ):
        garden = den.server.world.room(den.guild, "garden")
        den.subscribe(garden)
        await den.connect()
        owner, file = den.server.world.owner, den.familiar.root / "channels" / f"{den.room.id}.toml"
        shown = await answer(den, "model")
        refused = [
            await answer(den, "model", may_manage=False, who=den.ben, model="fine-one"),
            await answer(den, "model", model="large-one"),
        ]
        to_manager = await offered(den, den.ada, "model", "model", "")
        to_owner = await offered(den, owner, "model", "model", "")
        done = [await answer(den, "model", model="fine-one"), await answer(den, "model", who=owner, model="large-one")]
        await den.mention("hello")
        await den.server.until_replied(den.room)
        await den.mention("hello", room=garden)
        await den.server.until_replied(garden)
        kept = file.read_text(encoding="utf-8")
        ended = await answer(den, "model", model="default")
        await den.mention("again")
        await den.server.until_replied(den.room, 2)

    assert shown.startswith("small-one answers here, the familiar's own.")
    assert refused[0] == MAY_NOT_CONTROL.format(section="discord")
    assert "You may choose fine-one" in refused[1]
    assert (to_manager, to_owner) == (["default", "fine-one"], ["default", "fine-one", "small-one", "large-one"])
    assert done == [f"{name} answers here from the next reply on." for name in ("fine-one", "large-one")]
    assert 'model = "large-one"' in kept
    assert ended == "small-one, the familiar's own model, answers here from the next reply on."
    assert [each.payload["model"] for each in server.requests] == ["large-one", "small-one", "small-one"]


async def test_without_a_server_of_models_it_is_said(tmp_path: Path) -> None:
    """The model inside the program has no others beside it; nothing is written."""
    async with familiar_on_discord(tmp_path) as den:
        told = await answer(den, "model", who=den.server.world.owner, model="large-one")

        assert "`familiar connect`" in told
        assert "model =" not in (den.familiar.root / "channels" / f"{den.room.id}.toml").read_text(encoding="utf-8")


def bring_preset(den: FamiliarOnDiscord, name: str) -> None:
    prompts = [{"identifier": "main", "name": "Main", "content": f"Speak as {name} does.", "role": "system"}]
    order = [{"character_id": 100001, "order": [{"identifier": "main", "enabled": True}]}]
    store = PresetStore(FamiliarFolder(den.familiar.root).presets)
    store.import_bytes(name, json.dumps({"prompts": prompts, "prompt_order": order}).encode())


async def test_a_preset_chosen_for_a_channel_is_in_its_next_prompt_and_not_in_others(tmp_path: Path) -> None:
    """By whoever may use the controls; the familiar's own is the owner's, and comes back with `default`."""
    async with familiar_on_discord(tmp_path, lambda messages: "Hello.", arrive=False) as den:
        garden = den.server.world.room(den.guild, "garden")
        den.subscribe(garden)
        await den.connect()
        bring_preset(den, "Alpha")
        bring_preset(den, "Beta")
        prompts = []

        async def ask(number: int, room: Any) -> None:
            await den.mention(f"question {number}", room=room)
            await den.server.until_replied(room, number)
            await den.wait_until_idle(room)
            prompts.append("\n".join(message.content for message in den.model.calls[-1]))

        choices = await offered(den, den.ada, "preset", "words", "here")
        refused = [
            await answer(den, "preset", may_manage=False, who=den.ben, words="here Alpha"),
            await answer(den, "preset", words="use Alpha"),
        ]
        done = await answer(den, "preset", words="here alpha")
        await ask(1, den.room)
        await ask(1, garden)
        shown = await answer(den, "preset", words="show")
        await answer(den, "preset", words="here none")
        await ask(2, den.room)
        back = await answer(den, "preset", words="here default")
        await ask(3, den.room)

        assert choices == ["here Alpha", "here Beta", "here none", "here default"]
        assert refused[0] == MAY_NOT_CONTROL.format(section="discord")
        assert "Only my operator" in refused[1]
        assert done == "Alpha is in force in this channel from the next reply on."
        assert "This channel's settings choose Alpha" in shown
        assert back == "This channel has the familiar's preset from the next reply on: Beta."
        told = [[name for name in ("Alpha", "Beta") if f"Speak as {name} does." in each] for each in prompts]
        assert told == [["Alpha"], ["Beta"], [], ["Beta"]]
