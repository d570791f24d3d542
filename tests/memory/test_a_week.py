"""A week of talk with three people leaves what a person would call right, and a restart recalls it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from familiar_connect.memory.maintenance.links import link_graph
from familiar_connect.memory.people import read_aliases
from familiar_connect.memory.versioning.versions import Versions
from tests.fakes.sample_week import ALICE_FILE, BOB_FILE, copy_week, memory_of

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copy_week(tmp_path)


def test_everyone_has_a_file_with_what_they_told(root: Path) -> None:
    """Three people, two topics, a session for each day; names point at the files."""
    store = memory_of(root)

    assert store.glob("people/*.md") == [ALICE_FILE, BOB_FILE, "people/twitch-77.md"]
    assert store.glob("topics/*.md") == ["topics/pixel.md", "topics/rowing-boat.md"]
    assert len(store.glob("sessions/*.md")) == 7
    assert "nurse" in store.read_file(ALICE_FILE)
    assert "larch" in store.read_file(BOB_FILE)
    assert read_aliases(store)["cleo_draws"] == ["twitch-77"]


def test_a_belief_that_changed_has_a_date(root: Path) -> None:
    """Coffee until the tenth of April, tea since."""
    store = memory_of(root)
    assert store.audit is not None
    versions = Versions(store.audit)
    tea = [version for version in versions.log(ALICE_FILE) if "mostly mint" in versions.text(version)]

    assert "coffee." in versions.show(ALICE_FILE, 1)
    assert (tea[0].number, tea[0].entry.timestamp.date().isoformat()) == (3, "2026-04-10")
    assert tea[0].entry.turn_range == (15, 17)


def test_hearsay_stays_hearsay(root: Path) -> None:
    """What Bob says of Cleo is in Bob's file, as his words; what Cleo says of herself in hers."""
    store = memory_of(root)

    assert "He says that Cleo is moving to Lisbon in autumn." in store.read_file(BOB_FILE)
    assert "She is not moving to Lisbon." in store.read_file("people/twitch-77.md")


def test_files_are_linked_and_no_link_is_broken(root: Path) -> None:
    """From a session to its people and back."""
    graph = link_graph(memory_of(root))

    assert graph.broken == ()
    assert graph.are_linked("sessions/2026-04-06-evening.md", ALICE_FILE)
    assert "sessions/2026-04-06-evening.md" in graph.outgoing[ALICE_FILE]


def test_a_user_can_run_it(tmp_path: Path) -> None:
    """`python -m examples.a_week HOME` says where everything is."""
    done = subprocess.run(
        [sys.executable, "-m", "examples.a_week", str(tmp_path / "home")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )

    assert done.returncode == 0, done.stderr
    assert "memory/people/discord-1001.md" in done.stdout
    assert (tmp_path / "home" / "familiars" / "mira" / "memory" / "people" / "discord-1001.md").exists()
