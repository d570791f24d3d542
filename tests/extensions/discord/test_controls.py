"""The controls of a roleplay on Discord: through slash commands, shown in the messages that stand there."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.chat.directives import REASONING
from familiar_connect.config import CharacterConfig
from familiar_connect.config.character import change_section
from familiar_connect.extensions.discord.commands.reply_buttons import OLDER
from familiar_connect.extensions.discord.demo.rights import MANAGE_WEBHOOKS, SEND_MESSAGES
from familiar_connect.extensions.discord.demo.world import FakePerson, Payload, Room
from familiar_connect.slash.command import MAY_NOT_CONTROL
from tests.extensions.discord.test_commands import LATER, used, words
from tests.fakes.familiar_on_discord import FamiliarOnDiscord, familiar_on_discord
from tests.fakes.long_text import make_words


def shown(den: FamiliarOnDiscord, room: Room | None = None) -> list[str]:
    """Our own messages as they stand in the channel."""
    me = str(den.server.world.bot.id)
    return [each["content"] for each in (room or den.room).messages.values() if each["author"]["id"] == me]


async def asked(den: FamiliarOnDiscord, text: str, replies: int) -> None:
    await den.mention(text)
    await den.server.until_replied(den.room, replies)
    await den.wait_until_idle()


async def use(den: FamiliarOnDiscord, name: str, **how: str) -> str:
    """Ada uses a command; the words of its answer, whether it comes at once or later."""
    token = await den.server.command(den.room, den.ada, name, how, may_manage=True)
    answers = await den.server.until_answered(token)
    if answers[0]["type"] == LATER:
        answers = await den.server.until_answered(token, 2)
    return words(answers[-1])


async def test_a_reply_is_made_anew_and_swiped_in_its_own_message(tmp_path: Path) -> None:
    """The message is changed, not said twice; the history has the version that is shown."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Coffee.")) as den:
        await asked(den, "What?", 1)

        assert await use(den, "regenerate") == "Version 2 of 2."
        assert shown(den) == ["Coffee."]
        assert await use(den, "swipe", version="back") == "Version 1 of 2."
        assert shown(den) == ["Tea."]
        assert den.roles_and_texts() == [("user", "What?"), ("assistant", "Tea.")]


async def test_a_reply_is_made_anew_with_more_care(tmp_path: Path) -> None:
    """The model is told to think it through, in that prompt alone."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Green tea, for it is late.", "Milk.")) as den:
        await asked(den, "What?", 1)

        assert await use(den, "regenerate", how="think") == "Version 2 of 2."
        assert await use(den, "regenerate") == "Version 3 of 3."
        shown_to = ["".join(message.content for message in call) for call in den.model.calls]
        assert [REASONING in each for each in shown_to] == [False, True, False]


async def test_an_undone_exchange_takes_our_message_away(tmp_path: Path) -> None:
    """What the person said stays theirs, and is in no prompt any more."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Rain.")) as den:
        await asked(den, "Do you like ska?", 1)

        answer = await use(den, "undo")
        assert "Do you like ska?" in answer
        assert "What people wrote is still in this channel." in answer
        assert (shown(den), den.roles_and_texts()) == ([], [])
        await asked(den, "Weather?", 2)
        assert "ska" not in "".join(message.content for message in den.model.calls[-1])


async def test_of_several_who_asked_at_once_only_the_last_exchange_is_undone(tmp_path: Path) -> None:
    """Its question and its answer; a new version is made of that answer, too."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Rain.", "Snow.")) as den:
        thinking = den.model.pause_after(0)
        await den.mention("what do you drink?")
        await den.mention("how is the weather?", who=den.ben)
        await den.wait_stored("how is the weather?")
        thinking.resume.set()
        await den.server.until(lambda: len(den.server.replies_in(den.room)) == 2)
        await den.wait_until_idle()

        assert await use(den, "regenerate") == "Version 2 of 2."
        last = den.model.calls[-1][-1].content
        answer = await use(den, "undo")

        assert "weather" in last
        assert "drink" not in last
        assert "how is the weather?" in answer
        assert "drink" not in answer
        assert den.roles_and_texts() == [("user", "what do you drink?"), ("assistant", "Tea.")]
        assert shown(den) == ["Tea."]


async def test_lines_are_changed_continued_and_hidden(tmp_path: Path) -> None:
    """A long continuation takes another message."""
    async with familiar_on_discord(tmp_path, ("Once upon a time", make_words(400))) as den:
        await asked(den, "Tell me.", 1)

        assert "It now reads" in await use(den, "edit", line="1", text="Once, long ago,")
        assert shown(den) == ["Once, long ago,"]
        assert await use(den, "continue") == "(continued)"
        first, second = shown(den)
        assert first.startswith("Once, long ago, word0 word1")
        assert second.startswith("word")
        assert await use(den, "edit", line="1", text="The end.") != ""
        assert shown(den) == ["The end."]
        assert "Hidden" in await use(den, "hide", line="2")
        assert [text for _, text in den.roles_and_texts()] == ["The end."]


async def test_controls_are_for_those_the_owner_allows(tmp_path: Path) -> None:
    """Managers of the channel unless everyone may."""

    def for_everyone(config: CharacterConfig) -> CharacterConfig:
        return change_section(config, "discord", controls="everyone")

    async with familiar_on_discord(tmp_path, ("Tea.",)) as den:
        await asked(den, "What?", 1)
        refused = await used(den, "undo", who=den.ben, may_manage=False)
        assert words(refused[-1]) == MAY_NOT_CONTROL.format(section="discord")
        assert shown(den) == ["Tea."]
    async with familiar_on_discord(tmp_path, (), settings=for_everyone) as den:
        assert "Nothing has been said here yet" in words((await used(den, "undo", who=den.ben, may_manage=False))[-1])


async def test_the_persona_is_listed_once_where_it_writes_for_somebody(tmp_path: Path) -> None:
    """By its name, and not by the name of its folder as well."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Milk, please.")) as den:
        await asked(den, "What?", 1)

        assert await use(den, "impersonate") == "Milk, please."
        people = next(each.content for each in den.model.calls[-1] if "People here:" in each.content)
        assert [line for line in people.splitlines() if "ember" in line.lower()] == ["- Ember"]


async def test_what_was_written_for_somebody_is_posted_under_their_name_when_they_say_so(tmp_path: Path) -> None:
    """With their picture, once, to the familiar, that answers it as theirs; nobody else can post it."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Milk, please. @everyone", "Here you are.", "Yes.")) as den:
        await asked(den, "What?", 1)
        early = await use(den, "impersonate", how="say")
        await use(den, "impersonate")
        bens = words((await used(den, "impersonate", who=den.ben, how="say"))[-1])
        said = await use(den, "impersonate", how="say")
        await den.server.until(lambda: "Here you are." in shown(den))
        await den.wait_until_idle()
        twice = await use(den, "impersonate", how="say")
        post = next(each for each in den.server.facts_of("posted") if "Milk" in each["message"]["content"])
        await den.mention("Is that all?")
        await den.server.until(lambda: "Yes." in shown(den))
        await den.wait_until_idle()

        assert [each.startswith("I have not written a line for you yet") for each in (early, bens, twice)] == [True] * 3
        assert said == "Posted under your name."
        assert (post["asked"]["username"], post["asked"]["allowed_mentions"]["parse"]) == ("Ada", [])
        assert "avatar" in post["asked"]["avatar_url"]
        turn = next(each for each in den.history() if each.content.startswith("Milk"))
        assert (turn.role, turn.author.user_id if turn.author else "") == ("user", str(den.ada.id))
        line = next(each for each in den.model.calls[-1] if "Milk, please." in each.content)
        assert line.role == "user"


async def test_nothing_is_posted_under_a_name_whose_owner_may_not_write_there(tmp_path: Path) -> None:
    """Nor where the bot may have no webhook; the words stay with whoever asked for them."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Milk, please.")) as den:
        await asked(den, "What?", 1)
        await use(den, "impersonate")
        await den.server.set_overwrite(den.room, den.ada, deny=SEND_MESSAGES)
        muted = await use(den, "impersonate", how="say")
        await den.server.set_overwrite(den.room, den.ada)
        den.room.denied |= MANAGE_WEBHOOKS
        without = await use(den, "impersonate", how="say")

        assert "you may not write here yourself" in muted
        assert "I need the right to manage webhooks here" in without
        assert shown(den) == ["Tea."]


def with_buttons(config: CharacterConfig) -> CharacterConfig:
    return change_section(config, "discord", buttons=True)


def ids_below(message: Payload) -> list[str]:
    return [part["custom_id"] for row in message["components"] for part in row["components"]]


async def press(den: FamiliarOnDiscord, message: Payload, custom_id: str, who: FakePerson, *, may_manage: bool) -> str:
    """Somebody presses a button below a message; the words of the answer, whether it comes at once or later."""
    token = await den.server.pick(den.room, who, {"data": message}, custom_id, may_manage=may_manage)
    answers = await den.server.until_answered(token)
    if answers[0]["type"] != 4:
        answers = await den.server.until_answered(token, 2)
    return words(answers[-1])


async def test_the_newest_reply_has_buttons_for_those_who_may_use_the_controls(tmp_path: Path) -> None:
    """A press is the command, with its rights; the one before loses its buttons, and a press on it does nothing."""
    async with familiar_on_discord(tmp_path, ("Tea.", "Coffee.", "Milk."), settings=with_buttons) as den:
        await asked(den, "What?", 1)
        (first,) = [each["message"] for each in den.server.facts_of("posted")]
        kept = dict(first)
        again, back, *_ = ids_below(first)
        refused = await press(den, first, again, den.ben, may_manage=False)
        made = await press(den, first, again, den.ada, may_manage=True)
        changed = shown(den)
        swiped = await press(den, first, back, den.ada, may_manage=True)
        await asked(den, "And now?", 2)
        await den.server.until(lambda: first["components"] == [])
        old = await press(den, kept, again, den.ada, may_manage=True)

        assert refused == MAY_NOT_CONTROL.format(section="discord")
        assert (made, changed) == ("Version 2 of 2.", ["Coffee."])
        assert swiped == "Version 1 of 2."
        assert old == OLDER
        assert shown(den) == ["Tea.", "Milk."]


async def test_without_the_setting_there_are_no_buttons(tmp_path: Path) -> None:
    """`buttons` under [discord] is off unless set."""
    async with familiar_on_discord(tmp_path, ("Tea.",)) as den:
        await asked(den, "What?", 1)

        assert [ids_below(each["message"]) for each in den.server.facts_of("posted")] == [[]]
