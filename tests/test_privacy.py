"""PrivacyRegistry: what each person allows, in doubt nothing."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from familiar_connect.errors import ConfigError, HomeError
from familiar_connect.identity import EVERYTHING_ALLOWED, Author, FixedPrivacy, PrivacyLevel
from familiar_connect.privacy import PrivacyRegistry

ADA = Author("discord", "1", "ada", "Ada")
BOB = Author("twitch", "1", "bob", "Bob")


def registry_of(folder: Path, text: str) -> PrivacyRegistry:
    (folder / "privacy.toml").write_text(text, encoding="utf-8")
    return PrivacyRegistry(folder / "privacy.toml")


def test_whoever_chose_nothing_is_heard(tmp_path: Path) -> None:
    """The default keeps everything, and writes nothing."""
    registry = PrivacyRegistry(tmp_path / "privacy.toml")

    assert (registry.get(ADA), registry.all()) == (PrivacyLevel.MINIMAL, {})
    assert list(tmp_path.iterdir()) == []


def test_a_choice_outlives_the_program(tmp_path: Path) -> None:
    """By platform and id, whatever the person is called by then."""
    path = tmp_path / "familiar" / "privacy.toml"
    PrivacyRegistry(path).set(ADA, PrivacyLevel.FULL)
    PrivacyRegistry(path).set(BOB, PrivacyLevel.PARTIAL)

    registry = PrivacyRegistry(path)

    assert PrivacyLevel.FULL is registry.get(Author("discord", "1", "renamed", None))
    assert registry.all() == {"discord:1": PrivacyLevel.FULL, "twitch:1": PrivacyLevel.PARTIAL}
    assert '[[person]]\nplatform = "discord"\nuser_id = "1"\nlevel = "full"\n' in path.read_text(encoding="utf-8")


def test_a_person_may_change_their_mind(tmp_path: Path) -> None:
    """In both directions."""
    registry = PrivacyRegistry(tmp_path / "privacy.toml")
    seen = []
    for level in (PrivacyLevel.FULL, PrivacyLevel.MINIMAL, PrivacyLevel.PARTIAL):
        registry.set(ADA, level)
        seen.append((level, registry.get(ADA), PrivacyRegistry(tmp_path / "privacy.toml").get(ADA)))

    assert all(wanted is here is there for wanted, here, there in seen)


@pytest.mark.parametrize("level", ['level = "ful"', "level = 3", "", 'level = ["full"]', 'Level = "minimal"'])
def test_a_level_that_cannot_be_read_counts_as_full(
    tmp_path: Path, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A slip in the file never exposes anybody."""
    registry = registry_of(tmp_path, f'[[person]]\nplatform = "discord"\nuser_id = "1"\n{level}\n')

    assert PrivacyLevel.FULL is registry.get(ADA)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize("row", ['level = "full"', 'user_id = "1"', 'platform = ""\nuser_id = "1"', "user_id = true"])
def test_a_row_that_names_nobody_is_skipped_with_a_warning_and_kept(
    tmp_path: Path, row: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It costs nobody else their choice, and a change does not throw it away."""
    registry = registry_of(
        tmp_path, f'[[person]]\n{row}\n[[person]]\nplatform = "Discord"\nuser_id = 1\nlevel = " PARTIAL"\n'
    )
    registry.set(BOB, PrivacyLevel.FULL)

    assert (registry.get(ADA), registry.get(BOB)) == (PrivacyLevel.PARTIAL, PrivacyLevel.FULL)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert row in (tmp_path / "privacy.toml").read_text(encoding="utf-8")


def test_of_two_rows_for_one_person_the_stricter_holds(tmp_path: Path) -> None:
    """Whichever comes first."""
    row = '[[person]]\nplatform = "discord"\nuser_id = "1"\nlevel = "{}"\n'

    for levels in (("full", "minimal"), ("minimal", "full")):
        assert PrivacyLevel.FULL is registry_of(tmp_path, "".join(row.format(level) for level in levels)).get(ADA)


@pytest.mark.parametrize("text", ["[[person]", "person = 3", "[[people]]\n", "\x00"])
def test_a_malformed_file_is_reported_by_name(tmp_path: Path, text: str) -> None:
    """Never taken for an empty one."""
    with pytest.raises(ConfigError, match=r"privacy\.toml"):
        registry_of(tmp_path, text)


def test_a_stricter_wish_holds_even_when_it_cannot_be_written(tmp_path: Path) -> None:
    """The person is not heard from now on, and the operator is told; a laxer one waits for the disk."""
    (tmp_path / "home").mkdir()
    registry = PrivacyRegistry(tmp_path / "home" / "privacy.toml")
    (tmp_path / "home").rmdir()
    (tmp_path / "home").write_text("", encoding="utf-8")

    for level in (PrivacyLevel.FULL, PrivacyLevel.MINIMAL):
        with pytest.raises(HomeError, match="cannot be written"):
            registry.set(ADA, level)

    assert PrivacyLevel.FULL is registry.get(ADA)


def test_those_who_are_not_heard_are_named(tmp_path: Path) -> None:
    """By canonical key; one by one too."""
    registry = PrivacyRegistry(tmp_path / "privacy.toml")
    registry.set(ADA, PrivacyLevel.FULL)
    registry.set(BOB, PrivacyLevel.PARTIAL)

    assert registry.full_privacy_keys() == {"discord:1"}
    assert (registry.is_full(ADA), registry.is_full(BOB)) == (True, False)


def test_those_about_whom_no_notes_are_shown_are_named(tmp_path: Path) -> None:
    """G30: whoever does not allow everything, by the name of their file."""
    registry = PrivacyRegistry(tmp_path / "privacy.toml")
    registry.set(ADA, PrivacyLevel.FULL)
    registry.set(BOB, PrivacyLevel.PARTIAL)
    registry.set(Author("discord", "9", None, None), PrivacyLevel.MINIMAL)

    assert registry.slugs_without_notes() == {ADA.slug, BOB.slug}


def test_given_privacy_answers_as_the_registry_does(tmp_path: Path) -> None:
    """One set of questions, whoever answers them; whoever never chose allows everything."""
    registry = PrivacyRegistry(tmp_path / "privacy.toml")
    levels = {ADA: PrivacyLevel.FULL, BOB: PrivacyLevel.PARTIAL}
    for author, level in levels.items():
        registry.set(author, level)
    given = FixedPrivacy({author.canonical_key: level for author, level in levels.items()})
    stranger = Author("discord", "9", None, None)

    for privacy in (registry, given):
        assert [privacy.is_full(who) for who in (ADA, BOB, stranger)] == [True, False, False]
        assert [privacy.may_note(who) for who in (ADA, BOB, stranger)] == [False, False, True]
        assert privacy.slugs_without_notes() == {ADA.slug, BOB.slug}
        assert privacy.full_privacy_keys() == {ADA.canonical_key}
    assert EVERYTHING_ALLOWED.may_note(ADA)
