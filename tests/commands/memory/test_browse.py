"""familiar memory list, show, grep."""

from __future__ import annotations

from pathlib import Path

import pytest

from familiar_connect.bootstrap.starter import make_starter
from tests.commands.memory.conftest import Run
from tests.fakes.program import run_program
from tests.fakes.sample_week import ALICE_FILE


def test_files_are_listed(run: Run) -> None:
    """All, or those of a folder, for people and for scripts."""
    assert " B  people/discord-1001.md" in run("list").out
    assert [row["file"] for row in run("list", "topics", "--json").json["files"]] == [
        "topics/pixel.md",
        "topics/rowing-boat.md",
    ]
    assert "No memory files in nowhere yet" in run("list", "nowhere").out


@pytest.mark.parametrize("words", [ALICE_FILE, "people/discord-1001", "Alice", "alice_n"])
def test_a_file_is_shown_by_path_or_by_name(run: Run, words: str) -> None:
    """A person's name means their file; it is shown as it is, whom it may be told to included."""
    assert run("show", words).out.startswith("---\naudience: server:discord:2001\n---\n# Alice\n")


def test_a_person_is_one_page_however_many_files_there_are(run: Run, root: Path) -> None:
    """Each part says who may hear it; a path shows that file alone."""
    private = "people/discord-1001@dm-discord-1001.md"
    text = "---\naudience: people:discord:1001\n---\n# Alice\n\n- Has a secret garden.\n"
    (root / "memory" / private).write_text(text, encoding="utf-8")
    page = run("show", "Alice").out
    facts = run("show", "Alice", "--json").json

    assert page.startswith("# Alice\n\n[may be heard by everyone on its server: people/discord-1001.md]\n")
    assert f"[may be heard by the people of a direct message: {private}]\n\n- Has a secret garden.\n" in page
    assert [part["file"] for part in facts["parts"]] == [ALICE_FILE, private]
    assert run("show", private).out == text


def test_an_earlier_version_and_links_are_shown(run: Run) -> None:
    """By number or hash; links in their order."""
    first = run("log", "Alice", "--json").json[0]

    assert "lives on coffee" in run("show", "Alice", "1").out
    assert run("show", "Alice", first["hash"][:12]).out == run("show", "Alice", "v1").out
    assert run("show", "topics/pixel", "--links").out == "sessions/2026-04-07-evening.md\n"
    assert run("show", "Alice", "--json").json["file"] == ALICE_FILE


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("show", "topics/pixl"), "did you mean topics/pixel.md?"),
        (("show", "../../../etc/passwd"), "there is no memory file"),
        (("show", "Alice", "99"), "has no version 99"),
        (("grep", "("), "cannot search for '('"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(run: Run, words: tuple[str, ...], told: str) -> None:
    """On standard error, with exit code 1."""
    outcome = run(*words)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert told in outcome.err


def test_a_wrong_verb_names_the_nearest(run: Run) -> None:
    """Exit code 2, as for every wrong verb."""
    outcome = run("blaem", "Alice")

    assert outcome.code == 2
    assert "Did you mean `familiar memory blame`?" in outcome.err


def test_grep_finds_lines(run: Run) -> None:
    """With file and line; nothing found is exit code 1."""
    hits = run("grep", "LARCH", "--json").json

    assert (hits[0]["file"], hits[0]["line"]) == ("people/discord-1002.md", 17)
    assert run("grep", "LARCH", "--case").code == 1
    assert run("grep", "coffee", "people").out.startswith("people/discord-1001.md:13: ")


def test_every_verb_has_help_with_examples(run: Run) -> None:
    """What to type is shown, not described."""
    from familiar_connect.commands.memory.group import VERBS

    for verb in VERBS:
        outcome = run(verb, "-h")
        assert outcome.code == 0
        assert f"familiar memory {verb}" in outcome.out.split("Examples:")[1]


def test_without_a_memory_the_next_step_is_told(run: Run, tmp_path: Path) -> None:
    """A familiar that never talked has nothing to read."""
    (tmp_path / "home" / "familiars" / "bare").mkdir()

    assert "familiar chat --familiar bare" in run("list", "--familiar", "bare").err


def test_which_of_several_is_shown_stands_first(run: Run, root: Path, tmp_path: Path) -> None:
    """With the others to choose from; whoever named one, and a script, is told nothing."""
    make_starter(tmp_path / "home", "bryn", name="Bryn")
    name = (root / "memory" / "self" / "name.md").read_text().strip()
    told = f"This is {name}, the one you used last; --familiar ID chooses another: bryn\n"

    for words in (("list",), ("log",), ("show", "Alice"), ("grep", "coffee"), ("stats",), ("review",)):
        assert run(*words).err.startswith(told), words
    assert run("list", "--familiar", root.name).err == ""
    assert run("list", "--json").err == ""


def test_a_file_over_its_cap_is_read_up_to_it_and_said_to_be_cut(tmp_path: Path) -> None:
    """In grep, in search and in check; of more lines than are shown grep says so."""
    root = make_starter(tmp_path, "ember")
    (root / "memory" / "topics").mkdir(exist_ok=True)
    settings = root / "character.toml"
    embedder = '[providers.content_search]\nembedder = "hashing"\n'
    settings.write_text(settings.read_text(encoding="utf-8").replace("[providers.content_search]\n", embedder))
    filler = "".join(
        f"- line {n} about the quokka, which is a small animal of some island far away\n" for n in range(4_000)
    )
    (root / "memory" / "topics" / "big.md").write_text(f"# Big\n\nThe zeppelin hangar is by the lake.\n{filler}")
    cut = "memory file 'topics/big.md' is read to 262,144 bytes and cut there"

    found, many, searched, checked = (
        run_program(tmp_path, "memory", *words)
        for words in (("grep", "zeppelin"), ("grep", "quokka"), ("search", "zeppelin hangar"), ("check",))
    )

    assert found.stdout == "topics/big.md:3: The zeppelin hangar is by the lake.\n"
    assert cut in found.stderr
    assert len(many.stdout.splitlines()) == 1_000
    assert "these are the first 1,000 lines, there are more" in many.stderr
    assert "zeppelin hangar" in searched.stdout
    assert cut in searched.stderr
    assert f"large file       {cut}" in checked.stdout
