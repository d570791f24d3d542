"""Packing contributions into layers."""

from __future__ import annotations

import logging
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.context.budget import SHOWN_MESSAGE_CHARS, Budgeter, cost, fit_total, tokens_of
from familiar_connect.context.types import ContextItem, Contribution, ItemTag, Layer
from familiar_connect.support.tokens import estimate_tokens
from tests.fakes.context import PLENTY, a_dialogue, a_piece, said

words = st.text(alphabet="ab .!\n", max_size=120)
layers = st.sampled_from([Layer.core, Layer.content, Layer.author_note])


@st.composite
def pieces(draw: st.DrawFn, *, dialogues: bool = True) -> list[Contribution]:
    """Up to eight contributions, some of them dialogues."""
    found: list[Contribution] = []
    for number in range(draw(st.integers(0, 8))):
        source = f"s{number}"
        priority, order = draw(st.integers(0, 3)), draw(st.integers(0, 2))
        if dialogues and draw(st.booleans()):
            turns = draw(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), words), min_size=1, max_size=5))
            items = tuple(said(role, f"{text}{at}", apart=draw(st.booleans())) for at, (role, text) in enumerate(turns))
            piece = a_dialogue(*items, layer=draw(layers), order=order)
            found.append(Contribution(**{**vars(piece), "source": source, "priority": priority}))
        else:
            found.append(a_piece(draw(words), draw(layers), priority=priority, order=order, source=source))
    return found


def test_what_does_not_fit_at_all_is_dropped_with_its_full_count() -> None:
    """Two of forty characters, room for ten tokens: the first whole, the second gone."""
    result = Budgeter().fill(
        [a_piece("a" * 40, source="first"), a_piece("b" * 40, source="second")], {Layer.content: 10}
    )

    assert result.by_layer == {Layer.content: "a" * 40}
    assert [(n.source, n.reason, n.tokens_dropped) for n in result.dropped] == [("second", "dropped", 10)]


def test_what_half_fits_is_shortened_and_noted() -> None:
    """Both are there, the whole fits, and the note says what the second lost."""
    second = a_piece("word and word. " * 40, priority=50, source="second")
    result = Budgeter().fill([second, a_piece("KEEP. " * 5, priority=100)], {Layer.content: 30})
    text = result.by_layer[Layer.content]
    shortened = next(c for c in result.kept if c.source == "second")

    assert (text.startswith("KEEP. " * 5 + "\n\nword"), estimate_tokens(text) <= 30) == (True, True)
    assert [(n.source, n.reason, n.tokens_dropped) for n in result.dropped] == [
        ("second", "truncated", second.estimated_tokens - shortened.estimated_tokens)
    ]


def test_nothing_is_called_cut_where_only_blanks_went() -> None:
    """What is left holds every word."""
    words = "one two three four five six seven eight nine ten"
    padded = a_piece(f"{words}\n{' ' * 400}")
    result = Budgeter().fill([padded], {Layer.content: tokens_of(a_piece(words)) + 2})

    assert result.by_layer[Layer.content].split() == words.split()
    assert result.dropped == []


def test_lower_priorities_are_still_tried() -> None:
    """A large block that fails does not shut the door on a small one."""
    big = a_piece("x" * 400, priority=90, source="big")
    dialogue = a_dialogue(said("assistant", "y" * 400), layer=Layer.content)
    result = Budgeter().fill([dialogue, big, a_piece("tiny", priority=1)], {Layer.content: 101})

    assert [c.text for c in result.kept] == ["x" * 400]
    assert [n.reason for n in result.dropped] == ["dropped", "dropped"]
    assert Budgeter().fill([dialogue, a_piece("tiny", priority=1)], {Layer.content: 5}).by_layer == {
        Layer.content: "tiny"
    }


def test_dearer_first_then_order_then_arrival() -> None:
    """Sections stand in the order they were packed, a blank line between."""
    given_ = [
        a_piece("late", order=200),
        a_piece("first of equals"),
        a_piece("second of equals"),
        a_piece("dear", priority=90, order=500),
    ]

    assert Budgeter().fill(given_, PLENTY).by_layer[Layer.content] == (
        "dear\n\nfirst of equals\n\nsecond of equals\n\nlate"
    )


def test_each_section_after_the_first_costs_one_token() -> None:
    """Ten and ten fit into twenty-one, not into twenty."""
    both = [a_piece("a" * 40), a_piece("b" * 40)]

    assert Budgeter().fill(both, {Layer.content: 21}).dropped == []
    assert [n.reason for n in Budgeter().fill(both, {Layer.content: 20}).dropped] == ["truncated"]


def test_a_layer_without_a_budget_has_none() -> None:
    """Absent means nothing, and a layer without text is absent from the result."""
    result = Budgeter().fill([a_piece("text", Layer.core)], {Layer.content: 100})

    assert (result.by_layer, [n.layer for n in result.dropped]) == ({}, [Layer.core])


def test_named_layers_restrict_and_order_the_fill() -> None:
    """What belongs to others is noted as dropped."""
    given_ = [a_piece("core", Layer.core), a_piece("content"), a_piece("note", Layer.author_note)]
    result = Budgeter().fill(layers=[Layer.author_note, Layer.core], contributions=given_, budget_by_layer=PLENTY)

    assert list(result.by_layer.items()) == [(Layer.author_note, "note"), (Layer.core, "core")]
    assert [(n.layer, n.reason) for n in result.dropped] == [(Layer.content, "dropped")]


def test_a_layer_named_twice_counts_once() -> None:
    """Its contributions are kept once."""
    piece = a_piece("words", layer=Layer.core)

    assert Budgeter().fill([piece], {Layer.core: 10}, layers=[Layer.core, Layer.core]).kept == [piece]


def test_unnamed_means_every_layer_in_its_own_order() -> None:
    """Whatever order they came in."""
    result = Budgeter().fill([a_piece(layer.value, layer) for layer in reversed(Layer)], PLENTY)

    assert list(result.by_layer) == list(Layer)


def test_survivors_come_in_prompt_order() -> None:
    """Where a block stands is not where it was packed."""
    given_ = [
        a_piece("found", tag=ItemTag.FOUND, priority=99),
        a_piece("rules", Layer.character, tag=ItemTag.RULES),
        a_piece("people", tag=ItemTag.PEOPLE),
    ]

    assert [c.text for c in Budgeter().fill(given_, PLENTY).kept] == ["rules", "people", "found"]


def test_inputs_stay_as_they_were() -> None:
    """Filling twice gives the same twice."""
    given_, budget = [a_piece("a" * 99), a_piece("b" * 99)], {Layer.content: 30}
    before = deepcopy((given_, budget))
    first = Budgeter().fill(given_, budget)

    assert (given_, budget) == before
    assert Budgeter().fill(given_, budget) == first


def test_blank_text_takes_no_room_and_no_note() -> None:
    """There is nothing to lose."""
    result = Budgeter().fill([a_piece("  \n")], {Layer.content: 0})

    assert (result.by_layer, result.dropped, result.kept) == ({}, [], [])


def test_a_dialogue_is_cut_by_whole_items_from_its_oldest_end() -> None:
    """What remains is the newest part, word for word."""
    items = [said("user" if i % 2 == 0 else "assistant", f"{i}" * 40) for i in range(6)]
    result = Budgeter().fill([a_dialogue(*items)], {Layer.recent_history: 35})

    assert result.kept[0].items == tuple(items[3:])
    assert [(n.reason, n.tokens_dropped) for n in result.dropped] == [("truncated", 30)]
    assert result.kept[0].estimated_tokens == 30


def test_the_newest_user_item_is_never_dropped() -> None:
    """Not even without any budget; what the familiar said after it goes first."""
    items = (said("user", "a" * 40), said("user", "b" * 40), said("assistant", "c" * 40))

    assert Budgeter().fill([a_dialogue(*items)], {}).kept[0].items == (items[1],)
    assert Budgeter().fill([a_dialogue(*items)], {Layer.recent_history: 10}).kept[0].items == (items[1],)
    assert Budgeter().fill([a_dialogue(*items)], {Layer.recent_history: 20}).kept[0].items == items[1:]


def test_samples_may_go_altogether() -> None:
    """They are nobody's newest words."""
    sample = a_dialogue(said("user", "u" * 40), said("assistant", "a" * 40), layer=Layer.character, tag=ItemTag.SAMPLE)
    result = Budgeter().fill([sample], {Layer.character: 5})

    assert (result.kept, [n.reason for n in result.dropped]) == ([], ["dropped"])


def test_a_cut_prefers_an_anchor_close_by() -> None:
    """Then the next prompts begin at the same turn, and what a model has read before stays read."""
    items = [said("user", "x" * 40) for _ in range(8)]
    anchored = [item if i != 4 else said("user", "y" * 40) for i, item in enumerate(items)]
    anchored[4] = type(anchored[4])(**{**vars(anchored[4]), "anchor": True})
    result = Budgeter().fill([a_dialogue(*anchored)], {Layer.recent_history: 60})

    assert result.kept[0].items == tuple(anchored[4:])


def test_an_enormous_message_is_shown_without_its_middle() -> None:
    """And the note says what that cost."""
    result = Budgeter().fill([a_dialogue(said("user", "x" * 1_000_000))], PLENTY | {Layer.recent_history: 10**9})

    assert len(result.kept[0].items[0].text) < SHOWN_MESSAGE_CHARS + 100
    assert [n.reason for n in result.dropped] == ["truncated"]


def test_every_cut_is_logged_without_a_word_of_text(caplog: pytest.LogCaptureFixture) -> None:
    """Layer, source, reason and tokens; not what was said."""
    with caplog.at_level(logging.DEBUG):
        Budgeter().fill([a_piece("secret " * 40, source="diary")], {Layer.content: 5})
    record = caplog.records[0]
    facts = {key: record.__dict__[key] for key in ("layer", "source", "reason", "full")}

    assert facts == {"layer": "content", "source": "diary", "reason": "truncated", "full": "layer"}
    assert record.__dict__["tokens_dropped"] > 0
    assert "secret" not in str(record.__dict__)


@given(pieces(dialogues=False), st.dictionaries(layers, st.integers(0, 60)))
def test_no_layer_is_ever_over_its_budget(given_: list[Contribution], budget: dict[Layer, int]) -> None:
    """Sections and the lines between them."""
    result = Budgeter().fill(given_, budget)

    assert all(estimate_tokens(text) <= budget[layer] for layer, text in result.by_layer.items())


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), words), min_size=1, max_size=8), st.integers(0, 60))
def test_a_dialogue_exceeds_its_layer_only_by_the_newest_words_of_a_user(
    turns: list[tuple[str, str]], budget: int
) -> None:
    """Those are never dropped; everything else gives way."""
    items = [said(role, f"{text}.") for role, text in turns]
    newest = [estimate_tokens(item.text) for item in items if item.role == "user"][-1:]
    result = Budgeter().fill([a_dialogue(*items)], {Layer.recent_history: budget})

    assert sum(map(tokens_of, result.kept)) <= max([budget, *newest])


@given(pieces(), st.dictionaries(layers, st.integers(0, 60)))
def test_nothing_is_lost_without_a_note(given_: list[Contribution], budget: dict[Layer, int]) -> None:
    """Every token that came in is kept or accounted for."""
    result = Budgeter().fill(given_, budget)
    lost = {note.source: note.tokens_dropped for note in result.dropped}
    kept = {piece.source: tokens_of(piece) for piece in result.kept}

    for piece in given_:
        if piece.text.strip():
            assert tokens_of(piece) == kept.get(piece.source, 0) + lost.get(piece.source, 0)


@given(pieces(), st.dictionaries(layers, st.integers(0, 60)))
def test_the_newest_words_of_a_user_survive_every_fill(given_: list[Contribution], budget: dict[Layer, int]) -> None:
    """Whatever the budget."""
    kept = {piece.source: piece for piece in Budgeter().fill(given_, budget).kept}

    for piece in given_:
        newest = [item for item in piece.items if item.role == "user"][-1:]
        assert not newest or not piece.text.strip() or newest[0] in kept[piece.source].items


@given(pieces(), st.dictionaries(layers, st.integers(0, 60)))
def test_the_same_parts_give_the_same_result(given_: list[Contribution], budget: dict[Layer, int]) -> None:
    """No hidden state, no chance."""
    assert Budgeter().fill(given_, budget) == Budgeter().fill(list(given_), dict(budget))


def test_the_cheapest_gives_way_first() -> None:
    """Until the whole fits."""
    kept = [a_piece("d" * 400, priority=90), a_piece("c" * 400, priority=10), a_piece("m" * 400, priority=50)]
    left, notes = fit_total(kept, room=160)

    assert [(c.text[:1], tokens_of(c)) for c in left] == [("d", 100), ("m", 52)]
    assert [(n.reason, n.full) for n in notes] == [("dropped", "total"), ("truncated", "total")]


def test_what_is_protected_stays_whole() -> None:
    """Even if it is the cheapest."""
    kept = [a_piece("d" * 400, priority=90), a_piece("c" * 400, priority=10)]
    left, _ = fit_total(kept, room=110, protected=frozenset({1}))

    assert [c.text for c in left] == ["c" * 400]


def test_the_newest_turn_survives_the_overall_cap() -> None:
    """And the newest thing a user said with it."""
    items = (said("user", "a" * 40), said("user", "b" * 40), said("assistant", "c" * 40), said("assistant", "d" * 40))
    left, _ = fit_total([a_dialogue(*items)], room=0)

    assert left[0].items == (items[1], items[3])


@given(pieces(), st.integers(0, 200))
def test_the_whole_fits_unless_only_protected_words_are_left(given_: list[Contribution], room: int) -> None:
    """Every token is kept or noted, and the rest fits."""
    given_ = [piece for piece in given_ if piece.text.strip()]
    left, notes = fit_total(given_, room=room)

    assert sum(map(tokens_of, given_)) == sum(map(tokens_of, left)) + sum(n.tokens_dropped for n in notes)
    assert sum(map(cost, left)) <= room or all(len(piece.items) in (1, 2) for piece in left)


def test_a_scene_block_fits_whole_or_goes() -> None:
    """Who is here is no dialogue: a user's turn by role alone is not kept at any price."""
    item = ContextItem.of("user", "[System: People here: Ada, Bo]", tag=ItemTag.PARTICIPANTS)
    people = a_dialogue(item, layer=Layer.scene, tag=ItemTag.PARTICIPANTS)

    assert Budgeter().fill([people], {Layer.scene: 100}).kept == [people]
    assert Budgeter().fill([people], {Layer.scene: 2}).kept == []


@given(pieces(), st.integers(0, 120), st.sampled_from([None, ItemTag.PERSONA, ItemTag.SUMMARY]), st.booleans())
def test_what_is_kept_is_counted_as_it_is_sent(
    found: list[Contribution], budget: int, tag: ItemTag | None, is_told: bool
) -> None:
    """Labels and fences included, whether all of it fitted or some was cut: nobody need count it again."""
    marked = [replace(each, tag=tag if not each.items else None, label="told" if is_told else "") for each in found]

    result = Budgeter().fill(marked, dict.fromkeys(Layer, budget))

    assert result.tokens == sum(cost(each) for each in result.kept)
