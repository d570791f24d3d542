"""Roster: who is meant by a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from familiar_connect.chat.scene import Roster, RosterEntry, distinct_label
from familiar_connect.support.text import fold_name

ADA = RosterEntry("ada", "Ada", ("ada_l", "Countess"))
BO = RosterEntry("bo", "Bo", ("Sam", "bo99"))
CY = RosterEntry("cy", "Cy", ("Sam",))
SAM = RosterEntry("sam", "Sam", ("sammy",))
NAMES = st.text(max_size=12)
ENTRIES = st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=3)), max_size=6)


def people(*entries: RosterEntry[str], own: tuple[str, ...] = ("Wren",)) -> Roster[str]:
    return Roster(entries, own_names=own)


def resolved(roster: Roster[str], name: str) -> list[str]:
    return [entry.person for entry in roster.resolve(name)]


@pytest.mark.parametrize("name", ["Ada", "ada", "@ada", "  ADA ", "countess", "Ａｄａ", "ADA_L"])
def test_a_person_is_found_by_any_of_their_names(name: str) -> None:
    """Letter case, width, white space and a leading at sign make no difference."""
    assert resolved(people(ADA, BO), name) == ["ada"]


def test_a_name_of_several_is_never_guessed() -> None:
    """All of them come back, in the order of the roster."""
    assert resolved(people(ADA, BO, CY), "sam") == ["bo", "cy"]


def test_whoever_is_shown_under_a_name_is_meant_before_those_who_also_go_by_it() -> None:
    """Unless two are shown so."""
    twin = RosterEntry("twin", "SAM")

    assert resolved(people(BO, CY, SAM), "Sam") == ["sam"]
    assert resolved(people(BO, SAM, twin), "Sam") == ["bo", "sam", "twin"]


def test_a_name_nobody_has_means_nobody() -> None:
    """An empty one too, even where somebody has no label."""
    roster = people(ADA, RosterEntry("none", ""))

    assert (roster.resolve("Zed"), roster.resolve(""), roster.resolve("@")) == ((), (), ())


def test_the_familiars_own_names_are_known_and_shared_with_whoever_has_them() -> None:
    """A person called like the familiar has to be told apart from it."""
    roster = people(ADA, RosterEntry("fan", "wren"))

    assert (roster.is_own_name("@Wren"), roster.is_own_name("Ada"), roster.is_own_name("")) == (True, False, False)
    assert (roster.is_shared("WREN"), roster.is_shared("Ada")) == (True, False)


def test_a_label_is_made_distinct_by_the_user_name() -> None:
    """Where that says no more, by saying that it is a user."""
    assert distinct_label("Sam", "sam_b") == "Sam (sam_b)"
    assert [distinct_label("sam", name) for name in ("sam", None)] == ["sam (a user)"] * 2


@given(NAMES)
def test_folding_a_name_twice_changes_nothing_more(name: str) -> None:
    """So a folded name can be compared with any other."""
    once = fold_name(name)

    assert fold_name(once) == once
    assert once == " ".join(once.split())


@given(ENTRIES, NAMES)
def test_everyone_who_comes_back_goes_by_that_name(given_names: list[tuple[str, list[str]]], name: str) -> None:
    """And nobody else does, unless one of them is shown so."""
    entries = [RosterEntry(number, label, tuple(names)) for number, (label, names) in enumerate(given_names)]
    roster = Roster(entries)
    wanted = fold_name(name)
    owners = [entry for entry in entries if wanted and wanted in map(fold_name, (entry.label, *entry.names))]
    found = roster.resolve(name) if not name.strip().startswith("@") else tuple(owners)

    assert roster.owners(name) == tuple(entry.person for entry in owners)
    assert roster.is_shared(name) == (len(owners) > 1)
    assert list(found) == owners or [fold_name(entry.label) for entry in found] == [wanted]
