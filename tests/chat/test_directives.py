"""The last words of a prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from familiar_connect.chat.directives import CONTINUE, EASE_OFF, REASONING, STOP, place_tail
from familiar_connect.chat.message_parts import Attachment, Emoji
from familiar_connect.chat.types import Directives, InboundMessage, TurnOptions
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from tests.fakes.chat import TEA_HOUSE, a_turn, message_by, our_message
from tests.fakes.context import ADA, BO, said


def placed(directives: Directives, *items: ContextItem) -> list[tuple[str, str]]:
    prompt = place_tail(Prompt(items=items, directives=directives))
    return [(item.role, item.text) for item in prompt.items]


def test_every_kind_at_its_place() -> None:
    """E40-E43: lower notes before the latest pair; tail, queued reply, operator's words, the first words last."""
    words = Directives(
        lower=("short-term hint", "ease off emoji"),
        tail=("imitate Bo", "[System: stop asked]", "[be brief]"),
        queued_reply="answer ref_1",
        uncensor="U",
        prefill=" Well, ",
    )

    assert placed(words, said("user", "one"), said("assistant", "two"), said("user", "three")) == [
        ("user", "one"),
        ("user", "[System: short-term hint\n\nease off emoji]"),
        ("assistant", "two"),
        ("user", "three"),
        ("user", "[System: imitate Bo\n\nstop asked\n\nbe brief]"),
        ("user", "[System: answer ref_1]"),
        ("user", "[System: U]"),
        ("assistant", "Well,"),
    ]


def test_with_one_turn_lower_notes_stand_before_it() -> None:
    """E40: there is no pair yet."""
    assert placed(Directives(lower=("hint",)), said("user", "one")) == [("user", "[System: hint]"), ("user", "one")]


def test_without_turns_lower_notes_are_appended() -> None:
    """E40: but still before the tail."""
    top = ContextItem.of("system", "top")

    assert [text for _, text in placed(Directives(lower=("hint",), tail=("end",)), top)] == [
        "top",
        "[System: hint]",
        "[System: end]",
    ]


def test_notes_and_samples_are_no_turns() -> None:
    """E40, E50: only real turns make up the latest pair."""
    note = ContextItem.of("user", "[note]", tag=ItemTag.NOW)
    items = (said("user", "a"), said("assistant", "b"), note, said("user", "c"))

    assert [text for _, text in placed(Directives(lower=("hint",)), *items)] == [
        "a",
        "[System: hint]",
        "b",
        "[note]",
        "c",
    ]


def test_nothing_to_say_changes_nothing() -> None:
    """E44: blank directives make no item."""
    prompt = Prompt(items=(said("user", "a"),), directives=Directives(lower=(" ",), tail=("[]",), prefill=" "))

    assert place_tail(prompt) is prompt


def test_last_words_are_never_taken_for_turns() -> None:
    """E50: they are tagged, and the directives stay on the prompt for whoever wants to see them."""
    words = Directives(tail=("end",), prefill="Well")
    prompt = place_tail(Prompt(items=(said("user", "a"),), directives=words))

    assert ([item.tag for item in prompt.items], prompt.directives) == (
        [ItemTag.DIALOGUE, ItemTag.TAIL, ItemTag.PREFILL],
        words,
    )


def test_directives_add_up_in_order() -> None:
    """Lists are joined; of single words the later one counts."""
    first = Directives(lower=("a",), tail=("x",), uncensor="U", prefill="one")
    second = Directives(lower=("b",), tail=("y",), prefill="two")

    assert first + second == Directives(lower=("a", "b"), tail=("x", "y"), uncensor="U", prefill="two")


# What a turn itself asks for


async def last_words(*messages: InboundMessage, asked: TurnOptions | None = None, **more: Any) -> Directives:
    return (await a_turn(*messages, asked=asked or TurnOptions(), **more)).directives


async def test_the_turns_own_words_stand_in_order() -> None:
    """E41: stop, reasoning, the manual prompt, then the continuation."""
    asked = TurnOptions(stop=True, reasoning=True, manual_prompt="be brief")

    assert (await last_words(message_by("hi"), asked=asked)).tail == (STOP, REASONING, "be brief")


async def test_a_manual_turn_goes_on_where_the_persona_ended() -> None:
    """E48: only after its own words, and beginning as it was told to."""
    ours = our_message("Once upon", 2)
    asked = TurnOptions(manual=True)

    assert (await last_words(message_by("hi", ADA, 1), ours, asked=asked)).tail == (CONTINUE,)
    assert (await last_words(ours, message_by("hi", ADA, 3), asked=asked)).tail == ()
    told = await last_words(ours, asked=TurnOptions(manual=True, prefill=" a time "))
    assert (told.tail, told.prefill) == ((f"{CONTINUE} Begin with: Wren: a time",), "a time")


async def test_too_many_custom_emojis_are_noticed() -> None:
    """E40, E46: more than one over the last three own turns; Unicode ones never count, voice never cares."""
    scene = replace(TEA_HOUSE, emojis=(Emoji(name="tea"),))
    much = [message_by("a", ADA, 1), our_message("<:tea:11> <:tea:11>", 2), message_by("b", ADA, 3)]
    little = [message_by("a", ADA, 1), our_message("🍵🍵🍵 <:tea:11>", 2), message_by("b", ADA, 3)]

    assert (await last_words(*much, scene=scene)).lower == (EASE_OFF,)
    assert (await last_words(*little, scene=scene)).lower == ()
    assert (await last_words(*much, scene=scene, is_voice=True)).lower == ()


async def test_a_message_that_waited_is_pointed_at() -> None:
    """E42, E47: persona, name, handle, attachments, a short quote; not for a stop or a manual turn."""
    picture = Attachment(url="https://x/a.png", mime="image/png")
    message = message_by('he said "no" ' + "x" * 400, BO, 9, attachments=(picture,))
    told = (await last_words(message, from_queue=True)).queued_reply

    assert told is not None
    assert told.startswith("You are Wren. Answer Bo (ref_1) (with 1 image): \"he said 'no' xxx")
    assert "x" * 280 not in told
    assert (await last_words(message)).queued_reply is None
    assert (await last_words(message, from_queue=True, asked=TurnOptions(stop=True))).queued_reply is None
    assert (await last_words(message, from_queue=True, asked=TurnOptions(manual=True))).queued_reply is None
