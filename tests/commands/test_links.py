"""Links planted in a home, before the program starts and while it runs: nothing outside is read or changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from familiar_connect.channel_config import ChannelConfigStore
from familiar_connect.config import load_character_config
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.secrets import Secrets
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.errors import FamiliarError
from familiar_connect.history.store import HistoryStore
from familiar_connect.memory.index.storage import DerivedFile
from familiar_connect.memory.maintenance.review import Decisions
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance
from familiar_connect.memory.writing.journal import Journal, RunLog
from familiar_connect.observe.ledger import SQLiteCollector
from familiar_connect.observe.replay_store import ReplayStore
from familiar_connect.presets.store import PresetStore
from familiar_connect.privacy import PrivacyRegistry
from familiar_connect.subscriptions import SubscriptionRegistry
from familiar_connect.support.clock import SystemClock
from tests.fakes.model_server import ModelServer, stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program
from tests.fakes.running_chat import RunningChat
from tests.fakes.waiting import wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="making links needs rights there")
CANARY = "the secret of the outside"
CHANNEL = "channels/0"

FILES = [
    "character.toml",
    "subscriptions.toml",
    "privacy.toml",
    "history.db",
    "history.db-wal",
    "history.db-shm",
    "metrics.db",
    "metrics.db-wal",
    "memory/.index/passages.db",
    "memory/.gitignore",
    "memory/self/description.md",
    "memory/people/alice.md",
    "audit/log.jsonl",
    "audit/lock",
    "audit/objects.db",
    "audit/runs.jsonl",
    "audit/provenance.jsonl",
    "audit/writer.lock",
    "audit/writer-journal.json",
    "traces/turns/1.z",
    "presets/mine.json",
    "presets/.state.json",
    "modes/imitate_voice.md",
    f"{CHANNEL}.toml",
    f"{CHANNEL}.last-context.md",
    "../_default/character.toml",
    "../../secrets.env",
]
FOLDERS = ["memory", "memory/.index", "memory/self", "audit", "traces", "presets", "modes", "channels", "."]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """A model that says the same to whatever it is asked."""
    with model_endpoint(*[stream_answer("Hi")] * 1000) as running:
        yield running


@pytest.fixture(scope="module")
def used_home(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which somebody talked once."""
    home = tmp_path_factory.mktemp("used") / "home"
    make_home(home, server)
    assert run_program(home, "chat", "--plain", said="hello\n").returncode == 0
    return home


@pytest.fixture
def home(used_home: Path, tmp_path: Path) -> Path:
    """A copy of the used home."""
    shutil.copytree(used_home, tmp_path / "home")
    return tmp_path / "home"


def plant(root: Path, name: str, outside: Path, *, is_folder: bool = False) -> Path:
    """A link at *name* in the familiar's folder that leads to *outside*, with a copy of what stood there."""
    place = Path(os.path.normpath(root / name))
    outside.mkdir()
    target = outside / "there"
    if place.is_dir():
        shutil.copytree(place, target, ignore=shutil.ignore_patterns("*-wal", "*-shm"))
        place.rename(place.parent / f".aside-{place.name}")
    elif place.exists():
        shutil.copyfile(place, target)
        place.unlink()
    elif is_folder:
        target.mkdir()
    else:
        target.write_text(f"# {CANARY}\n", encoding="utf-8")
    if target.is_dir():
        (target / "canary.md").write_text(CANARY, encoding="utf-8")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target, target_is_directory=is_folder)
    return place


def snapshot(folder: Path) -> dict[str, tuple[bytes, int] | None]:
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize(
    ("name", "is_folder"), [*((name, False) for name in FILES), *((name, True) for name in FOLDERS)]
)
def test_a_chat_does_not_begin_where_a_link_stands(
    home: Path, server: ModelServer, tmp_path: Path, name: str, is_folder: bool
) -> None:
    """One sentence names the link and the fix; the model is asked nothing and what lies outside stays as it is."""
    link = plant(home / "familiars" / "ember", name, tmp_path / "outside", is_folder=is_folder)
    before, asked = snapshot(tmp_path / "outside"), len(server.requests)
    chat = run_program(home, "chat", "--plain", said="hello\n")

    assert chat.returncode == 1
    assert f"{link} is a link; replace it by the" in one_sentence(chat)
    assert snapshot(tmp_path / "outside") == before
    assert len(server.requests) == asked
    assert CANARY not in chat.stdout + chat.stderr


HISTORY = "familiars/ember/history.db"
VERBS = [
    (HISTORY, ("chat", "--plain")),
    (HISTORY, ("prompt", "hello.json")),
    (HISTORY, ("inspect",)),
    (HISTORY, ("doctor",)),
    (HISTORY, ("metrics",)),
    (HISTORY, ("memory", "list")),
    (HISTORY, ("memory", "log", "self/description.md")),
    (HISTORY, ("memory", "show", "self/description.md")),
    (HISTORY, ("memory", "search", "tea")),
    (HISTORY, ("preset", "list")),
    (HISTORY, ("export", "card")),
    (HISTORY, ("pack", "-o", "packed.zip")),
    (HISTORY, ("run",)),
    ("familiars", ("init", "ash")),
    ("familiars/ash", ("init", "ash")),
    ("exports", ("export", "card")),
    ("exports/ember.png", ("export", "card")),
    ("secrets.env", ("doctor",)),
    ("secrets.env", ("run",)),
    ("trust.toml", ("trust", "list")),
    ("trust.toml", ("trust", "add", "https://models.example")),
]


@pytest.mark.parametrize(("name", "words"), VERBS)
def test_no_command_follows_a_link(home: Path, tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    """The sentence names it."""
    link = plant(home, name, tmp_path / "outside", is_folder=name in ("familiars", "familiars/ash", "exports"))
    before = snapshot(tmp_path / "outside")
    done = run_program(home, *words, said="hello\n", cwd=tmp_path)

    assert snapshot(tmp_path / "outside") == before
    assert f"{link} is a link" in done.stdout + done.stderr
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    assert CANARY not in done.stdout + done.stderr


WHILE_RUNNING = {
    "files": [
        "memory/self/description.md",
        "metrics.db",
        "modes/text_conversation_rp.md",
        "channels/1.last-context.md",
    ],
    "folders": ["memory/self", "modes", "channels", "traces"],
    "the memory": ["memory"],
    "the familiar": ["."],
}
"""What every turn opens anew, and of which nothing hides another."""


@pytest.mark.parametrize("names", WHILE_RUNNING.values(), ids=WHILE_RUNNING)
def test_links_planted_while_it_runs_are_met_and_not_followed(
    home: Path, server: ModelServer, tmp_path: Path, names: list[str]
) -> None:
    """The conversation goes on, and each link is named."""
    root = home / "familiars" / "ember"
    with closing(RunningChat(home)) as chat:
        chat.say("hello", replies=1)
        wait_until(lambda: len(list((root / "traces" / "turns").iterdir())) == 2, "the record of the turn")
        ledger = SQLiteCollector(root / "metrics.db")
        wait_until(lambda: len(ledger.recent_traces(familiar_id="ember")) == 2, "the turn in the ledger")
        asked = len(server.requests)
        (tmp_path / "all").mkdir()
        links = [
            plant(root, name, tmp_path / "all" / str(at), is_folder="." not in name or name == ".")
            for at, name in enumerate(names)
        ]
        before = snapshot(tmp_path / "all")
        chat.say("and again", replies=2)
        told = chat.end()

    assert told.count("Hi") == 2
    assert snapshot(tmp_path / "all") == before
    assert "Traceback" not in told
    assert CANARY not in told
    assert not any(CANARY in str(request) for request in server.requests[asked:])
    for link in links:
        in_memory = link.relative_to(root / "memory") if root / "memory" in link.parents else None
        assert f"{link} is a link" in told or f"memory path '{in_memory}' is a link" in told


OPENED_LATER: dict[str, Callable[[FamiliarFolder], object]] = {
    "character.toml": lambda own: load_character_config(own.settings_file),
    "subscriptions.toml": lambda own: SubscriptionRegistry(own.subscriptions_file).all(),
    "privacy.toml": lambda own: PrivacyRegistry(own.privacy_file).all(),
    "channels/5.toml": lambda own: ChannelConfigStore(
        root=own.channels, character=load_character_config(own.settings_file)
    ).set_backdrop(5, "a new one"),
    "presets/.state.json": lambda own: PresetStore(own.presets).use_none(),
    "presets/mine.json": lambda own: PresetStore(own.presets).get("mine"),
    "presets/.lock": lambda own: PresetStore(own.presets).use_none(),
    "history.db": lambda own: HistoryStore(own.history_db),
    "history.db-wal": lambda own: HistoryStore(own.history_db),
    "history.db-shm": lambda own: HistoryStore(own.history_db),
    "memory/.index/x.db": lambda own: DerivedFile(
        own.index / "x.db", create=lambda _: None, identity={"version": "1"}
    ).read("SELECT 1"),
    "audit/log.jsonl": lambda own: MemoryStore(own.memory, audit_dir=own.audit).write_file("a.md", "new"),
    "audit/lock": lambda own: MemoryStore(own.memory, audit_dir=own.audit).write_file("a.md", "new"),
    "audit/objects.db": lambda own: MemoryStore(own.memory, audit_dir=own.audit).write_file("a.md", "new"),
    "audit/provenance.jsonl": lambda own: Provenance(own.audit).all_sources(),
    "audit/runs.jsonl": lambda own: RunLog(own.audit).all(),
    "audit/writer-journal.json": lambda own: Journal(own.audit).read(),
    "audit/reviews.jsonl": lambda own: Decisions(own.audit, SystemClock()).all(),
    "memory/people/ada.md": lambda own: MemoryStore(own.memory).write_file("people/ada.md", "new"),
    "memory/people": lambda own: MemoryStore(own.memory).read_file("people/ada.md"),
    "traces/turns/20260101-1.json.z": lambda own: ReplayStore(own.traces).load("20260101-1"),
    "../../secrets.env": lambda own: Secrets(own.home.root).put("MY_KEY", "new"),
    "../../trust.toml": lambda own: TrustedOrigins(own.home.root).add("https://models.example"),
}


@pytest.mark.parametrize("name", OPENED_LATER)
def test_whatever_is_opened_later_refuses_a_link_in_its_own_words(tmp_path: Path, name: str) -> None:
    """An error of ours that names the link and the fix; what lies outside is neither read nor changed."""
    own = FamiliarFolder(make_home(tmp_path / "home"))
    HistoryStore(own.history_db).close()
    link = plant(own.root, name, tmp_path / "outside", is_folder=name == "memory/people")
    before = snapshot(tmp_path / "outside")

    with pytest.raises(FamiliarError) as refused:
        OPENED_LATER[name](own)

    assert snapshot(tmp_path / "outside") == before
    assert CANARY not in str(refused.value)
    in_memory = f"memory path '{name.removeprefix('memory/')}" if name.startswith("memory/") else str(link)
    assert in_memory in str(refused.value) or str(link) in str(refused.value)
    assert "is a link" in str(refused.value)
    assert "replace it" in str(refused.value)
