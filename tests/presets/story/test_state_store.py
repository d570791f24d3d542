"""What lasts in a chat, on disk."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.presets.story.state_store import StoryStateStore
from familiar_connect.presets.story.types import StoryState
from familiar_connect.presets.world_info.types import TimedEffect, TimedEffects

STATE = StoryState(
    variables={"mood": "wry"},
    shared={"count": "3"},
    timed=TimedEffects(sticky={"b.1": TimedEffect(fingerprint="f", start=2, end=4)}),
)


def test_a_state_comes_back_and_global_variables_are_every_chats(tmp_path: Path) -> None:
    """Each chat has a file of its own."""
    store = StoryStateStore(tmp_path / "story")
    store.save(1, STATE)
    assert store.load(1) == STATE
    assert store.load(2) == StoryState(shared={"count": "3"})


def test_nothing_to_keep_leaves_no_file(tmp_path: Path) -> None:
    """And a file that is damaged counts as empty."""
    store = StoryStateStore(tmp_path / "story")
    store.save(1, StoryState())
    assert not (tmp_path / "story").exists()
    store.save(1, STATE)
    (tmp_path / "story" / "1.json").write_text("{", encoding="utf-8")
    assert store.load(1).variables == {}
