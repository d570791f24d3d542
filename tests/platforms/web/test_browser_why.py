"""Why did it not remember X? Each cause planted by a rehearsal, asked about on the page alone, in a real Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.memory.writing.journal import PENDING, QUARANTINE_NAME
from tests.fakes.browser import Visit, open_visit
from tests.fakes.page import PageProcess, needs_page
from tests.fakes.program import run_program
from tests.fakes.rehearsal import TEA_HOUSE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_page

QUICK = '[providers.content_search]\nembedder = "hashing"\n'
WRITES_LATE = "[memory_writer]\nidle_timeout = 1000000000.0\n"
"""The page that is started later does not find the talk long over, and write it up."""
PLACES = {**TEA_HOUSE["places"], "garden": {"kind": "text", "server": "Tea House", "name": "garden"}}
LANTERNS = [
    f"At the lantern festival the lantern of {name} is as tall as a house, and the festival would be no lantern "
    f"festival without the lantern that {name} carries around the pond of the lantern festival three times every year."
    for name in ("Anselm", "Beate", "Cosima", "Dorian", "Emil", "Fanny", "Gustav", "Hedwig")
]
ODILE = (
    "The smallest lantern of the festival is Odile's: she folds it out of the paper that oranges are wrapped in, glues "
    "it with flour and water, and lets nobody see it before the evening, not even her brother, who made it a shelf."
)
ASIDES = (
    "The ferry carries nobody after dark.",
    "A candle in the kitchen burned down.",
    "Torches are forbidden in the library.",
    "Grandmother's birthday is celebrated in May.",
    "The lake is frozen in winter.",
    "Ember's kettle was polished by Wilma.",
)
WELL, WEATHER, FESTIVAL = (
    "Ember, how deep is the old well?",
    "Ember, how are you?",
    "Ember, tell me of the lantern festival: which lantern is carried around the pond of the lantern festival?",
)


def said(by: str, where: str, text: str) -> dict[str, Any]:
    return {"by": by, "in": where, "say": text, "mention": text.startswith("Ember")}


GREATER_NEWS = said("ada", "garden", "My sister died yesterday.")
"""Of what was said in another channel one line is told, the one that weighs most."""
SMALL_TALK = [said("ada", "garden", f"{word}, lovely.") for word in ("Yes", "Well", "Right")]
"""So that what was said before is not the latest that was heard elsewhere."""


def play(folder: Path, *steps: dict[str, Any], settings: str, memory: dict[str, str]) -> Path:
    """The home that `familiar rehearse --keep` leaves behind."""
    script = {
        **TEA_HOUSE,
        "places": PLACES,
        "familiar": {"name": "Ember", "settings": settings, "memory": memory},
        "models": {"main_prose": {"otherwise": "Mm."}, "memory_writer": "echo"},
        "steps": list(steps),
    }
    (folder / "week.json").write_text(json.dumps(script), encoding="utf-8")
    done = run_program(folder, "rehearse", "week.json", "--scripted", "--keep", "kept", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "kept"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A week in which something was told in confidence, something too late, and more than there is room for."""
    return play(
        tmp_path_factory.mktemp("why"),
        said("ada", "dm-ada", "The silver whistle hangs behind the stove."),
        *(said("ada", "garden", line) for line in LANTERNS),
        said("ada", "garden", "My cousin Theodora plays the oboe in Ghent."),
        GREATER_NEWS,
        *SMALL_TALK,
        said("bo", "tea", "Ember, where does the silver whistle hang?"),
        said("bo", "tea", WELL),
        said("bo", "tea", FESTIVAL),
        said("bo", "tea", WEATHER),
        settings=f"budget_tokens = 3000\n{WRITES_LATE}",
        memory={
            "lore/well.md": "# Well\n\nThe old well is forty feet deep.\n",
            **{f"lore/{number}.md": f"# {number}\n\n{text}\n" for number, text in enumerate(ASIDES)},
            "lore/festival.md": f"# Festival\n\n{ODILE}\n",
        },
    )


@pytest.fixture(scope="module")
def strict_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Memory files are not searched, and what the writer makes waits for a word; a batch was put aside."""
    kept = play(
        tmp_path_factory.mktemp("strict"),
        said("ada", "garden", "My cousin Theodora plays the oboe in Ghent."),
        {"after": "2h", "write_up": True},
        said("ada", "garden", "Uncle Bertram keeps nineteen hives."),
        GREATER_NEWS,
        *SMALL_TALK,
        said("bo", "tea", WELL),
        said("bo", "tea", WEATHER),
        settings=f"{QUICK}files = false\n[memory_writer]\nreview = true\n",
        memory={"topics/well.md": "---\naudience: everyone\n---\n# Well\n\nThe old well is forty feet deep.\n"},
    )
    stuck = FamiliarFolder(next((kept / "familiars").iterdir())).memory / PENDING / "stuck1"
    stuck.mkdir(parents=True)
    (stuck / QUARANTINE_NAME).write_text('{"turns": [2, 4], "reason": "the writer gave up", "created_at": ""}')
    return kept


@contextmanager
def open_page(browser: Browser, home: Path) -> Iterator[Visit]:
    with PageProcess(home) as running:
        with open_visit(browser, running.address) as visit:
            visit.page.get_by_role("link", name="Why not?").click()
            visit.page.locator("#query").wait_for()
            yield visit
        assert visit.faults == []


@pytest.fixture(scope="module")
def visit(browser: Browser, home: Path) -> Iterator[Visit]:
    with open_page(browser, home) as opened:
        yield opened


@pytest.fixture(scope="module")
def strict_visit(browser: Browser, strict_home: Path) -> Iterator[Visit]:
    with open_page(browser, strict_home) as opened:
        yield opened


def ask(visit: Visit, words: str, turn: str) -> str:
    """Ask with nothing but what the page shows: the words, the reply by its question; the first sentence it says."""
    page = visit.page
    page.locator("#query").fill(words)
    label = page.locator("#turn option", has_text=turn[:50]).first.inner_text()
    page.locator("#turn").select_option(label=label)
    page.get_by_role("button", name="Ask").click()
    page.wait_for_url("**/why?*")
    page.locator(".ladder").wait_for()
    return page.locator(".answer .verdict").inner_text()


def test_what_was_never_told(visit: Visit) -> None:
    """The first of the three causes."""
    answer = ask(visit, "zeppelin over the harbour", WELL)

    assert answer == "No one ever said “zeppelin over the harbour”, and no memory file has it."


def test_what_was_told_in_confidence(visit: Visit) -> None:
    """The second: it knows, and says to whom it was said."""
    answer = ask(visit, "silver whistle behind the stove", "Ember, where does the silver whistle hang?")

    assert answer.startswith("It knows this, but may not say it here: it was said to the people of a direct message")


def test_what_was_cut_by_the_budget(visit: Visit) -> None:
    """The third: found, allowed, and other memories had taken the room; the button leads to the setting."""
    answer = ask(visit, "smallest lantern Odile", FESTIVAL)

    assert answer == "It was found, but cut by the budget: there was no room left for it in the prompt."
    assert "tokens for what is recalled were taken" in visit.page.locator(".ladder li.no").inner_text()
    visit.page.get_by_role("link", name="Change budget_tokens").click()
    visit.page.get_by_role("heading", name="budget_tokens").wait_for()
    visit.page.go_back()


@pytest.mark.parametrize(
    ("asked", "words", "answer", "mends", "leads_to"),
    [
        (
            WELL,
            "zeppelin over the harbour",
            "No one ever said",
            "Write it into a memory file",
            "New file lore/zeppelin",
        ),
        (
            "Ember, where does the silver whistle hang?",
            "silver whistle behind the stove",
            "It knows this, but may not say it here",
            "Share it: write it into an open file",
            "New file lore/silver-whistle",
        ),
        (
            FESTIVAL,
            "smallest lantern Odile",
            "It was found, but cut by the budget",
            "Change budget_tokens",
            "budget_tokens",
        ),
    ],
    ids=["never heard", "not allowed here", "cut by the budget"],
)
def test_a_stranger_gets_from_a_reply_to_the_answer_and_what_mends_it(
    visit: Visit, asked: str, words: str, answer: str, mends: str, leads_to: str
) -> None:
    """With nothing but the channel and the glass box beside it: the first sentence answers, its first button mends."""
    page = visit.page
    page.get_by_role("link", name="#lounge").click()
    page.locator("[data-ready]").wait_for()
    question = page.locator(".message.theirs", has_text=asked).first
    reply = question.locator("xpath=following-sibling::li[contains(@class, 'own')]").first
    reply.focus()
    page.locator(f'#glass .panel[data-turn="{reply.get_attribute("data-turn")}"]').wait_for()
    page.get_by_label("Why didn’t it mention…").fill(words)
    page.get_by_label("Why didn’t it mention…").press("Enter")
    page.locator(".ladder").wait_for()

    assert page.locator("main p").first.inner_text().startswith(answer)
    page.locator("main .answer").get_by_role("link", name=mends).click()
    page.get_by_role("heading", name=leads_to).wait_for()
    page.get_by_role("link", name="Why not?").click()
    page.locator("#query").wait_for()


def test_what_was_heard_and_is_not_written_yet(visit: Visit) -> None:
    """Said in another channel, and nothing in the message led to it."""
    answer = ask(visit, "Theodora oboe Ghent", WEATHER)

    assert answer == "It was heard, but the memory writer has not written it into memory yet."


def test_what_was_found_too_far_down(visit: Visit) -> None:
    """The place it had is told."""
    answer = ask(visit, "torches forbidden library", FESTIVAL)

    assert "It was found only at place " in answer
    assert answer.endswith("to be shown.")


def test_what_was_shown_and_not_used(visit: Visit) -> None:
    """Then the model is to blame, and the page says so."""
    answer = ask(visit, "forty feet deep", WELL)

    assert answer == "The model had it: it was in the prompt, but the reply did not use it."


def test_what_stands_in_a_file_and_is_not_indexed(strict_visit: Visit) -> None:
    """The settings leave memory files out; the button leads to the one that does."""
    answer = ask(strict_visit, "well forty feet", WELL)

    assert answer.startswith("It is in topics/well.md, but not in the index")
    strict_visit.page.get_by_role("link", name="Change providers.content_search.files").wait_for()


def test_what_waits_for_a_word(strict_visit: Visit) -> None:
    """A proposal holds it; the button leads there."""
    answer = ask(strict_visit, "Theodora oboe Ghent", WEATHER)

    assert answer.startswith("It was heard, but the memory writer only proposed it")
    strict_visit.page.get_by_role("link", name="Look at it in Review").click()
    strict_visit.page.get_by_role("button", name="Approve").first.wait_for()
    strict_visit.page.go_back()


def test_what_the_writer_gave_up_on(strict_visit: Visit) -> None:
    """The batch it was in lies in quarantine."""
    answer = ask(strict_visit, "Bertram nineteen hives", WEATHER)

    assert answer.startswith("It was heard, but the memory writer gave up on that part of the talk")
