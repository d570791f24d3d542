"""A preset where several characters talk: its words for groups, and names as SillyTavern has them."""

from __future__ import annotations

from dataclasses import replace

from familiar_connect.chat.types import Sender
from familiar_connect.context.types import ContextItem, ItemTag, Prompt
from familiar_connect.presets.arranger import PresetArranger
from familiar_connect.presets.story.types import Story
from familiar_connect.presets.types import CardFields, PresetFidelity, PresetSettings
from tests.fakes.context import ADA
from tests.presets.test_arranger import BARE, a_preset, a_prompt, by, item, laid_out, marker, says, with_preset
from tests.presets.test_turn_kinds import a_turn

HEARTH = Story(user="Ada", group=("Wren", "Ember"))


def ours(words: str) -> ContextItem:
    own = item(words, ItemTag.DIALOGUE, "assistant")
    return replace(own, sender=Sender(name="Wren", kind="persona"), words=words)


def test_a_preset_opens_a_group_chat_in_its_own_words_and_nudges_who_answers() -> None:
    """Alone, the same character gets neither."""
    settings = replace(BARE, new_chat_prompt="[New]", new_group_chat_prompt="[New: {{group}}]")
    preset = a_preset(marker("chatHistory"), settings=replace(settings, group_nudge_prompt="[Only as {{char}}.]"))
    prompt = a_prompt(by("Ember", "hi"))

    def tail(story: Story) -> tuple[str, ...]:
        return PresetArranger().arrange(prompt, with_preset(preset, turn=a_turn(), story=story)).directives.tail

    assert (tail(HEARTH), tail(Story())) == (("[Only as Wren.]",), ())
    assert ("system", "[New: Wren, Ember]") in laid_out(prompt, with_preset(preset, story=HEARTH))
    assert ("system", "[New]") in laid_out(prompt, with_preset(preset))


def test_in_a_group_the_user_is_the_person_whoever_spoke_last() -> None:
    """A preset's `{{user}}` is never another character."""
    preset = a_preset(says("Be kind to {{user}}, {{char}}."), marker("chatHistory"))
    request = with_preset(preset, story=HEARTH, author=replace(ADA, display_name="Ember"))

    assert ("system", "Be kind to Ada, Wren.") in laid_out(a_prompt(by("Ember", "hi")), request)


def exact(prompt: Prompt, settings: PresetSettings | None = None) -> list[tuple[str, str]]:
    preset = a_preset(marker("chatHistory"), settings=settings or PresetSettings())
    return laid_out(prompt, with_preset(preset, PresetFidelity.sillytavern, story=HEARTH, card=CardFields(name="Wren")))


def test_as_in_sillytavern_every_character_is_the_assistant_under_its_name() -> None:
    """Under `sillytavern` fidelity: names before all words but the person's, the opening and the nudge of a group."""
    assert exact(a_prompt(by("Ada", "Good evening."), by("Ember", "Hello!"), ours("Hm."))) == [
        ("system", "[Start a new group chat. Group members: Wren, Ember]"),
        ("user", "Good evening."),
        ("assistant", "Ember: Hello!"),
        ("assistant", "Wren: Hm."),
        ("system", "[Write the next reply only as Wren.]"),
    ]
