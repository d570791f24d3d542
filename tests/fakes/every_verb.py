"""Every verb doing its job once, in a sealed room: prints what each tried to reach and wrote, one JSON object a line.

Run as `python -m tests.fakes.every_verb FOLDER`. Most runs are forked from the loaded program; the first that loads a
library of its own starts cold, as people's do. The verbs come from the program itself: one that has no call here is
named by the test that reads this.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import click

from familiar_connect.cli import cli
from tests.fakes import program_process
from tests.fakes.extension_packages import install_extension
from tests.fakes.gguf import gguf_bytes
from tests.fakes.model_server import ModelServer, answer_as_asked
from tests.fakes.program import make_home, run_program, serve_beside, shorten_turns
from tests.fakes.program_process import PROGRAM, environment
from tests.fakes.publisher import publisher_of
from tests.fakes.sealed_room import RoomReport, SealedRoom

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "examples" / "bring_a_character"
LONGEST_S = 300.0


PLAIN_EXTENSION = "from familiar_connect.api import Extension\nextension = Extension(name='plain')\n"


@dataclass(frozen=True)
class VerbCall:
    """One call: its words, what is typed into it, and how it starts."""

    words: tuple[str, ...]
    said: str = ""
    is_cold: bool = False
    needs: str = ""
    """A library of an extra, without which it ends in a sentence."""


@dataclass(frozen=True)
class Place:
    """What the calls work on."""

    folder: Path
    model_url: str

    @property
    def home(self) -> Path:
        return self.folder / "familiars-home"

    @property
    def given(self) -> Path:
        """Files the owner names on the command line."""
        return self.folder / "given"

    @property
    def site(self) -> Path:
        """Packages that were installed beside the program."""
        return self.given / "site"

    @property
    def scratch(self) -> Path:
        """For temporary files, none of which may be left."""
        return self.folder / "scratch"

    @property
    def user(self) -> Path:
        """The user's own folder, where nothing may be written."""
        return self.folder / "user"


def list_verbs() -> list[str]:
    """Every verb of the program with its group, as words."""

    def walk(command: click.Command, words: tuple[str, ...], above: click.Context | None) -> Iterator[str]:
        if not isinstance(command, click.Group):
            yield " ".join(words)
            return
        here = click.Context(command, info_name=words[-1] if words else "familiar", parent=above)
        for name in command.list_commands(here):
            below = command.get_command(here, name)
            assert below is not None
            yield from walk(below, (*words, name), here)

    return list(walk(cli, (), None))


def verb_of(words: Sequence[str]) -> str:
    """The verb that *words* call."""
    words = words[2:] if words[0] == "--home" else words
    verbs = {*list_verbs(), *STAYING}
    return next(" ".join(words[:size]) for size in (3, 2, 1) if " ".join(words[:size]) in verbs)


def list_calls(at: Place) -> list[VerbCall]:
    """A call of each verb, in an order in which each finds what it works on."""
    return [*_talk(at), *_bring_in(at), *_look(at), *_memory(at), *_set_up(at)]


def _talk(at: Place) -> list[VerbCall]:
    question = str(at.given / "question.wav")
    return [
        VerbCall(("ask", "--familiar", "ember", "Hello, I am Sam and I love plums.")),
        VerbCall(("chat", "--familiar", "ember", "--plain"), "Hello again.\nWhat do I love?\n", is_cold=True),
        VerbCall(("ask", "--familiar", "tiny", "Hello"), is_cold=True),  # through the embedded model
        VerbCall(("voice", "--familiar", "ember", "--say", "Good evening.", "--out", question), needs="hibari"),
        VerbCall(
            ("voice", "--familiar", "ember", "--wav", question, "--out", str(at.given / "answer.wav")),
            is_cold=True,
            needs="hibari",
        ),
        VerbCall(("rehearse", str(ROOT / "examples" / "rehearse" / "confidence_kept.json"), "--familiar", "ember")),
        VerbCall(("prompt", str(ROOT / "examples" / "see_the_prompt" / "busy.json"), "--familiar", "ember")),
    ]


def _bring_in(at: Place) -> list[VerbCall]:
    wren = ("--familiar", "wren")
    preset = str(CARDS / "Plain Scene.json")
    return [
        VerbCall(("init", "mira", "--name", "Mira")),
        VerbCall(("init", "--from-card", str(CARDS / "Wren.png"))),
        VerbCall(("import", "chat", *wren, str(CARDS / "Wren - evening.jsonl"))),
        VerbCall(("import", "document", *wren, str(ROOT / "SECURITY.md"))),
        VerbCall(("import", "lorebook", *wren, str(CARDS / "harbour.json"))),
        VerbCall(("import", "preset", *wren, preset)),
        VerbCall(("import", "list", *wren)),
        VerbCall(("import", "undo", "1", *wren)),
        VerbCall(("preset", "import", "--name", "Second", *wren, preset)),
        VerbCall(("preset", "use", "Second", *wren)),
        VerbCall(("preset", "list", *wren)),
        VerbCall(("preset", "show", *wren)),
        VerbCall(("preset", "toggle", "main", "off", *wren)),
        VerbCall(("preset", "off", *wren)),
        VerbCall(("preset", "delete", "Second", "--yes", *wren)),
        VerbCall(("regex", "add", str(at.given / "Tidy.json"), *wren)),
        VerbCall(("regex", "allow", *wren)),
        VerbCall(("regex", "list", *wren)),
        VerbCall(("regex", "off", "Tidy", *wren)),
        VerbCall(("regex", "on", "Tidy", *wren)),
        VerbCall(("export", "card", *wren, "-o", str(at.given / "wren.json"))),
        VerbCall(("export", "chat", "--familiar", "ember", "-o", str(at.given / "ember.jsonl"))),
        VerbCall(("export", "lorebook", *wren, "-o", str(at.given / "lore.json"))),
        VerbCall(("pack", *wren, "-o", str(at.given / "wren.zip"))),
        VerbCall(("adopt", str(at.given / "wren.zip"), "--as", "wren2", "--yes")),
        VerbCall(("export", "sillytavern", str(at.given / "tavern"))),
        VerbCall(("import", "sillytavern", str(at.given / "tavern"), "--only", "Wren")),
        VerbCall(("import", "quick-replies", *wren, str(at.given / "Evening.json"))),
        VerbCall(("backup", "-o", str(at.given / "home.zip"))),
        VerbCall(("--home", str(at.given / "restored"), "restore", str(at.given / "home.zip"))),
    ]


def _look(at: Place) -> list[VerbCall]:
    ember = ("--familiar", "ember")
    return [
        VerbCall(("list",)),
        VerbCall(("config", "show", *ember)),
        VerbCall(("config", "check", *ember)),
        VerbCall(("logs", *ember)),
        VerbCall(("inspect", *ember)),
        VerbCall(("why", *ember, "plums")),
        VerbCall(("replay", *ember)),
        VerbCall(("metrics", *ember)),
        VerbCall(("doctor", *ember)),
        VerbCall(("completion", "bash")),
        VerbCall(("discord", "invite", *ember, "--application-id", "1234567890")),
        VerbCall(("ignore", "add", "discord:7", *ember)),
        VerbCall(("ignore", "list", *ember)),
        VerbCall(("ignore", "remove", "discord:7", *ember)),
    ]


def _memory(at: Place) -> list[VerbCall]:
    ember, file = ("--familiar", "ember"), "self/description.md"
    calls = [
        ("write-now",),
        ("list",),
        ("show", file),
        ("grep", "kettle"),
        ("search", "kettle"),
        ("reindex", "--anew"),
        ("stats",),
        ("log",),
        ("diff", file),
        ("blame", file),
        ("why", file),
        ("restore", file, "v1"),
        ("review", "--list"),
        ("check",),
        ("audiences",),
        ("export", "terminal-you", "--to", str(at.given / "you")),
        ("forget", "terminal-you", "--yes"),
    ]
    return [VerbCall(("memory", *words, *ember)) for words in calls]


def _set_up(at: Place) -> list[VerbCall]:
    return [
        VerbCall(("keys", "set", "SOME_KEY"), "a-secret\n"),
        VerbCall(("keys", "list")),
        VerbCall(("keys", "remove", "SOME_KEY")),
        VerbCall(("serve", "key", "add", "laptop", "--person", "Sam")),
        VerbCall(("serve", "key", "list")),
        VerbCall(("serve", "key", "revoke", "laptop")),
        VerbCall(("trust", "add", "https://models.example")),
        VerbCall(("trust", "list")),
        VerbCall(("trust", "setting", "owner_hears_all", "--familiar", "tiny")),
        VerbCall(("trust", "remove", "https://models.example")),
        VerbCall(("extension", "allow", "plain"), is_cold=True),
        VerbCall(("extension", "list")),
        VerbCall(("extension", "info", "plain")),
        VerbCall(("extension", "forbid", "plain")),
        VerbCall(("connect", "--url", at.model_url, "--model", "test-model", "--familiar", "mira")),
        VerbCall(("model", "list")),
        VerbCall(("model", "get", "small-file", "--from", "publisher")),
        VerbCall(("model", "use", "small-file", "--no-test", "--familiar", "mira")),
        VerbCall(("model", "use", "embedded", "--familiar", "mira")),
        VerbCall(("model", "remove", "small-file")),
    ]


STAYING: dict[str, tuple[str, ...]] = {
    "web": ("web", "--familiar", "ember", "--no-open", "--port", "0"),
    "serve": ("serve", "--port", "0"),
    "watch": ("watch", "--port", "0"),
    "run": ("run", "--familiar", "ember", "--demo-discord", "--page", "--page-port", "0"),
}
"""Verbs that stay until they are asked to end."""


def run_staying(at: Place, words: tuple[str, ...]) -> tuple[int, str]:
    """Start a verb cold, open the address it prints, and ask it to end."""
    process = subprocess.Popen(
        [*PROGRAM, *words],
        env=environment(at.home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    heard = ""
    for line in process.stdout:
        heard += line
        address = next((word for word in line.split() if word.startswith("http://127.0.0.1")), None)
        if address is not None:
            open_as_a_browser(address)
            break
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=LONGEST_S)
    return process.returncode, heard + rest


def open_as_a_browser(address: str) -> None:
    """Look at a page; names under `.localhost` are this computer to a browser, which asks nobody about them."""
    for _ in range(3):
        parts = urlsplit(address)
        asked = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        connection = HTTPConnection("127.0.0.1", parts.port, timeout=LONGEST_S)
        with closing(connection):
            connection.request("GET", asked, headers={"Host": parts.netloc})
            answer = connection.getresponse()
            answer.read()
            address = urljoin(address, answer.headers.get("Location", ""))
        if answer.status < 300:
            return


def prepare(at: Place, server: ModelServer, publisher_url: str, content: bytes) -> None:
    """Ember, who speaks through *server*, Tiny, who speaks through the embedded model, and files to bring in."""
    at.given.mkdir()
    install_extension(at.site, "plain", PLAIN_EXTENSION)
    make_home(at.home, server)
    subprocess.run([*PROGRAM, "init", "tiny"], env=environment(at.home), check=True, capture_output=True)
    settings = at.home / "familiars/tiny/character.toml"
    settings.write_text(f"owner_hears_all = true\n{settings.read_text(encoding='utf-8')}", encoding="utf-8")
    shorten_turns(at.home)
    script = {"id": "1", "scriptName": "Tidy", "findRegex": "/ +/g", "replaceString": " ", "placement": [2]}
    (at.given / "Tidy.json").write_text(json.dumps(script))
    evening = {"version": 2, "name": "Evening", "qrList": [{"id": 1, "label": "Hi", "message": "/send Hi"}]}
    (at.given / "Evening.json").write_text(json.dumps(evening))
    (at.home / "catalogue.toml").write_text(
        f'[[model]]\nname = "small-file"\ntitle = "Small"\nurl = "{publisher_url}"\nbytes = {len(content)}\n'
        f'sha256 = "{hashlib.sha256(content).hexdigest()}"\nlicence = "MIT"\n'
    )


def leave_user_behind(at: Place) -> None:
    """Give every process from here on a user's folder of its own, empty."""
    for name in [each for each in os.environ if each.startswith("XDG_")]:
        del os.environ[name]
    for name, folder in {"HOME": at.user, "TMPDIR": at.scratch}.items():
        folder.mkdir()
        os.environ[name] = str(folder)
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "ORT_DISABLE_TELEMETRY": "0"}


def tell(words: Sequence[str], code: int, printed: str, seen: RoomReport, at: Place) -> None:
    """Print the line for one call."""
    allowed = (f"{at.home}/", f"{at.given}/", f"{at.scratch}/", "/dev/", "/proc/")
    ours = program_process.shared_folder()
    fact: dict[str, Any] = {
        "verb": verb_of(words),
        "words": list(words),
        "code": code,
        "printed": printed[-2000:],
        "lookups": seen.lookups,
        "connections": seen.connections,
        "outside": [path for path in seen.written if not path.startswith(allowed)],
        "left": sorted(
            str(path)
            for folder in (at.user, at.scratch)
            for path in folder.rglob("*")
            if ours not in (path, *path.parents)
        ),
    }
    sys.stdout.write(json.dumps(fact) + "\n")
    sys.stdout.flush()


def main(folder: Path) -> None:
    at_folder = folder.resolve()
    room = SealedRoom(at_folder)
    content = gguf_bytes(weights=2000)
    with ExitStack() as stack:
        server = stack.enter_context(serve_beside(ModelServer([answer_as_asked("Plums, of course.")])))
        at = Place(at_folder, server.base_url)
        leave_user_behind(at)
        prepare(at, server, stack.enter_context(publisher_of(content)).url, content)
        stack.callback(program_process.close_warm_starter)
        room.report()
        for call in list_calls(at):
            program_process.COLD = call.is_cold
            packages = {"PYTHONPATH": str(at.site)}
            done = run_program(at.home, *call.words, said=call.said, env=packages, timeout_s=LONGEST_S)
            tell(call.words, done.returncode, done.stdout + done.stderr, room.report(), at)
        for words in STAYING.values():
            code, printed = run_staying(at, words)
            tell(words, code, printed, room.report(), at)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
