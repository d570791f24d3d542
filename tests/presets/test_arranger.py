"""A prompt laid out: native, by a preset with memory, or as SillyTavern itself would."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from familiar_connect.chat.types import Directives, Sender, Turn, TurnFlags
from familiar_connect.context.protocols import Arranger
from familiar_connect.context.types import ContextItem, ContextRequest, DroppedNote, ItemTag, Layer, Prompt
from familiar_connect.errors import FamiliarError
from familiar_connect.llm.types import ImagePart, TextPart
from familiar_connect.presets.arranger import PresetArranger
from familiar_connect.presets.macro_context import NativeArranger, make_random_choices
from familiar_connect.presets.types import (
    ActivePreset,
    CardFields,
    OrderEntry,
    Preset,
    PresetFidelity,
    PresetNode,
    PresetSettings,
    PromptOrderList,
)
from tests.fakes.context import a_request

BARE = PresetSettings(new_chat_prompt="", new_example_chat_prompt="")
IMPERSONATING = Turn(familiar_id="wren", channel_id=7, said=(), flags=TurnFlags(impersonation=True))


def item(text: str, tag: ItemTag | None = None, role: Any = "system", **more: Any) -> ContextItem:
    return ContextItem.of(role, text, tag=tag, source=f"native:{text}", **more)


def by(name: str, words: str) -> ContextItem:
    return replace(item(f"{name}: {words}", ItemTag.DIALOGUE, "user"), sender=Sender(name=name), words=words)


def a_prompt(*items: ContextItem, **more: Any) -> Prompt:
    return Prompt(items=items, **more)


def a_preset(*nodes: PresetNode, settings: PresetSettings = BARE, off: str = "") -> Preset:
    entries = tuple(OrderEntry(identifier=node.identifier, enabled=node.identifier != off) for node in nodes)
    order = PromptOrderList(character_id="100001", entries=entries)
    return Preset(name="tea", prompts=nodes, orders=(order,), settings=settings)


def marker(identifier: str) -> PresetNode:
    return PresetNode(identifier=identifier, is_marker=True, system_prompt=True)


def says(content: str, identifier: str = "custom", **more: Any) -> PresetNode:
    return PresetNode(identifier=identifier, content=content, system_prompt=False, **more)


def with_preset(preset: Preset, fidelity: PresetFidelity = PresetFidelity.with_memory, **more: Any) -> ContextRequest:
    facts: dict[str, Any] = {"card": CardFields(name="Wren", description="A bird."), "seed": 3}
    return a_request(preset=ActivePreset(preset=preset, fidelity=fidelity), **facts | more)


def laid_out(prompt: Prompt, request: ContextRequest) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in PresetArranger().arrange(prompt, request).items]


# Random choices


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("{{random: red , blue}}", "red"),
        ("{RANDOM::x::y}", "x"),
        ("{{random::::}}", ""),
        ("{{random:a,{b}}}", "{{random:a,{b}}}"),
        ("{{random}} {{random:}}", "{{random}} {{random:}}"),
    ],
)
def test_choices_are_made_last(text: str, chosen: str) -> None:
    """A10, A12, A13, A15: both forms, both braces; what is no list stays."""

    class First(random.Random):
        def random(self) -> float:
            return 0.0

        def getrandbits(self, k: int, /) -> int:
            return 0

    assert make_random_choices(a_prompt(item(text)), First()).items[0].text == chosen


def test_what_people_said_is_never_rolled() -> None:
    """A11, A16: dialogue, notes from elsewhere and the queued reply are quoted; other items and directives are not."""
    dice = "{{random::a::a}}"
    prompt = a_prompt(
        item(dice, ItemTag.DIALOGUE, "user"),
        item(dice, ItemTag.SHORT_TERM),
        item(dice, ItemTag.PEOPLE),
        item(dice, ItemTag.RULES),
        directives=Directives(lower=(dice,), tail=(dice,), queued_reply=dice, uncensor=dice, prefill=dice),
    )

    found = make_random_choices(prompt, random.Random(1))

    assert [each.text for each in found.items] == [dice, dice, dice, "a"]
    assert found.items[0] is prompt.items[0]
    assert found.directives == Directives(lower=("a",), tail=("a",), queued_reply=dice, uncensor="a", prefill="a")


def test_a_prompt_without_choices_stays_the_same_object() -> None:
    """A11: and a picture is left alone beside rolled text."""
    plain = a_prompt(item("x"))
    picture = ImagePart("u", "image/png")
    mixed = a_prompt(replace(item(""), parts=(picture, TextPart("{{random::a::a}}"))))

    assert NativeArranger().arrange(plain, a_request()) is plain
    assert NativeArranger().arrange(mixed, a_request()).items[0].parts == (picture, TextPart("a"))


def test_each_choice_is_rolled_for_itself_and_the_same_turn_rolls_the_same() -> None:
    """A14, A16: by the request's seed."""
    prompt = a_prompt(*(item("{{random::a::b::c::d}}") for _ in range(40)))

    rolled = [each.text for each in NativeArranger().arrange(prompt, a_request(seed=1)).items]
    again = [each.text for each in NativeArranger().arrange(prompt, a_request(seed=1)).items]
    other = [each.text for each in NativeArranger().arrange(prompt, a_request(seed=2)).items]

    assert set(rolled) == set("abcd")
    assert rolled == again != other


# With memory


def test_arrangers_keep_the_seam() -> None:
    """Both are what the pipeline asks for."""
    assert isinstance(NativeArranger(), Arranger)
    assert isinstance(PresetArranger(), Arranger)


def test_without_a_preset_the_native_order_stands() -> None:
    """A2: nothing moves."""
    prompt = a_prompt(item("a", ItemTag.RULES), by("Ada", "hi"))

    assert PresetArranger().arrange(prompt, a_request()) is prompt


def test_an_impersonation_never_uses_the_preset() -> None:
    """A4: a template of somebody else must not displace it."""
    prompt = a_prompt(item("a", ItemTag.RULES), by("Ada", "hi"))

    assert PresetArranger().arrange(prompt, with_preset(a_preset(says("mine")), turn=IMPERSONATING)) is prompt


def test_the_preset_speaks_to_the_real_speaker_among_our_blocks() -> None:
    """A2, A3, B3: nodes by their order, the speaker by name, native blocks in between."""
    prompt = a_prompt(item("A bird.", ItemTag.PERSONA), item("found", ItemTag.FOUND), by("Ada", "hi"))
    preset = a_preset(says("Be {{char}} for {{user}}."), marker("charDescription"), marker("chatHistory"))

    assert laid_out(prompt, with_preset(preset)) == [
        ("system", "Be Wren for Ada."),
        ("system", "A bird."),
        ("system", "found"),
        ("user", "Ada: hi"),
    ]


def test_a_block_told_by_a_node_is_consumed() -> None:
    """C3.4, C41: `{{description}}` stands instead of the persona."""
    prompt = a_prompt(item("A bird.", ItemTag.PERSONA), item("Dry.", ItemTag.TRAITS), by("Ada", "hi"))

    found = laid_out(prompt, with_preset(a_preset(says("Who: {{description}}"))))

    assert [text for _, text in found] == ["Who: A bird.", "Dry.", "Ada: hi"]


def test_a_disabled_node_says_nothing() -> None:
    """C3.3, C21: the order's switch holds."""
    preset = a_preset(says("off", "x"), says("on", "y"), off="x")

    assert [text for _, text in laid_out(a_prompt(by("Ada", "hi")), with_preset(preset))] == ["on", "Ada: hi"]


def test_quoted_words_stay_words() -> None:
    """C42, A16: a node that quotes the chat neither reads nor rolls what was typed there."""
    typed = "{{random::a::b}} {user}"
    preset = a_preset(says("Last: {{lastUserMessage}} for {user}"))

    found = laid_out(a_prompt(by("Ada", typed)), with_preset(preset))

    assert found[0] == ("system", f"Last: {typed} for Ada")


def test_the_last_chat_message_is_the_last_a_user_wrote() -> None:
    """A9: or nothing."""
    preset = a_preset(says("[{{lastUserMessage}}]"))
    own = item("own", ItemTag.DIALOGUE, "assistant")

    assert laid_out(a_prompt(by("Ada", "hi"), own), with_preset(preset))[0][1] == "[hi]"
    assert laid_out(a_prompt(own), with_preset(preset))[0][1] == "[]"


def test_directives_and_handles_pass_through() -> None:
    """A7, A8, C3.8: unchanged, and not among the items."""
    prompt = a_prompt(by("Ada", "hi"), directives=Directives(tail=("be brief",)))

    found = PresetArranger().arrange(prompt, with_preset(a_preset(says("x"))))

    assert found.directives == prompt.directives
    assert found.message_ids is prompt.message_ids


@pytest.mark.parametrize(("behavior", "expected"), [(2, "Wren: Well, Ada"), (0, "Well, Ada")])
def test_the_presets_first_words_are_the_familiars(behavior: int, expected: str) -> None:
    """C38, B113, E60, E61: a turn's own prefill goes before it."""
    settings = replace(BARE, assistant_prefill="Well, {{user}}", names_behavior=behavior)
    request = with_preset(a_preset(says("x"), settings=settings))
    prompt = a_prompt(by("Ada", "hi"))
    own = replace(prompt, directives=Directives(prefill="Oh"))

    assert PresetArranger().arrange(prompt, request).directives.prefill == expected
    assert (PresetArranger().arrange(own, request).directives.prefill or "").endswith("Oh")


def test_separators_have_their_macros_read() -> None:
    """C38: new-chat and example lines."""
    settings = PresetSettings(new_chat_prompt="[{{user}} and {{char}}]", new_example_chat_prompt="")

    found = laid_out(a_prompt(by("Ada", "hi")), with_preset(a_preset(marker("chatHistory"), settings=settings)))

    assert found == [("system", "[Ada and Wren]"), ("user", "Ada: hi")]


def test_squashing_is_asked_for_on_the_prompt() -> None:
    """C38: the messages do it, as their last step."""
    settings = replace(BARE, squash_system_messages=True)

    assert PresetArranger().arrange(a_prompt(), with_preset(a_preset(says("x"), settings=settings))).squash


# As SillyTavern


def test_as_sillytavern_only_card_preset_persona_and_chat_are_sent() -> None:
    """A18, C60, C61, C69: no preamble, no blocks and no directives of ours."""
    prompt = a_prompt(
        item("pre", ItemTag.PREAMBLE),
        item("found", ItemTag.FOUND),
        by("Ada", "hi {{char}}"),
        directives=Directives(tail=("ours",)),
    )
    preset = a_preset(
        replace(says("Main."), identifier="main"),
        marker("personaDescription"),
        marker("charDescription"),
        marker("chatHistory"),
    )
    request = with_preset(preset, PresetFidelity.sillytavern, persona="A sailor.")

    found = PresetArranger().arrange(prompt, request)

    assert [(each.role, each.text) for each in found.items] == [
        ("system", "Main."),
        ("system", "A sailor."),
        ("system", "A bird."),
        ("user", "hi Wren"),
    ]
    assert found.directives == Directives()
    assert all(each.apart for each in found.items)
    assert found.items[-1].sender == Sender(name="Ada")


def test_as_sillytavern_only_chat_counts_as_cut() -> None:
    """The card goes in whole, whatever its layer would have held."""
    notes = [DroppedNote(layer, layer.value, "truncated", 9) for layer in (Layer.character, Layer.recent_history)]
    prompt = replace(a_prompt(by("Ada", "hi")), dropped=tuple(notes))
    request = with_preset(a_preset(marker("chatHistory")), PresetFidelity.sillytavern)

    assert PresetArranger().arrange(prompt, request).dropped == (notes[1],)


def test_as_sillytavern_an_impersonation_uses_the_presets_own_prompt() -> None:
    """C64: last of all."""
    settings = replace(BARE, impersonation_prompt="Write as {{user}}.")
    preset = a_preset(marker("chatHistory"), settings=settings)
    request = with_preset(preset, PresetFidelity.sillytavern, turn=IMPERSONATING)

    assert laid_out(a_prompt(by("Ada", "hi")), request)[-1] == ("system", "Write as Ada.")


def test_as_sillytavern_what_must_be_said_and_does_not_fit_refuses_the_turn() -> None:
    """C70: with a sentence that names the preset."""
    settings = replace(BARE, max_context=20, max_tokens=5)
    preset = a_preset(replace(says("word " * 200), identifier="main"), marker("chatHistory"), settings=settings)

    with pytest.raises(FamiliarError, match="tea"):
        laid_out(a_prompt(by("Ada", "hi")), with_preset(preset, PresetFidelity.sillytavern))
