"""A native prompt in the order of a preset: by the worked examples, rule by rule, and for any preset at all."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.context.messages import to_messages
from familiar_connect.context.types import ContextItem, ItemTag
from familiar_connect.llm.types import Capabilities
from familiar_connect.presets.reassemble import SAMPLES_END, PresetLayout, ResolvedPreset, reassemble
from familiar_connect.presets.types import PresetNode
from tests.fakes.properties import at_least

STRICT = Capabilities(strict_roles=True)
NATIVE = [
    ("sys", ItemTag.RULES),
    ("persona", ItemTag.PERSONA),
    ("traits", ItemTag.TRAITS),
    ("server", ItemTag.SERVER_INFO),
    ("mem", ItemTag.SERVER_MEMORIES),
    ("people", ItemTag.PARTICIPANTS),
    ("stm", ItemTag.SHORT_TERM),
    ("rag", ItemTag.DOCUMENTS),
    ("cond", ItemTag.CONDITIONING),
    ("sample-u", ItemTag.SAMPLE),
    ("sample-a", ItemTag.SAMPLE),
    ("h1", ItemTag.DIALOGUE),
    ("h2", ItemTag.DIALOGUE),
    ("h3", ItemTag.DIALOGUE),
]


def item(text: str, tag: ItemTag | None = None, role: Any = "system", **more: Any) -> ContextItem:
    return ContextItem.of(role, text, tag=tag, source=f"native:{text}", **more)


def notes_on(slug: str) -> ContextItem:
    return replace(item(slug, ItemTag.PEOPLE), key=slug)


def native() -> list[ContextItem]:
    return [item(text, tag, "user" if tag is ItemTag.DIALOGUE else "system") for text, tag in NATIVE]


def marker(identifier: str, **more: Any) -> PresetNode:
    return PresetNode(identifier=identifier, is_marker=True, **more)


def says(content: str, identifier: str = "", **more: Any) -> PresetNode:
    return PresetNode(identifier=identifier or f"id-{content}", content=content, **more)


def deep(content: str, depth: int | None, **more: Any) -> PresetNode:
    return says(content, position=1, depth=depth, **more)


def arranged(items: Sequence[ContextItem], *nodes: PresetNode, **more: Any) -> list[ContextItem]:
    told = more.pop("told", frozenset())
    return reassemble(
        items, ResolvedPreset(nodes=nodes, content_macros=frozenset(told)), PresetLayout(preset="p", **more)
    )


def texts(items: Sequence[ContextItem]) -> str:
    return " ".join(each.text for each in items)


# The worked examples


def test_blocks_stand_at_their_markers_and_the_rest_before_the_samples() -> None:
    """C3.4, C3.5: the first worked example of reassembly."""
    found = arranged(
        native(),
        says("Write-vividly."),
        marker("charDescription"),
        marker("worldInfoBefore"),
        says("<rules>", role="user"),
        marker("dialogueExamples"),
        marker("chatHistory"),
        says("Post-history-rule."),
    )

    assert texts(found) == (
        "Write-vividly. persona server mem rag <rules> people stm cond sys traits "
        "sample-u sample-a h1 h2 h3 Post-history-rule."
    )


def test_a_preset_without_anchors_stands_first() -> None:
    """C32: content nodes, knowledge, what goes beside the dialogue, leftovers, samples, dialogue."""
    found = arranged(native(), says("Only-node."))

    assert texts(found) == ("Only-node. server mem people stm cond rag sys persona traits sample-u sample-a h1 h2 h3")


def test_markers_are_taken_literally() -> None:
    """C30, C3.7: samples after live history are explained."""
    found = arranged(native(), marker("charPersonality"), marker("chatHistory"), marker("dialogueExamples"))

    assert texts(found[:-1]) == ("traits server mem people stm cond rag sys persona h1 h2 h3 sample-u sample-a")
    assert (found[-1].role, found[-1].tag, found[-1].text) == ("user", None, f"[System: {SAMPLES_END}]")


def chat() -> list[ContextItem]:
    return [
        item("Ada: a", ItemTag.DIALOGUE, "user"),
        item("Fam: b", ItemTag.DIALOGUE, "assistant"),
        item("Ada: c", ItemTag.DIALOGUE, "user"),
    ]


def test_depth_counts_the_turns_that_follow() -> None:
    """C34, C35, C37: the worked example of depth, each text an item of its own."""
    found = arranged(
        chat(),
        deep("end note", 0),
        deep("x2", 1, order=200),
        deep("x1", 1, order=50),
        deep("x1", 1, order=50, role="user"),
        deep("far", 9),
    )

    assert [(each.role[0], each.text) for each in found] == [
        ("s", "far"),
        ("u", "Ada: a"),
        ("a", "Fam: b"),
        ("u", "x1"),
        ("s", "x1"),
        ("s", "x2"),
        ("u", "Ada: c"),
        ("s", "end note"),
    ]


def test_a_model_that_wants_alternation_gets_depth_inside_the_turns() -> None:
    """C34, F30: the worked example in merge mode."""
    found = arranged(chat(), deep("end note", 0), deep("x2", 1, order=200), deep("x1", 1, order=50), deep("far", 9))

    assert [(m.role, m.content) for m in to_messages(found, STRICT)] == [
        ("user", "Ada: a\n[System: far]"),
        ("assistant", "Fam: b"),
        ("user", "[System: x1\nx2]\nAda: c\n[System: end note]"),
    ]


# Rule by rule


def test_texts_of_one_depth_order_and_role_are_one_message() -> None:
    """C37: joined by a newline, in the order of the preset."""
    found = arranged(chat(), deep("one", 1), deep("two", 1), deep("three", 1, role="user"))

    assert [each.text for each in found] == ["Ada: a", "Fam: b", "three", "one\ntwo", "Ada: c"]


def test_deeper_than_the_chat_stands_before_its_first_message() -> None:
    """C37: the deepest first."""
    found = arranged(chat(), deep("deep", 8), deep("deeper", 20))

    assert [each.text for each in found][:3] == ["deeper", "deep", "Ada: a"]


def test_a_text_of_the_last_depth_stands_before_what_the_preset_puts_after_the_chat() -> None:
    """C37: depth 0 is the end of the chat, not of the prompt."""
    found = arranged(chat(), marker("chatHistory"), says("after"), deep("end", 0))

    assert [each.text for each in found][-2:] == ["end", "after"]


def test_spacers_and_notes_never_count_and_spacers_stay_with_their_turn() -> None:
    """C35, B104: a depth is counted in real turns only."""
    items = [
        item("h1", ItemTag.DIALOGUE, "user"),
        item("note", ItemTag.AUTHOR_NOTE, depth=1),
        item("spacer", ItemTag.DATE_SPACER, "user"),
        item("h2", ItemTag.DIALOGUE, "user"),
    ]

    assert texts(arranged(items, deep("x", 1))) == "h1 note x spacer h2"


def test_a_depth_without_a_turn_is_one_note_at_the_end() -> None:
    """C34: whatever the mode."""
    found = arranged([item("sys", ItemTag.RULES)], deep("two", 4), deep("one", 0))

    assert [(each.role, each.text) for each in found] == [("system", "sys"), ("user", "[System: one\ntwo]")]


def test_a_text_that_gives_no_depth_is_never_shown() -> None:
    """C22: a depth that is no number matches nothing."""
    assert texts(arranged(chat(), deep("nowhere", None))) == "Ada: a Fam: b Ada: c"


def test_a_marker_may_stand_at_a_depth() -> None:
    """C3.6: its block goes there as it is."""
    found = arranged(native(), marker("charDescription", position=1, depth=1))

    assert texts(found).endswith("h1 h2 persona h3")
    assert texts(found).count("persona") == 1


def test_a_disabled_marker_is_no_slot_and_its_block_is_left_over() -> None:
    """C31: nothing is removed."""
    found = arranged(native(), says("first"), marker("chatHistory"))

    assert texts(found) == "first people stm cond rag server mem sys persona traits sample-u sample-a h1 h2 h3"


def test_the_preamble_stays_first() -> None:
    """B9, C3.2: before anything a preset brings."""
    found = arranged([item("pre", ItemTag.PREAMBLE), *native()], says("Mine."), marker("chatHistory"))

    assert texts(found).startswith("pre Mine. ")


def test_the_stream_moves_as_one() -> None:
    """C3.2: notes, spacers, clock and thoughts keep their place; found memory leaves it."""
    items = [
        item("h1", ItemTag.DIALOGUE, "user"),
        item("elsewhere"),
        item("found", ItemTag.FOUND, apart=True),
        item("now", ItemTag.NOW, "user", depth=2),
        item("note", ItemTag.AUTHOR_NOTE, depth=1),
        item("interrupted", apart=True),
        item("thought", ItemTag.THINKING, apart=True),
        item("h2", ItemTag.DIALOGUE, "user"),
        item("last", ItemTag.POST_HISTORY, depth=0),
        item("mode", ItemTag.AUTHOR_NOTE),
    ]

    found = arranged(items, marker("chatHistory"), says("end"))

    assert texts(found) == "found mode h1 elsewhere now note interrupted thought h2 last end"
    assert not found[0].apart


def test_world_info_goes_to_whichever_marker_comes_first() -> None:
    """C3.4: documents and found memory; the other marker gets nothing."""
    items = [item("found", ItemTag.FOUND), item("doc", ItemTag.DOCUMENTS)]

    found = arranged(items, says("a"), marker("worldInfoAfter"), says("b"), marker("worldInfoBefore"), says("c"))

    assert texts(found) == "a doc found b c"


def test_the_persona_marker_takes_the_speakers_own_notes() -> None:
    """C3.4: those of others stay with the dialogue."""
    items = [notes_on("bo"), notes_on("ada"), item("h1", ItemTag.DIALOGUE, "user")]

    found = arranged(items, marker("personaDescription"), says("then"), marker("chatHistory"), speaker="ada")

    assert texts(found) == "ada then bo h1"


def test_an_unknown_marker_is_told_and_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """C3.4: a warning, and the walk goes on."""
    with caplog.at_level(logging.WARNING):
        found = arranged(native(), marker("somethingNew"), marker("chatHistory"))

    assert len(found) == len(NATIVE)
    assert [record.message for record in caplog.records] == ["preset marker is not known"]


@pytest.mark.parametrize(
    ("own", "forbids", "expected"),
    [
        ("own", False, "own"),
        ("own {{original}}!", False, "own preset!"),
        ("{{original}}+{{original}}", False, "preset+"),
        ("own", True, "own preset"),
        ("own{{original}}", True, "own preset"),
        (None, False, "preset"),
        (None, True, "preset"),
    ],
)
@pytest.mark.parametrize(("identifier", "tag"), [("main", ItemTag.RULES), ("jailbreak", ItemTag.POST_HISTORY)])
def test_own_text_and_the_presets(identifier: str, tag: ItemTag, own: str | None, forbids: bool, expected: str) -> None:
    """C36: own text stands alone unless the preset forbids it; the original is where it asks for it, once."""
    items = [item(own, tag)] if own is not None else []

    found = arranged(items, says("preset", identifier, forbid_overrides=forbids))

    assert texts(found) == expected


def test_without_a_slot_own_text_stays_and_asks_for_nothing() -> None:
    """C31, C36: a disabled main is no slot; a macro for the text it would replace is empty."""
    items = [item("own{{original}}", ItemTag.RULES), item("h1", ItemTag.DIALOGUE, "user")]

    assert texts(arranged(items, says("x"))) == "x own h1"


def test_main_is_a_slot_even_when_it_says_nothing() -> None:
    """C3.3, C3.4: rules, channel prompt, then the knowledge flush."""
    items = [
        item("mem", ItemTag.SERVER_MEMORIES),
        item("chan", ItemTag.CHANNEL_PROMPT),
        item("own", ItemTag.RULES),
    ]

    assert texts(arranged(items, says("", "main"), says("then"))) == "own chan mem then"


def test_the_jailbreak_takes_the_last_words_out_of_the_stream() -> None:
    """C3.2: only where that node is enabled."""
    items = [item("h1", ItemTag.DIALOGUE, "user"), item("last", ItemTag.POST_HISTORY, depth=0)]

    assert texts(arranged(items, marker("chatHistory"), says("x"), says("", "jailbreak"))) == "h1 x last"
    assert texts(arranged(items, marker("chatHistory"), says("x"))) == "h1 last x"


def test_what_a_node_has_told_is_not_told_again() -> None:
    """C3.4: a block whose text a shown node holds is consumed."""
    fields = {"description": "persona", "personality": "traits"}

    found = arranged(native(), says("It is persona."), marker("charDescription"), told={"description"}, fields=fields)

    assert texts(found).count("persona") == 1
    assert "traits" in texts(found)


def test_what_only_a_replaced_text_tells_is_not_consumed() -> None:
    """C3.5, C36: a preset's text that own text replaces tells nothing."""
    found = arranged(native(), says("preset: persona", "main"), told={"description"}, fields={"description": "persona"})

    assert texts(found).split().count("persona") == 1


def test_the_speakers_notes_are_consumed_by_the_persona_macro() -> None:
    """C3.4: the matching block of `{{persona}}` is the speaker's people file."""
    items = [notes_on("ada"), notes_on("bo")]

    found = arranged(items, says("You know: ada"), told={"persona"}, fields={"persona": "ada"}, speaker="ada")

    assert texts(found) == "You know: ada bo"


def test_separators_stand_before_samples_and_chat() -> None:
    """C38: the preset's new-chat and example lines, as system items of their own."""
    found = arranged(
        native(), marker("dialogueExamples"), marker("chatHistory"), new_chat="[chat]", new_example="[example]"
    )

    assert texts(found).endswith("traits [example] sample-u sample-a [chat] h1 h2 h3")
    assert [each.source for each in found if each.apart] == ["preset:p:newExampleChat", "preset:p:newMainChat"]


def test_left_over_samples_and_chat_get_their_separators_too() -> None:
    """C38, C3.5: where no marker asked for them."""
    found = arranged(native(), says("x"), new_chat="[chat]", new_example="[example]")

    assert texts(found).endswith("traits [example] sample-u sample-a [chat] h1 h2 h3")


def test_items_of_a_preset_say_where_they_come_from() -> None:
    """C33: no tag; the source names preset and node."""
    found = arranged([], says("x", "abc", role="assistant"))

    assert [(each.tag, each.role, each.source) for each in found] == [(None, "assistant", "preset:p:abc")]


# For any preset


IDENTIFIERS = [
    *("main", "jailbreak", "nsfw", "charDescription", "charPersonality", "scenario", "personaDescription"),
    *("worldInfoBefore", "worldInfoAfter", "dialogueExamples", "chatHistory", "custom-a", "custom-b"),
]
nodes = st.lists(
    st.builds(
        PresetNode,
        identifier=st.sampled_from(IDENTIFIERS),
        content=st.sampled_from(["", "words", "more words"]),
        is_marker=st.booleans(),
        role=st.sampled_from(["system", "user", "assistant"]),
        position=st.sampled_from([0, 0, 1]),
        depth=st.sampled_from([None, 0, 1, 2, 50]),
        order=st.sampled_from([1, 100]),
        forbid_overrides=st.booleans(),
    ),
    max_size=12,
)
natives = st.lists(
    st.tuples(
        st.sampled_from([None, *ItemTag]),
        st.sampled_from(["system", "user", "assistant"]),
        st.sampled_from([None, None, 0, 3]),
        st.booleans(),
    ),
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=at_least(100))
@given(nodes, natives)
def test_nothing_native_is_ever_dropped_or_doubled(
    preset: list[PresetNode], kinds: list[tuple[ItemTag | None, Any, int | None, bool]]
) -> None:
    """C3.5: whatever the preset and the prompt, every block is there once, and turns keep their order."""
    items = [
        item(str(number), tag, role, depth=depth, apart=apart) for number, (tag, role, depth, apart) in enumerate(kinds)
    ]

    found = arranged(items, *preset, new_chat="[new]", speaker="nobody")
    kept = [each.text for each in found if each.source.startswith("native:")]
    turns = [each.text for each in found if each.tag is ItemTag.DIALOGUE]

    assert Counter(kept) == Counter(each.text for each in items)
    assert turns == [each.text for each in items if each.tag is ItemTag.DIALOGUE]


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2, 3, 9]), st.sampled_from([1, 100])), max_size=6), st.integers(1, 5))
def test_exactly_that_many_turns_follow_a_text_of_depth(places: list[tuple[int, int]], length: int) -> None:
    """C35: for any depths in any dialogue."""
    items = [item(f"h{n}", ItemTag.DIALOGUE, "user") for n in range(length)]
    texts_at = [deep(f"d{depth} o{order} {n}", depth, order=order) for n, (depth, order) in enumerate(places)]

    found = arranged(items, *texts_at)

    for at, each in enumerate(found):
        if each.depth is not None:
            following = sum(1 for later in found[at:] if later.tag is ItemTag.DIALOGUE)
            assert following == min(each.depth, length)
