"""Quick replies and their scripts: read from SillyTavern's files, carried out on a chat, within bounds."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.errors import ScriptError
from familiar_connect.presets.macros.engine import substitute
from familiar_connect.presets.macros.types import MacroContext, Variables
from familiar_connect.presets.scripts.parse import parse_script
from familiar_connect.presets.scripts.quick_replies import QuickReplyStore, read_quick_replies
from familiar_connect.presets.scripts.run import ScriptRun


@dataclass
class NotedChat:
    """A chat that notes what is done to it."""

    done: list[str] = field(default_factory=list)
    variables: Variables = field(default_factory=Variables)

    def fill(self, text: str, pipe: str) -> str:
        return substitute(text, MacroContext(char="Wren", user="Sam", variables=self.variables, dynamic={"pipe": pipe}))

    async def say(self, text: str, name: str) -> None:
        self.done.append(f"{name or 'Sam'}: {text}")

    async def say_as(self, name: str, text: str) -> None:
        self.done.append(f"{name}: {text}")

    async def narrate(self, text: str) -> None:
        self.done.append(f"* {text}")

    async def answer(self) -> None:
        self.done.append("(answer)")

    async def generate(self, prompt: str) -> str:
        return f"made of {prompt}"


def run(text: str, chat: NotedChat | None = None, *answers: str) -> tuple[list[str], list[str]]:
    """What was done to the chat, and what was shown, with *answers* to what is asked."""
    chat = chat or NotedChat()
    script = ScriptRun(parse_script(text))

    async def walk() -> None:
        question = await script.advance(chat)
        for answer in answers:
            assert question is not None
            question = await script.advance(chat, answer)

    asyncio.run(walk())
    return chat.done, script.take_shown()


@pytest.mark.parametrize(
    ("text", "done", "shown"),
    [
        ("/send Hi {{char}} | /trigger", ["Sam: Hi Wren", "(answer)"], ["You: Hi Wren"]),
        ('/sendas name="The Bell" Dong. | /sys It rings.', ["The Bell: Dong.", "* It rings."], None),
        ("/setvar key=n 2 | /addvar key=n 3 | /echo n is {{getvar::n}}", [], ["n is 5"]),
        ("/incvar n | /incvar n | /decvar n | /echo", [], ["1"]),
        ("/gen Sum up | /sendas name=Wren {{pipe}}", ["Wren: made of Sum up"], None),
        ("/setglobalvar key=mood wry | /getglobalvar mood | /echo", [], ["wry"]),
        (
            "/setvar key=n 3 | /if left=n rule=gt right=2 else={: /echo no :} {: /echo yes | /send x :}",
            ["Sam: x"],
            None,
        ),
        ('/if left=a right=b else="/echo no" "/echo yes"', [], ["no"]),
        ("/if left=ABC rule=in right=b {: /echo yes :}", [], ["yes"]),
        ("/if left=off {: /echo yes :}", [], []),
        ("/if left=off rule=not {: /echo yes | /return :} | /echo after", [], ["yes", "after"]),
        ("/echo a \\| b | /abort | /echo c", [], ["a | b"]),
        (
            "// a remark\n/echo one |\n/# another | /echo two | /* a\nlong one *| /echo three",
            [],
            ["one", "two", "three"],
        ),
        ("/pass {{user}} | /echo {{pipe}} {{noop}}{{nosuch}}", [], ["Sam {{nosuch}}"]),
        ("/echo {{reverse::|:}} ok", [], [":| ok"]),
    ],
)
def test_commands_do_as_in_sillytavern(text: str, done: list[str], shown: list[str] | None) -> None:
    """What is said, set, decided and handed on through the pipe."""
    said, told = run(text)

    assert said == done
    assert shown is None or told == shown


def test_a_question_waits_and_its_answer_is_the_pipe() -> None:
    """Nothing of the rest runs before; a choice is named by its number or its name, a wrong one is asked again."""
    chat = NotedChat()
    script = ScriptRun(
        parse_script('/send a | /buttons labels=["Tea","Ale"] What? | /send {{pipe}} | /input Why? | /send')
    )
    asyncio.run(script.advance(chat))
    assert script.question is not None
    assert (chat.done, script.question.choices) == (["Sam: a"], ("Tea", "Ale"))
    with pytest.raises(ScriptError, match=r"there is no 'milk' to choose; there are: Tea, Ale"):
        asyncio.run(script.advance(chat, "milk"))
    asyncio.run(script.advance(chat, "2"))
    assert script.question is not None
    assert (script.question.text, script.question.choices) == ("Why?", ())
    asyncio.run(script.advance(chat, "Thirst | {{char}}"))

    assert chat.done == ["Sam: a", "Sam: Ale", "Sam: Thirst | {{char}}"]
    assert script.question is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/send x\n| /fetch http://example.org", "line 2: /fetch is not run here"),
        ("/run other", "line 1: /run is not run here"),
        ("hello", "line 1: a command is expected here"),
        ("/if left=a {: /echo", "line 1: a closure `{:` is not closed"),
        ("/echo {: /echo :}", "line 1: /echo takes a text here, no closure"),
        ("/sendas Hi", "line 1: /sendas needs name=NAME"),
        ("/buttons labels=no x", "line 1: /buttons needs labels="),
        ("/if left=1 rule=about right=2 {: /echo :}", "line 1: rule=about is not known"),
        ("/setvar x", "line 1: /setvar needs key=NAME"),
        ("/echo " + "x" * 20_000, "it is longer than 20,000 characters"),
        ("/echo x|" * 501, "it has more than 500 commands"),
        ("/echo x|" * 301, "takes more than 300 steps"),
        ("/gen x|" * 6, "asks the model more than 5 times"),
        ("/if left=a " + "{: /if left=a " * 9 + "/echo x" + ":}" * 9, "nested more than 8 deep"),
        ("/setvar key=a " + "x" * 9_000 + "|/echo {{getvar::a}}{{getvar::a}}{{getvar::a}}", "shows more than 20,000"),
    ],
)
def test_what_cannot_be_run_is_said_with_its_line(text: str, words: str) -> None:
    """Nothing that reaches out of the chat is known, and every run ends."""
    chat = NotedChat()
    with pytest.raises(ScriptError) as refused:
        run(text.replace("/setvar x", "/setvar  "), chat)
    assert words in str(refused.value)
    assert "Sam: x" not in chat.done  # what is not known is found before anything runs


@given(st.text(alphabet='/{}:|"=\\ ab\n[]', max_size=60) | st.text(max_size=30))
def test_any_text_is_a_script_or_a_sentence(text: str) -> None:
    """Reading and running whatever somebody wrote ends well or in one error."""
    with suppress(ScriptError):
        run(f"/echo {text}")
    with suppress(ScriptError):
        parse_script(text)


SET = {
    "version": 2,
    "name": "Evening",
    "disableSend": False,
    "qrList": [
        {"id": 1, "label": "Bell", "title": "Rings", "message": "/sys The bell rings. | /trigger", "isHidden": False},
        {"id": 2, "label": "Out", "message": "/fetch http://example.org", "executeOnStartup": True},
        {"id": 3, "label": "Hi", "message": "Good evening, {{char}}.", "isHidden": True},
        {"id": 4, "label": "", "message": ""},
    ],
}
OLD_SET = {"name": "Old", "disableSend": True, "quickReplySlots": [{"mes": "Hello", "label": "Hey", "hidden": True}]}


def test_sets_of_both_kinds_are_read_and_kept_byte_for_byte(tmp_path: Path) -> None:
    """A reply is found by its label, or by set and label; what cannot run and what would run by itself is told."""
    store = QuickReplyStore(tmp_path / "quick-replies")
    content = json.dumps(SET, indent=4).encode()
    found = store.add(content, "file")
    store.add(json.dumps(OLD_SET).encode(), "file")

    assert [each.label for each in found.replies] == ["Bell", "Out", "Hi"]
    assert [each.why_not_run() for each in found.replies] == ["", "line 1: /fetch is not run here", ""]
    assert found.begins_by_itself == 1
    assert (store.names(), store.raw("Evening")) == (["Evening", "Old"], content)
    bell, hey = store.find("evening.bell"), store.find("HEY")
    assert bell is not None
    assert hey is not None
    assert (bell.title, hey.is_draft, hey.is_hidden, store.find("nothing")) == ("Rings", True, True, None)
    store.remove("Old")
    assert store.names() == ["Evening"]


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"qrList": 3}', b"[" * 100_000, b"x" * (2 * 1024 * 1024 + 1)])
def test_a_bad_set_is_refused_in_one_sentence(content: bytes) -> None:
    """It names the file."""
    with pytest.raises(ScriptError, match=r"^Evening: (is|holds) "):
        read_quick_replies(content, "Evening")
