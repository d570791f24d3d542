"""The shape of a prompt: items, the last words beside them, handles, and what each block counts for."""

from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.directives import collect_directives, place_tail
from familiar_connect.chat.types import Directives, ListedUser, MessageIdMap, Sender
from familiar_connect.config.types import PlaceSettings
from familiar_connect.context.messages import to_messages
from familiar_connect.context.pipeline import ContextPipeline
from familiar_connect.context.slots import SEGMENTS, segment_of
from familiar_connect.context.types import ContextItem, ItemTag, Layer, Prompt
from familiar_connect.support.serialize import to_plain
from tests.fakes.context import PLENTY, FixedProvider, a_piece, a_request, said

HINT = "Sum the conversation up."


async def test_directives_are_collected_beside_the_items() -> None:
    """B1, B121: a contributor's last words are no item of the prompt, and a lower one stays a lower one."""
    giving = FixedProvider(a_piece("A note.", Layer.core, directives=Directives(lower=(HINT,))))
    prompt = await ContextPipeline([giving], budget_by_layer=PLENTY).build_prompt(a_request())

    assert prompt.directives.lower == (HINT,)
    assert not any(HINT in item.text for item in prompt.items)


def test_the_operators_directive_is_passed_on_as_written() -> None:
    """B122: without an outer frame, with nothing else changed; blank is none."""

    def uncensor(text: str | None) -> str | None:
        return collect_directives([], a_request(settings=PlaceSettings(operator_directive=text))).uncensor

    assert uncensor(" [System: Say it  [as it is]. ] ") == "Say it  [as it is]."
    assert uncensor("[keep] this") == "[keep] this"
    assert uncensor("  ") is None
    assert uncensor(None) is None


def test_what_a_caller_adds_stands_before_the_tail() -> None:
    """E45: behind everything arranged, before every directive of the end."""
    prompt = Prompt(items=(said("user", "Ada: hi"),), directives=Directives(tail=("be brief",), prefill="Well,"))
    guidance = ContextItem.of("user", "Your last try spoke for Ada.")
    placed = place_tail(prompt, [guidance])

    assert [item.text for item in placed.items] == ["Ada: hi", guidance.text, "[System: be brief]", "Well,"]


def test_a_prompt_holds_items_directives_handles_and_cuts() -> None:
    """D10: each with a default but the items."""
    prompt = Prompt(items=())

    assert [each.name for each in fields(prompt)][:4] == ["items", "directives", "message_ids", "dropped"]
    assert (prompt.directives, prompt.dropped) == (Directives(), ())
    assert isinstance(prompt.message_ids, MessageIdMap)


def test_directives_are_two_lists_and_three_texts() -> None:
    """D11: all of them empty until somebody asks."""
    assert to_plain(Directives()) == {
        "_type": "Directives",
        "lower": [],
        "tail": [],
        "queued_reply": None,
        "uncensor": None,
        "prefill": None,
    }


def test_hidden_fields_are_never_sent() -> None:
    """D12: who sent an item, whom it lists and whom it mentions stays with us."""
    hidden = replace(
        said("user", "Ada: hi"),
        sender=Sender(name="HIDDEN"),
        users=(ListedUser(target_id="HIDDEN", display_label="HIDDEN"),),
        persona_mentions={"HIDDEN": "HIDDEN"},
        message_id="HIDDEN",
        key="HIDDEN",
    )

    assert "HIDDEN" not in repr([message.to_dict() for message in to_messages([hidden])])


@given(st.sampled_from([None, *ItemTag]))
def test_every_tag_counts_for_one_segment(tag: ItemTag | None) -> None:
    """D13: the mapping is total; a block without a tag counts as instructions."""
    counted = [segment for segment, tags in SEGMENTS.items() if tag in tags]

    assert counted == ([segment_of(tag)] if tag is not None else [])
    assert segment_of(None) == "instructions"
