"""What retrievers promise: the right piece of memory, in order, explained, and never an error."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from familiar_connect.audience import Audience, whole_server
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.index import retriever as retriever_module
from familiar_connect.memory.index.embeddings import EmbeddingIndex
from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.protocols import EmbeddingModel, RecallScope, Retriever
from familiar_connect.memory.index.retriever import EmbeddingRetriever, MemoryRetriever
from familiar_connect.memory.index.turns import TurnIndex
from familiar_connect.memory.store import MemoryStore
from familiar_connect.support.clock import ManualClock
from tests.fakes.embedding import BrokenEmbedder, CountingEmbedder

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
ADA = Author("discord", "1", "ada_l", "Ada")
BO = Author("discord", "2", "bo", "Bo")
SESSION = "# An evening\n\n" + "\n".join(
    [f"- They spoke about the weather, part {n}, and about nothing much." for n in range(30)]
    + ["- Someone asked where the spare key was.", "- It hangs behind the blue teapot.", "- Then they went to bed."]
    + [f"- More small talk, part {n}, with tea and biscuits for everyone present." for n in range(30)]
)


class Home:
    """A familiar's memory with a retriever over it."""

    def __init__(self, root: Path, model: EmbeddingModel | None = None) -> None:
        self.model = model or CountingEmbedder()
        self.history = HistoryStore(root / "history.db")
        self.store = MemoryStore(root / "memory")
        folder = self.store.root / ".index"
        self.files = EmbeddingIndex(folder / "embeddings.sqlite", dim=512, model_name="counting")
        self.turns = TurnIndex(
            folder / "turns.sqlite", history=self.history, familiar_id="wren", dim=512, model_name="counting"
        )
        self.retriever = MemoryRetriever(model=self.model, files=self.files, turns=self.turns, clock=ManualClock(NOW))

    def say(self, text: str, who: Author = ADA, *, days_ago: float = 0, channel: int = 1) -> int:
        when = NOW - timedelta(days=days_ago)
        return self.history.append_turn(
            familiar_id="wren", channel_id=channel, role="user", content=text, author=who, timestamp=when
        ).id

    def learn(self) -> None:
        model = CountingEmbedder()
        self.files.build_if_stale(self.store, model)
        self.turns.sync(model)
        self.retriever.warm()

    async def recall(self, utterance: str, **scope: object) -> list[str]:
        hits = await self.retriever.recall(utterance, scope=RecallScope(**scope))  # type: ignore[arg-type]
        return [hit.text for hit in hits]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_both_are_retrievers(home: Home) -> None:
    """By the protocol that the providers know."""
    assert isinstance(home.retriever, Retriever)
    assert isinstance(EmbeddingRetriever(index=home.files, model=home.model), Retriever)


async def test_chunks_are_found_by_meaning_without_the_excluded(home: Home) -> None:
    """At most so many, best first, and more are fetched where some are left out."""
    for number in range(12):
        home.store.write_file(f"topics/{number}.md", f"bees bees bees number {number}")
    retriever = EmbeddingRetriever(index=home.files, model=home.model)
    assert await retriever.query("bees", 3) == []
    home.learn()

    excluded = {f"topics/{number}.md" for number in range(11)}
    found = await retriever.query("bees", 3, exclude_paths=excluded)

    assert [hit.rel_path for hit in found] == ["topics/11.md"]
    assert await retriever.query("  ", 3) == await retriever.query("bees", 0) == []
    scores = [hit.score for hit in await retriever.query("bees number 4", 5)]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)


async def test_embedding_a_question_leaves_the_loop_free(home: Home) -> None:
    """Other work goes on while the model thinks."""
    entered, leave = threading.Event(), threading.Event()

    class Slow(CountingEmbedder):
        def embed(self, texts: list[str]) -> NDArray[np.float32]:
            entered.set()
            assert leave.wait(200)
            return super().embed(texts)

    asking = asyncio.create_task(EmbeddingRetriever(index=home.files, model=Slow()).query("bees", 3))
    await asyncio.to_thread(entered.wait, 30)
    leave.set()

    assert await asking == []


async def test_nothing_is_recalled_before_everything_is_loaded(home: Home) -> None:
    """A reply never waits for weights."""
    home.say("I keep bees")

    assert await home.recall("bees") == []
    home.learn()
    assert await home.recall("bees") == ["I keep bees"]
    assert await home.recall(" ") == []


async def test_one_sentence_in_a_long_file_is_found_and_shown_with_its_neighbours(home: Home) -> None:
    """Not the page around it."""
    home.store.write_file("sessions/2026-05-01-evening.md", SESSION)
    home.learn()

    [best, *_] = await home.retriever.recall("where is the spare key hanging?", limit=5)

    assert best.text in ("- It hangs behind the blue teapot.", "- Someone asked where the spare key was.")
    shown = [n.text for n in best.before] + [best.text] + [n.text for n in best.after]
    assert "- It hangs behind the blue teapot." in shown
    [chunk, *_] = await home.retriever.query("where is the spare key hanging?", 3)
    assert chunk.rel_path == "sessions/2026-05-01-evening.md"
    assert "teapot" in chunk.text


async def test_files_and_turns_come_in_one_list_and_each_can_be_left_out(home: Home) -> None:
    """Whatever was said or written."""
    home.store.write_file("topics/bees.md", "# Bees\n\nBees need water in summer.")
    home.say("My bees swarmed")
    home.learn()

    assert len(await home.recall("bees")) == 2
    assert await home.recall("bees", turns=False) == ["# Bees\n\nBees need water in summer."]
    assert await home.recall("bees", files=False) == ["My bees swarmed"]
    assert await home.recall("bees", exclude_paths=frozenset({"topics/bees.md"})) == ["My bees swarmed"]


async def test_a_named_persons_words_come_first(home: Home) -> None:
    """The name is whose words are wanted, not a word to look for."""
    home.say("I went to the harbour and painted", BO, days_ago=2)
    home.say("I went to the harbour and swam", ADA, days_ago=1)
    home.learn()

    assert (await home.recall("what did Bo do at the harbour"))[0] == "I went to the harbour and painted"
    assert (await home.recall("what did ada do at the harbour"))[0] == "I went to the harbour and swam"


async def test_of_two_people_the_one_named_first_is_asked_for(home: Home) -> None:
    """ "What did Bo give to Ada" asks for what Bo did; to call the familiar first changes nothing."""
    home.say("I gave a kite, and it flew away", BO, days_ago=2)
    home.say("I gave a drum, and it was loud", ADA, days_ago=2)
    home.learn()

    assert (await home.recall("what gave Bo to Ada"))[0] == "I gave a kite, and it flew away"
    assert (await home.recall("what gave Ada to Bo"))[0] == "I gave a drum, and it was loud"
    called = {"names": frozenset({"wren"}), "answerer": frozenset({"wren"})}
    assert (await home.recall("Wren, what gave Bo to Ada", **called))[0] == "I gave a kite, and it flew away"


async def test_who_asks_is_meant_as_much_as_who_is_named_first(home: Home) -> None:
    """ "What did I give Bo" may be told by either."""
    home.say("a kite", BO, days_ago=2)
    home.say("a drum", ADA, days_ago=2)
    home.learn()

    hits = await home.retriever.recall("what did I give Bo", scope=RecallScope(asker=frozenset({"ada"})))

    assert len({hit.explained.signals["who"] for hit in hits}) == 1
    assert len(hits) == 2


async def test_somebody_named_first_who_never_spoke_takes_nothing_from_the_other(home: Home) -> None:
    """Grandma is known and silent: then it is Bo who tells."""
    home.say("a kite", BO, days_ago=2)
    home.learn()

    alone, beside = [
        (await home.retriever.recall(asked, scope=RecallScope(names=frozenset({"grandma"}))))[0].explained.signals[
            "who"
        ]
        for asked in ("what did Bo get", "what did Grandma give Bo")
    ]

    assert alone == beside


async def test_who_says_my_means_themselves(home: Home) -> None:
    """And to call the familiar by its name is not to ask for what it said."""
    home.say("my cat is called Biscuit", ADA, days_ago=3)
    home.say("my cat is called Pepper", BO, days_ago=2)
    home.learn()

    asked = "Wren, what is my cat called?"
    assert (await home.recall(asked, asker=frozenset({"ada"})))[0] == "my cat is called Biscuit"
    assert (await home.recall(asked, asker=frozenset({"bo"})))[0] == "my cat is called Pepper"
    hits = await home.retriever.recall("Bo, what is it called?", scope=RecallScope(answerer=frozenset({"bo"})))
    assert all("who" not in hit.explained.signals for hit in hits)


async def test_the_time_asked_for_decides_between_likes(home: Home) -> None:
    """Seen from the clock the retriever was given."""
    home.say("We had soup for dinner", days_ago=1)
    home.say("We had stew for dinner", days_ago=30)
    home.learn()

    assert (await home.recall("what was for dinner yesterday"))[0] == "We had soup for dinner"
    assert (await home.recall("what was for dinner in October"))[0] == "We had stew for dinner"


async def test_a_day_is_found_by_what_was_told_of_it_later(home: Home) -> None:
    """Whoever says "yesterday" tells of the day before, in a talk of another day."""
    home.say("We had stew for dinner today", days_ago=9)
    home.say("We had soup for dinner", days_ago=8)
    home.say("We had pie for dinner yesterday", days_ago=8, who=BO)
    home.learn()

    hits = await home.retriever.recall("what was for dinner on 9 November 2026?")
    told = {hit.text: hit.explained.signals.get("tells of then", 0.0) for hit in hits}

    assert told == {
        "We had stew for dinner today": pytest.approx(2.0),
        "We had soup for dinner": 0.0,
        "We had pie for dinner yesterday": pytest.approx(2.0),
    }


async def test_where_a_place_is_asked_for_what_names_one_gains(home: Home) -> None:
    """And nothing gains by it where something else is asked for."""
    home.say("we had dinner after the concert in Lisbon")
    home.say("we had dinner after the concert in peace", BO)
    home.learn()

    for question, gain in (("where was the dinner after the concert?", 1.6), ("how was dinner after the concert?", 0)):
        hits = await home.retriever.recall(question)
        told = {hit.text[-6:]: hit.explained.signals.get("tells a place", 0.0) for hit in hits}
        assert told == {"Lisbon": pytest.approx(gain), " peace": 0.0}


async def test_every_hit_says_why(home: Home) -> None:
    """The shares of its signals add up to its score."""
    home.say("I keep bees")
    home.learn()

    [hit] = await home.retriever.recall("what does Ada keep?")

    assert hit.score == pytest.approx(sum(hit.explained.signals.values()))
    assert {"words", "meaning", "who"} <= hit.explained.signals.keys()


@pytest.mark.parametrize(
    ("question", "embedded"),
    [
        ("which zither hangs in the cellar?", ["zither"]),
        ("which zither hangs in the cellar behind the copper kettle?", []),
    ],
)
async def test_words_nobody_said_are_embedded_where_few_others_were_said(
    tmp_path: Path, question: str, embedded: list[str]
) -> None:
    """Four that were said are enough to find it by."""
    model = CountingEmbedder()
    home = Home(tmp_path, model)
    home.say("The lute hangs in the cellar, behind the old copper kettle")
    home.learn()
    model.batches.clear()
    await home.recall(question)
    assert model.texts == [*embedded, question]


async def test_without_an_embedder_words_remain(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With one line in the log."""
    home = Home(tmp_path, BrokenEmbedder())
    home.say("I keep bees")
    home.learn()

    assert await home.recall("bees") == ["I keep bees"]
    assert [record.message for record in caplog.records] == ["memory is searched by words alone"]


@pytest.mark.parametrize("broken", ["embeddings.sqlite", "turns.sqlite"])
async def test_a_broken_index_costs_its_own_part_only(home: Home, broken: str) -> None:
    """Never an error for a reply."""
    home.store.write_file("topics/bees.md", "Bees need water in summer.")
    home.say("My bees swarmed")
    home.learn()
    path = home.store.root / ".index" / broken
    home.files.close()
    home.turns.close()
    path.write_bytes(b"\x13" * 5000)
    fresh = Home(home.store.root.parent)
    fresh.retriever.warm()

    found = await fresh.recall("bees")

    assert found == (["My bees swarmed"] if broken == "embeddings.sqlite" else ["Bees need water in summer."])


@pytest.mark.parametrize(
    "utterance", ["x" * 50_000, "(a+)+$", '" OR 1=1 --', "\ud800", "\0\0", "🐝", "***", "AND OR NOT"]
)
async def test_no_utterance_is_too_odd(home: Home, utterance: str) -> None:
    """Whatever is asked is answered, if with nothing."""
    home.say("My bees swarmed")
    home.learn()

    assert isinstance(await home.retriever.query(utterance, 3), list)


async def test_what_was_said_long_ago_elsewhere_by_another_comes_back(tmp_path: Path) -> None:
    """Four hundred turns and three restarts later, in another channel."""
    home = Home(tmp_path)
    home.say("The spare key hangs behind the blue teapot", BO, days_ago=200, channel=9)
    home.learn()
    for restart in range(3):
        home.files.close()
        home.turns.close()
        home.history.close()
        home = Home(tmp_path)
        with home.history.database.transaction():
            for number in range(140):
                home.say(f"small talk {number} about tea and the weather", days_ago=100 - 30 * restart - number / 1440)
        home.learn()

    found = await home.recall("where did Bo say the spare key is?", channel_id=1)

    assert found[0] == "The spare key hangs behind the blue teapot"


async def test_what_may_not_be_told_crowds_nothing_out(tmp_path: Path) -> None:
    """However many turns of another place match better."""
    history, model = HistoryStore(tmp_path / "history.db"), HashingModel()
    other, here = whole_server("discord", 6), whole_server("discord", 5)
    for number in range(2_500):
        history.append_turn(
            familiar_id="wren",
            channel_id=6,
            role="user",
            content=f"the silver spoon lies there {number}",
            guild_id=6,
            audience=other,
        )
    history.append_turn(familiar_id="wren", channel_id=5, role="user", content="a spoon", guild_id=5, audience=here)
    turns = TurnIndex(tmp_path / "t.sqlite", history=history, familiar_id="wren", dim=model.dim, model_name="hashing")
    turns.sync(None)
    retriever = MemoryRetriever(model=model, turns=turns)
    retriever.warm()
    scope = RecallScope(audience_of_turn=lambda turn: turn.audience if turn.audience == here else None)

    found = await retriever.recall("where is the silver spoon", scope=scope)
    turns.close()
    history.close()

    assert [hit.text for hit in found] == ["a spoon"]


async def test_what_turns_out_not_to_be_told_makes_room_for_others(home: Home) -> None:
    """Files are asked whether they may be told as they are needed; as many come as were asked for."""
    for number in range(90):
        text = f"# Spoons\n\nbox{number} keeps the silver spoon of shelf{number}{' too' * number}\n"
        home.store.write_file(f"topics/t{number:02}.md", text)
    home.learn()
    everything = await home.retriever.recall("where is the silver spoon", limit=40)
    hidden = {hit.rel_path for hit in everything[30::3]}
    asked: list[str] = []

    def audiences(rel_path: str, _text: str) -> frozenset[Audience] | None:
        asked.append(rel_path)
        return None if rel_path in hidden else frozenset()

    scope = RecallScope(audiences_of_passage=audiences)
    found = await home.retriever.recall("where is the silver spoon", limit=40, scope=scope)

    assert len(everything) == len(found) == 40
    assert hidden.isdisjoint(hit.rel_path for hit in found)
    assert [hit.key for hit in found[:30]] == [hit.key for hit in everything[:30]]
    assert len(set(asked)) < 60


async def test_in_a_hidden_room_its_own_talk_is_found_behind_any_amount_of_others(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many more fitting turns and files of other rooms there are, which may not be told in it."""
    monkeypatch.setattr(retriever_module, "MAX_CANDIDATES", 4)
    monkeypatch.setattr(retriever_module, "NEAR_BY_MEANING", 4)
    for number in range(120):
        home.say(f"the silver spoon is where the silver spoon was, take {number}", channel=7)
        home.store.write_file(f"topics/t{number:03}.md", f"# Spoons\n\nwhere is the silver spoon, {number}\n")
    own = home.say("somebody put a spoon behind the clock", channel=9)
    home.store.write_file("topics/ours.md", "# Ours\n\none spoon was lent to Bo\n")
    home.learn()
    scope = RecallScope(
        audience_of_turn=lambda turn: turn.audience if turn.channel_id == 9 else None,
        audiences_of_passage=lambda path, _text: frozenset() if path == "topics/ours.md" else None,
        may_tell_of_file=lambda path: path == "topics/ours.md",
    )

    found = await home.retriever.recall("where is the silver spoon", limit=4, scope=scope)

    assert {hit.turn_id for hit in found if hit.source == "turn"} == {own}
    assert {hit.rel_path for hit in found if hit.source == "file"} == {"topics/ours.md"}


async def test_passages_of_a_file_of_which_nothing_is_told_are_not_even_read(home: Home) -> None:
    """In a hidden room that is nearly every file; one of which a part is told is asked passage by passage."""
    for number in range(60):
        home.store.write_file(f"topics/t{number:02}.md", f"# Spoons\n\nbox{number} keeps the silver spoon\n")
    home.learn()
    asked: set[str] = set()

    def audiences(rel_path: str, _text: str) -> frozenset[Audience] | None:
        asked.add(rel_path)
        return frozenset() if rel_path == "topics/t07.md" else None

    told = {"topics/t07.md", "topics/t08.md"}
    scope = RecallScope(audiences_of_passage=audiences, may_tell_of_file=told.__contains__)
    found = await home.retriever.recall("where is the silver spoon", limit=40, scope=scope)

    assert {hit.rel_path for hit in found} == {"topics/t07.md"}
    assert asked == told


def _write_honey_talk(home: Home, lines: list[str]) -> None:
    """A day's file under a heading that is all about honey, and thirty later turns that name it."""
    smalltalk = [f"- **Bo:** the weather again, part {n}, and nothing much besides it for anyone" for n in range(6)]
    text = "\n".join(["# honey honey honey", "", *lines, *smalltalk])
    home.store.write_file("sessions/2026-11-10-evening.md", text + "\n")
    for number in range(30):
        home.say(f"honey and {number} other things to carry home from the shop before it closes", days_ago=2)


async def test_a_file_repeats_nothing_that_was_said_however_low_that_is_ranked(home: Home) -> None:
    """What stands in a day's file word for word counts as said, though the turn is far from the question."""
    said = "lovely evening, thank you all, see you on the bridge tomorrow"
    long = "Then we walked home. " + " ".join(f"Past house {n} with its green door and lamp." for n in range(20))
    home.say(said, days_ago=8)
    home.say(long, BO, days_ago=8)
    _write_honey_talk(home, [f"- **Ada:** {said}", f"- **Bo:** {long}", "- They parted late, full of cake."])
    home.learn()

    found = await home.retriever.recall("honey", limit=14)

    passages = [hit.text for hit in found if hit.source == "file"]
    assert "- They parted late, full of cake." in passages
    assert not [text for text in passages if "lovely evening" in text or "green door" in text]


async def test_a_file_tells_what_was_said_to_others_where_it_may(home: Home) -> None:
    """A turn that may not be told takes no passage away that may be."""
    said = "lovely evening, thank you all, see you on the bridge tomorrow"
    secret = home.say(said, days_ago=8, channel=7)
    _write_honey_talk(home, [f"- **Ada:** {said}"])
    home.learn()
    scope = RecallScope(
        audience_of_turn=lambda turn: None if turn.channel_id == 7 else turn.audience,
        audiences_of_passage=lambda path, text: frozenset(),
    )

    found = await home.retriever.recall("honey", limit=40, scope=scope)

    assert secret not in {hit.turn_id for hit in found}
    assert f"- **Ada:** {said}" in [hit.text for hit in found]
