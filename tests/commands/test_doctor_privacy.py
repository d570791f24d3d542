"""`familiar doctor --privacy`: whom the program may contact, from the settings that its clients are built from."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import familiar_connect
from familiar_connect.commands.doctor_privacy import Contact, list_contacts
from familiar_connect.config import load_character_config
from familiar_connect.config.built_in import BUILT_IN_VOICES
from familiar_connect.config.extension_list import ExtensionList, FoundExtension
from familiar_connect.config.secrets import Secrets
from familiar_connect.config.trust import TrustedOrigins
from familiar_connect.extensions.load import load_built_in
from familiar_connect.support.web_origin import origin_of
from familiar_connect.voice.service_access import ServiceAccess
from tests.fakes.program import make_home, run_program
from tests.fakes.program_process import SRC
from tests.fakes.sealed_room import why_not_sealed

ROOT = Path(__file__).parents[2]
PACKAGE = Path(familiar_connect.__file__).parent
MODEL = '\n[llm.main_prose]\nmodel = "some/model"\nbase_url = "https://models.example/v1"\n'


def origins(contacts: list[Contact], when: str = "while it talks") -> set[str]:
    return {each.where for each in contacts if each.when == when}


def set_up(home: Path, settings: str = "", **secrets: str) -> Path:
    """Ember with *settings* added, and *secrets* kept in the home."""
    root = make_home(home)
    with (root / "character.toml").open("a", encoding="utf-8") as file:
        file.write(settings)
    for name, value in secrets.items():
        Secrets(home).put(name, value)
    return root


def test_a_new_familiar_contacts_nobody_while_it_talks(tmp_path: Path) -> None:
    """Its model is inside the program; the command says so in words."""
    make_home(tmp_path)

    done = run_program(tmp_path, "doctor", "--privacy")

    assert done.returncode == 0
    assert "While it talks, with the current settings:\n  no one:" in done.stdout
    assert "Never:\n  makers of libraries" in done.stdout


def test_every_place_that_settings_name_is_told_with_its_reason(tmp_path: Path) -> None:
    """Models, Discord and Twitch; a script gets the same as JSON."""
    root = set_up(tmp_path, MODEL, DISCORD_BOT="a.b.c", TWITCH_CLIENT_ID="x", TWITCH_TOKEN="y")
    file = root / "character.toml"
    text = file.read_text(encoding="utf-8").replace("\n[twitch]\n", '\n[twitch]\nchannel = "sam"\n')
    file.write_text(text, encoding="utf-8")

    told = json.loads(run_program(tmp_path, "doctor", "--privacy", "--json").stdout)
    why = {row["where"]: row["why"] for row in told["contacts"] if row["when"] == "while it talks"}

    assert "main_prose (some/model)" in why["https://models.example"]
    assert "DISCORD_BOT" in why["https://discord.com"]
    assert "[twitch]" in why["https://api.twitch.tv"]
    assert "pictures" in why["any public address"]
    assert told["never"]


def test_an_extension_is_named_for_nobody_knows_where_it_sends(tmp_path: Path) -> None:
    """One row for each that the owner allowed."""
    root = set_up(tmp_path)
    found = FoundExtension(name="irc", target="familiar_irc:extension", package="familiar-irc", version="1.0")
    before = list_contacts(tmp_path, root)
    ExtensionList(tmp_path).allow(found)

    added = [each for each in list_contacts(tmp_path, root) if each not in before]

    assert [(each.where, each.when) for each in added] == [("anywhere", "while it talks")]
    assert "the extension irc" in added[0].why


def test_a_discord_of_ones_own_takes_the_place_of_the_real_one(tmp_path: Path) -> None:
    """Then nothing goes to discord.com."""
    root = set_up(tmp_path, DISCORD_BOT="a.b.c", DISCORD_API_URL="http://127.0.0.1:8080/api")

    assert origins(list_contacts(tmp_path, root)) == {"http://127.0.0.1:8080"}


SERVICES = [
    (each.extension.name.removeprefix("voice_"), part.shared_section, part.service.key)
    for each in load_built_in(BUILT_IN_VOICES)
    if each.extension is not None
    for part in (each.extension.recognizer, each.extension.synthesizer)
    if part is not None and part.service is not None
]
"""Provider, section and key of every service that the program comes with."""


@pytest.mark.parametrize(("provider", "section", "key"), SERVICES)
def test_each_speech_service_is_told_where_its_client_would_send(
    tmp_path: Path, provider: str, section: str, key: str
) -> None:
    """The address is the one that the client is built with."""
    root = set_up(tmp_path, **{key: "k", "AZURE_SPEECH_REGION": "westeurope"})
    file = root / "character.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(f"\n[{section}]\n", f'\n[{section}]\nprovider = "{provider}"\n'), encoding="utf-8")
    config = load_character_config(file)
    sent_to = ServiceAccess.of_home(tmp_path).find_service(config.stt if section == "stt" else config.tts).base_url

    assert origins(list_contacts(tmp_path, root)) == {origin_of(sent_to)}


OUTSIDE = (
    *("aiohttp", "discord", "fastembed", "faster_whisper", "hibari", "http.client", "httpx2", "socket", "subprocess"),
    *("twitchAPI", "urllib.request"),
)
"""What opens connections, or starts programs that may."""
CALLS = ("open_connection", "create_subprocess_exec")
NOBODY = ""
TOLD = {
    "commands.doctor": "`familiar doctor`",
    "commands.page_server": NOBODY,  # listens
    "llm.connection": "[llm]",
    "llm.embedded.client": NOBODY,  # our own child process
    "llm.embedded.process": NOBODY,
    "llm.endpoint_window": "[llm]",
    "llm.local.discovery": "`familiar connect`",
    "llm.local.packages": "`familiar model get NAME`",
    "llm.local.publisher": "`familiar model get NAME`",
    "llm.openai_compatible": "[llm]",
    "llm.retry": "[llm]",
    "memory.index.embedders.endpoint": "[providers.content_search]",
    "memory.index.fastembed": "`familiar memory reindex --fetch`",
    "extensions.discord": "DISCORD_BOT",
    "extensions.serve.watching": NOBODY,  # where the owner names an address at the start
    "extensions.twitch": "[twitch]",
    "platforms.web.server": NOBODY,  # listens
    "platforms.web.own_program": NOBODY,  # this program again
    "support.bounded_process": NOBODY,  # this program's readers
    "support.fetch": "pictures and films",
    "support.http_server.server": NOBODY,  # listens
    "voice.speech_service": "[stt]",
    "extensions.voice_local": NOBODY,  # a model in an installed package
    "voice.websocket": "[stt]",
}
"""Modules that can reach beyond this process, and what stands in the row that tells of it."""


def reaching_modules() -> set[str]:
    """Every module of the program that imports one of OUTSIDE."""
    found = set()
    for file in PACKAGE.rglob("*.py"):
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
        text = file.read_text(encoding="utf-8")
        if not any(word in text for word in (*OUTSIDE, *CALLS)):
            continue  # most files: to parse them all takes seconds
        for node in ast.walk(ast.parse(text)):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(each == lib or each.startswith(f"{lib}.") for each in names for lib in OUTSIDE):
                found.add(name)
            if isinstance(node, ast.Attribute) and node.attr in CALLS:
                found.add(name)
    return {name for name in found if not name.startswith("testing.")}


def test_every_module_that_can_reach_outside_has_a_row(tmp_path: Path) -> None:
    """A new client cannot be forgotten: it fails here until somebody says which row tells of it."""
    unknown = {name for name in reaching_modules() if not any(f"{name}.".startswith(f"{each}.") for each in TOLD)}
    assert unknown == set()

    root = set_up(tmp_path, MODEL, DISCORD_BOT="a.b.c", TWITCH_CLIENT_ID="x", TWITCH_TOKEN="y", DEEPGRAM_API_KEY="k")
    file = root / "character.toml"
    text = file.read_text(encoding="utf-8")
    for section, line in (
        ("twitch", 'channel = "sam"'),
        ("stt", 'provider = "deepgram"'),
        ("providers.content_search", 'embedder = "BAAI/bge-small-en-v1.5"'),
    ):
        text = text.replace(f"\n[{section}]\n", f"\n[{section}]\n{line}\n")
    file.write_text(text, encoding="utf-8")
    rows = " ".join(each.why for each in list_contacts(tmp_path, root))
    file.write_text(text.replace("BAAI/bge-small-en-v1.5", "http://127.0.0.1:11434/v1#bge-m3"), encoding="utf-8")
    rows += " ".join(each.why for each in list_contacts(tmp_path, root))
    assert [module for module, words in TOLD.items() if words not in rows] == []


SEALED = """
import json, os, subprocess, sys
from pathlib import Path
from tests.fakes.sealed_room import SealedRoom
room = SealedRoom(Path(sys.argv[1]))
done = subprocess.run([sys.executable, "-m", "familiar_connect", *sys.argv[2:]], capture_output=True, text=True)
print(json.dumps({"lookups": room.report().lookups, "said": done.stdout + done.stderr}))
"""


@pytest.mark.parametrize(
    ("words", "when"),
    [(("ask", "Hello"), "while it talks"), (("doctor",), "while it talks"), (("model", "get", "far"), "when you ask")],
)
def test_what_is_really_looked_up_is_what_was_told(tmp_path: Path, words: tuple[str, ...], when: str) -> None:
    """The program runs against a name server that answers nobody, and asks for no other name."""
    if (reason := why_not_sealed()) is not None:
        assert "CI" not in os.environ, reason
        pytest.skip(reason)
    home = tmp_path / "home"
    root = set_up(home, MODEL, **({"DISCORD_BOT": "MTIz.b.c"} if words == ("doctor",) else {}))
    TrustedOrigins(home).add("https://models.example")
    row = '[[model]]\nname = "far"\ntitle = "Far"\nurl = "https://publisher.example/far.gguf"\n'
    (home / "catalogue.toml").write_text(f'{row}bytes = 9\nsha256 = "{"0" * 64}"\nlicence = "MIT"\n')
    env = {**os.environ, "PYTHONPATH": f"{SRC}{os.pathsep}{ROOT}", "FAMILIAR_HOME": str(home), "HOME": str(tmp_path)}
    command = [sys.executable, "-c", SEALED, str(tmp_path), *words]
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False, timeout=200)
    seen = json.loads(done.stdout)

    hosts = {each.partition("://")[2] for each in origins(list_contacts(home, root), when)}
    assert seen["lookups"], seen["said"]
    assert set(seen["lookups"]) <= hosts, seen
