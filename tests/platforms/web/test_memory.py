"""Memory at the page, over real HTTP: edit, versions, words behind a belief, people, links, review."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.history.store import HistoryStore
from familiar_connect.identity import Author
from familiar_connect.memory.maintenance.owner_edits import edit_base
from familiar_connect.memory.maintenance.review import Review
from familiar_connect.memory.store import MemoryStore
from familiar_connect.memory.versioning.provenance import Provenance, part_hash
from familiar_connect.memory.writing.apply import text_hash
from familiar_connect.memory.writing.plan import PartSource, Plan, PlannedWrite
from tests.fakes.model_server import ModelServer
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import make_home, run_program
from tests.fakes.waiting import files_holding, wait_until
from tests.fakes.web_form import send_form

pytestmark = needs_page

ADA = Author("discord", "101", "ada_n", "Ada")
ADA_FILE = "# Ada\n\n## Aliases\n\n- Countess\n\n## Notes\n\n- Ada is allergic to nuts.\n- Ada plays chess.\n"
HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(2)> [x](javascript:alert(3)) ‮gnp"
SAID = "I am allergic to nuts, remember that"


def plant(root: Path) -> None:
    """Files that link, a belief with a quote behind it, and proposals that wait."""
    folder = FamiliarFolder(root)
    history = HistoryStore(folder.history_db)
    turn = history.append_turn(familiar_id="ember", channel_id=1, role="user", content=SAID, author=ADA)
    turn_id = turn if isinstance(turn, int) else turn.id
    history.close()
    store = MemoryStore(folder.memory, audit_dir=folder.audit)
    store.write_file("people/discord-101.md", ADA_FILE, source="memory_writer")
    store.write_file("topics/house.md", "# House\n\nSee [[garden]] and [the sea](../lore/sea.md).\n", source="owner")
    store.write_file("topics/garden.md", "---\naudience: owner\n---\n# Garden\n\nIt has *nine* herons.\n")
    store.write_file("lore/sea.md", f"# Sea\n\n{HOSTILE}\n")
    assert store.audit is not None
    source = PartSource(part=part_hash("- Ada is allergic to nuts."), turns=(turn_id,))
    Provenance(store.audit.folder).record("people/discord-101.md", [source], "r0")
    for number in (1, 2, 3):
        text = store.read_file("topics/house.md") + f"\nProposal {number} {HOSTILE}\n"
        write = PlannedWrite(rel_path="topics/house.md", content=text, before=text_hash(None))
        other = PlannedWrite(rel_path=f"topics/new{number}.md", content=f"# New {number}\n\nTea.\n", before=None)
        Review(store).propose(
            Plan(
                run_id=f"r{number}",
                familiar_id="ember",
                turn_range=(1, 1),
                created_at=f"2026-03-0{number}T08:00:00+00:00",
                writes=(write, other) if number < 3 else (other,),
            )
        )
    store.audit.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("memory")
    root = make_home(home, ModelServer([], base_url="http://127.0.0.1:9/v1"))
    settings = root / "character.toml"
    settings.write_text(settings.read_text().replace('#embedder = "auto"', 'embedder = "hashing"'))
    plant(root)
    return home


@pytest.fixture(scope="module")
def page(home: Path) -> Iterator[PageProcess]:
    with PageProcess(home) as running:
        running.enter()
        yield running


def memory_file(home: Path, path: str) -> Path:
    return home / "familiars" / "ember" / "memory" / path


def base_of(page: PageProcess, path: str) -> str:
    found = re.search(r'name="base" value="([0-9a-f]*)"', page.ask("GET", f"/memory/edit?path={quote(path)}").body)
    assert found is not None
    return found[1]


def test_a_file_is_edited_previewed_saved_and_restored(page: PageProcess, home: Path) -> None:
    """Without any script: the form, its preview, the version it makes, and the way back."""
    path = "topics/tea.md"
    memory_file(home, path).write_text("# Tea\n\nGreen.\n")
    form = page.ask("GET", f"/memory/edit?path={path}").body
    seen = send_form(
        page, "/memory/edit", path=path, base=base_of(page, path), text="# Tea\r\n\r\n*Black*.", action="preview"
    )
    untouched = memory_file(home, path).read_text()
    saved = send_form(
        page, "/memory/edit", path=path, base=base_of(page, path), text="# Tea\r\n\r\n*Black*.", action="save"
    )
    shown = page.ask("GET", saved.headers["location"]).body
    versions = page.ask("GET", f"/memory/versions?path={path}").body
    restored = send_form(page, "/memory/restore", path=path, version="1")

    assert "Green." in form
    assert "<em>Black</em>" in seen.body
    assert untouched == "# Tea\n\nGreen.\n"
    assert saved.status == 303
    assert "Saved." in shown
    assert "<em>Black</em>" in shown
    assert '<div class="removed" dir="auto">-Green.</div>' in versions
    assert '<div class="added" dir="auto">+*Black*.</div>' in versions
    assert restored.status == 303
    assert memory_file(home, path).read_text() == "# Tea\n\nGreen.\n"
    assert "Restore version 2" in page.ask("GET", f"/memory/versions?path={path}&version=2").body


def test_a_person_is_one_page_and_one_line_of_the_list(page: PageProcess, home: Path) -> None:
    """What others may hear of them stands below, each part with who that is."""
    for mark, audience, words in (("", "everyone", "Likes *jazz*."), ("@dm-discord-55", "people:discord:55", "Dives.")):
        text = f"---\naudience: {audience}\n---\n# Dora\n\n{words}\n"
        memory_file(home, f"people/discord-55{mark}.md").write_text(text)
    shown = page.ask("GET", "/memory/file?path=people/discord-55.md").body
    listed = page.ask("GET", "/memory").body

    assert shown.index("<em>jazz</em>") < shown.index("May be heard by the people of a direct message")
    assert "<p>Dives.</p>" in shown
    assert "discord-55.md" in listed
    assert "dm-discord-55" not in listed


def test_the_command_line_sees_the_same_versions(page: PageProcess, home: Path) -> None:
    """`familiar memory log` lists what the page saved as the owner's."""
    path = "topics/log.md"
    send_form(page, "/memory/edit", path=path, base="", text="# Log\n", action="save")
    log = json.loads(run_program(home, "memory", "log", path, "--json").stdout)

    assert [row["source"] for row in log] == ["owner"]


def test_what_was_written_meanwhile_is_kept(page: PageProcess, home: Path) -> None:
    """An edit of another line is brought together with it."""
    path = "topics/both.md"
    text = "# Both\n\n- one\n- two\n- three\n"
    send_form(page, "/memory/edit", path=path, base="", text=text, action="save")
    base = base_of(page, path)
    memory_file(home, path).write_text(text + "- four\n")
    answer = send_form(page, "/memory/edit", path=path, base=base, text=text.replace("one", "ONE"), action="save")

    assert answer.headers["location"].endswith("done=merged")
    assert memory_file(home, path).read_text() == text.replace("one", "ONE") + "- four\n"


def test_a_conflict_is_said_and_nothing_is_lost(page: PageProcess, home: Path) -> None:
    """Both texts stand on the page; saving again is the owner's word, and what was there is a version."""
    path = "topics/met.md"
    send_form(page, "/memory/edit", path=path, base="", text="# Met\n\nold\n", action="save")
    base = base_of(page, path)
    memory_file(home, path).write_text("# Met\n\ntheirs\n")
    met = send_form(page, "/memory/edit", path=path, base=base, text="# Met\n\nmine\n", action="save")
    kept = memory_file(home, path).read_text()
    newer = re.search(r'name="base" value="([0-9a-f]+)"', met.body)
    assert newer is not None
    again = send_form(page, "/memory/edit", path=path, base=newer[1], text="# Met\n\nmine\n", action="save")
    versions = run_program(home, "memory", "diff", path).stdout

    assert met.status == 409
    assert "changed while you wrote" in met.body
    assert "mine</textarea>" in met.body.replace("\n</textarea>", "</textarea>")
    assert '<div class="added" dir="auto">+theirs</div>' in met.body
    assert kept == "# Met\n\ntheirs\n"
    assert again.status == 303
    assert "-theirs" in versions


def test_a_deleted_file_can_be_brought_back(page: PageProcess, home: Path) -> None:
    """From its versions, which stay."""
    path = "topics/gone.md"
    send_form(page, "/memory/edit", path=path, base="", text="# Gone\n", action="save")
    changed = send_form(page, "/memory/delete", path=path, base=edit_base("something else"))
    deleted = send_form(page, "/memory/delete", path=path, base=base_of(page, path))
    away = memory_file(home, path).exists()
    send_form(page, "/memory/restore", path=path, version="1")

    assert (changed.status, deleted.status, away) == (400, 303, False)
    assert memory_file(home, path).read_text() == "# Gone\n"


def test_the_words_behind_a_belief_are_quoted(page: PageProcess) -> None:
    """With who said them; a part nobody is quoted for says who wrote it."""
    body = page.ask("GET", "/memory/sources?path=people%2Fdiscord-101.md").body

    assert SAID in body
    assert "<bdi>Ada</bdi>" in body
    assert "written by memory writer" in body


def test_people_stand_with_their_names_and_who_may_hear_what(page: PageProcess) -> None:
    """The alias of her file too."""
    body = page.ask("GET", "/memory/people?q=countess").body

    assert "<bdi>discord:101</bdi>" in body
    assert "<bdi>Countess</bdi>" in body
    assert "people%2Fdiscord-101.md" in body
    assert "may be heard by" in body
    assert "No one by that name" in page.ask("GET", "/memory/people?q=zeppelin").body


def test_links_are_drawn_and_listed_both_ways(page: PageProcess) -> None:
    """Markdown links and [[names]], without a style in the page."""
    graph = page.ask("GET", "/memory/graph").body
    near = page.ask("GET", "/memory/graph?path=topics%2Fgarden.md").body
    sea = page.ask("GET", "/memory/file?path=lore%2Fsea.md").body

    assert '<path class="edge"' in graph
    assert " style=" not in graph
    assert "lore%2Fsea.md" in graph
    assert "topics%2Fhouse.md" in near
    assert "lore%2Fsea.md" not in near.partition("As a list")[2]
    assert "topics%2Fhouse.md" in sea.partition("Named in")[2]


def test_a_file_says_who_may_hear_it(page: PageProcess) -> None:
    """In words."""
    assert "may be heard by you alone" in page.ask("GET", "/memory/file?path=topics%2Fgarden.md").body


def test_a_search_explains_each_hit(page: PageProcess) -> None:
    """Each signal with what it means, as `familiar memory search --explain` prints them."""
    address = "/memory?q=nine+herons"
    wait_until(lambda: "Why it was found: " in page.ask("GET", address).body, "the index is loaded")
    body = page.ask("GET", address).body

    assert "topics/garden.md · Garden" in body
    assert "it has the question&#39;s words" in body


def test_a_proposal_is_approved_file_by_file(page: PageProcess, home: Path) -> None:
    """The diff is shown, nothing is changed before, and the decision is on record."""
    listed = page.ask("GET", "/review").body
    shown = page.ask("GET", "/review/r1").body
    before = memory_file(home, "topics/new1.md").exists()
    first = send_form(page, "/review/r1/approve", file="topics/new1.md")
    left = page.ask("GET", "/review/r1").body

    assert 'href="/f/ember/review/r1"' in listed
    assert "Proposal 1 &lt;script&gt;" in shown
    assert "<script>alert" not in shown
    assert not before
    assert first.headers["location"] == "/f/ember/review/r1?done=approved"
    assert memory_file(home, "topics/new1.md").read_text() == "# New 1\n\nTea.\n"
    assert "topics/new1.md" not in left
    assert "topics/house.md" in left


def test_a_proposal_whose_file_changed_is_told_and_waits(page: PageProcess, home: Path) -> None:
    """It was made from another text: nothing is written over."""
    before = memory_file(home, "topics/house.md").read_text()
    answer = send_form(page, "/review/r1/approve", file="topics/house.md")

    assert answer.status == 409
    assert "still waiting" in answer.body
    assert memory_file(home, "topics/house.md").read_text() == before


def test_a_proposal_is_changed_before_it_is_approved(page: PageProcess, home: Path) -> None:
    """What stands in the file is the owner's wording."""
    edited = send_form(page, "/review/r3/edit", file="topics/new3.md", text="# New 3\r\n\r\nCoffee.\r\n")
    nothing = send_form(page, "/review/r3/edit", file="topics/new3.md", text=" ")
    done = send_form(page, "/review/r3/approve")

    assert edited.headers["location"] == "/f/ember/review/r3?done=edited"
    assert nothing.status == 400
    assert done.headers["location"] == "/f/ember/review?done=approved"
    assert memory_file(home, "topics/new3.md").read_text() == "# New 3\n\nCoffee.\n"


def test_a_proposal_is_let_go_with_a_reason(page: PageProcess, home: Path) -> None:
    """It waits no more, and memory is as it was."""
    answer = send_form(page, "/review/r2/reject", reason="not true")

    assert answer.headers["location"] == "/f/ember/review?done=rejected"
    assert "/review/r2" not in page.ask("GET", "/review").body
    assert not memory_file(home, "topics/new2.md").exists()
    assert files_holding(home, '"reason": "not true"') or files_holding(home, '"reason":"not true"')


@pytest.mark.parametrize(
    "path",
    [
        "/memory/file?path=lore%2Fsea.md",
        "/memory/edit?path=lore%2Fsea.md",
        "/memory/sources?path=lore%2Fsea.md",
        "/memory/versions?path=lore%2Fsea.md",
    ],
)
def test_hostile_memory_does_nothing(page: PageProcess, path: str) -> None:
    """Scripts, pictures and links that run are text wherever a file is shown."""
    body = page.ask("GET", path).body

    assert "&lt;script&gt;alert(1)" in body
    assert body.count("<script") == body.count('<script type="module" src="/static/')
    assert "<img" not in body
    assert 'href="javascript' not in body


@pytest.mark.parametrize(
    "path",
    ["../character.toml", "/etc/passwd", "topics/../../character.toml", "a.txt", ".audit/x.md", "%00.md", "a\\b.md"],
)
@pytest.mark.parametrize("door", ["/memory/edit", "/memory/versions", "/memory/sources"])
def test_no_path_leads_out_when_looking(page: PageProcess, door: str, path: str) -> None:
    """What the address names is held to memory's own rules."""
    answer = page.ask("GET", f"{door}?path={quote(path, safe='%')}")

    assert answer.status == 400 or (door == "/memory/edit" and "New file" in answer.body)
    assert "[llm" not in answer.body
    assert "Traceback" not in answer.body


@pytest.mark.parametrize("path", ["../x.md", "/tmp/x.md", "topics/../../x.md", "sessions/.pending/x.md", "x.toml", ""])
def test_no_path_leads_out_when_writing(page: PageProcess, home: Path, path: str) -> None:
    """Nothing is made anywhere."""
    before = sorted(str(each) for each in home.rglob("x.*"))
    answers = [
        send_form(page, "/memory/edit", path=path, base="", text="x", action="save"),
        send_form(page, "/memory/delete", path=path, base=""),
        send_form(page, "/memory/restore", path=path, version="1"),
    ]

    assert {answer.status for answer in answers} == {400}
    assert sorted(str(each) for each in home.rglob("x.*")) == before


@pytest.mark.parametrize(
    "path",
    ["/memory/edit", "/memory/delete", "/memory/restore", "/review/r1/approve", "/review/r1/reject", "/review/r1/edit"],
)
@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"sec_fetch_site": "cross-site"}, {}])
def test_another_site_changes_no_memory(page: PageProcess, path: str, headers: dict[str, str]) -> None:
    """Its form is refused before it is read."""
    answer = page.ask("POST", path, "path=a.md", content_type="application/x-www-form-urlencoded", **headers)

    assert answer.status == 403


def test_a_stranger_sees_no_memory(page: PageProcess) -> None:
    """Every page of it needs the cookie."""
    cookie, page.cookie = page.cookie, None
    try:
        for path in (
            "/memory",
            "/memory/edit?path=a.md",
            "/memory/people",
            "/memory/graph",
            "/memory/versions",
            "/review",
        ):
            assert page.ask("GET", path).status == 401
    finally:
        page.cookie = cookie


def test_a_file_too_large_is_a_sentence(page: PageProcess) -> None:
    """The cap of a memory file holds here too; the text stays in the form."""
    answer = send_form(page, "/memory/edit", path="topics/big.md", base="", text="x" * 300_000, action="save")

    assert answer.status == 400
    assert "shorten or split it" in answer.body
    assert "x" * 300_000 in answer.body


@pytest.mark.parametrize("id", ["none", "..%2F..%2Fx", "%00", "x" * 3000])
def test_what_does_not_wait_is_a_sentence(page: PageProcess, id: str) -> None:
    """Whatever stands in the address."""
    answer = page.ask("GET", f"/review/{id}")

    assert answer.status in (400, 404)
    assert "Traceback" not in answer.body


def test_a_form_with_too_many_fields_is_a_sentence(page: PageProcess) -> None:
    """As is half a character in one; the program goes on."""
    many = send_form(page, "/memory/edit", **{f"field{number}": "x" for number in range(200)})
    half = page.ask(
        "POST",
        "/memory/edit",
        '{"path": "topics/half.md", "base": "", "text": "\\ud800 half", "action": "preview"}',
        origin=page.origin,
        content_type="application/json",
    )

    assert many.status == 400
    assert "is not the name of a memory file" in many.body
    assert half.status == 200
    assert " half" in half.body


def test_everything_kept_of_a_person_is_given_and_then_erased(page: PageProcess) -> None:
    """As `familiar memory export` and `forget` do, while the familiar lives on; only where their name is typed."""
    key = ADA.canonical_key
    given = page.ask("GET", f"/memory/people/export?key={quote(key)}", encoding="latin-1")
    asked = page.ask("GET", f"/memory/people/forget?key={quote(key)}").body
    wrong = send_form(page, "/memory/people/forget", key=key, name="Bo")
    before = page.ask("GET", "/memory/people").body
    erased = send_form(page, "/memory/people/forget", key=key, name="Ada")
    after = page.ask("GET", "/memory/people").body

    assert given.headers["content-type"] == "application/zip"
    assert given.body.startswith("PK")
    assert "1 line<" in asked
    assert "people/discord-101.md" in asked
    assert wrong.status == 400
    assert "That is not the name. Nothing was erased." in wrong.body
    assert key in before
    assert "Ada is forgotten. Erased: 1 messages" in erased.body
    assert key not in after
