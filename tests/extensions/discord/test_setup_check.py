"""What the real library finds wrong with a bot, against a Discord of our own."""

from __future__ import annotations

import base64
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.api.checks import Finding
from familiar_connect.errors import SetupError
from familiar_connect.extensions.discord.demo.rights import (
    ATTACH_FILES,
    CONNECT,
    ORDINARY,
    SEND_IN_THREADS,
    SEND_MESSAGES,
    SPEAK,
)
from familiar_connect.extensions.discord.demo.server import DiscordServer
from familiar_connect.extensions.discord.demo.world import PUBLIC_THREAD, VOICE, Guild
from familiar_connect.extensions.discord.setup.invite import (
    PERMISSIONS,
    WITH_ALTERS,
    WITH_VOICE,
    application_id_of,
    invite_url,
    is_application_id,
    list_permissions,
    permission_number,
)
from familiar_connect.extensions.discord.setup.setup_check import check_setup
from tests.fakes.waiting import until

discord = pytest.importorskip("discord", reason="the Discord library is an extra")

SERVER_ID, ROOM_ID = 1001, 1002


async def findings(server: DiscordServer, *subscribed: int, token: str | None = None) -> list[Finding]:
    return await check_setup(
        token or server.token, api_url=server.api_url, subscribed=subscribed, guild_ready_timeout_s=0.1
    )


def burrow(server: DiscordServer) -> Guild:
    guild = server.world.guild("The Burrow", id=SERVER_ID)
    server.world.room(guild, "general", id=ROOM_ID)
    return guild


async def test_a_bot_that_is_set_up_right_is_one_line() -> None:
    """Whose token it is and how many servers it is on; nothing stays connected."""
    async with DiscordServer() as server:
        burrow(server)
        found = await findings(server, ROOM_ID)
        await until(lambda: not server.gateway.sockets)

    assert found == [
        Finding("ok", "the token is familiar's, Message Content Intent is on, 1 server"),
    ]


async def test_intents_that_are_off_are_told_with_what_is_lost() -> None:
    """The familiar can do without these two."""
    async with DiscordServer() as server:
        burrow(server)
        server.gateway.flags = 1 << 18
        found = await findings(server)

    assert [each.state for each in found] == ["ok", "warn", "warn"]
    assert "Server Members Intent is off, so it does not know nicknames and roles" in found[1].says
    assert "Presence Intent is off" in found[2].says


async def test_without_message_content_or_with_a_wrong_token_nothing_else_counts() -> None:
    """Each is a sentence with the place to mend it."""
    async with DiscordServer() as server:
        with pytest.raises(SetupError, match="does not accept the token"):
            await findings(server, token="wrong.token.here")
        server.gateway.flags = 0
        with pytest.raises(SetupError, match="MESSAGE CONTENT INTENT"):
            await findings(server)


async def test_a_channel_it_may_not_write_in_is_bad_and_less_is_a_warning() -> None:
    """Of a thread its own permission counts."""
    async with DiscordServer() as server:
        guild = burrow(server)
        server.world.room(guild, "mute", id=1003, denied=SEND_MESSAGES)
        server.world.room(guild, "bare", id=1004, denied=ATTACH_FILES | SEND_IN_THREADS)
        server.world.room(guild, "sub", id=1005, kind=PUBLIC_THREAD, parent_id=1004)
        found = await findings(server, 1003, 1004, 1005, 9999)

    assert [each.state for each in found] == ["ok", "bad", "warn", "bad", "warn"]
    assert "in #mute on 'The Burrow' the bot lacks Send Messages (to answer)" in found[1].says
    assert "Attach Files" in found[2].says
    assert "Send Messages in Threads" in found[3].says
    assert found[4].says.startswith("channel 9999 is gone, archived or hidden from the bot")


async def test_webhooks_are_missed_only_where_there_are_further_personas() -> None:
    """The server of this test gives nobody the right to manage them."""
    async with DiscordServer() as server:
        burrow(server)
        found = await check_setup(
            server.token, api_url=server.api_url, has_alters=True, guild_ready_timeout_s=0.1, subscribed=[ROOM_ID]
        )

    assert [each.state for each in found] == ["ok", "warn", "warn"]
    assert all("Manage Webhooks (with further personas and for" in each.says for each in found[1:])


async def test_a_voice_channel_it_was_asked_into_must_let_it_connect_and_speak() -> None:
    """Each that lacks one is bad, whatever the server allows; one that is gone is a warning."""
    async with DiscordServer() as server:
        guild = burrow(server)
        for at, name, denied in ((1010, "lounge", 0), (1011, "closed", CONNECT), (1012, "quiet", SPEAK)):
            server.world.room(guild, name, id=at, kind=VOICE, denied=denied)
        found = await check_setup(
            server.token,
            api_url=server.api_url,
            voice_channels=[1010, 1011, 1012, 9999],
            has_voice=True,
            guild_ready_timeout_s=0.1,
        )

    assert [each.state for each in found] == ["ok", "bad", "bad", "warn"]
    assert "in the voice channel 'closed' on 'The Burrow' the bot lacks Connect (" in found[1].says
    assert "in the voice channel 'quiet' on 'The Burrow' the bot lacks Speak (" in found[2].says
    assert "Edit Channel → Permissions" in found[2].says
    assert found[3].says.startswith(
        "voice channel 9999 is gone or hidden from the bot: let it see the channel, or use /unsub"
    )


async def test_a_server_that_gives_no_voice_is_told_with_the_link_for_it() -> None:
    """Only where the familiar could come to voice channels."""
    async with DiscordServer() as server:
        server.world.guild("The Burrow", id=SERVER_ID, everyone_may=ORDINARY & ~(CONNECT | SPEAK))
        without = await check_setup(server.token, api_url=server.api_url, guild_ready_timeout_s=0.1)
        found = await check_setup(server.token, api_url=server.api_url, has_voice=True, guild_ready_timeout_s=0.1)

    assert [each.state for each in without] == ["ok"]
    assert [each.state for each in found] == ["ok", "warn"]
    assert "on 'The Burrow' the bot lacks Connect (" in found[1].says
    assert "Speak (" in found[1].says
    assert "`familiar discord invite --voice`" in found[1].says


async def test_a_bot_on_no_server_is_told_how_to_get_onto_one() -> None:
    """By the link."""
    async with DiscordServer() as server:
        found = await findings(server)

    assert found[-1] == Finding("warn", "the bot is on no server: open the link of `familiar discord invite`")


async def test_a_discord_that_says_nothing_ends_in_a_sentence() -> None:
    """Within the time that was set."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(SetupError, match=r"Discord did not answer within 0\.3 seconds"):
            await check_setup("a.b.c", api_url=f"http://127.0.0.1:{port}/api", within_s=0.3)


def test_the_link_asks_for_what_the_library_calls_by_the_same_names() -> None:
    """Each bit is the library's own, so that what is asked for is what is checked."""
    every = list_permissions(has_alters=True, has_voice=True)
    rights = discord.Permissions(permission_number(every))

    assert {name for name, is_given in rights if is_given} == {each.attribute for each in every}
    assert every == (*PERMISSIONS, *WITH_VOICE, WITH_ALTERS)
    rights = discord.Permissions(permission_number(PERMISSIONS))
    assert invite_url("42") == (
        f"https://discord.com/oauth2/authorize?client_id=42&scope=bot+applications.commands&permissions={rights.value}"
    )


@given(st.integers(min_value=1, max_value=2**64 - 1))
def test_a_token_says_which_application_it_is_of(number: int) -> None:
    """Its first part is the id in base64, without the signs that fill it up."""
    first = base64.urlsafe_b64encode(str(number).encode()).decode().rstrip("=")

    assert application_id_of(f"{first}.abc.def") == str(number)


@given(st.text(max_size=80))
def test_no_text_is_taken_for_a_token_by_mistake(text: str) -> None:
    """Whatever is found is an id."""
    found = application_id_of(text)

    assert found is None or is_application_id(found)
