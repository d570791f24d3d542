"""The familiar in a voice channel through the real library: it comes, hears, speaks, comes back and leaves."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config import CharacterConfig
from familiar_connect.extensions.discord.demo.rights import CONNECT, SPEAK
from familiar_connect.extensions.discord.demo.voice.voice_server import GONE, VoiceServer
from familiar_connect.extensions.discord.demo.world import STAGE, VOICE, FakePerson, Room
from familiar_connect.extensions.discord.voice import sessions
from familiar_connect.extensions.hosts.call_host import CallVoice
from familiar_connect.subscriptions import SubscriptionKind
from familiar_connect.voice.audio import loudness, stereo_to_mono
from familiar_connect.voice.hearing import Hearing
from familiar_connect.voice.protocols import Ears, HearingCallbacks
from familiar_connect.voice.types import TTSResult
from familiar_connect.voice.vad import EnergyProbability
from tests.extensions.discord.test_commands import used, words
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.tones import make_tone
from tests.fakes.waiting import until

QUESTION = "Ember, what is for dinner?"


@dataclass
class Speech:
    """Hears the same sentence in every stretch of speech, and speaks in a tone."""

    sample_rate: int = 48_000
    heard: list[bytes] = field(default_factory=list)
    spoken: list[str] = field(default_factory=list)

    async def recognize(self, pcm: bytes) -> str:
        self.heard.append(pcm)
        return QUESTION

    async def synthesize(self, text: str) -> TTSResult:
        self.spoken.append(text)
        return TTSResult(audio=b"".join(stereo_to_mono(make_tone(at)) for at in range(10)))

    def make(self) -> CallVoice:
        return CallVoice(ears=self._ears, synthesizer=self)

    def _ears(self, callbacks: HearingCallbacks) -> Ears:
        return Hearing(self, EnergyProbability, callbacks)


@dataclass
class VoiceDen:
    """A familiar on a server with a voice channel that Ada is in."""

    den: FamiliarOnDiscord
    voice: VoiceServer
    lounge: Room
    speech: Speech

    async def call(self) -> str:
        """Ada asks the familiar to come; what it answers in the end."""
        return words((await used(self.den, "subscribe-my-voice", answers=2))[-1])

    async def say(self, person: FakePerson) -> None:
        """*person* says half a second of something, as fast as it can be sent."""
        await self.voice.speak(person, [make_tone(at) for at in range(25)], frame_s=0)

    def is_listening(self, room: Room | None = None) -> bool:
        channel_id = (room or self.lounge).id
        return self.den.familiar.subscriptions.get(channel_id=channel_id, kind=SubscriptionKind.voice) is not None

    def connection(self) -> Any:
        """The library's connection to the voice channel; None: there is none."""
        assert self.den.platform is not None
        return next(iter(self.den.platform._client.voice_clients), None)

    async def until_listening(self) -> None:
        """Wait until what is said is heard: the keys of the call are there, too."""
        await until(lambda: self.connection() is not None and self.connection().is_connected())
        await until(lambda: self.channel_listened_to() is not None)
        session = self.connection()._connection.dave_session
        await until(lambda: session is None or session.ready)

    def channel_listened_to(self) -> int | None:
        """Where it hears what is said."""
        assert self.den.platform is not None
        assert self.den.platform._voice is not None
        return self.den.platform._voice.channel_id_in(self.den.guild.id)

    def channel_of_familiar(self) -> int | None:
        return self.den.guild.in_voice.get(self.den.server.world.bot.id)


def in_a_hurry(config: CharacterConfig) -> CharacterConfig:
    """Nobody waits long for an answer."""
    return replace(config, voice_lull_timeout=0.05, tts=replace(config.tts, greetings=["Good evening!"]))


@asynccontextmanager
async def voice_den(home: Path, *, is_encrypted: bool = True, **more: Any) -> AsyncIterator[VoiceDen]:
    speech = Speech()
    async with (
        familiar_on_discord(
            home, ("Soup is on the stove.",) * 3, arrive=False, make_voice=speech.make, settings=in_a_hurry, **more
        ) as den,
        VoiceServer(den.server, den.guild, is_encrypted=is_encrypted) as voice,
    ):
        lounge = den.server.world.room(den.guild, "lounge", kind=VOICE)
        den.guild.in_voice[den.ada.id] = lounge.id
        await den.connect()
        await den.server.until_ready()
        try:
            yield VoiceDen(den, voice, lounge, speech)
        finally:
            await den.disconnect()


async def test_with_voice_all_commands_of_channels_are_made_known(tmp_path: Path) -> None:
    """To whoever may manage the channel; those of voice among them."""
    async with voice_den(tmp_path) as here:
        shown_to = {
            each["name"]: each["default_member_permissions"] for each in here.den.server.api.interactions.commands
        }
    of_text = {"subscribe-text", "unsubscribe-text"}
    of_voice = {"subscribe-my-voice", "unsubscribe-voice"}
    of_modes = {"channel-full-rp", "channel-text-conversation-rp", "channel-imitate-voice"}
    assert {shown_to.get(name) for name in of_text | of_voice | of_modes} == {"16"}


async def test_a_conversation_in_an_encrypted_call(tmp_path: Path) -> None:
    """Asked to come, greeting, heard, answered aloud, kept in history, and left."""
    async with voice_den(tmp_path) as here:
        assert await here.call() == "I am in voice:#lounge."
        await here.until_listening()
        await until(lambda: len(here.voice.packets) >= 10)
        assert here.speech.spoken == ["Good evening!"]
        assert loudness(here.voice.decode_sound()) > 0.15

        await here.say(here.den.ada)
        await until(lambda: "Soup is on the stove." in here.speech.spoken)
        await here.den.wait_stored("Soup is on the stove.", room=here.lounge)

        assert here.den.roles_and_texts(here.lounge) == [("user", QUESTION), ("assistant", "Soup is on the stove.")]
        assert loudness(here.speech.heard[0]) > 0.1
        left = await used(here.den, "unsubscribe-voice", answers=2)
        assert words(left[-1]).startswith("I left the voice channel.")
        assert here.channel_of_familiar() is None
        assert not here.is_listening()


@pytest.mark.parametrize("is_encrypted", [True, False])
async def test_everybody_is_heard_under_their_own_name_whenever_they_came(tmp_path: Path, is_encrypted: bool) -> None:
    """Who is in the channel is told to the model, whether they speak or not; who comes later changes the keys."""
    async with voice_den(tmp_path, is_encrypted=is_encrypted) as here:
        den = here.den
        cleo = den.server.world.person("cleo")
        den.guild.people[cleo.id] = cleo
        await den.server.gateway.dispatch("GUILD_MEMBER_ADD", cleo.member() | {"guild_id": str(den.guild.id)})
        await den.server.move_voice(den.guild, cleo, here.lounge)
        await here.call()
        await here.until_listening()
        await den.server.move_voice(den.guild, den.ben, here.lounge)

        await here.say(den.ben)
        turn = await den.wait_stored(QUESTION, room=here.lounge)

        assert turn.author is not None
        assert turn.author.user_id == str(den.ben.id)
        await den.wait_stored("Soup", room=here.lounge)
        prompt = "".join(message.content for message in den.model.calls[-1])
        assert all(name in prompt for name in ("Ada", "Ben", "Cleo"))


async def test_who_wants_no_records_is_not_listened_to(tmp_path: Path) -> None:
    """Their sound does not even reach the recogniser."""
    async with voice_den(tmp_path, is_encrypted=False) as here:
        den = here.den
        await used(den, "privacy", level="full", who=den.ben)
        await den.server.move_voice(den.guild, den.ben, here.lounge)
        await here.call()
        await here.until_listening()

        await here.say(den.ben)
        await here.say(den.ada)
        await den.wait_stored(QUESTION, room=here.lounge)

        assert len(here.speech.heard) == 1


async def test_somebody_who_leaves_does_not_end_the_call(tmp_path: Path) -> None:
    """Those who stay are heard as before."""
    async with voice_den(tmp_path, is_encrypted=False) as here:
        den = here.den
        await den.server.move_voice(den.guild, den.ben, here.lounge)
        await here.call()
        await here.until_listening()
        await here.say(den.ben)
        await den.wait_stored(QUESTION, room=here.lounge)

        await here.voice.tell(GONE, {"user_id": str(den.ben.id)})
        await den.server.move_voice(den.guild, den.ben, None)
        await here.say(den.ada)

        await until(lambda: len(here.speech.heard) == 2)
        assert here.channel_of_familiar() == here.lounge.id


async def test_what_is_typed_in_the_channels_chat_joins_the_conversation(tmp_path: Path) -> None:
    """It is answered aloud; nothing is posted."""
    async with voice_den(tmp_path) as here:
        await here.call()
        await here.until_listening()

        await here.den.server.post(here.lounge, here.den.ben, "Ember, I have no microphone.")
        await here.den.wait_stored("Soup", room=here.lounge)

        assert "Soup is on the stove." in here.speech.spoken
        assert here.den.roles_and_texts(here.lounge)[0] == ("user", "Ember, I have no microphone.")
        assert here.den.server.replies_in(here.lounge) == []


async def test_it_leaves_when_nobody_is_left_and_comes_back_with_them(tmp_path: Path) -> None:
    """Also after a restart; it was asked to come, and nobody asked it to go."""
    async with voice_den(tmp_path) as here:
        den = here.den
        await here.call()
        await here.until_listening()

        await den.server.move_voice(den.guild, den.ada, None)
        await until(lambda: here.channel_of_familiar() is None)
        assert here.is_listening()
        await den.server.move_voice(den.guild, den.ada, here.lounge)
        await until(lambda: here.channel_of_familiar() == here.lounge.id)

        await den.disconnect()
        assert here.channel_of_familiar() is None
        await den.connect()
        await until(lambda: here.channel_of_familiar() == here.lounge.id)


async def test_a_lost_connection_is_made_again(tmp_path: Path) -> None:
    """The conversation goes on."""
    async with voice_den(tmp_path) as here:
        await here.call()
        await here.until_listening()
        first = here.connection()

        await here.voice.drop(1000)
        await until(lambda: here.connection() not in (first, None))
        await here.until_listening()
        await here.say(here.den.ada)

        await here.den.wait_stored("Soup", room=here.lounge)


async def test_sent_out_of_the_channel_it_stays_away(tmp_path: Path) -> None:
    """As if it had been told by the command."""
    async with voice_den(tmp_path) as here:
        await here.call()
        await here.until_listening()

        await here.den.server.move_voice(here.den.guild, here.den.server.world.bot, None)
        await until(lambda: not here.is_listening())
        await here.den.server.move_voice(here.den.guild, here.den.ben, here.lounge)

        answer = await used(here.den, "unsubscribe-voice")
        assert words(answer[-1]) == "I am not in a voice channel here."


async def test_moved_to_another_channel_it_listens_there(tmp_path: Path) -> None:
    """What is said is kept with that channel."""
    async with voice_den(tmp_path, is_encrypted=False) as here:
        den = here.den
        attic = den.server.world.room(den.guild, "attic", kind=VOICE)
        await den.server.gateway.dispatch("CHANNEL_CREATE", attic.payload())
        await here.call()
        await here.until_listening()

        await den.server.move_voice(den.guild, den.server.world.bot, attic)
        await den.server.move_voice(den.guild, den.ada, attic)
        await until(lambda: here.channel_listened_to() == attic.id)
        await here.say(den.ada)

        await den.wait_stored("Soup", room=attic)
        assert not here.is_listening()


async def test_what_stands_in_the_way_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No channel, no rights, a stage, a voice server that does not answer: nothing is registered."""
    monkeypatch.setattr(sessions, "CONNECT_S", 0.3)
    async with voice_den(tmp_path) as here:
        den = here.den
        stage = den.server.world.room(den.guild, "stage", kind=STAGE)
        closed = den.server.world.room(den.guild, "closed", kind=VOICE, denied=CONNECT | SPEAK)
        for room in (stage, closed):
            await den.server.gateway.dispatch("CHANNEL_CREATE", room.payload())

        assert "Join a voice channel first" in words((await used(den, "subscribe-my-voice", who=den.ben))[-1])
        await den.server.move_voice(den.guild, den.ben, closed)
        refused = words((await used(den, "subscribe-my-voice", who=den.ben))[-1])
        assert refused == "I do not have the right to connect and to speak in that channel."
        await den.server.move_voice(den.guild, den.ben, stage)
        refused = words((await used(den, "subscribe-my-voice", who=den.ben, answers=2))[-1])
        assert refused == "I could not join the voice channel: that is a stage, and I only come to voice channels."
        here.voice.is_unresponsive = True
        assert await here.call() == (
            "I could not join the voice channel: Discord's voice server did not answer in time."
        )
        assert den.familiar.subscriptions.voice_in_guild(den.guild.id) is None
        here.voice.is_unresponsive = False
        assert await here.call() == "I am in voice:#lounge."


async def test_commands_of_voice_are_shown_where_there_is_voice(tmp_path: Path) -> None:
    """And listed by `/help`; in a second voice channel of the server it is not asked for twice."""
    async with voice_den(tmp_path) as here:
        names = {each["name"] for each in here.den.server.api.interactions.commands}
        assert {"subscribe-my-voice", "unsubscribe-voice"} <= names
        told = "\n".join(map(words, await used(here.den, "help", answers=2)))
        assert "`/subscribe-my-voice`" in told
        assert "`/help`" in told
        await here.call()
        assert "already" in words((await used(here.den, "subscribe-my-voice"))[-1])


async def test_leaving_discord_leaves_the_voice_channel(tmp_path: Path) -> None:
    """No thread is left that reads packets."""
    async with voice_den(tmp_path) as here:
        await here.call()
        await here.until_listening()
        await here.den.disconnect()

        assert here.channel_of_familiar() is None
        await until(lambda: not any(each.name == "discord-voice-packets" for each in threading.enumerate()))
