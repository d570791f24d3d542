"""Links between people: two codes, ten minutes, and a file that several programs read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from familiar_connect.conversation.person_links import CODE_FOR, MOST_WRONG, PersonLinks
from familiar_connect.identity import Author
from familiar_connect.support.clock import ManualClock

ANA = Author("discord", "1", "ana", "Ana")
ALSO_ANA = Author("serve", "ana", "ana", "Ana at home")
BEN = Author("twitch", "9", "ben", "Ben")


def opened(folder: Path) -> tuple[PersonLinks, ManualClock]:
    clock = ManualClock(datetime(2026, 6, 1, tzinfo=UTC))
    return PersonLinks(folder / "links.json", clock), clock


def join(links: PersonLinks, one: Author, other: Author) -> None:
    step = links.say(other, links.offer(one))
    assert step is not None
    last = links.say(one, step.code)
    assert last is not None
    assert last.is_joined


def test_a_link_counts_in_every_program_at_once_and_chains_to_a_third(tmp_path: Path) -> None:
    """Another program that has the same file open knows it, and that it was undone."""
    links, clock = opened(tmp_path)
    elsewhere = PersonLinks(tmp_path / "links.json", clock)

    join(links, ANA, ALSO_ANA)
    join(links, ALSO_ANA, BEN)
    joined = elsewhere.all()
    elsewhere.unlink(ALSO_ANA)

    assert joined == {frozenset({"discord:1", "serve:ana", "twitch:9"})}
    assert links.all() == {frozenset({"discord:1", "twitch:9"})}


def test_a_code_is_kept_nowhere_and_ends_after_ten_minutes(tmp_path: Path) -> None:
    """Said a moment too late, it is a wrong one."""
    links, clock = opened(tmp_path)
    code = links.offer(ANA)
    kept = (tmp_path / "links.json").read_text(encoding="utf-8")

    clock.advance((CODE_FOR + timedelta(seconds=1)).total_seconds())

    assert code.replace("-", "") not in kept.replace("-", "")
    assert links.say(BEN, code) is None


def test_who_guesses_is_not_listened_to_for_a_while(tmp_path: Path) -> None:
    """Not even with the right code."""
    links, _ = opened(tmp_path)
    code = links.offer(ANA)

    for number in range(MOST_WRONG):
        links.say(BEN, f"WRONG-{number}")

    assert links.say(BEN, code) is None
    assert links.say(ALSO_ANA, code) is not None


def test_a_broken_file_links_nobody(tmp_path: Path) -> None:
    """The smaller circle is the safe one."""
    (tmp_path / "links.json").write_text('{"people": 7}', encoding="utf-8")

    assert opened(tmp_path)[0].all() == frozenset()
