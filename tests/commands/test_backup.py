"""`familiar backup` and `familiar restore`: a whole home as one file while it is talked with, and back."""

from __future__ import annotations

import json
import stat
import threading
import zipfile
from pathlib import Path

import pytest

from familiar_connect.bootstrap.backup import write
from familiar_connect.bootstrap.backup.manifest import NAME, is_inside
from familiar_connect.bootstrap.backup.restore import restore_backup
from familiar_connect.bootstrap.backup.write import write_backup
from familiar_connect.errors import HomeError
from familiar_connect.history.store import HistoryStore
from familiar_connect.support.clock import SystemClock
from tests.fakes.program import make_home, one_sentence, run_program

KEY = "sk-fake-0123456789abcdef"


def test_a_home_goes_into_one_file_while_it_is_written_to_and_comes_back_whole(tmp_path: Path) -> None:
    """What was said before is in the copy; keys, caches and links stay behind."""
    home, new, file = tmp_path / "home", tmp_path / "new", tmp_path / "ember.zip"
    root = make_home(home)
    (home / "secrets.env").write_text(f"MY_KEY={KEY}\n", "utf-8")
    (root / "memory" / ".index").mkdir(parents=True)
    (root / "memory" / ".index" / "vectors.bin").write_bytes(b"made anew")
    (root / "memory" / "people").mkdir()
    (root / "memory" / "people" / "sam.md").write_text("Sam paints.\n", "utf-8")
    (root / "memory" / "elsewhere.md").symlink_to(tmp_path / "outside.md")
    history = HistoryStore(root / "history.db")

    def say(text: str) -> None:
        history.append_turn(familiar_id="ember", channel_id=1, role="user", content=text)

    for number in range(50):
        say(f"line {number}")
    over = threading.Event()

    def talk() -> None:
        while not over.is_set():
            say("said meanwhile")

    talking = threading.Thread(target=talk)
    talking.start()
    try:
        done = run_program(home, "backup", "-o", str(file), "--json")
    finally:
        over.set()
        talking.join()
        history.close()
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["familiars"], said["with_keys"]) == (["ember"], False)
    assert said["links_left_out"] == ["familiars/ember/memory/elsewhere.md"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        assert KEY.encode() not in b"".join(map(archive.read, names))
    assert not [name for name in names if ".index" in name or name.startswith("cache/") or name.endswith("-wal")]

    done = run_program(new, "restore", str(file))
    assert done.returncode == 0, done.stderr
    assert "all there" in done.stdout
    assert "the backup holds none; set them with" in done.stdout
    back = new / "familiars" / "ember"
    assert (back / "memory" / "people" / "sam.md").read_text("utf-8") == "Sam paints.\n"
    for path in sorted(root.rglob("*.md")):
        if not path.is_symlink():
            assert (back / path.relative_to(root)).read_bytes() == path.read_bytes()
    restored = HistoryStore(back / "history.db")
    turns = restored.turns_after(familiar_id="ember", after_id=0, limit=100_000)
    texts = [turn.content for turn in turns]
    restored.close()
    assert [text for text in texts if text.startswith("line")] == [f"line {number}" for number in range(50)]

    again = run_program(new, "restore", str(file))
    assert again.returncode != 0
    assert "already holds familiars; name an empty folder" in one_sentence(again)


def test_a_memory_that_changes_on_the_way_is_copied_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """History and memory are of one moment, or the report says that they may not be."""
    root = make_home(tmp_path / "home")
    note = root / "memory" / "note.md"
    changes = iter(range(write.MOST_TRIES + 10))
    real, left = write._Copy._take, [2]

    def take(copy: write._Copy, path: Path) -> None:
        if path.name == "character.toml" and left[0]:
            left[0] -= 1
            note.write_text("x" * (1 + next(changes)), "utf-8")
        real(copy, path)

    monkeypatch.setattr(write._Copy, "_take", take)
    report = write_backup(tmp_path / "home", tmp_path / "a.zip", with_keys=False, now=SystemClock().now(), version="1")
    assert report.unsettled == ()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.read("familiars/ember/memory/note.md") == b"xx"

    left[0] = 1_000
    report = write_backup(tmp_path / "home", tmp_path / "b.zip", with_keys=False, now=SystemClock().now(), version="1")
    assert report.unsettled == ("ember",)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("cut", "is damaged or no backup; nothing was restored"),
        ("changed", "character.toml is not what was backed up"),
        ("lacking", "of its files are missing"),
        ("outside", "which is no place in a home"),
        ("newer", "made by version 9 of this program; update"),
        ("other", "is no backup of this program"),
    ],
)
def test_of_a_file_that_is_not_as_it_was_made_nothing_is_restored(tmp_path: Path, harm: str, told: str) -> None:
    """One sentence says what is wrong, and the home stays empty."""
    make_home(tmp_path / "home")
    file, bad, new = tmp_path / "a.zip", tmp_path / "bad.zip", tmp_path / "new"
    write_backup(tmp_path / "home", file, with_keys=False, now=SystemClock().now(), version="1")
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    settings = "familiars/ember/character.toml"
    if harm == "changed":
        members[settings] = bytes(len(members[settings]))
    elif harm == "lacking":
        del members[settings]
    elif harm == "outside":
        members["../evil.md"] = b"x"
        members[NAME] = members[NAME].replace(
            b'"files": {', b'"files": {"../evil.md": {"size": 1, "sha256": "", "rows": {}}, '
        )
    elif harm == "newer":
        members[NAME] = (
            members[NAME].replace(b'"format": 1', b'"format": 2').replace(b'"version": "1"', b'"version": "9"')
        )
    elif harm == "other":
        del members[NAME]
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    if harm == "cut":
        bad.write_bytes(bad.read_bytes()[:-200])

    with pytest.raises(HomeError, match=told):
        restore_backup(bad, new)

    assert not new.exists() or list(new.iterdir()) == []
    assert not (tmp_path / "evil.md").exists()


@pytest.mark.parametrize(
    ("path", "is_plain"),
    [
        ("familiars/ember/character.toml", True),
        ("familiars/ミカ/memory/友.md", True),
        ("../x", False),
        ("/etc/passwd", False),
        ("a//b", False),
        ("a/./b", False),
        ("a\\b", False),
        ("C:x", False),
        ("a/\0", False),
        ("", False),
        ("x" * 300, False),
    ],
)
def test_only_plain_paths_below_the_home_are_taken(path: str, is_plain: bool) -> None:
    """On every system."""
    assert is_inside(path) is is_plain
