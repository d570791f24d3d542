"""A stranger's package beside the program: found, allowed by name, kept apart; seen from outside."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.fakes.extension_packages import EXAMPLES, install_example, install_extension, run_beside
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, one_sentence

LEAVES_A_MARK = """
from pathlib import Path
from familiar_connect.api import Extension
Path(__file__).with_name("was_loaded").touch()
extension = Extension(name="mark")
"""
MANY_PARTS = """
import time
from familiar_connect.api import *

class Provider:
    id, deadline_s = "slow", 0.05
    async def contribute(self, request):
        time.sleep(0.3)
        return []

class Failing:
    id, deadline_s = "failing", 0.5
    async def contribute(self, request):
        raise ValueError("no luck")

class Telling:
    id, deadline_s = "telling", 2.0
    def __init__(self, secrets):
        self._names = sorted(secrets)
    async def contribute(self, request):
        text = "The lamp is lit. " + " ".join(self._names)
        return [Contribution.of(Layer.extensions, text, source="nobody", audiences=request.own_audience)]

class Shout:
    id = "shout"
    async def process(self, reply_text, request):
        return reply_text.upper()

def refuse(context):
    raise RuntimeError("cannot be made")

extension = Extension(
    name="stranger",
    providers=(
        ProviderPart(create=lambda context: Provider()),
        ProviderPart(create=lambda context: Failing()),
        ProviderPart(create=lambda context: Telling(context.secrets), secrets=("LAMP_KEY",)),
        ProviderPart(create=refuse),
    ),
    processors=(ProcessorPart(create=lambda context: Shout()),),
)
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Where packages are installed."""
    return tmp_path / "site"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def states(site: Path, home: Path) -> dict[str, str]:
    listed = run_beside(site, home, "extension", "list", "--json")
    return {each["name"]: each["state"] for each in json.loads(listed.stdout)}


def test_nothing_of_a_package_is_loaded_until_its_owner_allows_it(site: Path, home: Path) -> None:
    """Installing is not allowing, and a familiar's folder can allow nothing."""
    install_extension(site, "mark", LEAVES_A_MARK)
    with model_endpoint(stream_answer("Yes.")) as server:
        make_home(home, server)
        (home / "familiars" / "ember" / "extensions.toml").write_text('[[extension]]\nname = "mark"\n')

        before = states(site, home)
        run_beside(site, home, "doctor")
    was_loaded = (site / "was_loaded").exists()
    refused = run_beside(site, home, "extension", "info", "mark")
    allowed = run_beside(site, home, "extension", "allow", "mark")
    after = states(site, home)
    forbidden = run_beside(site, home, "extension", "forbid", "mark")

    assert not was_loaded
    assert "`familiar extension allow mark`" in before["mark"]
    assert "not allowed" in one_sentence(refused)
    assert "same rights on this computer as you" in allowed.stdout.replace("\n", " ")
    assert (after["mark"], (site / "was_loaded").exists()) == ("allowed", True)
    assert forbidden.returncode == 0
    assert states(site, home) == before


def test_the_example_tells_whose_birthday_it_is(site: Path, home: Path) -> None:
    """A package from `examples/`, installed by pip, allowed, set in character.toml: its line is in the prompt."""
    install_example(site, "birthdays")
    days = [f"Ada {moment:%m-%d}" for moment in (datetime.now(UTC), datetime.now(UTC) + timedelta(days=1))]
    with model_endpoint(stream_answer("Hi")) as server:
        settings = make_home(home, server) / "character.toml"
        with settings.open("a", encoding="utf-8") as file:
            file.write(f"\n[birthdays]\ndays = {json.dumps(days)}\n")
        run_beside(site, home, "ask", "hello")
        run_beside(site, home, "extension", "allow", "birthdays")
        asked = run_beside(site, home, "ask", "hello")
        shown = run_beside(site, home, "inspect")

    before, after = (json.dumps(request.payload) for request in server.requests)
    assert asked.returncode == 0, asked.stderr
    assert "birthday" not in before
    assert "Today is the birthday of Ada." in after
    assert "birthdays.today" in shown.stdout


def test_a_wrong_setting_of_an_extension_names_file_key_and_fix(site: Path, home: Path) -> None:
    """As for any setting of ours; and a section that nobody knows stays an error."""
    install_example(site, "birthdays")
    settings = make_home(home) / "character.toml"
    kept = settings.read_text(encoding="utf-8")
    run_beside(site, home, "extension", "allow", "birthdays")

    settings.write_text(f"{kept}\n[birthdays]\ndays = 7\n", encoding="utf-8")
    wrong = one_sentence(run_beside(site, home, "ask", "hello"))
    settings.write_text(f"{kept}\n[birthday]\ndays = []\n", encoding="utf-8")
    unknown = one_sentence(run_beside(site, home, "ask", "hello"))

    assert "character.toml" in wrong
    assert "[birthdays] days must be" in wrong
    assert "birthday" in unknown


def test_a_part_that_blocks_fails_or_cannot_be_made_costs_itself_alone(site: Path, home: Path) -> None:
    """The reply comes; the parts that work are used; what each of the others cost is on record."""
    install_extension(site, "stranger", MANY_PARTS)
    with model_endpoint(stream_answer("Hi there")) as server:
        make_home(home, server)
        (home / "secrets.env").write_text("LAMP_KEY=one\nOTHER_KEY=two\n")
        run_beside(site, home, "extension", "allow", "stranger")
        asked = run_beside(site, home, "ask", "hello")
        shown = json.loads(run_beside(site, home, "inspect", "--json").stdout)

    prompt = json.dumps(server.requests[0].payload)
    assert asked.stdout.strip().endswith("HI THERE")
    assert "The lamp is lit. LAMP_KEY" in prompt
    assert "OTHER_KEY" not in prompt
    outcomes = {each["id"]: each["status"] for each in shown["providers"] if each["id"].startswith("stranger.")}
    assert (outcomes["stranger.failing"], outcomes["stranger.telling"]) == ("error", "ok")


def test_commands_and_verbs_of_an_extension_are_used_like_ours(site: Path, home: Path) -> None:
    """/lamp in the chat, `familiar lamp` on the command line, both in the lists; its tool where the owner names it."""
    install_example(site, "lamp")
    with model_endpoint(stream_answer("Hi There"), stream_answer("Hi There")) as server:
        settings = make_home(home, server, model="gpt-4o") / "character.toml"
        settings.write_text('tools = ["lamp.switch"]\n' + settings.read_text(encoding="utf-8"), encoding="utf-8")
        run_beside(site, home, "extension", "allow", "lamp")
        run_beside(site, home, "trust", "setting", "tools")
        asked = run_beside(site, home, "ask", "hello")
        switched = run_beside(site, home, "chat", "--plain", said="/lamp\n/lamp switch\n/help lamp\n")
        whispered = run_beside(site, home, "ask", "hello")
        verb = run_beside(site, home, "lamp")
        listed = run_beside(site, home, "help", "--all")

    lit, dark = server.requests
    assert (asked.stdout.strip(), whispered.stdout.strip()) == ("Hi There", "hi there")
    assert "the lamp gives warm light." in json.dumps(lit.payload)
    assert "the lamp is dark." in json.dumps(dark.payload)
    assert [tool["function"]["name"] for tool in lit.payload["tools"]] == ["lamp_switch"]
    assert "The lamp is lit." in switched.stdout
    assert "The lamp is dark." in switched.stdout
    assert verb.stdout == "The lamp shows one small part of each kind.\n"
    assert "Say what the lamp is for." in listed.stdout


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise SystemExit(3)", "SystemExit"),
        ("extension = 7", "no Extension"),
        ("import time\ntime.sleep(60)", "longer than 5 seconds"),
        ("from familiar_connect.api import Extension\nextension = Extension(name='other')", "calls itself 'other'"),
    ],
)
def test_an_extension_that_cannot_be_loaded_costs_a_sentence(site: Path, home: Path, source: str, reason: str) -> None:
    """The program goes on without it, and `extension list` says why."""
    install_extension(site, "broken", source)
    make_home(home)
    run_beside(site, home, "extension", "allow", "broken")

    assert reason in states(site, home)["broken"]
    assert run_beside(site, home, "list").returncode == 0


def test_the_guide_shows_the_example_as_it_is() -> None:
    """Whoever follows docs/guides/extend.md makes the package that the test above installs."""
    guide = (EXAMPLES.parents[1] / "docs" / "guides" / "extend.md").read_text(encoding="utf-8")
    names = ("pyproject.toml", "familiar_birthdays.py", "test_birthdays.py")
    files = [EXAMPLES / "birthdays" / name for name in names]

    assert [file.name for file in files if file.read_text(encoding="utf-8").strip() not in guide] == []


def test_doctor_tells_what_is_left_out_and_what_is_not_allowed(site: Path, home: Path) -> None:
    """A section of an extension that nobody allowed is a sentence, not an error."""
    install_extension(site, "stranger", MANY_PARTS)
    install_extension(site, "broken", "extension = 7")
    settings = make_home(home) / "character.toml"
    settings.write_text(settings.read_text(encoding="utf-8") + "\n[stranger]\n", encoding="utf-8")
    run_beside(site, home, "extension", "allow", "broken")

    told = " ".join(run_beside(site, home, "doctor", "--all", "--offline").stdout.split())

    assert "[stranger] has no effect" in told
    assert "broken: familiar_broken:extension is no Extension" in told


def test_a_model_of_an_extension_answers(site: Path, home: Path) -> None:
    """A slot names it; nothing else is asked, no key is wanted; without leave it is a sentence."""
    install_example(site, "parrot")
    settings = make_home(home) / "character.toml"
    slot = '\n[llm.main_prose]\nmodel = "extension:parrot/loud"\n'
    settings.write_text(settings.read_text(encoding="utf-8") + slot, encoding="utf-8")

    refused = one_sentence(run_beside(site, home, "ask", "polly wants a cracker"))
    run_beside(site, home, "extension", "allow", "parrot")
    asked = run_beside(site, home, "ask", "polly wants a cracker")

    assert "[llm.main_prose] model names the extension parrot" in refused
    assert "POLLY WANTS A CRACKER" in asked.stdout, asked.stderr


def test_a_platform_that_lacks_a_part_stays_off_with_a_sentence(site: Path, home: Path) -> None:
    """It is not started again and again for what its maker forgot."""
    source = """
from familiar_connect.api import Extension, PlatformPart
class Empty:
    async def run(self):
        pass
extension = Extension(name="empty", platforms=(PlatformPart(create=lambda host: Empty()),))
"""
    install_extension(site, "empty", source)
    make_home(home)
    run_beside(site, home, "extension", "allow", "empty")

    done = run_beside(site, home, "run")

    assert done.returncode == 1
    assert "its platform lacks `places`" in " ".join((done.stdout + done.stderr).split())
