"""What a part says of itself, and what comes of it: secrets of one familiar, a verb, a network that is asked."""

from __future__ import annotations

import itertools
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from familiar_connect.bootstrap.starter import make_starter
from familiar_connect.config.extension_list import FoundExtension
from familiar_connect.config.folders import HomeFolder
from familiar_connect.extensions import load
from familiar_connect.extensions.host import PlatformHost
from familiar_connect.extensions.part_context import PartContext
from familiar_connect.slash.command import MAY_NOT_CONTROL
from familiar_connect.slash.registry import BUILT_IN_COMMANDS
from tests.fakes.extension_packages import install_extension, run_beside
from tests.fakes.model_server import stream_answer
from tests.fakes.program import make_home, model_endpoint, set_model
from tests.fakes.scripted_familiar import scripted_familiar

TEA = """
import click
from familiar_connect.api import Extension, PlatformPart, VerbPart
from familiar_connect.api.checks import Finding
from familiar_connect.api.verbs import familiar_option, json_option, open_verb

async def ask_network(question):
    if question.part.secrets["TEA_KEY"] == "broken":
        raise ValueError("no kettle")
    whose, kept = question.part.secrets["TEA_KEY"], sorted(question.part.secrets_of_home)
    return [Finding("warn", f"the key is {whose}, kept: {kept}")]

def create_verb():
    @click.group()
    def tea():
        "Set up tea."

    @tea.command()
    @familiar_option
    @json_option
    @click.argument("name")
    @click.pass_context
    def key(ctx, familiar_id, as_json, name):
        "Tell the key."
        host = open_verb(ctx)
        whose = host.choose_familiar(familiar_id)
        found = {"whose": whose, "key": host.read_secret(name, whose), "alters": host.has_alters(whose)}
        host.say_json(found) if as_json else host.say(f"{found['key']}; then `familiar doctor`")

    return tea

part = PlatformPart(
    create=print, ask_network=ask_network, secrets=("TEA_KEY",), secrets_of_each=("TEA_KEY",), required=("TEA_KEY",)
)
extension = Extension(
    name="tea", platforms=(part,), verbs=(VerbPart(name="tea", help="Tell the key.", create=create_verb),)
)
"""


def allow_tea(tmp_path: Path, *lines: str) -> tuple[Path, Path]:
    """A home whose owner allowed the extension, with *lines* among its secrets."""
    site, home = tmp_path / "site", tmp_path / "home"
    make_home(home)
    make_starter(home, "wren")
    (home / "secrets.env").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (home / "secrets.env").chmod(0o600)
    install_extension(site, "tea", TEA)
    run_beside(site, home, "extension", "allow", "tea")
    return site, home


def test_doctor_has_a_strangers_platform_ask_its_network(tmp_path: Path) -> None:
    """With the secrets of the familiar that is meant; with --offline nobody is asked, and a failure is a finding."""
    site, home = allow_tea(tmp_path, "TEA_KEY=all", "TEA_KEY_WREN=hers", "TEA_KEY_EMBER=broken")

    with model_endpoint(stream_answer("Yes.")) as server:  # doctor asks the model, too, and the embedded one is slow
        set_model(HomeFolder(home).profile.settings_file, server)
        hers = " ".join(run_beside(site, home, "doctor", "--all", "--familiar", "wren").stdout.split())
        broken = run_beside(site, home, "doctor", "--all", "--familiar", "ember").stdout
    offline = run_beside(site, home, "doctor", "--all", "--familiar", "wren", "--offline").stdout

    assert "the key is hers, kept: ['TEA_KEY']" in hers
    assert "asking Tea failed: ValueError: no kettle" in " ".join(broken.split())
    assert "the key is" not in offline


def test_a_verb_of_an_extension_speaks_and_reads_by_its_host(tmp_path: Path) -> None:
    """Its own secrets alone, a familiar's before that of all; a slip is answered as one of ours is."""
    site, home = allow_tea(tmp_path, "TEA_KEY=all", "TEA_KEY_WREN=hers", "OPENROUTER_API_KEY=secret-of-mine")

    hers = run_beside(site, home, "tea", "key", "TEA_KEY", "--familiar", "wren", "--json").stdout
    of_all = run_beside(site, home, "tea", "key", "TEA_KEY", "--familiar", "ember").stdout
    other = run_beside(site, home, "tea", "key", "OPENROUTER_API_KEY", "--familiar", "wren")
    slip = run_beside(site, home, "tea", "kay")

    assert '"TEA_KEY_WREN",\n    "hers"' in hers
    assert "('TEA_KEY', 'all'); then `" in of_all
    assert other.returncode != 0
    assert "may not read OPENROUTER_API_KEY" in other.stderr
    assert "secret-of-mine" not in other.stdout + other.stderr
    assert "there is no verb 'kay'. Did you mean" in slip.stderr


@pytest.mark.parametrize(("whose", "is_heard"), [("everyone", True), ("owner", False), ("off", False)])
async def test_dms_means_the_same_in_every_section(tmp_path: Path, whose: str, is_heard: bool) -> None:
    """Whatever the platform hands on: a stranger's direct message is heard where everyone's are."""
    async with scripted_familiar(tmp_path, subscribed=False) as house:
        familiar = house.familiar
        part = PartContext(settings=SimpleNamespace(dms=whose), clock=familiar.clock, folder=tmp_path)
        host = PlatformHost(familiar, "tea", part, print, commands=BUILT_IN_COMMANDS)
        await host.hear("ada", host.author("ada", "Ada"), "hello", house.place, is_dm=True)
        heard = await host.recent("ada", 5)

    assert [each.text for each in heard] == (["hello"] if is_heard else [])


@pytest.mark.parametrize(("whose", "is_refused"), [("everyone", False), ("managers", True)])
async def test_controls_means_the_same_in_every_section(tmp_path: Path, whose: str, is_refused: bool) -> None:
    """Who may not manage the room uses the controls of the chat where everyone may."""
    async with scripted_familiar(tmp_path) as house:
        familiar = house.familiar
        part = PartContext(settings=SimpleNamespace(controls=whose), clock=familiar.clock, folder=tmp_path)
        host = PlatformHost(familiar, "tea", part, print, commands=BUILT_IN_COMMANDS)
        said = await host.use_command("den", host.author("ada", "Ada"), "undo", house.place)

    assert said is not None
    assert said.startswith(MAY_NOT_CONTROL.split(";")[0]) is is_refused


def test_what_of_ours_an_extension_is_the_first_to_load_costs_no_time_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a slow computer that takes longer than a stranger's package may."""
    gate, counted = threading.Event(), itertools.count()

    def count_ours() -> int:
        """Something more of ours was loaded each time; the package goes on after a while."""
        now = next(counted)
        if now == 5:
            gate.set()
        return now

    source = "import gate_of_tea\ngate_of_tea.gate.wait(60)\nfrom familiar_connect.api import Extension\n"
    (tmp_path / "slow_tea.py").write_text(f"{source}extension = Extension(name='tea')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "gate_of_tea", SimpleNamespace(gate=gate))
    monkeypatch.setattr(load, "_count_ours", count_ours)
    found = FoundExtension(name="tea", target="slow_tea:extension", package="slow-tea", version="1")

    assert load.load_extension(found, limit_s=0.01).name == "tea"
