"""Things a user can ask for with a slash."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.chat.scene import ChannelContext, ChannelKind
from familiar_connect.slash.command import SlashContext, SlashPlace, SlashReply
from familiar_connect.slash.memory import MAX_LISTED, MEMORY
from familiar_connect.slash.registry import COMMANDS, find_command
from tests.fakes.scripted_familiar import ANA, CHANNEL, ScriptedFamiliar, scripted_familiar


async def ask(house: ScriptedFamiliar, name: str, words: str = "") -> SlashReply:
    found = find_command(name)
    assert found is not None
    asked = SlashContext(channel_id=CHANNEL, author=ANA, is_operator=True, words=words)
    return await found.run(asked, house.familiar)


def test_each_command_has_a_name_and_says_what_it_does() -> None:
    """Names are unique, lower case, and found by name."""
    names = [each.name for each in COMMANDS]

    assert len(set(names)) == len(names)
    assert all(name == name.lower() and " " not in name for name in names)
    assert all(each.description for each in COMMANDS)
    assert [find_command(name) for name in names] == list(COMMANDS)
    assert find_command("nonsense") is None


async def test_memory_lists_the_files_and_where_they_are(tmp_path: Path) -> None:
    """Plain files, one a line."""
    async with scripted_familiar(tmp_path) as house:
        reply = await ask(house, "memory")

    assert "self/description.md" in reply.text
    assert str(tmp_path) in reply.text
    assert not reply.public


async def test_memory_shows_one_file(tmp_path: Path) -> None:
    """Its text and nothing else."""
    async with scripted_familiar(tmp_path) as house:
        assert (await ask(house, "memory", "self/name.md")).text == "Ember"


async def test_memory_shows_a_person_as_one_page(tmp_path: Path) -> None:
    """The parts that may be told in this place, each with who may hear it; no other part is told of."""
    async with scripted_familiar(tmp_path) as house:
        for mark, audience, words in (
            ("", "everyone", "Plays the cello."),
            ("@server-discord-5", "server:discord:5", "Runs the den."),
            ("@dm-discord-77", "people:discord:77", "Has a secret garden."),
        ):
            text = f"---\naudience: {audience}\n---\n# Cleo\n\n{words}\n"
            house.familiar.memory_store.write_file(f"people/discord-77{mark}.md", text, source="test")
        den = SlashPlace(channel=ChannelContext("den", ChannelKind.text), guild_id=5)
        asked = SlashContext(channel_id=CHANNEL, author=ANA, is_operator=True, words="Cleo", place=den)
        page = (await MEMORY.run(asked, house.familiar)).text
        one = (await ask(house, "memory", "people/discord-77.md")).text

    assert page.startswith("# Cleo\n\n[may be heard by everyone: people/discord-77.md]\n\nPlays the cello.")
    assert "[may be heard by everyone on its server: people/discord-77@server-discord-5.md]\n\nRuns the den." in page
    assert "secret garden" not in page
    assert "dm-discord-77" not in page
    assert one == "# Cleo\n\nPlays the cello."


async def test_memory_refuses_a_path_outside_in_one_sentence(tmp_path: Path) -> None:
    """Neither up nor absolute."""
    async with scripted_familiar(tmp_path) as house:
        for path in ("../character.toml", "/etc/passwd", "no/such.md"):
            reply = await ask(house, "memory", path)
            assert "Traceback" not in reply.text
            assert "root:" not in reply.text
            assert "\n" not in reply.text


async def test_a_long_list_is_cut_and_says_so(tmp_path: Path) -> None:
    """Nobody reads a thousand lines."""
    async with scripted_familiar(tmp_path) as house:
        for number in range(MAX_LISTED + 5):
            house.familiar.memory_store.write_file(f"topics/{number:03}.md", "x", source="test")
        reply = await ask(house, "memory")

    assert "more" in reply.text
    assert len(reply.text.splitlines()) == MAX_LISTED + 3


async def test_context_of_another_channel_is_not_shown(tmp_path: Path) -> None:
    """A channel sees its own prompt."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("hi")
        found = find_command("context")
        assert found is not None
        elsewhere = SlashContext(channel_id=999, author=ANA, is_operator=True)
        reply = await found.run(elsewhere, house.familiar)

    assert "No context" in reply.text


async def test_context_without_a_trace_still_shows_the_page(tmp_path: Path) -> None:
    """A lost ledger costs the explanation, not the prompt."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("hi there")
        await house.wait_until_idle()
        house.familiar.reply_path.collector.flush()
        for path in house.familiar.root.glob("metrics.db*"):
            path.unlink()
        reply = await ask(house, "context")

    assert "hi there" in reply.text


async def test_memory_finds_the_last_of_many_files(tmp_path: Path) -> None:
    """No number of files is too many to be asked for one of them."""
    async with scripted_familiar(tmp_path) as house:
        folder = house.familiar.memory_store.root / "topics"
        folder.mkdir(exist_ok=True)
        for number in range(1_001):
            (folder / f"{number:04}.md").write_text("x")
        (folder / "zebra.md").write_text("Striped.")

        assert (await ask(house, "memory", "zebra")).text == "Striped."


async def test_memory_finds_a_file_by_the_end_of_its_path(tmp_path: Path) -> None:
    """Where just one ends so; of two, neither is guessed."""
    async with scripted_familiar(tmp_path) as house:
        assert (await ask(house, "memory", "name.md")).text == "Ember"
        house.familiar.memory_store.write_file("people/name.md", "Ana", source="test")
        assert (await ask(house, "memory", "name.md")).text not in ("Ember", "Ana")


async def test_context_fits_a_screen_and_shows_all_when_asked(tmp_path: Path) -> None:
    """The outline says how to see the prompt itself."""
    async with scripted_familiar(tmp_path) as house:
        await house.talk("do you know Pickle?")
        outline = (await ask(house, "context")).text
        whole = (await ask(house, "context", "full")).text

    assert "Pickle" not in outline
    assert len(outline.splitlines()) < 30
    assert "/context full" in outline
    assert "familiar inspect" in outline
    assert "Pickle" in whole
