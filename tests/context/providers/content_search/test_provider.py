"""ContentSearchProvider: three tiers in order, each in its time."""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.scene import Member, Scene
from familiar_connect.config.types import ChannelMode, PlaceSettings
from familiar_connect.context.protocols import ContextProvider
from familiar_connect.context.providers.content_search import provider as provider_module
from familiar_connect.context.providers.content_search.provider import (
    SPARE_S,
    ContentSearchProvider,
    SearchScope,
    time_granted_s,
    time_usable_s,
)
from familiar_connect.context.types import NO_DEADLINE, Modality, PendingTurn
from familiar_connect.errors import ModelError
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, FixedPrivacy, PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from tests.fakes.retrieval import ADA, BO, CY, FixedRetriever, a_chunk, a_filtered_question, a_memory, a_question

PEOPLE = "content_search.people"
FOUND = "content_search.rag"
NO_SIDE_TASKS = Capabilities(side_tasks=False)


def a_provider(
    tmp_path: Path, *answers: Any, files: dict[str, str] | None = None, **changes: Any
) -> ContentSearchProvider:
    facts: dict[str, Any] = {
        "store": a_memory(tmp_path / "memory", files),
        "llm_client": ScriptedModel(answers),
        "retriever": FixedRetriever(a_chunk()),
    }
    return ContentSearchProvider(**facts | changes)


def test_it_is_a_provider_with_the_promised_defaults(tmp_path: Path) -> None:
    """Id, deadline, and every keyword with its default."""
    parameters = inspect.signature(ContentSearchProvider).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    provider = a_provider(tmp_path)

    assert isinstance(provider, ContextProvider)
    assert (provider.id, provider.deadline_s) == ("content_search", 15.0)
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters.values())
    assert defaults | {"store": None, "llm_client": None} == {
        "store": None,
        "llm_client": None,
        "history_store": None,
        "retriever": None,
        "index_build": None,
        "top_k": 8,
        "content_cap_tokens": None,
        "max_tokens_per_file": 800,
        "recent_author_limit": 5,
        "scope": None,
    }
    assert SearchScope() == SearchScope(
        recent_turns=20, window_step=0, exclude_folders=(), audiences=None, privacy=EVERYTHING_ALLOWED
    )


async def test_people_first_then_at_most_one_from_the_filter(tmp_path: Path) -> None:
    """The order of the result."""
    provider = a_provider(tmp_path, "ANSWER: At dusk.")
    request = a_filtered_question(
        "when was it lit?", pending_turns=(PendingTurn(BO, "so"), PendingTurn(ADA, "when was it lit?"))
    )

    found = await provider.contribute(request)

    assert [(c.source, c.text) for c in found] == [
        (PEOPLE, "Ada keeps bees."),
        (PEOPLE, "Bo paints boats."),
        (FOUND, "At dusk."),
    ]


async def test_the_retriever_is_asked_without_what_tier_1_has(tmp_path: Path) -> None:
    """By keyword, with the paths already loaded left out."""
    retriever = FixedRetriever()

    await a_provider(tmp_path, "ANSWER:", retriever=retriever, top_k=3).contribute(
        a_filtered_question("when was it lit?")
    )

    assert retriever.asked == [("when was it lit?", 3, {"people/discord-1.md"})]


async def test_the_retriever_is_asked_for_the_words_and_not_for_the_mark_that_calls_us(tmp_path: Path) -> None:
    """Who else is mentioned is asked for by name: a number means nothing, and hides what a short question means."""
    retriever = FixedRetriever()
    me = Author("discord", "900", "ember", "Kettle Bot")
    scene = Scene(me=me, members=(Member(author=BO),))
    question = replace(a_filtered_question(f"<@900> when did <@{BO.user_id}> light it?"), scene=scene)

    await a_provider(tmp_path, "ANSWER:", retriever=retriever, top_k=3).contribute(question)

    assert [words for words, _, _ in retriever.asked] == ["when did Bo light it?"]


async def test_the_filter_is_skipped_when_memory_holds_nothing_more(tmp_path: Path) -> None:
    """Tier 1, the alias index and the character's own files are in the prompt anyway."""
    files = {"people/discord-1.md": "Ada keeps bees.", "people/_aliases.json": "{}", "self/name.md": "Wren"}
    model = ScriptedModel()

    found = await a_provider(tmp_path, files=files, llm_client=model, retriever=None).contribute(a_filtered_question())

    assert ([c.source for c in found], model.calls) == ([PEOPLE], [])


@pytest.mark.parametrize("path", ["notes.md", "topics/bees.md", "people/discord-2.md", "lore/imported/x.md"])
async def test_a_filter_that_always_picks_is_called_once_when_memory_holds_more(path: str, tmp_path: Path) -> None:
    """Even if nothing was retrieved: it may search by itself."""
    files = {"people/discord-1.md": "Ada keeps bees.", path: "something"}
    model = ScriptedModel(["ANSWER:"])

    await a_provider(tmp_path, files=files, llm_client=model, retriever=None).contribute(a_filtered_question())

    assert len(model.calls) == 1


async def test_what_was_found_goes_in_as_it_is_and_no_model_is_asked(tmp_path: Path) -> None:
    """The default: a call less, and nothing of it lost."""
    model = ScriptedModel()

    found = await a_provider(tmp_path, llm_client=model).contribute(a_question("when was it lit?"))

    assert [c.source for c in found] == [PEOPLE, FOUND]
    assert "The lantern was lit at dusk." in found[-1].text
    assert model.calls == []


async def test_the_filter_picks_where_not_everything_fits(tmp_path: Path) -> None:
    """More than the layer holds: then a choice is better than a cut."""
    model = ScriptedModel(["ANSWER: At dusk."])
    retriever = FixedRetriever(*(a_chunk(f"Lantern {n}. " + "It shone. " * 150) for n in range(30)))
    provider = a_provider(tmp_path, llm_client=model, retriever=retriever, top_k=30)

    found = await provider.contribute(a_question("when was it lit?", budget_tokens=0))

    assert (found[-1].text, len(model.calls)) == ("At dusk.", 1)


async def test_the_filter_can_be_switched_off(tmp_path: Path) -> None:
    """Then what fits of the best goes in."""
    model = ScriptedModel()
    retriever = FixedRetriever(*(a_chunk(f"Lantern {n}. " + "It shone. " * 150) for n in range(30)))
    provider = a_provider(tmp_path, llm_client=model, retriever=retriever, top_k=30)

    found = await provider.contribute(a_question(settings=PlaceSettings(content_filter="never")))

    assert (found[-1].source, model.calls) == (FOUND, [])


@pytest.mark.parametrize("line", ["hi", "lol ok", "Good morning!", "haha true", "thanks!!", "how are you?", "hm"])
async def test_small_talk_recalls_nothing(line: str, tmp_path: Path) -> None:
    """Whatever a retriever finds near it."""
    found = await a_provider(tmp_path).contribute(a_question(line))

    assert [c.source for c in found] == [PEOPLE]


async def test_what_bears_on_the_message_is_recalled_once(tmp_path: Path) -> None:
    """Also what the notes on a person say: far above the question, a small model overlooks it. Never the message."""
    retriever = FixedRetriever(
        a_chunk("Ada keeps bees."),
        a_chunk("The hive stands in the yard."),
        a_chunk("the hive stands in the yard"),
        a_chunk("Where do the bees live?"),
    )

    found = await a_provider(tmp_path, retriever=retriever).contribute(a_question("Where do the bees live?"))

    recalled = "Ada keeps bees.", "The hive stands in the yard."
    assert found[-1].text == "\n\n".join(f"[topics/lantern.md: Lantern > Lighting]\n{text}" for text in recalled)


async def test_a_side_model_that_cannot_judge_is_not_asked(tmp_path: Path) -> None:
    """The best-ranked snippets go in directly."""
    model = ScriptedModel(capabilities=NO_SIDE_TASKS)

    found = await a_provider(tmp_path, llm_client=model).contribute(a_filtered_question())

    assert [c.source for c in found] == [PEOPLE, FOUND]
    assert "The lantern was lit at dusk." in found[-1].text
    assert model.calls == []


async def test_without_a_side_model_snippets_go_in_directly(tmp_path: Path) -> None:
    """None at all is as good as one that cannot judge."""
    found = await a_provider(tmp_path, llm_client=None).contribute(a_filtered_question())

    assert [c.source for c in found] == [PEOPLE, FOUND]


async def test_a_failing_filter_leaves_the_snippets(tmp_path: Path) -> None:
    """What was found is not lost with the model."""
    found = await a_provider(tmp_path, ModelError("offline")).contribute(a_filtered_question())

    assert [c.source for c in found] == [PEOPLE, FOUND]
    assert "The lantern was lit at dusk." in found[-1].text


async def test_on_a_very_tight_deadline_no_model_is_asked(tmp_path: Path) -> None:
    """There would be no time to answer."""
    model = ScriptedModel()

    found = await a_provider(tmp_path, llm_client=model).contribute(a_filtered_question(deadline_s=0.5))

    assert (model.calls, [c.source for c in found]) == ([], [PEOPLE, FOUND])


async def test_direct_snippets_are_at_most_top_k(tmp_path: Path) -> None:
    """Even from a retriever that gives more than it was asked for."""
    retriever = FixedRetriever(*(a_chunk(f"Fact {n}.") for n in range(20)))

    found = await a_provider(tmp_path, llm_client=None, retriever=retriever, top_k=3).contribute(a_filtered_question())

    assert found[-1].text.count("Fact") == 3


async def test_what_is_written_in_imitate_voice_has_the_floor_alone(tmp_path: Path) -> None:
    """Small and fast: no side model and no search."""
    model, retriever = ScriptedModel(), FixedRetriever(a_chunk())

    found = await a_provider(tmp_path, llm_client=model, retriever=retriever).contribute(
        a_filtered_question(mode=ChannelMode.imitate_voice)
    )

    assert ([c.source for c in found], model.calls, retriever.asked) == ([PEOPLE], [], [])


@pytest.mark.parametrize("mode", ChannelMode)
async def test_what_is_spoken_is_searched_for_without_a_model_that_picks(mode: ChannelMode, tmp_path: Path) -> None:
    """The same memory as in writing, in few words: no side model stands between a word and its answer."""
    model, retriever = (
        ScriptedModel(),
        FixedRetriever(*(a_chunk(f"The lantern number {n} was lit.") for n in range(40))),
    )
    provider = a_provider(tmp_path, llm_client=model, retriever=retriever)

    found = await provider.contribute(a_filtered_question(modality=Modality.voice, mode=mode))

    assert ([c.source for c in found], model.calls) == ([PEOPLE, FOUND], [])
    assert found[-1].estimated_tokens <= provider_module.MAX_SPOKEN_TOKENS


async def test_in_imitate_voice_files_are_cut_small(tmp_path: Path) -> None:
    """150 tokens each."""
    provider = a_provider(tmp_path, files={"people/discord-1.md": "word " * 2000})

    [found] = await provider.contribute(a_filtered_question(mode=ChannelMode.imitate_voice, budget_tokens=2000))

    assert 100 < found.estimated_tokens <= 150


async def test_for_a_small_model_the_speakers_file_fits_its_layer(tmp_path: Path) -> None:
    """Tier 1 shortens it, so that nothing else has to."""
    provider = a_provider(tmp_path, files={"people/discord-1.md": "word " * 2000}, llm_client=None)

    found = await provider.contribute(a_filtered_question(mode=ChannelMode.text_conversation_rp, budget_tokens=1500))

    assert sum(c.estimated_tokens for c in found) <= 210


async def test_recent_company_comes_from_the_channels_history(tmp_path: Path) -> None:
    """The newest few who spoke here, not elsewhere."""
    history = HistoryStore(tmp_path / "history.db")
    for who, channel in ((BO, 7), (CY, 8)):
        history.append_turn(familiar_id="wren", channel_id=channel, role="user", author=who, content="hi")

    found = await a_provider(tmp_path, "ANSWER:", history_store=history).contribute(a_filtered_question())
    history.close()

    assert [c.key for c in found] == ["discord-1", "discord-2"]


async def test_how_many_of_the_company_can_be_set(tmp_path: Path) -> None:
    """None is a number too."""
    history = HistoryStore(tmp_path / "history.db")
    for who in (BO, CY):
        history.append_turn(familiar_id="wren", channel_id=7, role="user", author=who, content="hi")
    keys = {}
    for limit in (0, 1):
        provider = a_provider(tmp_path / str(limit), "ANSWER:", history_store=history, recent_author_limit=limit)
        keys[limit] = [c.key for c in await provider.contribute(a_filtered_question())]
    history.close()

    assert keys == {0: ["discord-1"], 1: ["discord-1", "discord-3"]}


async def test_caps_reach_the_floor(tmp_path: Path) -> None:
    """Tokens for each file and for all of them."""
    request = a_filtered_question(pending_turns=(PendingTurn(BO, "x"),))
    provider = a_provider(
        tmp_path,
        "ANSWER:",
        files={"people/discord-1.md": "word " * 99, "people/discord-2.md": "hi " * 20},
        max_tokens_per_file=50,
        content_cap_tokens=50,
    )

    [found] = await provider.contribute(request)

    assert (found.key, found.estimated_tokens <= 50) == ("discord-1", True)


async def test_the_index_is_built_in_the_background_once(tmp_path: Path) -> None:
    """The first call starts it and does not wait."""
    started, go = [], asyncio.Event()

    async def build() -> None:
        started.append(1)
        await go.wait()

    provider = a_provider(tmp_path, "ANSWER:", "ANSWER:", index_build=build)

    await provider.contribute(a_filtered_question())
    await provider.contribute(a_filtered_question())
    go.set()
    await provider.aclose()

    assert started == [1]


async def test_a_failing_index_build_is_logged_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Search goes on without an index."""
    failed = asyncio.Event()

    async def build() -> None:
        failed.set()
        raise RuntimeError("no disk")

    found = await a_provider(tmp_path, "ANSWER: yes", index_build=build).contribute(a_filtered_question())
    await failed.wait()
    await asyncio.sleep(0)

    assert [c.source for c in found] == [PEOPLE, FOUND]
    assert [record.levelname for record in caplog.records] == ["ERROR"]


@pytest.mark.parametrize(("turn_s", "granted"), [(30.0, 15.0), (24.0, 14.4), (9.0, 5.4), (0.0, 15.0), (-1.0, 15.0)])
def test_the_time_is_the_smaller_of_its_own_and_assemblys(turn_s: float, granted: float) -> None:
    """Assembly has three fifths of a turn."""
    assert time_granted_s(a_filtered_question(deadline_s=turn_s), 15.0) == pytest.approx(granted)


@pytest.mark.slow
@given(st.floats(0.001, 1_000))
def test_the_later_tiers_are_over_before_the_granted_time_is_up(granted_s: float) -> None:
    """So that whoever gathers is never told the people files late because of them."""
    spare_s = granted_s - time_usable_s(granted_s)

    assert spare_s >= min(SPARE_S, granted_s / 10) * 0.999


async def test_cancelling_the_turn_cancels_what_it_started(tmp_path: Path) -> None:
    """And nothing is left running."""
    asked, cancelled = asyncio.Event(), asyncio.Event()

    class Slow:
        async def query(self, utterance: str, top_k: int, *, exclude_paths: set[str] | None = None) -> list[Any]:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return []

    turn = asyncio.create_task(a_provider(tmp_path, retriever=Slow()).contribute(a_filtered_question()))
    await asked.wait()
    turn.cancel()

    with pytest.raises(asyncio.CancelledError):
        await turn
    await asyncio.wait_for(cancelled.wait(), 100)


async def test_nothing_that_was_said_stands_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the message nor the notes, above DEBUG."""
    caplog.set_level(logging.INFO)

    await a_provider(tmp_path, ModelError("I heard: my secret")).contribute(a_filtered_question("my secret lantern"))

    assert caplog.records
    assert not any("secret" in str(vars(record)) or "bees" in str(vars(record)) for record in caplog.records)


def test_one_provider_serves_successive_loops(tmp_path: Path) -> None:
    """Built outside any loop, used from several."""
    provider = a_provider(tmp_path, "ANSWER: one", "ANSWER: two")

    texts = [asyncio.run(provider.contribute(a_filtered_question()))[-1].text for _ in range(2)]

    assert texts == ["one", "two"]


async def test_notes_on_those_who_want_none_shown_are_in_no_tier(tmp_path: Path) -> None:
    """G30, G33: not of the speaker, of whoever spoke before or is mentioned, nor by search or a side model's own."""
    history = HistoryStore(tmp_path / "history.db")
    history.append_turn(familiar_id="wren", channel_id=7, role="user", content="hi", author=CY)
    model = ScriptedModel(["ESCALATE: who; GREP: geese|boats|bees", "ANSWER: nothing new"])
    notes = [a_chunk(rel_path=f"people/discord-3{end}.md", text="Cy is afraid of geese.") for end in ("", ".archive")]
    provider = a_provider(
        tmp_path,
        history_store=history,
        llm_client=model,
        retriever=FixedRetriever(*notes),
        scope=SearchScope(privacy=FixedPrivacy({"discord:1": PrivacyLevel.PARTIAL, "discord:3": PrivacyLevel.FULL})),
    )
    given = await provider.contribute(
        a_filtered_question("What of Cy and Bo?", pending_turns=(PendingTurn(ADA, "x"), PendingTurn(BO, "y")))
    )
    history.close()
    asked = "".join(message.content for call in model.calls for message in call)

    assert [piece.key for piece in given if piece.source == PEOPLE] == ["discord-2"]
    assert "geese" not in "".join(piece.text for piece in given)
    assert "afraid of geese" not in asked
    assert "keeps bees" not in asked


async def test_without_a_deadline_every_tier_has_the_time_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a prompt is only looked at."""
    monkeypatch.setattr(provider_module, "FLOOR_DEADLINE_S", 0.0)
    monkeypatch.setattr(provider_module, "RETRIEVAL_DEADLINE_S", 0.0)
    provider = a_provider(tmp_path, llm_client=None)
    patient = await provider.contribute(a_filtered_question(deadline_s=NO_DEADLINE))
    await provider.aclose()

    assert [piece.source for piece in patient] == [PEOPLE, FOUND]
