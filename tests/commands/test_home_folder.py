"""The folder of a home as the program meets it: links in it, rights on it, and one that nobody named."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.permissions import find_links, refuse_links
from familiar_connect.errors import HomeError
from familiar_connect.memory.store import MemoryStore
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links and rights are different there")
CANARY = "the secret of the outside"

FILES = [
    "character.toml",
    "subscriptions.toml",
    "privacy.toml",
    "history.db",
    "history.db-wal",
    "history.db-shm",
    "history.db-journal",
    "metrics.db",
    "metrics.db-wal",
    "memory/.index/passages.db",
    "memory/.pending/run/plan.json",
    "memory/self/description.md",
    "memory/people/alice.md",
    "memory/lore/.import-x.json",
    "audit/audit.jsonl",
    "audit/.lock",
    "traces/turns/1.z",
    "presets/mine/1.json",
    "presets/active.toml",
    "modes/full_rp.md",
    "channels/1.toml",
    "channels/1.last-context.md",
    "../_default/character.toml",
    "../_default/modes/full_rp.md",
]
FOLDERS = [
    "memory",
    "memory/.index",
    "memory/.pending",
    "memory/self",
    "memory/people",
    "memory/lore",
    "audit",
    "traces",
    "traces/turns",
    "presets",
    "presets/mine",
    "modes",
    "channels",
    "../_default",
    "../_default/modes",
    ".",
    "..",
]


def plant(root: Path, name: str, outside: Path, *, is_folder: bool) -> Path:
    """A link at *name* in the familiar's folder that leads to *outside*; whatever stands there moves out first."""
    place = Path(os.path.normpath(root / name))
    outside.mkdir()
    (outside / "canary.md").write_text(CANARY, encoding="utf-8")
    target = outside if is_folder else outside / "canary.md"
    if place.is_dir():
        place.rename(outside / "moved")
        target = outside / "moved"
    elif place.exists():
        place.unlink()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target, target_is_directory=is_folder)
    return place


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize(
    ("name", "is_folder"), [*((name, False) for name in FILES), *((name, True) for name in FOLDERS)]
)
def test_a_link_at_any_path_of_a_familiar_is_refused_before_anything_is_opened(
    tmp_path: Path, name: str, is_folder: bool
) -> None:
    """The sentence names the link and the fix."""
    root = make_home(tmp_path / "home")
    link = plant(root, name, tmp_path / "outside", is_folder=is_folder)

    with pytest.raises(HomeError) as refused:
        refuse_links(FamiliarFolder(root))

    assert str(refused.value).startswith(f"{link} is a link; replace it by the ")


@pytest.mark.parametrize(
    ("name", "is_folder"),
    [
        ("character.toml", False),
        ("history.db", False),
        ("memory/self/description.md", False),
        ("memory", True),
        ("channels", True),
        ("../_default", True),
    ],
)
def test_the_program_neither_reads_nor_writes_through_a_link(tmp_path: Path, name: str, is_folder: bool) -> None:
    """Chat, doctor, list and memory say it; the model is asked nothing and what lies outside stays as it is."""
    with model_endpoint(stream_answer("Hi")) as server:
        root = make_home(tmp_path / "home", server)
        link = plant(root, name, tmp_path / "outside", is_folder=is_folder)
        before = snapshot(tmp_path / "outside")
        chat = run_program(tmp_path / "home", "chat", "--plain", said="hello\n")
        verbs = (("doctor",), ("list",), ("memory", "show", "self/description.md"), ("connect", "--to", "embedded"))
        others = [run_program(tmp_path / "home", *words) for words in verbs]

    assert chat.returncode == 1
    assert f"{link} is a link; replace it by the" in one_sentence(chat)
    for done in others:
        assert f"{link} is a link" in done.stdout + done.stderr
        assert CANARY not in done.stdout + done.stderr
    assert snapshot(tmp_path / "outside") == before
    assert server.requests == []


def test_a_link_inside_the_memory_that_stays_there_is_the_memory_stores_own_matter(tmp_path: Path) -> None:
    """But not one into what begins with a dot."""
    root = make_home(tmp_path)
    (root / "memory" / "me.md").symlink_to("self/description.md")
    refuse_links(FamiliarFolder(root))
    (root / "memory" / ".index").mkdir()
    (root / "memory" / "index").symlink_to(".index")

    assert list(find_links(FamiliarFolder(root))) == [root / "memory" / "index"]


def test_every_file_the_program_makes_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    """A whole first conversation under the widest umask there is."""
    home = tmp_path / "home"
    with model_endpoint(stream_answer("Hi")) as server:
        before = os.umask(0)
        try:
            made = run_program(home, "init", "ember")
            settings = HomeFolder(home).familiar("ember").settings_file
            slot = f'\n[llm.main_prose]\nmodel = "m"\nbase_url = "{server.base_url}"\n'
            settings.write_text(settings.read_text(encoding="utf-8") + slot, encoding="utf-8")
            talked = run_program(home, "chat", "--plain", said="hello\n")
        finally:
            os.umask(before)

    assert (made.returncode, talked.returncode) == (0, 0), talked.stderr
    assert {stat.S_IMODE(path.stat().st_mode) for path in (home, *home.rglob("*")) if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*") if path.is_file()} == {0o600}


def test_an_existing_home_is_closed_to_others_with_one_line(tmp_path: Path) -> None:
    """Once; the second start has nothing to say. What a link leads to keeps its rights."""
    home = tmp_path / "home"
    make_home(home)
    (home / "secrets.env").write_text("MY_KEY=x\n")
    outside = tmp_path / "outside.txt"
    outside.write_text("")
    (home / "familiars" / "outside.txt").symlink_to(outside)
    for path in (outside, home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    first, second = run_program(home, "list"), run_program(home, "list")

    assert first.stderr.count("now only you can") == 1
    assert "only you" not in second.stderr
    assert not any(path.lstat().st_mode & 0o077 for path in (home, *home.rglob("*")) if not path.is_symlink())
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_a_folder_that_holds_other_things_keeps_its_rights(tmp_path: Path) -> None:
    """Somebody named a folder of theirs as the home: only what is ours in it is closed."""
    home = tmp_path / "work"
    make_home(home)
    (home / "thesis.txt").write_text("")
    for path in (home, home / "thesis.txt", home / "familiars"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    run_program(home, "list")

    assert [stat.S_IMODE(path.stat().st_mode) for path in (home, home / "thesis.txt", home / "familiars")] == [
        0o755,
        0o644,
        0o700,
    ]


def test_a_data_folder_in_the_working_directory_is_named_and_not_used(tmp_path: Path) -> None:
    """One sentence on the error stream says how to use it."""
    make_home(tmp_path / "data")
    own = {"FAMILIAR_HOME": "", "XDG_DATA_HOME": str(tmp_path / "own"), "HOME": str(tmp_path / "own")}
    unnamed = run_program("", "list", "--json", env=own, cwd=tmp_path)
    named = run_program("", "--home", "./data", "list", env=own, cwd=tmp_path)

    assert '"familiars": []' in unnamed.stdout
    assert unnamed.stderr.count("familiar --home ./data") == 1
    assert "ember" in named.stdout
    assert "./data" not in named.stderr


def test_what_begins_with_a_dot_is_never_searched_or_listed_for_a_model(tmp_path: Path) -> None:
    """Import records, originals and disabled lore are not memory; naming them by path still works for the owner."""
    store = MemoryStore(tmp_path)
    for path in ("lore/.import-book.json", "lore/.off.md", "self/.original.json", ".hidden/a.md", "lore/open.md"):
        store.write_file(path, "a needle\n")

    assert [hit.rel_path for hit in store.grep("needle")] == ["lore/open.md"]
    assert store.glob("**/*") == store.glob("lore/*") == ["lore/open.md"]
    assert store.glob("lore/.import-*") == ["lore/.import-book.json"]
    assert store.read_file("lore/.off.md") == "a needle\n"
