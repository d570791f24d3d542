"""The site of the documentation: whole, with every link sound and nothing from outside, or not built at all."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tools import launch
from tools.environment import environment_folder, python_of

ROOT = Path(__file__).resolve().parents[2]
LOADS = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "video": "src", "use": "href"}


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "tools/docs_site.py", str(folder), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


class Reader(HTMLParser):
    """What a page loads, where it leads, and what in it can be led to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.ids: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        self.loads += [found[LOADS[tag]]] if LOADS.get(tag) in found else []
        self.leads += [found["href"]] if tag == "a" else []
        assert found.get("style", "text-align:").startswith("text-align:"), "columns of numbers, and nothing more"
        assert not {name for name in found if name.startswith("on") or name == "srcset"}, (tag, found)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this tree."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    done = build(folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    return {path: Reader(path) for path in site.rglob("*.html")}


def test_every_page_of_the_documentation_is_on_the_site(site: Path, pages: dict[Path, Reader]) -> None:
    """And those beside it that people look for; each with the whole navigation."""
    sources = {site / path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    wanted = sources | {site / f"{name}.html" for name in ("changelog", "contributing", "security")}

    assert set(pages) == wanted
    for path, read in pages.items():
        assert {
            (path.parent / urlsplit(lead).path).resolve() for lead in read.leads if lead.endswith(".html")
        } >= wanted


def test_every_link_of_a_built_page_leads_to_a_page_and_a_place_in_it(pages: dict[Path, Reader]) -> None:
    """Followed as a browser would, anchors included; no two places of a page have one name."""
    broken = []
    for path, read in pages.items():
        assert len(set(read.ids)) == len(read.ids), path
        for lead in read.leads:
            parts = urlsplit(lead)
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not parts.scheme and (
                there not in pages or unquote(parts.fragment or "site-text") not in pages[there].ids
            ):
                broken.append((path.name, lead))
    assert broken == []


def test_a_page_loads_nothing_from_outside(site: Path, pages: dict[Path, Reader]) -> None:
    """Pictures, styles and scripts are files of the site; those name no other place, and no font is fetched."""
    for path, read in pages.items():
        assert [each for each in read.loads if urlsplit(each).netloc or urlsplit(each).scheme] == []
        assert [each for each in read.loads if not (path.parent / each).is_file()] == []
    for name in ("style.css", "search.js"):
        text = (site / name).read_text(encoding="utf-8")
        assert re.findall(r"https?:|//\w+\.\w|@import|@font-face|url\(|\bfetch\b|XMLHttpRequest", text) == []
    kinds = {path.suffix for path in site.rglob("*") if path.is_file() and path.name != ".familiar-docs"}
    assert kinds == {".html", ".css", ".js", ".webp"}


def test_the_search_knows_every_heading(site: Path, pages: dict[Path, Reader]) -> None:
    """By an address that exists; the words of a page can be found."""
    text = (site / "sections.js").read_text(encoding="utf-8")
    sections = json.loads(text.removeprefix("const SECTIONS = ").rstrip(";\n"))
    ids = {(path.relative_to(site).as_posix(), each) for path, read in pages.items() for each in read.ids}

    assert {tuple(address.split("#")) for _, address, _, _ in sections} <= ids
    assert len(sections) > 200
    assert any(title == "Keep it running" and "libgomp" in words for title, _, _, words in sections)


def test_run_py_builds_it_with_the_python_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python3 run.py docs FOLDER` sets up as every start does, then hands on what was typed."""
    started: list[Sequence[str]] = []

    def call(command: Sequence[str]) -> int:
        started.append(command)
        return 0

    monkeypatch.setattr(launch, "is_ready", lambda *_, **__: True)
    monkeypatch.setattr(launch, "call", call)

    assert launch.main(["docs", "there"]) == 0
    [(python, _, script, *words)] = started
    assert (python, words) == (python_of(environment_folder()), ["there"])
    assert Path(script) == ROOT / "tools" / "docs_site.py"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A repository of two pages and a picture."""
    root = tmp_path / "copy"
    (root / "docs" / "guides").mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "guides" / "images" / "chat-390-light.webp", root / "docs" / "tea.webp")
    (root / "docs" / "nav.toml").write_text(
        '[[section]]\ntitle = "All"\npages = ["docs/index.md", "docs/guides/tea.md"]'
    )
    (root / "docs" / "index.md").write_text("# Home\n\nSee [tea](guides/tea.md#black-tea) and ![tea](tea.webp).\n")
    (root / "docs" / "guides" / "tea.md").write_text("# Tea\n\n## Black tea\n\n<b>raw</b> [home](../index.md)\n")
    return root


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("[a](guides/coffee.md)", "docs/index.md:3: guides/coffee.md is not there"),
        ("[a](guides/tea.md#green)", "docs/index.md:3: guides/tea.md#green has no such heading"),
        ("[a](#away)", "docs/index.md:3: #away has no such heading"),
        ("[a](nav.toml)", "docs/index.md:3: nav.toml is no page of the site"),
        ("![a](https://example.org/a.png)", "docs/index.md:3: https://example.org/a.png would be loaded from outside"),
        ("![a](cup.webp)", "docs/index.md:3: cup.webp is no picture of docs/"),
        ("[a](ftp://example.org)", "docs/index.md:3: ftp://example.org is no address for a browser"),
    ],
)
def test_a_link_that_leads_nowhere_fails_the_build(copy: Path, tmp_path: Path, line: str, fault: str) -> None:
    """With file, line and reason, and no half of a site."""
    (copy / "docs" / "index.md").write_text(f"# Home\n\n{line}\n")
    done = build(tmp_path / "site", "--root", str(copy))

    assert (done.returncode, done.stderr) == (1, f"{fault}\n")
    assert not (tmp_path / "site").exists()


def test_a_page_outside_the_navigation_fails_the_build(copy: Path, tmp_path: Path) -> None:
    """Nobody would find it."""
    (copy / "docs" / "lost.md").write_text("# Lost\n")
    assert build(tmp_path / "site", "--root", str(copy)).stderr == "docs/nav.toml: docs/lost.md is missing\n"


def test_a_site_is_built_over_itself_and_over_nothing_else(copy: Path, tmp_path: Path) -> None:
    """HTML written in a page is shown as words; a folder with other files is left alone."""
    first = build(tmp_path / "site", "--root", str(copy))
    again = build(tmp_path / "site", "--root", str(copy))
    other = build(copy, "--root", str(copy))

    assert (first.returncode, again.returncode, other.returncode) == (0, 0, 1), first.stderr + again.stderr
    assert "&lt;b&gt;raw" in (tmp_path / "site" / "guides" / "tea.html").read_text(encoding="utf-8")
    assert "holds something else" in other.stderr
    assert (copy / "docs" / "index.md").exists()
