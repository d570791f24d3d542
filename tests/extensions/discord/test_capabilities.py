"""What a model can do, as set or as its server says, takes effect on Discord: pictures, tools, roles, first words."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config import CharacterConfig
from familiar_connect.llm.embedded.client import EmbeddedModel
from familiar_connect.llm.embedded.server import EmbeddedServer
from familiar_connect.tools.types import SEND_STICKER
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.file_server import PNG
from tests.fakes.model_server import Answer, ModelServer, event, head, raw_answer, stream_answer
from tests.fakes.scripted_familiar import NO_TYPING_DELAY
from tests.fakes.served_model import sent_messages, sent_pictures, sent_text, served_model

SEEN = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


@asynccontextmanager
async def den_with(
    home: Path, slot: str = "", *, answers: tuple[Answer, ...] = (), about: Any = None, **more: Any
) -> AsyncIterator[tuple[FamiliarOnDiscord, ModelServer]]:
    """A familiar on Discord whose model is behind a server, with *slot* as the settings of its slot."""
    script = list(answers) or [stream_answer("Hm.")]
    async with ModelServer(script, about=about or {}) as server, familiar_on_discord(home, **more) as den:
        den.familiar.llm_clients["main_prose"] = served_model(home, server, slot)
        yield den, server


async def show_picture(den: FamiliarOnDiscord) -> None:
    """Ada posts a picture that the server serves, and asks about it."""
    picture = den.server.attachment("badger.png", PNG, "image/png")
    await den.server.post(den.room, den.ada, f"<@{den.server.world.bot.id}> what is in this?", attachments=[picture])
    await den.server.until_replied(den.room)


@pytest.mark.parametrize(
    ("settings", "about"),
    [
        ("vision = true", {}),
        ("", {"/api/show": {"capabilities": ["completion", "vision"]}}),
        ("", {"/v1/models": {"data": [{"id": "tester", "architecture": {"input_modalities": ["text", "image"]}}]}}),
        ("", {"/props": {"modalities": {"vision": True}}}),
    ],
    ids=["as set", "as Ollama says", "as a list says", "as llama.cpp says"],
)
async def test_a_picture_reaches_a_seeing_model_as_its_bytes(tmp_path: Path, settings: str, about: Any) -> None:
    """Fetched from where the platform serves it, and sent as data."""
    async with den_with(tmp_path, settings, about=about) as (den, server):
        await show_picture(den)

        assert sent_pictures(server) == [SEEN]


@pytest.mark.parametrize(
    ("settings", "about"),
    [("vision = false", {"/api/show": {"capabilities": ["vision"]}}), ("", {})],
    ids=["as set", "as nobody says otherwise"],
)
async def test_a_blind_model_is_told_that_it_cannot_see(tmp_path: Path, settings: str, about: Any) -> None:
    """What the owner set goes before what the server says; nothing is fetched."""
    async with den_with(tmp_path, settings, about=about) as (den, server):
        await show_picture(den)

        assert sent_pictures(server) == []
        assert "1 image (media_" in sent_text(server)
        assert "you cannot see it" in sent_text(server)
        assert den.server.facts_of("fetched") == []


def with_tools(config: CharacterConfig) -> CharacterConfig:
    return replace(config, tools=["remember", SEND_STICKER])


async def test_tools_are_offered_to_a_model_that_has_them_alone(tmp_path: Path) -> None:
    """Two models, one of which uses tools."""
    offered = []
    for has_tools in ("true", "false"):
        home = tmp_path / has_tools
        async with den_with(home, f"tools = {has_tools}", settings=with_tools) as (den, server):
            await den.mention("hello")
            await den.server.until_replied(den.room)
            offered.append([each["function"]["name"] for each in server.requests[-1].payload.get("tools", [])])

    assert "remember" in offered[0]
    assert offered[1] == []


async def test_strict_roles_alternate_after_one_system_message(tmp_path: Path) -> None:
    """Two people in a row, a note by depth and the exchange itself: user and assistant take turns."""
    async with den_with(tmp_path, "strict_roles = true") as (den, server):
        note = f'author_note = "Rain."\nauthor_note_depth = 1\n{NO_TYPING_DELAY}'
        (den.familiar.root / "channels" / f"{den.room.id}.toml").write_text(note, encoding="utf-8")
        for number in range(3):
            await den.server.post(den.room, den.ben, f"chatter {number}")
            await den.wait_stored(f"chatter {number}")
            await den.mention(f"question {number}")
            await den.server.until_replied(den.room, number + 1)
            await den.wait_until_idle()
        roles = [message["role"] for message in sent_messages(server)]

        assert roles[:2] == ["system", "user"]
        assert "system" not in roles[1:]
        assert all(one != other for one, other in pairwise(roles))
        assert roles[-1] == "user"
        assert "Rain." in sent_text(server)


def give_first_words(den: FamiliarOnDiscord, words: str) -> None:
    """A preset of the channel begins every reply."""
    preset = {"prompts": [], "prompt_order": [], "assistant_prefill": words}
    folder = den.familiar.root / "presets"
    folder.mkdir(exist_ok=True)
    (folder / "begun.json").write_text(json.dumps(preset), encoding="utf-8")
    file = den.familiar.root / "channels" / f"{den.room.id}.toml"
    file.write_text(f'preset = "begun"\n{NO_TYPING_DELAY}', encoding="utf-8")


@pytest.mark.parametrize(("prefill", "last"), [("true", "assistant"), ("false", "user")])
async def test_first_words_are_given_only_to_a_model_that_goes_on_with_them(
    tmp_path: Path, prefill: str, last: str
) -> None:
    """As `prefill` of its slot says."""
    async with den_with(tmp_path, f"prefill = {prefill}") as (den, server):
        give_first_words(den, "Well, well,")
        await den.mention("hello")
        await den.server.until_replied(den.room)

        assert sent_messages(server)[-1]["role"] == last
        assert ("Well, well," in str(sent_messages(server)[-1]["content"])) == (prefill == "true")
        assert "prefix" not in sent_messages(server)[-1]


@pytest.mark.parametrize("strict", ["true", "false"])
async def test_f31_first_words_are_marked_as_a_prefix_where_the_server_wants_that(tmp_path: Path, strict: str) -> None:
    """F31: by `prefix_completion`, whatever the roles; no other message is marked."""
    settings = f"prefix_completion = true\nstrict_roles = {strict}"
    async with den_with(tmp_path, settings) as (den, server):
        give_first_words(den, "Well, well,")
        await den.mention("hello")
        await den.server.until_replied(den.room)
        sent = sent_messages(server)

        assert (sent[-1]["role"], sent[-1]["prefix"]) == ("assistant", True)
        assert not any("prefix" in message for message in sent[:-1])


async def test_f23_an_empty_reply_that_ran_out_of_room_is_asked_for_with_less_before_it(tmp_path: Path) -> None:
    """F23: the two oldest exchanges are left out of the second question, and nobody sees the first."""
    out_of_room = raw_answer(head(), event(""), event(finish="length"), b"data: [DONE]\n\n")
    answers = (*(stream_answer(f"answer {number}") for number in range(4)), out_of_room, stream_answer("Here."))
    async with den_with(tmp_path, answers=answers) as (den, server):
        for number in range(4):
            await den.mention(f"question {number}")
            await den.server.until_replied(den.room, number + 1)
            await den.wait_until_idle()
        await den.mention("and now?")
        replies = await den.server.until_replied(den.room, 5)

        assert replies[-1] == "Here."
        assert "question 0" in sent_text(server, 4)
        assert "question 1" not in sent_text(server, 5)
        assert "question 2" in sent_text(server, 5)


async def test_a_channels_model_counts_without_a_restart(tmp_path: Path) -> None:
    """As its file says now, and the familiar's own once the line is gone; other channels keep theirs."""
    async with den_with(tmp_path, "vision = true") as (den, server):
        file = den.familiar.root / "channels" / f"{den.room.id}.toml"
        other = den.server.world.room(den.guild, "other")
        await den.server.gateway.dispatch("CHANNEL_CREATE", other.payload())
        den.subscribe(other)
        for number, line in enumerate(("", 'model = "larger"\n', "")):
            file.write_text(f"{line}{NO_TYPING_DELAY}", encoding="utf-8")
            await den.mention(f"question {number}")
            await den.server.until_replied(den.room, number + 1)
            await den.wait_until_idle()
            if line:
                await den.mention("and here?", room=other)
                await den.server.until_replied(other)
                await den.wait_until_idle(other)

        assert [call.payload["model"] for call in server.requests] == ["tester", "larger", "tester", "tester"]


@pytest.mark.slow
async def test_a_channels_model_without_a_server_is_told_to_the_owner(tmp_path: Path) -> None:
    """A model that runs inside the program has no others beside it: one sentence says what to set."""
    async with familiar_on_discord(tmp_path) as den:
        den.familiar.llm_clients["main_prose"] = EmbeddedModel(EmbeddedServer(cache_dir=tmp_path))
        file = den.familiar.root / "channels" / f"{den.room.id}.toml"
        file.write_text(f'model = "larger"\n{NO_TYPING_DELAY}', encoding="utf-8")
        await den.mention("hello")
        told = await den.server.until_replied(den.server.world.direct_room(den.server.world.owner))

        assert "'larger'" in told[0]
        assert "[llm.main_prose]" in told[0]
