"""Where each cut of a prompt begins and ends: one token more, one token less."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from familiar_connect.chat.types import Directives
from familiar_connect.context.budget import (
    NO_BUDGET,
    SHOWN_MESSAGE_CHARS,
    Budgeter,
    cost,
    fit_to_request,
    fit_total,
    shorten_contribution,
    tokens_of,
)
from familiar_connect.context.render import PENDING_CHARS, pending_text
from familiar_connect.context.types import (
    ContextItem,
    Contribution,
    ItemTag,
    Layer,
    PendingTurn,
    PipelineOutput,
    Prompt,
)
from familiar_connect.context.window_fit import (
    budget_when_counted,
    drop_oldest,
    fit_to_model,
    prompt_tokens,
    safe_budget,
)
from familiar_connect.llm.types import Capabilities
from familiar_connect.support.tokens import MESSAGE_OVERHEAD, estimate_tokens
from tests.fakes.chat import a_turn, message_by
from tests.fakes.context import ADA, PLENTY, a_dialogue, a_piece, a_request, said

TEN = "x" * 40
"""A text of ten tokens."""
COUNTED_MODEL = "gpt-4o"
"""A model whose vocabulary comes along: it counts fewer tokens in plain words than we estimate."""


def filled(*pieces: Contribution, budget: int, model: str | None = None) -> tuple[list[Contribution], list[Any]]:
    result = Budgeter(model).fill(pieces, dict.fromkeys(Layer, budget))
    return result.kept, result.dropped


def packed(*pieces: Contribution, directives: Directives | None = None, **request: Any) -> PipelineOutput:
    return PipelineOutput(a_request(**request), Budgeter().fill(pieces, PLENTY), directives=directives or Directives())


def letters(items: tuple[ContextItem, ...]) -> str:
    return "".join(item.text[:1] for item in items)


# One layer


def test_a_dialogue_whose_joined_text_is_blank_is_no_blank() -> None:
    """Its turns count."""
    dialogue = replace(a_dialogue(said("user", "hello")), text="")

    assert filled(dialogue, budget=100)[0] == [dialogue]


@pytest.mark.parametrize(("budget", "cut"), [(32, []), (31, ["truncated"])])
def test_every_further_section_pays_for_the_line_before_it(budget: int, cut: list[str]) -> None:
    """Three of ten tokens need thirty-two."""
    assert [note.reason for note in filled(*[a_piece(TEN) for _ in range(3)], budget=budget)[1]] == cut


@pytest.mark.parametrize("budget", range(5, 70, 3))
def test_what_follows_a_shortened_block_has_only_the_room_that_is_left(budget: int) -> None:
    """Sections, the lines between them, and all of them together."""
    pieces = [a_piece(TEN, priority=90), a_piece("word and word. " * 40, priority=80)]
    pieces += [a_piece(f"some more words, number {at}", priority=70 - at) for at in range(4)]
    result = Budgeter().fill(pieces, {Layer.content: budget})

    assert estimate_tokens(result.by_layer.get(Layer.content, "")) <= budget


@pytest.mark.parametrize(("budget", "full"), [(0, NO_BUDGET), (-1, NO_BUDGET), (1, "layer")])
def test_a_layer_with_no_budget_says_so(budget: int, full: str) -> None:
    """And one that is merely small says that it is full."""
    assert [note.full for note in filled(a_piece("word " * 40), budget=budget)[1]] == [full]


def test_a_note_tells_what_was_lost() -> None:
    """All of what was dropped, the end of what was shortened, the oldest of a dialogue."""
    text = "One sentence here. Another sentence there. A third one to be lost."
    kept, (shortened,) = filled(a_piece(text), budget=12)
    _, (dropped,) = filled(a_piece(text), budget=0)
    items = [said("user", letter * 40) for letter in "abc"]
    (left,), (older,) = filled(a_dialogue(*items), budget=10)

    assert text == f"{kept[0].text.strip()} {shortened.text}"
    assert (
        kept[0].estimated_tokens == estimate_tokens(kept[0].text) == tokens_of(a_piece(text)) - shortened.tokens_dropped
    )
    assert dropped.text == text
    assert (older.text, left.text) == (f"{'a' * 40}\n{'b' * 40}", "c" * 40)


def test_what_stays_in_the_middle_of_a_dialogue_is_not_told_as_lost() -> None:
    """The newest words of a user, where what came after them went."""
    items = [said("user", "a" * 40), said("user", "b" * 40), said("assistant", "c" * 40)]
    _, (note,) = filled(a_dialogue(*items), budget=10)

    assert note.text == f"{'a' * 40}\n{'c' * 40}"


def test_a_dialogue_that_loses_blanks_alone_has_lost_nothing() -> None:
    """No note is made of them."""
    items = [said("user", " " * 4000), said("user", TEN)]
    (left,), notes = filled(a_dialogue(*items), budget=20)

    assert (left.items, notes) == ((items[1],), [])


def test_a_dialogue_that_fits_once_a_message_is_shown_without_its_middle_loses_no_turn() -> None:
    """However much room is left then."""
    items = [said("user", "a" * 40), said("user", "b" * 10 * SHOWN_MESSAGE_CHARS), said("assistant", "c" * 40)]
    (left,), _ = filled(a_dialogue(*items), budget=2 * SHOWN_MESSAGE_CHARS)

    assert letters(left.items) == "abc"


def test_the_oldest_turn_that_stays_is_not_told_as_lost() -> None:
    """Whoever said it."""
    items = [said("user", "a" * 40), said("assistant", "b" * 40), said("user", "c" * 40)]
    (left,), (note,) = filled(a_dialogue(*items), budget=20)

    assert (left.items, note.text) == (tuple(items[1:]), "a" * 40)


def test_a_block_of_exactly_its_limit_is_left_as_it_is() -> None:
    """One token less shortens it."""
    piece = a_piece("word and word, " * 10)
    size = tokens_of(piece)

    assert shorten_contribution(piece, size) == (piece, None)
    assert shorten_contribution(piece, size - 1)[1] is not None


def test_tokens_are_counted_as_the_model_counts_them() -> None:
    """More words fit where each is one token, in a layer and in the whole."""
    words = a_piece("word " * 200)
    (layer,), _ = filled(words, budget=60, model=COUNTED_MODEL)
    (whole,), _ = fit_total([words], room=70, model=COUNTED_MODEL)
    estimated, _ = filled(words, budget=60)
    request = fit_to_request(packed(a_piece("word " * 2000), budget_tokens=1000), COUNTED_MODEL)

    assert len(layer.text) > len(estimated[0].text) + 30
    assert len(whole.text) > len(estimated[0].text) + 30
    assert 600 < estimate_tokens(request.budget.kept[0].text, COUNTED_MODEL) <= 850


def test_new_messages_cost_a_layer_nothing_and_always_stay() -> None:
    """They are no part of what the layer is for; only the whole counts them."""
    old, fresh = said("user", TEN), [replace(said("user", letter * 400), fresh=True) for letter in "ab"]
    answer = said("assistant", TEN)
    kept, dropped = filled(a_dialogue(old, *fresh, answer), budget=20)
    bare, _ = filled(a_dialogue(old, *fresh, answer), budget=0)
    whole, _ = fit_total([a_dialogue(old, *fresh, answer)], room=230)

    assert (kept[0].items, dropped) == ((old, *fresh, answer), [])
    assert bare[0].items == tuple(fresh)
    assert whole[0].items == (*fresh, answer)


def test_a_dialogue_that_fits_to_the_token_is_not_cut() -> None:
    """Nor where a user's newest words stand in its middle, nor where a turn of it is an anchor."""
    middle = [said("assistant", TEN), said("user", TEN), said("assistant", TEN)]
    anchored = [said("user", TEN), replace(said("user", TEN), anchor=True), said("user", TEN)]

    assert filled(a_dialogue(*middle), budget=30)[0][0].items == tuple(middle)
    assert filled(a_dialogue(*middle), budget=29)[0][0].items == tuple(middle[1:])
    for budget in (30, 40, 50, 300):
        assert filled(a_dialogue(*anchored), budget=budget)[0][0].items == tuple(anchored)


@pytest.mark.parametrize(("anchor", "first"), [(2, 2), (5, 5), (6, 2)])
def test_an_anchor_is_moved_on_to_while_half_of_the_layer_is_left(anchor: int, first: int) -> None:
    """Not farther: too much would go for it."""
    items = tuple(replace(said("user", TEN), anchor=at == anchor) for at in range(8))

    assert filled(a_dialogue(*items), budget=60)[0][0].items == items[first:]


@pytest.mark.parametrize(("more", "cut"), [(0, []), (1, ["truncated"])])
def test_a_message_is_shown_whole_up_to_its_limit(more: int, cut: list[str]) -> None:
    """One character more costs it its middle."""
    dialogue = a_dialogue(said("user", "word " * (SHOWN_MESSAGE_CHARS // 5) + "x" * more * 400))

    assert [note.reason for note in filled(dialogue, budget=10**6)[1]] == cut


def test_a_cut_that_saves_nothing_is_told_as_one_token() -> None:
    """One character over its limit, a message is longer with the words that say what was left out."""
    dialogue = a_dialogue(said("user", "word " * (SHOWN_MESSAGE_CHARS // 5) + "x"))

    assert [note.tokens_dropped for note in filled(dialogue, budget=10**6)[1]] == [1]


# The whole


def test_one_token_over_the_whole_is_one_too_many(caplog: pytest.LogCaptureFixture) -> None:
    """And the log says what was cut."""
    pieces = [a_piece("word " * 20, priority=9), a_piece("word " * 20, priority=1, source="cheap")]
    room = sum(map(cost, pieces))
    with caplog.at_level(logging.INFO):
        assert fit_total(pieces, room=room) == (pieces, [])
        assert caplog.records == []
        _, notes = fit_total(pieces, room=room - 1)

    assert [note.source for note in notes] == ["cheap"]
    assert [(record.message, record.__dict__["source"]) for record in caplog.records] == [("context cut", "cheap")]


@pytest.mark.parametrize(("left", "is_kept"), [(8, True), (7, False)])
def test_a_block_cut_below_eight_tokens_goes_whole(left: int, is_kept: bool) -> None:
    """It would say nothing."""
    piece = a_piece("word " * 40)
    kept, _ = fit_total([piece], room=cost(piece) - tokens_of(piece) + left)

    assert bool(kept) is is_kept


def test_each_turn_of_a_dialogue_pays_for_its_message() -> None:
    """So many tokens of the chat format each."""
    items = tuple(said("user", TEN) for _ in range(3))

    assert cost(a_dialogue(*items)) == 3 * (10 + MESSAGE_OVERHEAD)


def test_a_layer_that_lost_everything_is_gone_beside_one_that_did_not() -> None:
    """Its name stands for nothing."""
    dear = a_piece("dear " * 20, Layer.character, priority=99)
    output = fit_to_request(packed(dear, a_piece("cheap " * 200, Layer.content, priority=1), budget_tokens=60))

    assert list(output.budget.by_layer) == [Layer.character]


def room_taken(**more: Any) -> int:
    """How many tokens fewer are left for a long block."""
    directives = {key: more.pop(key) for key in ("lower", "tail", "queued_reply", "uncensor", "prefill") if key in more}
    outputs = [
        fit_to_request(packed(a_piece("a" * 8000), budget_tokens=1000)),
        fit_to_request(packed(a_piece("a" * 8000), budget_tokens=1000, directives=Directives(**directives), **more)),
    ]
    before, after = (estimate_tokens(output.budget.kept[0].text) for output in outputs)
    return before - after


def test_of_who_the_familiar_is_something_stays_however_cheap_it_is_and_of_samples_nothing_must() -> None:
    """The description has its floor even where everything else is dearer; a sample dialogue has none."""
    persona = a_piece("I am Wren. " * 100, Layer.character, priority=1, tag=ItemTag.PERSONA)
    sample = replace(a_dialogue(said("user", "u" * 800), layer=Layer.character, tag=ItemTag.SAMPLE), priority=1)
    news = a_piece("news " * 400, Layer.content, priority=99)
    kept = fit_to_request(packed(persona, sample, news, budget_tokens=400)).budget.kept

    assert [piece.tag for piece in kept if piece.layer is Layer.character] == [ItemTag.PERSONA]
    assert kept[0].text.startswith("I am Wren.")
    assert tokens_of(kept[0]) > 50


@pytest.mark.parametrize(
    "fixed",
    [
        {"interruption_context": "i" * 400},
        {"lower": ("l" * 400,)},
        {"tail": ("t" * 400,)},
        {"queued_reply": "q" * 400},
        {"uncensor": "u" * 400},
        {"prefill": "p" * 400},
    ],
)
def test_what_is_never_cut_takes_its_room_from_the_rest(fixed: dict[str, Any]) -> None:
    """A hundred tokens and those of a message."""
    assert room_taken(**fixed) == 100 + MESSAGE_OVERHEAD


def test_only_the_speakers_people_file_is_protected() -> None:
    """Not another block with that key, and nobody's where nobody speaks."""
    other = a_piece("a" * 4000, tag=ItemTag.FOUND, key=ADA.slug)
    nobody = a_piece("a" * 4000, tag=ItemTag.PEOPLE)

    assert tokens_of(fit_to_request(packed(other, budget_tokens=500)).budget.kept[0]) < 500
    assert tokens_of(fit_to_request(packed(nobody, budget_tokens=500, author=None)).budget.kept[0]) < 500


@pytest.mark.parametrize("more", [0, 1, 400])
def test_a_new_message_is_shown_whole_up_to_its_limit(caplog: pytest.LogCaptureFixture, more: int) -> None:
    """Beyond it the note says how many tokens that cost, and the log too."""
    turn = PendingTurn(ADA, "word " * (PENDING_CHARS // 5) + "x" * more)
    with caplog.at_level(logging.INFO):
        notes = fit_to_request(packed(pending_turns=(turn,))).budget.dropped
    lost = estimate_tokens(turn.text) - estimate_tokens(pending_text(turn))

    assert [(n.source, n.reason, n.tokens_dropped, n.full) for n in notes] == (
        [("pending", "truncated", max(1, lost), "message")] if more else []
    )
    assert len(caplog.records) == len(notes)


async def test_where_the_dialogue_holds_the_new_messages_their_cut_is_told_once() -> None:
    """By the layer that they stand in."""
    asked = message_by("word " * (PENDING_CHARS // 5) + "x" * 400)
    turn = await a_turn(asked)
    pending = (PendingTurn(ADA, asked.text),)

    assert fit_to_request(packed(pending_turns=pending, turn=turn)).budget.dropped == []
    full = packed(a_piece("word " * 4000), pending_turns=pending, turn=turn, budget_tokens=500)
    assert [note.full for note in fit_to_request(full).budget.dropped] == ["total"]


# One model's window

ROOMY = Capabilities(window=1000, max_output=100)


@pytest.mark.parametrize(
    ("capabilities", "window", "counted"),
    [
        (Capabilities(), None, None),
        (Capabilities(budget_tokens=200), None, None),
        (ROOMY, 810, 810),
        (replace(ROOMY, budget_tokens=200), 810, 300),
        (replace(ROOMY, budget_tokens=5000), 810, 810),
        (Capabilities(window=400, max_output=50), 315, 315),
        (Capabilities(window=100, max_output=500), 0, 0),
    ],
)
def test_a_counted_prompt_may_be_half_again_what_suits_the_model(
    capabilities: Capabilities, window: int | None, counted: int | None
) -> None:
    """And never more than its window leaves beside the answer."""
    assert (safe_budget(capabilities), budget_when_counted(capabilities)) == (window, counted)


def test_what_suits_a_model_counts_only_where_the_prompt_was_counted() -> None:
    """Estimated, it may fill the window."""
    prompt = Prompt(items=tuple(said("user" if at % 2 == 0 else "assistant", f"{at}" * 40) for at in range(5)))
    suited = replace(ROOMY, budget_tokens=200)

    assert fit_to_model(prompt, suited) is prompt
    assert letters(fit_to_model(prompt, suited, counted=[100] * 5).items) == "234"
    assert fit_to_model(prompt, suited, counted=[60] * 5) is prompt
    assert letters(fit_to_model(prompt, suited, counted=[60, 60, 60, 60, 61]).items) == "234"


@pytest.mark.parametrize(("size", "warnings"), [(310, 0), (810, 0), (811, 1)])
def test_only_what_is_larger_than_the_window_is_warned_about(
    caplog: pytest.LogCaptureFixture, size: int, warnings: int
) -> None:
    """Not what is merely more than suits the model."""
    prompt = Prompt(items=(ContextItem.of("system", "S"),))
    with caplog.at_level(logging.WARNING):
        assert fit_to_model(prompt, replace(ROOMY, budget_tokens=200), counted=[size]) is prompt

    assert len(caplog.records) == warnings


def test_the_newest_question_alone_loses_its_middle_and_no_more_than_it_must(caplog: pytest.LogCaptureFixture) -> None:
    """Not the words after it; the note says how much, and nothing is warned about."""
    question = said("user", "word " * 1000)
    after = [said("assistant", "A"), ContextItem.of("user", "T" * 40, tag=ItemTag.TAIL)]
    with caplog.at_level(logging.INFO):
        fitted = fit_to_model(Prompt(items=(question, *after)), ROOMY)
    shown = fitted.items[0].text
    (note,) = fitted.dropped

    assert fitted.items[1:] == tuple(after)
    assert 2500 < len(shown) < 3300
    assert prompt_tokens(fitted.items) <= 810
    assert (note.reason, note.source, note.full) == ("truncated", "history:recent", "window")
    assert note.tokens_dropped == estimate_tokens(question.text) - estimate_tokens(shown)
    assert [record.message for record in caplog.records] == ["context cut"]


@pytest.mark.parametrize(("chars", "is_cut"), [(464, False), (465, True)])
def test_a_short_question_is_not_cut_for_the_words_that_say_so(chars: int, is_cut: bool) -> None:
    """What would be saved is no more than the words that stand where the middle was; unnamed, it is the new one."""
    question = ContextItem.of("user", "x" * chars, tag=ItemTag.DIALOGUE)
    fitted = fit_to_model(Prompt(items=(question,)), Capabilities(window=50, max_output=10))

    assert [note.source for note in fitted.dropped] == (["pending"] if is_cut else [])


def test_the_oldest_exchange_goes_with_its_answer_and_the_date_before_it(caplog: pytest.LogCaptureFixture) -> None:
    """Until only the newest question is left; each is noted with its words and what they cost."""
    spacer = ContextItem.of("user", "D", tag=ItemTag.DATE_SPACER)
    turns = [said("user", "a" * 40), said("assistant", "b" * 40), said("user", "c"), said("assistant", "d")]
    prompt = Prompt(items=(spacer, *turns, said("user", "e")))
    with caplog.at_level(logging.INFO):
        once = drop_oldest(prompt, 1)
    (note,) = once.dropped

    assert letters(once.items) == "cde"
    assert (note.text, note.source) == (f"D\n{'a' * 40}\n{'b' * 40}", "history:recent")
    assert note.tokens_dropped == 21 + 3 * MESSAGE_OVERHEAD
    assert [record.message for record in caplog.records] == ["context cut"]
    assert letters(drop_oldest(prompt, 9).items) == "e"
    assert len(drop_oldest(once, 1).dropped) == 2
    assert drop_oldest(prompt, 0) is prompt


@pytest.mark.parametrize(
    ("roles", "left"),
    [("auau", "ad"), ("uuau", "bd"), ("au", "b"), ("ua", "ab"), ("aa", "ab"), ("u", "a"), ("", "")],
)
def test_an_exchange_is_the_oldest_question_and_the_answer_after_it(roles: str, left: str) -> None:
    """What the familiar said first goes only where no older question does; the newest question never."""
    names = {"u": "user", "a": "assistant"}
    prompt = Prompt(items=tuple(said(names[role], chr(97 + at)) for at, role in enumerate(roles)))

    assert letters(drop_oldest(prompt, 1).items) == left


def test_a_date_at_the_end_is_none_before_the_first_turn() -> None:
    """It stays, and nobody is told that it went."""
    spacer = ContextItem.of("user", "D", tag=ItemTag.DATE_SPACER)
    cut = drop_oldest(Prompt(items=(said("user", "a"), said("user", "b"), spacer)), 1)

    assert (letters(cut.items), [note.text for note in cut.dropped]) == ("bD", ["a"])


def test_what_is_cut_is_told_by_its_source() -> None:
    """History where it has none."""
    turns = [replace(said(role, role), source=source) for role, source in (("user", "imported"), ("user", ""))]
    prompt = Prompt(items=(*turns, said("user", "newest")))

    assert [note.source for note in drop_oldest(prompt, 2).dropped] == ["imported", "history:recent"]


@pytest.mark.parametrize(("tokens", "is_cut"), [(810, False), (811, True)])
def test_a_question_one_token_too_long_for_the_window_is_shortened(tokens: int, is_cut: bool) -> None:
    """One that fits to the token is shown whole."""
    prompt = Prompt(items=(said("user", "x" * 4 * tokens),))

    assert bool(fit_to_model(prompt, ROOMY).dropped) is is_cut
