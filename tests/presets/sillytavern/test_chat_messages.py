"""The chat as messages, and what each kind of generation makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from familiar_connect.context.types import ItemTag
from familiar_connect.presets.macros.types import MacroContext
from familiar_connect.presets.types import CardFields, ChatLine
from tests.fakes.sillytavern import assemble_prompt, bare, chat_lines, format_messages, in_chat, node, texts

PLAIN = CardFields(name="Rook")
HISTORY = node("chatHistory")
ODD = (
    ChatLine(name="Rook", text="one\r\ntwo", is_first=True),
    ChatLine(name="Narrator", text="A bell.", is_narrator=True, forced_name=True),
    ChatLine(name="Guest", text="I am new.", forced_name=True),
    ChatLine(name="Ghost", text="unseen", is_hidden=True),
    ChatLine(name="Ada", text="", is_user=True),
    ChatLine(name="Ada", text="hm", is_user=True, forced_name=True),
)


def test_roles_follow_the_speaker() -> None:
    """User, assistant, narrator as system; hidden lines and empty ones are not sent; carriage returns go."""
    made = assemble_prompt(HISTORY, card=PLAIN, chat=ODD, settings=bare(names_behavior=-1))

    assert format_messages(made) == ["assistant: one\ntwo", "system: A bell.", "assistant: I am new.", "user: hm"]
    assert {item.tag for item in made.items} == {ItemTag.DIALOGUE}
    assert made.lines == (0, 1, 2, 5)


def test_by_default_only_a_borrowed_name_is_shown() -> None:
    """C66: where the preset is silent, names stand before those who speak under a picture of their own."""
    made = assemble_prompt(HISTORY, card=PLAIN, chat=ODD)

    assert texts(made) == ["one\ntwo", "A bell.", "Guest: I am new.", "hm"]


def test_in_a_group_everyone_but_the_user_is_named() -> None:
    """The default for groups."""
    made = assemble_prompt(
        HISTORY, card=PLAIN, chat=chat_lines("Hi.", "Ho."), is_group=True, settings=bare(group_nudge_prompt="")
    )

    assert texts(made) == ["Rook: Hi.", "Ho."]


def test_names_may_stand_before_every_message() -> None:
    """Behaviour 2 names all but the narrator, and an empty message becomes a name alone."""
    made = assemble_prompt(HISTORY, card=PLAIN, chat=ODD, settings=bare(names_behavior=2))

    assert texts(made) == ["Rook: one\ntwo", "A bell.", "Guest: I am new.", "Ada: ", "Ada: hm"]


def test_names_may_go_beside_the_message() -> None:
    """Behaviour 1 puts a safe form of the name into its own field."""
    chat = (ChatLine(name="Änne O. 🐦", text="x", is_user=True), ChatLine(name="R" * 70, text="y"))
    made = assemble_prompt(HISTORY, card=PLAIN, chat=chat, settings=bare(names_behavior=1))

    assert [item.name for item in made.items] == ["_nne_O____", "R" * 64]
    assert texts(made) == ["x", "y"]


def test_macros_in_the_chat_are_read() -> None:
    """C65: what was said is expanded, names in it too."""
    made = assemble_prompt(HISTORY, card=PLAIN, chat=chat_lines("I am {{char}}.", "I am {{user}}."))

    assert texts(made) == ["I am Rook.", "I am Ada."]


def test_a_new_chat_is_announced() -> None:
    """The separator stands before the chat even when nothing was said; a group has its own."""
    settings = bare(new_chat_prompt="[new with {{char}}]", new_group_chat_prompt="[group]", group_nudge_prompt="")

    assert texts(assemble_prompt(HISTORY, card=PLAIN, settings=settings)) == ["[new with Rook]"]
    assert texts(assemble_prompt(HISTORY, card=PLAIN, settings=settings, is_group=True)) == ["[group]"]


def test_a_group_is_nudged_behind_the_chat() -> None:
    """C38: but not when impersonating."""
    settings = bare(
        new_group_chat_prompt="", group_nudge_prompt="[only {{char}}]", impersonation_prompt="[be {{user}}]"
    )
    nodes = (HISTORY, node("jailbreak", "LAST"))

    made = assemble_prompt(*nodes, card=PLAIN, chat=chat_lines("Hi."), settings=settings, is_group=True)
    impersonating = assemble_prompt(
        *nodes, card=PLAIN, chat=chat_lines("Hi."), settings=settings, is_group=True, kind="impersonate"
    )

    assert texts(made) == ["Rook: Hi.", "[only Rook]", "LAST"]
    assert texts(impersonating) == ["Rook: Hi.", "LAST", "[be Ada]"]


def test_words_are_sent_for_a_silent_user() -> None:
    """Only after the character spoke last, texts among the chat included."""
    settings = bare(send_if_empty="(waits)")

    assert (
        format_messages(assemble_prompt(HISTORY, card=PLAIN, chat=chat_lines("Hi."), settings=settings))[-1]
        == "user: (waits)"
    )
    assert "(waits)" not in texts(
        assemble_prompt(HISTORY, card=PLAIN, chat=chat_lines("Hi.", "Ho."), settings=settings)
    )
    late = in_chat("p", "p", depth=0)
    assert "(waits)" not in texts(assemble_prompt(HISTORY, late, card=PLAIN, chat=chat_lines("Hi."), settings=settings))


def test_impersonation_asks_last_of_all() -> None:
    """C64: the preset's own words, behind everything."""
    made = assemble_prompt(
        HISTORY,
        node("jailbreak", "LAST"),
        card=PLAIN,
        chat=chat_lines("Hi."),
        kind="impersonate",
        settings=bare(impersonation_prompt="[be {{user}}]"),
    )

    assert format_messages(made) == ["assistant: Hi.", "system: LAST", "system: [be Ada]"]


def test_a_quiet_prompt_stands_last_of_all() -> None:
    """C69: behind the impersonation prompt too."""
    made = assemble_prompt(
        HISTORY, node("jailbreak", "LAST"), card=PLAIN, chat=chat_lines("Hi."), kind="quiet", quiet_prompt="Sum up."
    )

    assert texts(made) == ["Hi.", "LAST", "Sum up."]


def test_continuing_moves_the_last_message_behind_everything() -> None:
    """C69: with the nudge after it; texts by depth stay where they would stand with it in place."""
    settings = bare(continue_nudge_prompt="[go on: {{lastChatMessage}}]")
    nodes = (HISTORY, in_chat("p", "one back", depth=1), in_chat("q", "end", depth=0), node("jailbreak", "LAST"))
    made = assemble_prompt(
        *nodes, card=PLAIN, chat=chat_lines("Hi.", "Tell.", "Once "), kind="continue", settings=settings
    )

    assert format_messages(made) == [
        "assistant: Hi.",
        "user: Tell.",
        "system: one back",
        "system: end",
        "system: LAST",
        "assistant: Once ",
        "system: [go on: Once]",
    ]


def test_continuing_by_prefill_needs_no_nudge() -> None:
    """The begun answer is the last message, and depths count without it."""
    settings = bare(continue_prefill=True, assistant_prefill="Sure:")
    nodes = (HISTORY, in_chat("p", "one back", depth=1), node("jailbreak", "LAST"))
    more = {"card": PLAIN, "chat": chat_lines("Hi.", "Tell.", "Once"), "kind": "continue", "settings": settings}

    assert texts(assemble_prompt(*nodes, **more)) == ["Hi.", "one back", "Tell.", "LAST", "Once"]
    assert texts(assemble_prompt(*nodes, **more, takes_prefill=True))[-1] == "Sure:\n\nOnce"


def test_a_swipe_leaves_the_last_answer_out() -> None:
    """Another answer is wanted for the same question."""
    made = assemble_prompt(HISTORY, card=PLAIN, chat=chat_lines("Hi.", "Tell.", "Once"), kind="swipe")

    assert texts(made) == ["Hi.", "Tell."]


def test_making_an_answer_anew_forgets_it() -> None:
    """Only an answer is forgotten, never what the user said."""
    assert texts(assemble_prompt(HISTORY, card=PLAIN, chat=chat_lines("Hi.", "Tell.", "Once"), kind="regenerate")) == [
        "Hi.",
        "Tell.",
    ]
    assert texts(assemble_prompt(HISTORY, card=PLAIN, chat=chat_lines("Hi.", "Tell."), kind="regenerate")) == [
        "Hi.",
        "Tell.",
    ]


@pytest.mark.parametrize(
    ("kind", "last"), [("normal", "So, Ada:"), ("impersonate", "As Ada:"), ("quiet", "Hi.")], ids=lambda value: value
)
def test_a_prefill_goes_only_where_it_is_continued(kind: str, last: str) -> None:
    """C38: with a model that takes one, and never on a quiet generation."""
    settings = bare(assistant_prefill="So, {{user}}: ", assistant_impersonation="As {{user}}:", impersonation_prompt="")
    made = assemble_prompt(
        HISTORY, card=PLAIN, chat=chat_lines("Hi."), settings=settings, kind=kind, takes_prefill=True
    )

    assert texts(made)[-1] == last
    assert (
        texts(assemble_prompt(HISTORY, card=PLAIN, chat=chat_lines("Hi."), settings=settings, kind=kind))[-1] == "Hi."
    )


def test_the_readers_own_context_is_left_alone() -> None:
    """The caller's macro values keep their fields; only the variables are shared."""
    context = MacroContext(char="Rook", user="Ada", description="before")
    assemble_prompt(HISTORY, card=replace(PLAIN, description="{{setvar::x::1}}after"), context=context)

    assert context.description == "before"
    assert context.variables.local == {"x": "1"}
