"""Formats that an extension brings to `familiar import`: recognised, read apart, and taken in like ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.extension_packages import install_example, install_extension, run_beside
from tests.fakes.program import make_home, one_sentence

LETTER = "From: Ada <ada@example.org>\nSubject: Tea\nDate: Mon, 01 Jun 2026 12:00:00 +0000\n\nTea at four?\n"
BOX = f"From ada\n{LETTER}\nFrom ember\nFrom: Ember <ember@example.org>\n\nGladly.\n"
FAULTY = """
import time
from familiar_connect.api import Extension
from familiar_connect.api.importing import ChatImporterPart, DocumentImporterPart, ImportedText

def fail(head, name):
    raise RuntimeError("cannot look")

def end(data, name):
    raise SystemExit(3)

def tell(data, name):
    return ImportedText(title="# Rules\\n> Channels: #none", pages=("\\x00 {{user}} is kind.\\x07",))

extension = Extension(
    name="faulty",
    importers=(
        DocumentImporterPart(name="blind", recognizes=fail, read=tell),
        DocumentImporterPart(name="slow", recognizes=lambda head, name: time.sleep(60), read=tell),
        DocumentImporterPart(name="gone", recognizes=lambda head, name: name.endswith(".gone"), read=end),
        DocumentImporterPart(name="odd", recognizes=lambda head, name: name.endswith(".odd"), read=tell),
    ),
)
"""

PICKY = """
from familiar_connect.api import Extension
from familiar_connect.api.importing import ChatImporterPart, DocumentImporterPart, ImportedLine, ReadLimits
from familiar_connect.api.importing import UnreadableFileError

def refuse(data, name):
    raise UnreadableFileError("is sealed: open it first", where="page 2")

def tell(data, name):
    yield ImportedLine(name="Ada", text="Tea?")
    if name.startswith("torn"):
        raise UnreadableFileError("is torn off; fetch it again", where="line 2")
    yield ImportedLine(name="Ember", text="Gladly.", is_character=True)

def ends_with(suffix):
    return lambda head, name: name.endswith(suffix)

extension = Extension(
    name="picky",
    importers=(
        DocumentImporterPart(name="sealed", recognizes=ends_with(".seal"), read=refuse),
        DocumentImporterPart(
            name="small", recognizes=ends_with(".small"), read=refuse, limits=ReadLimits(file_bytes=10)
        ),
        ChatImporterPart(name="scroll", recognizes=ends_with(".scroll"), read=tell),
    ),
)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_chats_and_documents_of_an_extension_are_brought_in(site: Path, home: Path, tmp_path: Path) -> None:
    """Once it is allowed; the same file again is known; search and undo work as for any other."""
    install_example(site, "letters")
    root = make_home(home)
    box, letter = tmp_path / "tea.mbox", tmp_path / "tea.eml"
    box.write_text(BOX, encoding="utf-8")
    letter.write_text(LETTER, encoding="utf-8")

    refused = one_sentence(run_beside(site, home, "import", "chat", str(box)))
    run_beside(site, home, "extension", "allow", "letters")
    shown = run_beside(site, home, "extension", "info", "letters").stdout
    taken = run_beside(site, home, "import", "chat", str(box))
    again = json.loads(run_beside(site, home, "import", "chat", str(box), "--json").stdout)
    document = run_beside(site, home, "import", "document", str(letter))
    logs = run_beside(site, home, "logs", "--chat", "tea").stdout

    assert "does not start with a name and a colon" in refused
    assert "imports: mail folder, letter" in shown
    assert taken.returncode == 0, taken.stderr
    assert "read as mail folder, by the extension letters" in " ".join(taken.stdout.split())
    assert (again["chats"][0]["added"], again["chats"][0]["form"]) == (0, "extension")
    assert "Tea at four?" in logs
    assert "Gladly." in logs
    assert document.returncode == 0, document.stderr
    assert "Tea at four?" in (root / "memory" / "documents" / "tea.md").read_text(encoding="utf-8")


def test_an_importer_that_fails_costs_itself_and_its_text_is_data(site: Path, home: Path, tmp_path: Path) -> None:
    """One that cannot look is passed over, one that ends is a sentence; a title is one line and no heading of ours."""
    install_extension(site, "faulty", FAULTY)
    root = make_home(home)
    run_beside(site, home, "extension", "allow", "faulty")
    files = {name: tmp_path / f"rules{name}" for name in (".txt", ".gone", ".odd")}
    for file in files.values():
        file.write_text("The rules of the house.\n", encoding="utf-8")

    plain = run_beside(site, home, "import", "document", str(files[".txt"]))
    gone = one_sentence(run_beside(site, home, "import", "document", str(files[".gone"]), "--title", "Gone"))
    odd = run_beside(site, home, "import", "document", str(files[".odd"]), "--replace")
    text = (root / "memory" / "documents" / "rules.md").read_text(encoding="utf-8")

    assert plain.returncode == 0, plain.stderr
    assert "the extension faulty gave up on it" in gone
    assert odd.returncode == 0, odd.stderr
    assert text.startswith("# Rules > Channels: #none\n")
    assert "\x00" not in text
    assert "\x07" not in text
    assert "{{user}} is kind." in text


def test_an_importer_has_its_own_words_and_limits(site: Path, home: Path, tmp_path: Path) -> None:
    """Its words follow the name of the file; what goes wrong after some lines leaves nothing of the chat behind."""
    install_extension(site, "picky", PICKY)
    make_home(home)
    run_beside(site, home, "extension", "allow", "picky")
    files = {name: tmp_path / name for name in ("a.seal", "b.small", "torn.scroll", "whole.scroll")}
    for file in files.values():
        file.write_text("More than ten bytes.\n", encoding="utf-8")

    sealed = one_sentence(run_beside(site, home, "import", "document", str(files["a.seal"])))
    small = one_sentence(run_beside(site, home, "import", "document", str(files["b.small"])))
    torn = one_sentence(run_beside(site, home, "import", "chat", str(files["torn.scroll"])))
    chats = json.loads(run_beside(site, home, "import", "chat", str(files["whole.scroll"]), "--json").stdout)["chats"]
    listed = json.loads(run_beside(site, home, "import", "list", "--json").stdout)

    assert "a.seal, page 2: is sealed: open it first" in sealed
    assert "b.small is too large (21 bytes, at most 10): split it" in small
    assert "torn.scroll, line 2: is torn off; fetch it again" in torn
    assert [(each["added"], each["character"]) for each in chats] == [(2, "Ember")]
    assert [each["chat"] for each in listed] == ["whole"]
