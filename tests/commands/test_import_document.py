"""`familiar import document`: what it takes, what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.cli import cli
from tests.fakes.pdf import a_pdf


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_starter(tmp_path, "ember")
    return tmp_path


def run(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), "import", "document", *words], standalone_mode=False)


def test_documents_are_taken_one_after_another(home: Path) -> None:
    """One that cannot be taken holds up no other, and the exit code tells."""
    good, bad = home / "rules.txt", home / "bad.pdf"
    good.write_text("No shoes.")
    bad.write_bytes(a_pdf([""]))

    done = run(home, str(bad), str(good))

    assert done.return_value == 1
    assert "Imported rules: memory/documents/rules.md (9 characters)" in done.output
    assert f"familiar: {bad} holds no text" in done.output
    assert (home / "familiars/ember/memory/documents/rules.md").is_file()


def test_a_script_reads_json(home: Path) -> None:
    """Files, pages, characters, and whether anything changed."""
    book = home / "book.pdf"
    book.write_bytes(a_pdf(["one", "two"], title="The Book"))

    facts = json.loads(run(home, str(book), "--json").output)
    again = json.loads(run(home, str(book), "--json").output)

    assert facts == {
        "documents": [
            {"title": "The Book", "files": ["documents/book.md"], "pages": 2, "characters": 6, "changed": True}
        ],
        "errors": [],
    }
    assert again["documents"][0]["changed"] is False


def test_a_title_is_for_one_document(home: Path) -> None:
    """Several under one name would be one."""
    done = run(home, "a.txt", "b.txt", "--title", "T")

    assert "--title names one document" in str(done.exception)
