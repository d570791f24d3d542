"""The scan of World Info: keys, logic, recursion, groups, chance, budget, and what lasts between turns."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from familiar_connect.presets.world_info import scan as scan_module
from familiar_connect.presets.world_info.place_entries import pool_of
from familiar_connect.presets.world_info.read_entries import read_entry, split_decorators
from familiar_connect.presets.world_info.scan import ScanInputs, scan_books
from familiar_connect.presets.world_info.scan_text import SearchEffort
from familiar_connect.presets.world_info.types import (
    BookKind,
    BookOrder,
    ScanSettings,
    TimedEffects,
    WorldBook,
    WorldInfo,
)


def scan(entries: list[dict[str, Any]], *messages: str, **more: Any) -> WorldInfo:
    """The entries over a chat, newest message first."""
    given = {name: more.pop(name) for name in list(more) if name in ScanSettings.__dataclass_fields__}
    numbered = [{"uid": number, **each} for number, each in enumerate(entries)]
    book = WorldBook(name="b", entries=tuple(read_entry(each, book="b") for each in numbered))
    inputs = {"prompt_tokens": 8000, **more}
    return scan_books(ScanInputs(pool=pool_of([book]), settings=ScanSettings(**given), messages=messages, **inputs))


def uids(found: WorldInfo) -> list[int | str]:
    return [each.entry.uid for each in found.activated]


def test_a_key_calls_its_entry_up_and_the_reason_names_key_and_message() -> None:
    """Message numbers count from the oldest."""
    found = scan([{"key": ["kettle"], "content": "It sings."}], "Ada: hm", "Rook: the kettle is on", "Ada: hello")
    assert found.before == "It sings."
    assert found.activated[0].reason == "key 'kettle' in message 2 of 3"


def test_whole_words_stand_alone_and_phrases_do_not() -> None:
    """A letter of another script counts as an edge, as in JavaScript."""
    entries: list[dict[str, Any]] = [{"key": ["cat"], "content": "one"}, {"key": ["at dr"], "content": "two"}]
    assert uids(scan(entries, "concatenate")) == []
    assert uids(scan(entries, "the great cat dreams")) == [0, 1]
    assert uids(scan(entries, "猫cat猫")) == [0]
    assert uids(scan(entries, "concatenate", whole_words=False)) == [0]


def test_a_key_of_only_spaces_is_in_every_text_and_one_of_nothing_in_none() -> None:
    """As in SillyTavern: what is left of the first once it is trimmed is in any text, even in none."""
    entries: list[dict[str, Any]] = [{"key": [" "], "content": "one"}, {"key": [""], "content": "two"}]
    assert uids(scan(entries, "anything")) == [0]
    assert uids(scan(entries, "anything", depth=0)) == [0]


def test_case_matters_only_where_it_is_said_to() -> None:
    """The entry's own word goes before the settings."""
    entries: list[dict[str, Any]] = [
        {"key": ["Rose"], "content": "a"},
        {"key": ["Rose"], "content": "b", "caseSensitive": True},
    ]
    assert uids(scan(entries, "a rose")) == [0]
    assert uids(scan(entries, "a rose", case_sensitive=True)) == []


@pytest.mark.parametrize(
    ("logic", "text", "is_found"),
    [
        (0, "magic spell", True),
        (0, "magic", False),
        (1, "magic spell", True),
        (1, "magic spell wizard", False),
        (2, "magic", True),
        (2, "magic wizard", False),
        (3, "magic spell wizard", True),
        (3, "magic spell", False),
    ],
)
def test_secondary_keys_follow_their_logic(logic: int, text: str, is_found: bool) -> None:
    """AND ANY, NOT ALL, NOT ANY, AND ALL."""
    entry = {"key": ["magic"], "keysecondary": ["spell", "wizard"], "selectiveLogic": logic, "content": "x"}
    assert uids(scan([entry], text)) == ([0] if is_found else [])


def test_a_javascript_pattern_is_a_key_and_one_that_cannot_be_searched_is_told() -> None:
    """Look-around has no linear search; the other entries are not touched."""
    entries: list[dict[str, Any]] = [
        {"key": ["/drag(on|oon)s?\\b/i"], "content": "fire", "comment": "Dragons"},
        {"key": ["/(?<=blue )whale/"], "content": "sea", "comment": "Whales"},
    ]
    found = scan(entries, "two DRAGOONS and a blue whale")
    assert uids(found) == [0]
    assert found.problems == (
        "the key /(?<=blue )whale/ of 'Whales' cannot be searched for: look-around cannot be searched in linear time; "
        "write it without",
    )


def test_no_pattern_takes_longer_than_its_text() -> None:
    """What brings a backtracking engine to its knees is searched at once."""
    started = time.process_time()
    scan([{"key": ["/(a+)+$/"], "content": "x"}], "a" * 5000 + "b")
    assert time.process_time() - started < 1.0


def test_recursion_reads_what_entries_bring() -> None:
    """Entries may stay out of it on either side, and wait for a level of it."""
    entries: list[dict[str, Any]] = [
        {"key": ["tower"], "content": "Built by the masons.", "comment": "Tower"},
        {"key": ["masons"], "content": "They drink ale.", "preventRecursion": True},
        {"key": ["ale"], "content": "bitter"},
        {"key": ["masons"], "content": "excluded", "excludeRecursion": True},
        {"key": ["tower"], "content": "late", "delayUntilRecursion": 2},
    ]
    found = scan(entries, "the tower")
    assert uids(found) == [0, 1, 4]
    assert found.activated[1].reason == "key 'masons' in the entry 'Tower'"
    assert uids(scan(entries, "the tower", recursive=False)) == [0]
    assert uids(scan(entries, "the tower", max_recursion_steps=1)) == [0]


def test_only_the_newest_messages_are_searched_unless_an_entry_looks_further() -> None:
    """A depth of none finds nothing."""
    entries: list[dict[str, Any]] = [{"key": ["old"], "content": "a"}, {"key": ["old"], "content": "b", "scanDepth": 3}]
    assert uids(scan(entries, "new", "newer", "old")) == [1]
    assert uids(scan(entries, "new", "newer", "old", depth=3)) == [0, 1]
    assert uids(scan(entries, "old", depth=0)) == [1]


def test_too_few_entries_widen_the_search() -> None:
    """Message by message, up to a limit."""
    entries: list[dict[str, Any]] = [{"key": ["old"], "content": "a"}]
    assert uids(scan(entries, "new", "new", "new", "old", min_activations=1)) == [0]
    assert uids(scan(entries, "new", "new", "new", "old", min_activations=1, min_activations_depth=1)) == []


def test_the_budget_drops_what_does_not_fit_and_ends_recursion() -> None:
    """An entry that ignores the budget is shown all the same."""
    entries: list[dict[str, Any]] = [
        {"key": ["x"], "content": "y " * 200, "order": 3},
        {"key": ["x"], "content": "small", "order": 2},
        {"key": ["x"], "content": "always", "order": 1, "ignoreBudget": True},
    ]
    found = scan(entries, "x", prompt_tokens=400)
    assert uids(found) == [2]
    assert [each.uid for each in found.dropped] == [0, 1]


def test_chance_decides_once() -> None:
    """A half is not more than half."""
    entries: list[dict[str, Any]] = [
        {"key": ["x"], "content": "a", "probability": 50},
        {"key": ["x"], "content": "b", "probability": 49},
    ]
    assert uids(scan(entries, "x")) == [0]


def test_of_a_group_one_is_shown() -> None:
    """By weight, by override, by score; and none more once one was."""
    pair: list[dict[str, Any]] = [
        {"key": ["x"], "content": "a", "group": "g"},
        {"key": ["x"], "content": "b", "group": "g"},
    ]
    assert uids(scan(pair, "x", roll=lambda: 0.9)) == [1]
    assert uids(scan([pair[0], {**pair[1], "groupOverride": True}], "x", roll=lambda: 0.1)) == [1]
    scored = [{**pair[0], "key": ["x"]}, {**pair[1], "key": ["x", "y"]}]
    assert uids(scan(scored, "x y", group_scoring=True, roll=lambda: 0.1)) == [1]
    later = [{"key": ["x"], "content": "z", "group": "g"}, {"key": ["z"], "content": "b", "group": "g"}]
    assert uids(scan(later, "x")) == [0]


def test_triggers_and_characters_narrow_an_entry() -> None:
    """Names may be meant or left out."""
    entries: list[dict[str, Any]] = [
        {"key": ["x"], "content": "a", "triggers": ["continue"]},
        {"key": ["x"], "content": "b", "characterFilter": {"names": ["Rook"], "isExclude": False}},
        {"key": ["x"], "content": "c", "characterFilter": {"names": ["Rook"], "isExclude": True}},
    ]
    assert uids(scan(entries, "x", character="Rook")) == [1]
    assert uids(scan(entries, "x", character="Ada", kind="continue")) == [0, 2]


def test_the_card_is_searched_where_an_entry_asks_for_it() -> None:
    """Each field by its own flag."""
    entries: list[dict[str, Any]] = [
        {"key": ["crow"], "content": "a", "matchCharacterDescription": True},
        {"key": ["crow"], "content": "b"},
    ]
    assert uids(scan(entries, "x", card={"description": "a crow"})) == [0]


def test_decorators_switch_an_entry_on_and_off() -> None:
    """They are no part of the text; unknown ones are passed over."""
    entries: list[dict[str, Any]] = [
        {"key": [], "content": "@@activate\nshown"},
        {"key": ["x"], "content": "@@dont_activate\nhidden", "constant": True},
        {"key": ["x"], "content": "@@depth 3\nplain"},
    ]
    found = scan(entries, "x")
    assert uids(found) == [0, 2]
    assert split_decorators("@@unknown 1\n@@@activate\ntext") == (("@@activate",), "text")
    assert {each.text for each in found.activated} == {"shown", "plain"}


def test_every_position_has_its_place_and_higher_orders_come_later() -> None:
    """Behind an outlet they stand the other way round."""
    entries: list[dict[str, Any]] = [
        {"constant": True, "content": f"p{position} o{order}", "position": position, "order": order, "outletName": "o"}
        for position in range(8)
        for order in (2, 1)
    ]
    found = scan(entries, "x")
    assert (found.before, found.after) == ("p0 o1\np0 o2", "p1 o1\np1 o2")
    assert (found.note_top, found.note_bottom) == (("p2 o1", "p2 o2"), ("p3 o1", "p3 o2"))
    assert [(each.depth, each.role, each.texts) for each in found.depth] == [(4, "system", ("p4 o1", "p4 o2"))]
    assert (found.examples_top, found.examples_bottom) == (("p5 o1", "p5 o2"), ("p6 o1", "p6 o2"))
    assert found.outlets == {"o": "p7 o2\np7 o1"}


def test_books_stand_in_their_order_and_each_once() -> None:
    """The chat's, the persona's, the character's, the global ones; evenly where that is wanted."""

    def book(name: str, kind: BookKind, order: int) -> WorldBook:
        return WorldBook(name=name, kind=kind, entries=(read_entry({"uid": 0, "order": order}, book=name),))

    books = [
        book("all", BookKind.everyone, 300),
        book("own", BookKind.character, 200),
        book("mine", BookKind.persona, 1),
        book("here", BookKind.chat, 2),
        book("all", BookKind.character, 300),
    ]
    assert [entry.book for entry in pool_of(books)] == ["here", "mine", "own", "all"]
    assert [entry.book for entry in pool_of(books, BookOrder.evenly)] == ["here", "mine", "all", "own"]


def test_a_sticky_entry_stays_then_rests_and_comes_back() -> None:
    """Counted in messages of the chat."""
    entry = {"key": ["bell"], "content": "It rings.", "sticky": 2, "cooldown": 2}
    timed = TimedEffects()
    shown = []
    for length, text in ((1, "the bell"), (2, "x"), (3, "bell"), (4, "bell"), (5, "bell")):
        found = scan([entry], text, chat_length=length, timed=timed)
        timed = found.timed
        shown.append(uids(found) == [0])
    assert shown == [True, True, False, False, True]


def test_a_turn_made_again_takes_its_effects_back() -> None:
    """The chat has not grown, so the entry is not sticky yet."""
    entry = {"key": ["bell"], "content": "It rings.", "sticky": 5}
    first = scan([entry], "the bell", chat_length=3)
    assert uids(scan([entry], "nothing", chat_length=3, timed=first.timed)) == []
    assert uids(scan([entry], "nothing", chat_length=4, timed=first.timed)) == [0]
    assert uids(scan([{**entry, "content": "edited"}], "nothing", chat_length=4, timed=first.timed)) == []


def test_a_delayed_entry_waits_for_the_chat_to_grow() -> None:
    """Whatever its keys."""
    entry = {"key": ["x"], "content": "a", "delay": 3}
    assert uids(scan([entry], "x", chat_length=2)) == []
    assert uids(scan([entry], "x", chat_length=3)) == [0]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.text("ab é", min_size=1, max_size=4), min_size=1, max_size=3), max_size=8),
    st.lists(st.text("ab é", max_size=12), max_size=4),
    st.booleans(),
)
def test_the_index_finds_what_asking_every_entry_would(keys: list[list[str]], chat: list[str], whole: bool) -> None:
    """Entries with a depth of their own are asked one by one; the result is the same."""
    entries: list[dict[str, Any]] = [{"key": each, "content": " ".join(each)} for each in keys]
    asked = [{**each, "scanDepth": 2} for each in entries]
    assert uids(scan(entries, *chat, whole_words=whole)) == uids(scan(asked, *chat, whole_words=whole))


def test_a_thousand_entries_over_a_hundred_messages_take_milliseconds() -> None:
    """Recursion included; measured in processor time against a plain loop, so that load does not count."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(4, 9))) for _ in range(8000)]
    entries: list[dict[str, Any]] = [
        {
            "key": [*rng.choices(words, k=3), " ".join(rng.choices(words, k=2))],
            "content": " ".join(rng.choices(words, k=40)),
        }
        for _ in range(1000)
    ]
    book = WorldBook(
        name="b", entries=tuple(read_entry({"uid": n, **each}, book="b") for n, each in enumerate(entries))
    )
    pool = pool_of([book])
    chat = [" ".join(rng.choices(words, k=25)) for _ in range(100)]
    taken, unit = [], []
    for _ in range(9):
        started = time.process_time()
        found = scan_books(ScanInputs(pool=pool, settings=ScanSettings(depth=100), messages=chat, prompt_tokens=8000))
        taken.append(time.process_time() - started)
        started = time.process_time()
        sum(number * number for number in range(10_000))
        unit.append(time.process_time() - started)
    assert len(found.activated) > 5
    assert sorted(taken)[4] < max(0.010, 30 * sorted(unit)[4])


def test_two_entries_with_one_uid_are_one_entry_to_the_scan() -> None:
    """As in SillyTavern: within a pass the later one stands, and neither is called up again."""
    entries = [{"uid": 7, "key": ["bell"], "content": f"bell {name}"} for name in ("one", "two")]
    found = scan(entries, "the bell", recursive=True)

    assert [each.text for each in found.activated] == ["bell two"]
    assert found.limit == ""


def test_an_entry_that_chance_was_against_does_not_keep_its_twin_away() -> None:
    """Chance is thrown for each of two entries with one uid."""
    entries = [
        {"uid": 7, "key": ["bell"], "content": "never", "probability": 0},
        {"uid": 7, "key": ["bell"], "content": "always"},
    ]
    assert scan(entries, "the bell", recursive=True).before == "always"


def test_a_chain_longer_than_any_book_means_ends_with_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By passes, where each step is cheap."""
    monkeypatch.setattr(scan_module, "MAX_PASSES", 40)
    entries = [{"key": [f"k{at}"], "content": f"k{at + 1}"} for at in range(100)]
    found = scan(entries, "k0", recursive=True, prompt_tokens=10**9)

    assert len(found.activated) == 40
    assert found.limit == "after 40 passes its entries still called up others"


def test_a_dear_search_ends_at_the_same_entry_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By characters, so that the same turn stops at the same point on every machine."""
    monkeypatch.setattr(scan_module, "SearchEffort", partial(SearchEffort, 10_000_000))
    entries = [{"key": [f"k{at}", f"/x{at}/"], "content": f"k{at + 1}"} for at in range(100)]
    first, second = (scan(entries, "k0", recursive=True, prompt_tokens=10**9) for _ in range(2))

    assert uids(first) == uids(second)
    assert 0 < len(first.activated) < 100
    assert first.limit == "its books need more than 10,000,000 characters searched for one turn"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "uid": st.integers(0, 3),
                "key": st.lists(st.sampled_from(["a", "b", "c", "/a|b/", "{{x}}"]), max_size=3),
                "content": st.text(alphabet="abc ", max_size=8),
                "constant": st.booleans(),
                "sticky": st.integers(0, 2),
                "probability": st.sampled_from([0, 50, 100]),
                "delayUntilRecursion": st.integers(0, 3),
                "group": st.sampled_from(["", "g"]),
                "scanDepth": st.sampled_from([None, 0, 3]),
                "preventRecursion": st.booleans(),
            }
        ),
        max_size=12,
    ),
    st.integers(0, 4),
)
def test_every_scan_of_a_small_book_ends_of_itself(entries: list[dict[str, Any]], least: int) -> None:
    """Whatever the numbers, groups and keys are: the limits are for large books alone."""
    found = scan(entries, "a", "b c", recursive=True, min_activations=least, prompt_tokens=10**6)
    assert found.limit == ""


def test_what_was_found_without_room_is_searched_when_a_later_level_comes() -> None:
    """As it was written, where its turn never came; and nothing brought makes no pass over what others delay."""
    entries = [
        {"constant": True, "content": "a long text " * 9, "order": 3},
        {"constant": True, "content": "a {{user}} whale", "order": 2},
        {"key": ["{{user}} whale"], "content": "found", "order": 1, "ignoreBudget": True, "caseSensitive": True},
        {"key": ["nowhere"], "content": "x", "delayUntilRecursion": 1},
        {"key": ["nowhere"], "content": "x", "delayUntilRecursion": 2},
    ]
    assert uids(scan(entries, "hm", budget_cap=5)) == [2]
    late = [{"key": ["whale"], "content": "late", "delayUntilRecursion": 2}]
    assert uids(scan(late, "a whale", min_activations=2)) == []


def test_a_member_of_a_group_rests_even_while_it_would_stay() -> None:
    """In company of a group its cooldown counts from the start."""
    entry = {"key": ["bell"], "content": "x", "sticky": 3, "cooldown": 3, "group": "one"}
    first = scan([entry], "a bell", "hm")
    assert uids(first) == [0]
    assert uids(scan([entry], "a", "b", "c", timed=first.timed)) == []
    alone = {**entry, "group": ""}
    assert uids(scan([alone], "a", "b", "c", timed=scan([alone], "a bell", "hm").timed)) == [0]


def test_an_empty_key_counts_where_groups_are_scored() -> None:
    """It finds nothing by itself."""
    entries = [
        {"key": ["bell"], "content": "one", "group": "g", "order": 2},
        {"key": ["bell", ""], "content": "two", "group": "g", "order": 1},
    ]
    assert uids(scan(entries, "a bell", group_scoring=True)) == [1]
