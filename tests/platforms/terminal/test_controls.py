"""The controls of a roleplay at the terminal: what a person types, what is shown, and what the next prompt holds."""

import re
from pathlib import Path

from familiar_connect.errors import ModelError
from familiar_connect.platforms.terminal.place import CHANNEL_ID
from familiar_connect.presets.greetings import join_greetings
from tests.fakes.long_text import make_words
from tests.platforms.terminal.test_adapter import Chat


class Roleplay(Chat):
    """A chat whose history and prompts can be looked at."""

    def said(self, channel_id: int = CHANNEL_ID) -> list[str]:
        turns = self.familiar.history_store.recent(familiar_id=self.familiar.id, channel_id=channel_id, limit=50)
        return [turn.content for turn in turns]

    def prompt(self, number: int = -1) -> str:
        return "\n".join(message.content for message in self.model.calls[number])

    async def play(self, *lines: str) -> list[str]:
        """Type *lines*; what was said, as the next prompt would have it."""
        try:
            await self.platform(*lines).run()
            there = self.familiar.stores.chats.all(CHANNEL_ID)
            self.by_chat = {each.name: self.said(each.channel_id) for each in there}
            return self.said()
        finally:
            await self.familiar.aclose()


async def test_a_reply_is_made_anew_without_the_model_seeing_the_old_one(tmp_path: Path) -> None:
    """The new one is shown and stands in its place."""
    chat = Roleplay(tmp_path, "I am tea.", "I am coffee.")

    assert await chat.play("What are you?", "/regenerate") == ["What are you?", "I am coffee."]
    assert "I am tea" not in chat.prompt()
    assert chat.prompt().count("What are you?") == 1
    assert chat.out.getvalue() == "I am tea.\nI am coffee.\n"
    assert "Version 2 of 2." in chat.aside.getvalue()


async def test_swiping_goes_through_the_versions_and_makes_a_new_one_past_the_last(tmp_path: Path) -> None:
    """The one that is left chosen is what the next prompt holds."""
    chat = Roleplay(tmp_path, "Tea.", "Coffee.", "Milk.", "Fine.")
    lines = ("What?", "/swipe", "/swipe right", "/swipe left", "/swipe 1", "/swipe back", "/swipe 2", "And now?")

    assert await chat.play(*lines) == ["What?", "Coffee.", "And now?", "Fine."]
    assert chat.out.getvalue().splitlines() == [
        *("Tea.", "Coffee.", "Milk.", "Coffee.", "Tea.", "This is the first version.", "Coffee.", "Fine.")
    ]
    assert "Coffee." in chat.prompt()
    assert "Tea." not in chat.prompt()
    assert "Milk." not in chat.prompt()


async def test_an_undone_exchange_is_in_no_later_prompt(tmp_path: Path) -> None:
    """The one before it becomes the last; where there is none left, that is said."""
    chat = Roleplay(tmp_path, "Hello.", "I hate ska.", "Rain.")
    lines = ("Hi", "Do you like ska?", "/undo", "How is the weather?", "/undo", "/undo", "/undo")

    assert await chat.play(*lines) == []
    assert "ska" not in chat.prompt()
    assert "Do you like ska?" in chat.out.getvalue()
    assert "Nothing has been said here yet." in chat.out.getvalue()


async def test_several_exchanges_are_undone_at_once(tmp_path: Path) -> None:
    """As many as were asked for; what cannot be meant is said in a sentence and takes nothing back."""
    chat = Roleplay(tmp_path, "One.", "Two.", "Three.")
    refused = ("/undo all", "/undo 0", "/undo -1", "/undo 21", "/undo 4")

    assert await chat.play("a", "b", "c", *refused, "/undo 2") == ["a", "One."]
    out = chat.out.getvalue()
    assert out.count("Give a number: /undo 2 for the last two exchanges.\n") == 3
    assert "I can remove at most 20 exchanges at once: /undo 20.\n" in out
    assert "No more than 3 exchanges can be removed: /undo 3.\n" in out
    assert out.endswith("  Sam: b\n  Ember: Two.\n  Sam: c\n  Ember: Three.\n")


async def test_a_line_of_either_side_is_changed(tmp_path: Path) -> None:
    """The model reads what it reads now; what cannot be meant is said in a sentence."""
    chat = Roleplay(tmp_path, "Blue.", "Indeed.")
    lines = ("My cat is grey.", "/edit 1 Green, of course.", "/edit 2 My cat is black.", "/edit x", "/edit 9 y", "So?")

    assert await chat.play(*lines) == ["My cat is black.", "Green, of course.", "So?", "Indeed."]
    prompt = chat.prompt()
    assert "My cat is black." in prompt
    assert "Green, of course." in prompt
    assert "grey" not in prompt
    assert "Give a number: /edit 1 NEW WORDS" in chat.out.getvalue()
    assert "There is no line 9: the last one is 1, the oldest that can be named 2." in chat.out.getvalue()


async def test_a_reply_is_gone_on_with(tmp_path: Path) -> None:
    """The model is shown its own words last, and what it adds becomes part of them."""
    chat = Roleplay(tmp_path, "Once upon a time", "there was a kettle.")

    assert await chat.play("Tell me a story.", "/continue") == [
        "Tell me a story.",
        "Once upon a time there was a kettle.",
    ]
    assert "Continue your last message" in chat.prompt()
    assert "Once upon a time" in chat.prompt()
    assert chat.out.getvalue() == "Once upon a time\nthere was a kettle.\n"


async def test_a_question_without_a_reply_is_answered(tmp_path: Path) -> None:
    """Regenerating where there is nothing to make anew answers what waits."""
    chat = Roleplay(tmp_path, ModelError("nobody listens"), "Here I am.")

    assert await chat.play("Are you there?", "/regenerate") == ["Are you there?", "Here I am."]


async def test_controls_without_a_chat_say_so(tmp_path: Path) -> None:
    """None of them asks the model."""
    chat = Roleplay(tmp_path)

    assert await chat.play("/regenerate", "/swipe", "/continue", "/undo", "/lines", "/impersonate") == []
    assert chat.out.getvalue().splitlines() == ["Nothing has been said here yet."] * 6
    assert chat.model.calls == []


async def test_a_hidden_line_is_shown_to_people_alone(tmp_path: Path) -> None:
    """It can be named, and comes back."""
    long = make_words(80, "no")
    chat = Roleplay(tmp_path, "One.", long, "Three.")
    lines = ("Secret plan", "/hide 2", "What was it?", "/lines", "/unhide 4", "And now?")

    assert await chat.play(*lines) == ["Secret plan", "One.", "What was it?", long.strip(), "And now?", "Three."]
    assert re.search(r"no\d+ no\d+ …\n", chat.out.getvalue()), "what is shortened says so"
    assert "Secret plan" not in chat.prompt(1)
    assert "Secret plan" in chat.prompt(2)
    assert "  4  (hidden) Sam: Secret plan" in chat.out.getvalue()


async def test_the_familiar_writes_a_line_for_the_person(tmp_path: Path) -> None:
    """Nothing of it is kept until it is said."""
    chat = Roleplay(tmp_path, "Where to?", "To the sea, please.")

    assert await chat.play("Hello", "/impersonate") == ["Hello", "Where to?"]
    assert chat.out.getvalue().splitlines() == ["Where to?", "To the sea, please."]
    assert "Sam" in chat.prompt()


async def test_a_model_that_fails_leaves_the_reply_as_it_was(tmp_path: Path) -> None:
    """And says why."""
    chat = Roleplay(tmp_path, "Tea.", ModelError("nobody listens"))

    assert await chat.play("What?", "/regenerate") == ["What?", "Tea."]
    assert "No reply: nobody listens" in chat.out.getvalue()


async def test_another_greeting_is_chosen_until_somebody_speaks(tmp_path: Path) -> None:
    """The others stay versions of it, so that swiping finds them too."""
    chat = Roleplay(tmp_path, "Hello.")
    own = chat.familiar.memory_store
    own.write_file("self/first_mes.md", "Good day, {{user}}.", source="test")
    own.write_file("self/alternate_greetings.md", join_greetings(["Ahoy!", "Moin." + " Na?" * 30]), source="test")
    lines = ("/greeting", "/greeting 1", "/greeting 2", "/swipe back", "/greeting 9", "Hi", "/greeting 0")

    assert await chat.play(*lines) == ["Ahoy!", "Hi", "Hello."]
    out = chat.out.getvalue()
    assert "  0  Good day, Sam." in out
    assert "Na? …\n" in out, "and more of it"
    assert "there is no greeting 9: choose 0 to 2" in out
    assert "This chat has started already" in out


async def test_chats_are_begun_switched_and_branched(tmp_path: Path) -> None:
    """Each has its own lines; a branch begins with those up to the one that was named, in their chosen version."""
    chat = Roleplay(tmp_path, "Tea.", "Coffee.", "Two.", "Rain.", "Snow.")
    lines = ("What?", "/swipe", "And then?", "/branch 3 other", "Weather?", "/chat new", "Hm?", "/chat", "/chat main")

    assert await chat.play(*lines, "/branch 4 one", "/chat main") == ["What?", "Coffee.", "And then?", "Two."]
    assert chat.by_chat["other"] == ["What?", "Coffee.", "Weather?", "Rain."]
    assert chat.by_chat["2"] == ["Hm?", "Snow."]
    assert "Coffee." in chat.prompt(3)
    assert "And then?" not in chat.prompt(3)
    assert chat.familiar.stores.chats.current(CHANNEL_ID).name == "main"
    out = chat.out.getvalue()
    assert "The chat 'other' starts with 2 lines of the other one." in out
    assert "The chat 'one' starts with 1 line of the other one." in out
    assert "* 2      2" in out, "in columns, below main and other"
