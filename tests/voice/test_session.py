"""One voice channel: whose words are whose, when there is an answer, and what being talked over leads to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from shutil import copytree

from familiar_connect.audience import AudienceKind
from familiar_connect.config import CharacterConfig
from familiar_connect.config.llm import EMBEDDED_MODEL
from familiar_connect.identity import Author, PrivacyLevel
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.testing.voice_doubles import MS_PER_LETTER
from familiar_connect.voice.audio_feed import BROKEN, MAX_WAITING, PIECE_BYTES
from familiar_connect.voice.end_of_turn import longest_reply_s
from familiar_connect.voice.hearing import Hearing
from familiar_connect.voice.interruption import ResponseState, uid_of
from familiar_connect.voice.session import VoiceChannel
from familiar_connect.voice.types import TranscriptionResult, TTSResult, VoiceActivityEvent
from familiar_connect.voice.vad import EnergyProbability
from tests.fakes.voice_room import (
    ANA,
    BEN,
    CERTAIN,
    CHANNEL_ID,
    LULL_S,
    NEVER,
    SlowModel,
    VoiceRoom,
    in_voice_room,
    short_limits,
)
from tests.voice.test_vad import silence, tone

ALONE = VoiceChannel(platform="terminal", channel_id=CHANNEL_ID, is_dm=True)
LONG_REPLY = "One two three four five six seven eight nine ten. Eleven twelve thirteen fourteen fifteen sixteen."


def test_what_several_people_say_in_one_go_is_answered_once(tmp_path: Path) -> None:
    """Each turn is its speaker's, and what one says in a row is one turn."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Good evening.")
        await room.say("What shall we cook?")
        await room.say("Something warm.", author=BEN)
        await room.rest()
        assert room.turns() == [
            ("Ana", "Good evening. What shall we cook?"),
            ("Ben", "Something warm."),
            ("assistant", "Soup, then."),
        ]
        assert len(room.model.calls) == 1

    in_voice_room(talk, tmp_path, "Soup, then.")


def test_nobody_is_answered_while_somebody_still_speaks(tmp_path: Path) -> None:
    """However long they go on."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("First.")
        await room.say("And then much more.", seconds=LULL_S * 4)
        assert room.model.calls == []
        await room.rest()
        assert len(room.model.calls) == 1
        assert room.turns()[0] == ("Ana", "First. And then much more.")

    in_voice_room(talk, tmp_path, "Yes.")


def test_whoever_never_stops_keeps_nobody_from_an_answer(tmp_path: Path) -> None:
    """After a minute what others said is answered."""

    async def talk(room: VoiceRoom) -> None:
        noise = asyncio.create_task(room.say("", seconds=500.0, author=BEN))
        await room.say("Can you hear me?")
        await asyncio.sleep(80.0)
        assert ("Ana", "Can you hear me?") in room.turns()
        assert len(room.model.calls) == 1
        noise.cancel()

    in_voice_room(talk, tmp_path, "I can.", roll=NEVER)


def test_whoever_pauses_for_breath_only_keeps_nobody_from_an_answer_either(tmp_path: Path) -> None:
    """Each new beginning holds the lull back; after a minute there is an answer all the same."""

    async def talk(room: VoiceRoom) -> None:
        async def go_on() -> None:
            for _ in range(100):
                await room.say("And then.", seconds=0.6, author=BEN)
                await asyncio.sleep(0.9)

        endless = asyncio.create_task(go_on())
        await room.say("Can you hear me?")
        await asyncio.sleep(70.0)
        assert len(room.model.calls) >= 1
        assert ("Ana", "Can you hear me?") in room.turns()
        endless.cancel()

    in_voice_room(talk, tmp_path, *["I can."] * 100, roll=NEVER)


def test_typed_text_joins_the_talk(tmp_path: Path) -> None:
    """With what is being said, or alone at once."""

    async def talk(room: VoiceRoom) -> None:
        room.session.type_text(BEN, "psst, hello")
        await room.session.wait_until_idle()
        assert room.turns() == [("Ben", "psst, hello"), ("assistant", "Hello Ben.")]
        speaking = asyncio.create_task(room.say("Look at this.", seconds=2.0))
        await asyncio.sleep(1.0)
        room.session.type_text(BEN, "https://example.org")
        await speaking
        await room.rest()
        assert room.turns()[2:] == [
            ("Ben", "https://example.org"),
            ("Ana", "Look at this."),
            ("assistant", "I see it."),
        ]

    in_voice_room(talk, tmp_path, "Hello Ben.", "I see it.")


def test_a_short_interruption_pauses_and_the_rest_is_said(tmp_path: Path) -> None:
    """Every word once; what they said is answered afterwards."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Count for me.")
        await room.wait_for(ResponseState.SPEAKING)
        await asyncio.sleep(1.0)
        await room.say("Wait a moment please.", seconds=2.0)
        await room.rest()
        assert room.turns() == [
            ("Ana", "Count for me."),
            ("assistant", LONG_REPLY),
            ("Ana", "Wait a moment please."),
            ("assistant", "Done."),
        ]
        assert [kind for _, kind, _ in room.events].count("yield") == 1

    in_voice_room(talk, tmp_path, LONG_REPLY, "Done.", roll=CERTAIN)


def test_after_a_long_interruption_only_what_was_heard_is_recorded(tmp_path: Path) -> None:
    """A new reply knows what of the last was heard, who spoke, and what they said."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Count for me.")
        await room.wait_for(ResponseState.SPEAKING)
        await room.say("Stop counting, tell me about soup instead.", seconds=6.0, author=BEN)
        await room.rest()
        (_, heard), (_, words), (_, answer) = room.turns()[1:]
        assert LONG_REPLY.startswith(heard)
        assert 0 < len(heard.split()) < 10
        assert (words, answer) == ("Stop counting, tell me about soup instead.", "Soup is warm.")
        asked = room.asked()
        assert "interrupted while speaking" in asked
        assert f"“{heard}”" in asked
        assert "Ben said: “Stop counting, tell me about soup instead.”" in asked

    in_voice_room(talk, tmp_path, LONG_REPLY, "Soup is warm.")


def pending(room: VoiceRoom) -> list[str]:
    """What is on disk of what was said, and is no turn yet."""
    return [row[0] for row in room.familiar.history_store.database.read("SELECT content FROM pending_speech")]


def test_words_said_over_a_reply_are_on_disk_before_it_ends(tmp_path: Path) -> None:
    """They become a turn behind it, and nothing is left over then."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Count for me.")
        await room.wait_for(ResponseState.SPEAKING)
        await room.say("Do not forget zero.", seconds=0.5, author=BEN)
        while not pending(room):  # noqa: ASYNC110  # nothing else tells
            await asyncio.sleep(0.1)
        assert room.session.state is ResponseState.SPEAKING
        assert pending(room) == ["Do not forget zero."]
        assert [text for _, text in room.turns()] == ["Count for me."]
        await room.rest()
        assert room.turns()[1:] == [("assistant", LONG_REPLY), ("Ben", "Do not forget zero."), ("assistant", "Zero.")]
        assert pending(room) == []

    in_voice_room(talk, tmp_path, LONG_REPLY, "Zero.")


def test_who_is_not_to_be_heard_leaves_no_words_on_disk(tmp_path: Path) -> None:
    """Neither before nor after they say so."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Count for me.")
        await room.wait_for(ResponseState.SPEAKING)
        await room.say("Nobody may know this.", seconds=0.3, author=BEN)
        while not pending(room):  # noqa: ASYNC110  # nothing else tells
            await asyncio.sleep(0.1)
        room.familiar.stores.privacy.set(BEN, PrivacyLevel.FULL)
        await room.say("Nor this.", seconds=0.3, author=BEN)
        await room.rest()
        assert pending(room) == []
        assert [who for who, _ in room.turns()] == ["Ana", "assistant"]

    in_voice_room(talk, tmp_path, LONG_REPLY)


def test_what_a_crash_left_is_in_the_history_at_the_next_start(tmp_path: Path) -> None:
    """As turns of those who said it; nothing is answered that was not asked anew."""

    async def crash(room: VoiceRoom) -> None:
        await room.say("Count for me.")
        await room.wait_for(ResponseState.SPEAKING)
        await room.say("Do not forget zero.", seconds=0.5, author=BEN)
        while not pending(room):  # noqa: ASYNC110  # nothing else tells
            await asyncio.sleep(0.1)
        copytree(tmp_path / "home", tmp_path / "after")

    async def look(room: VoiceRoom) -> None:
        await room.familiar.start()
        assert room.turns() == [("Ana", "Count for me."), ("Ben", "Do not forget zero.")]
        await room.say("Hello again.")
        await room.rest()
        assert "Do not forget zero." in room.asked()

    in_voice_room(crash, tmp_path / "home", LONG_REPLY, "Zero.")
    in_voice_room(look, tmp_path / "after", "Hello.")


def test_pushed_through_the_familiar_talks_on_and_knows_of_it(tmp_path: Path) -> None:
    """Nothing of the reply is lost; the next one has a note."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Count for me.")
        await room.wait_for(ResponseState.SPEAKING)
        await room.say("Can I say something now?", seconds=2.0, author=BEN)
        await room.rest()
        assert room.turns()[1:] == [
            ("assistant", LONG_REPLY),
            ("Ben", "Can I say something now?"),
            ("assistant", "Go ahead."),
        ]
        assert "While you were speaking, Ben said: “Can I say something now?”. You talked on." in room.asked()
        assert "yield" not in [kind for _, kind, _ in room.events]

    in_voice_room(talk, tmp_path, LONG_REPLY, "Go ahead.", roll=NEVER)


def test_a_long_interruption_while_thinking_begins_the_reply_anew(tmp_path: Path) -> None:
    """The first one leaves no row; the second answers everything and knows why."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("What is for dinner?")
        await room.wait_for(ResponseState.GENERATING)
        await room.say("I mean something without meat, and quick.", seconds=5.0)
        await room.rest()
        assert room.turns() == [
            ("Ana", "What is for dinner?"),
            ("Ana", "I mean something without meat, and quick."),
            ("assistant", "Lentil soup."),
        ]
        asked = room.asked()
        assert "interrupted while forming a reply" in asked
        assert "What is for dinner?" in asked

    in_voice_room(talk, tmp_path, model=SlowModel(["Lentil soup."], takes_s=20.0))


def test_a_short_one_while_thinking_waits_for_its_turn(tmp_path: Path) -> None:
    """The reply under way is spoken, then theirs."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("What is for dinner?")
        await room.wait_for(ResponseState.GENERATING)
        await room.say("No meat.", seconds=1.5)
        await room.rest()
        assert [text for _, text in room.turns()] == ["What is for dinner?", "Soup.", "No meat.", "Lentil soup."]

    in_voice_room(talk, tmp_path, model=SlowModel(["Soup.", "Lentil soup."], takes_s=20.0))


def test_a_back_channel_interrupts_nothing(tmp_path: Path) -> None:
    """It is kept as said and never answered, however long it is drawn out."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Count for me.")
        await room.wait_for(ResponseState.SPEAKING)
        await room.say("Mhm, yeah.", seconds=0.5)
        await room.say("Yeah, right, okay.", seconds=5.0, author=BEN)
        await room.rest()
        assert room.turns() == [
            ("Ana", "Count for me."),
            ("assistant", f"{LONG_REPLY} {LONG_REPLY}"),
            ("Ana", "Mhm, yeah."),
            ("Ben", "Yeah, right, okay."),
        ]

    in_voice_room(talk, tmp_path, f"{LONG_REPLY} {LONG_REPLY}")


def test_words_of_the_owners_interrupt_nothing_either(tmp_path: Path) -> None:
    """As `back_channels` has it: kept, and never answered."""

    def with_own_words(config: CharacterConfig) -> CharacterConfig:
        return replace(short_limits(config), back_channels=["innit"])

    async def talk(room: VoiceRoom) -> None:
        await room.say("Tell me.")
        await room.wait_for(ResponseState.SPEAKING)
        await room.say("Innit!", seconds=0.5, author=BEN)
        await room.rest()
        assert len(room.model.calls) == 1
        assert ("Ben", "Innit!") in room.turns()

    in_voice_room(talk, tmp_path, LONG_REPLY, settings=with_own_words)


def answered_after(room: VoiceRoom, said_until: float) -> float:
    """Seconds from the last sound to the reply's first."""
    return next(at for at, kind, _ in room.events if kind == "first audio") - said_until


def test_the_last_words_say_how_long_is_waited(tmp_path: Path) -> None:
    """A question is answered soon, a sentence that was broken off late; both count from the words on."""

    def with_pauses(config: CharacterConfig) -> CharacterConfig:
        return replace(short_limits(config), voice_lull_timeout=4.0, finished_pause_s=1.0, unfinished_pause_s=8.0)

    waited = {}
    for name, words in {"asked": "Is it cold?", "unclear": "soup", "broken": "I like the"}.items():

        async def talk(room: VoiceRoom, name: str = name, words: str = words) -> None:
            await room.say(words)
            ended = asyncio.get_running_loop().time()
            await asyncio.sleep(12.0)
            await room.session.wait_until_idle()
            waited[name] = answered_after(room, ended)

        in_voice_room(talk, tmp_path / name, "Yes.", settings=with_pauses, channel=ALONE)
    assert 2.0 <= waited["asked"] < 5.0 <= waited["unclear"] < 9.0 <= waited["broken"]


def test_whoever_still_speaks_is_waited_for_though_the_other_has_finished(tmp_path: Path) -> None:
    """Nor is anybody answered while words are on their way; a final without words says that none are."""

    def with_pauses(config: CharacterConfig) -> CharacterConfig:
        return replace(short_limits(config), voice_lull_timeout=4.0, finished_pause_s=0.1)

    async def talk(room: VoiceRoom) -> None:
        room.session.join(BEN)
        heard = room.ears.callbacks
        heard.on_activity(uid_of(BEN), VoiceActivityEvent.started)
        heard.on_transcript(uid_of(BEN), TranscriptionResult("It is cold.", True, 0, 1))
        await asyncio.sleep(1.0)
        heard.on_activity(uid_of(BEN), VoiceActivityEvent.ended)
        await asyncio.sleep(1.0)
        assert room.model.calls == []
        heard.on_transcript(uid_of(BEN), TranscriptionResult("", True, 1, 1))
        await asyncio.sleep(0.5)
        assert len(room.model.calls) == 1

    in_voice_room(talk, tmp_path, "Yes.", settings=with_pauses, channel=ALONE)


def test_a_reply_ends_with_the_sentence_that_is_long_enough(tmp_path: Path) -> None:
    """What is spoken is what is kept."""

    def with_limit(config: CharacterConfig) -> CharacterConfig:
        return replace(short_limits(config), longest_reply_s=1.0)

    async def talk(room: VoiceRoom) -> None:
        await room.say("Count!")
        await room.rest()
        assert room.turns()[-1] == ("assistant", "One two three four five six seven eight nine ten.")

    in_voice_room(talk, tmp_path, LONG_REPLY, settings=with_limit, channel=ALONE)


def test_only_the_small_model_that_comes_along_is_cut_unless_somebody_says_so() -> None:
    """Others are told to be brief."""
    config = CharacterConfig()
    other = {**config.llm, "main_prose": replace(config.llm["main_prose"], model="large")}
    small = {**config.llm, "main_prose": replace(config.llm["main_prose"], model=EMBEDDED_MODEL)}
    assert longest_reply_s(replace(config, llm=small)) == 20.0
    assert longest_reply_s(replace(config, llm=other)) is None
    assert longest_reply_s(replace(config, llm=other, longest_reply_s=30.0)) == 30.0


def test_yes_after_the_familiar_has_ended_is_an_answer(tmp_path: Path) -> None:
    """Only what is said from beginning to end during its speech is none."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Ask me.")
        await room.wait_for(ResponseState.SPEAKING)
        await room.wait_for(ResponseState.IDLE)
        await room.say("Yeah.", seconds=0.5)
        await room.rest()
        assert room.turns()[-2:] == [("Ana", "Yeah."), ("assistant", "Good.")]

    in_voice_room(talk, tmp_path, "Soup?", "Good.")


def test_audio_stops_at_the_moment_the_minimum_is_crossed(tmp_path: Path) -> None:
    """No word is counted that began later."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Count for me.")
        await room.wait_for(ResponseState.SPEAKING)
        began = asyncio.get_running_loop().time()
        first = next(at for at, kind, _ in room.events if kind == "first audio")
        await room.say("Stop, stop, stop it now, please do.", seconds=5.0)
        await room.rest()
        yielded = next(at for at, kind, _ in room.events if kind == "yield")
        assert 0 <= yielded - (began + 1.0) < 0.05
        heard = room.turns()[1][1]
        assert len(heard.rsplit(" ", 1)[0]) * MS_PER_LETTER / 1000 <= yielded - first

    in_voice_room(talk, tmp_path, LONG_REPLY, "Yes.")


def test_stopping_stores_what_was_said_and_begins_again_cleanly(tmp_path: Path) -> None:
    """Twice is as once; nothing more is answered, and a second start hears again."""

    async def talk(room: VoiceRoom) -> None:
        await room.say("Count for me.")
        await room.wait_for(ResponseState.SPEAKING)
        await room.say("Wait.", seconds=0.4)
        await room.session.stop()
        await room.session.stop()
        assert room.session.state is ResponseState.IDLE
        stored = room.turns()
        assert stored[0] == ("Ana", "Count for me.")
        assert ("Ana", "Wait.") in stored
        assert LONG_REPLY.startswith(dict(stored)["assistant"])
        await room.session.start()
        await room.session.start()
        await room.say("Hello again.")
        await room.rest()
        assert room.turns()[-2:] == [("Ana", "Hello again."), ("assistant", "Hello.")]

    in_voice_room(talk, tmp_path, LONG_REPLY, "Hello.")


def test_who_leaves_is_still_heard_with_their_last_words(tmp_path: Path) -> None:
    """And is in the room no more."""

    async def talk(room: VoiceRoom) -> None:
        room.session.join(BEN)
        leaving = asyncio.create_task(room.say("Goodbye then."))
        await asyncio.sleep(0.5)
        room.session.leave(ANA)
        await room.session.wait_until_idle()
        assert room.ears.fed > 0
        await leaving
        await room.rest()
        assert room.turns() == [("Ana", "Goodbye then."), ("assistant", "Bye, Ana.")]
        assert (await room.session.look_around()).participants == (BEN,)

    in_voice_room(talk, tmp_path, "Bye, Ana.")


def test_in_a_server_the_audience_is_all_who_can_be_in_the_channel(tmp_path: Path) -> None:
    """And who speaks is who spoke, by their platform's id."""
    ana = Author("discord", "111", "ana", "Ana")

    async def talk(room: VoiceRoom) -> None:
        await room.say("Ember, are you there?", author=ana)
        await room.rest()
        stored = room.familiar.history_store.recent(familiar_id=room.familiar.id, channel_id=9, limit=10)
        assert stored[0].author is not None
        assert stored[0].author.canonical_key == "discord:111"
        assert stored[0].audience.kind is AudienceKind.SERVER
        assert stored[1].content == "I am."

    in_voice_room(talk, tmp_path, "I am.", channel=VoiceChannel(platform="discord", channel_id=9, guild_id=5))


def test_no_side_model_stands_on_the_way_to_a_spoken_reply(tmp_path: Path) -> None:
    """Neither whether to speak nor what is asked of one; the mood is, once the reply is spoken."""
    ana = Author("discord", "111", "ana", "Ana")
    side = ScriptedModel(lambda _: "0.4")

    async def talk(room: VoiceRoom) -> None:
        await room.say("So, what shall we all do tonight?", author=ana)
        await room.wait_for(ResponseState.SPEAKING)
        assert side.calls == []
        await room.rest()
        assert [text for _, text in room.turns()] == ["So, what shall we all do tonight?", "Cook."]
        assert len(side.calls) == 1
        assert "How heated is it" in str(side.calls[0][-1].content)

    in_voice_room(
        talk,
        tmp_path,
        "Cook.",
        side_model=side,
        channel=VoiceChannel(platform="discord", channel_id=9, guild_id=5),
    )


def test_a_lively_mood_makes_it_talk_on(tmp_path: Path) -> None:
    """0.3 by nature and 0.5 by mood: a roll of 0.7 yields before the mood is known, and not after."""

    async def talk(room: VoiceRoom) -> None:
        for _ in range(2):
            await room.say("Count for me.")
            await room.wait_for(ResponseState.SPEAKING)
            await room.say("Wait a moment please.", seconds=2.0)
            await room.rest()
        assert [kind for _, kind, _ in room.events].count("yield") == 1

    in_voice_room(
        talk, tmp_path, LONG_REPLY, "Yes.", LONG_REPLY, "Yes.", roll=0.7, side_model=ScriptedModel(lambda _: "0.5")
    )


def test_a_weak_side_model_is_not_asked_how_the_room_feels(tmp_path: Path) -> None:
    """The mood is even."""
    side = ScriptedModel(lambda _: "0.5", capabilities=Capabilities(side_tasks=False))

    async def talk(room: VoiceRoom) -> None:
        await room.say("Hello.")
        await room.rest()
        assert side.calls == []

    in_voice_room(talk, tmp_path, "Hi.", side_model=side)


class BreakingEars:
    """Fails with the first sound of each second pair; else it hears nothing."""

    def __init__(self, made: list[BreakingEars]) -> None:
        self.pieces = 0
        self._breaks = not made
        made.append(self)

    def feed(self, uid: int, pcm: bytes, *, speaker: str | None = None) -> None:
        self.pieces += 1
        if self._breaks:
            raise ConnectionError("gone")

    async def finish(self) -> None: ...
    async def aclose(self) -> None: ...


def test_ears_that_break_are_made_anew_and_it_is_said(tmp_path: Path) -> None:
    """Not more than once a second; sound that comes in great pieces is looked at bit by bit."""
    made: list[BreakingEars] = []

    async def talk(room: VoiceRoom) -> None:
        await asyncio.sleep(2.0)
        for _ in range(5):
            room.session.feed(ANA, bytes(320))
        assert len(made) == 2
        assert room.shown == [BROKEN]
        room.session.feed(ANA, bytes(PIECE_BYTES * 50))
        assert made[-1].pieces == 4
        await room.session.wait_until_idle()
        assert made[-1].pieces == 54
        room.session.feed(ANA, bytes(PIECE_BYTES * (MAX_WAITING + 10)))
        assert "the oldest of it is lost" in room.shown[-1]

    in_voice_room(talk, tmp_path, ears=lambda _: BreakingEars(made))


def test_a_voice_that_says_nothing_loses_no_text(tmp_path: Path) -> None:
    """What cannot be spoken is shown, and kept; the talk goes on."""

    class Mute:
        sample_rate = 16_000

        async def synthesize(self, text: str) -> TTSResult:
            return TTSResult(b"")

    async def talk(room: VoiceRoom) -> None:
        await room.say("Hello?")
        await room.rest()
        await room.say("Still there?")
        await room.rest()
        assert [text for _, text in room.turns()] == ["Hello?", "Hello.", "Still there?", "I am."]
        assert room.shown == ["(could not be spoken) Hello.", "(could not be spoken) I am."]

    in_voice_room(talk, tmp_path, "Hello.", "I am.", voice=Mute())


def test_real_ears_hear_several_streams_and_survive_their_recogniser(tmp_path: Path) -> None:
    """It dies in the middle of a word, once; what others say is answered."""

    class Dying:
        calls = 0

        async def recognize(self, pcm: bytes) -> str:
            self.calls += 1
            if self.calls == 1:
                raise KeyError("a broken library")
            return "Can you hear me?"

    async def talk(room: VoiceRoom) -> None:
        sound = tone(0.6) + silence(1.0)
        for at in range(0, len(sound), PIECE_BYTES):
            for person in (ANA, BEN):
                room.session.feed(person, sound[at : at + PIECE_BYTES])
            await asyncio.sleep(0.1)
        await room.rest()
        assert [text for _, text in room.turns()] == ["Can you hear me?", "Yes."]
        assert "could not be made out" in room.shown[0]

    in_voice_room(talk, tmp_path, "Yes.", ears=lambda callbacks: Hearing(Dying(), EnergyProbability, callbacks))
