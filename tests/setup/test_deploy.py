"""The Containerfile and the files of `deploy/` are well formed, and the commands in them exist."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from benchmarks.container import CONTAINERFILE, read_containerfile, read_stages
from familiar_connect.cli import VERBS, cli

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PLACE = "/opt/familiar-connect"


def of(instruction: str) -> list[str]:
    return [rest for name, rest in read_containerfile() if name == instruction]


def last_stage() -> list[tuple[str, str]]:
    """What the image that runs is made of."""
    return read_stages()[-1]


def check_command(words: list[str], expected: str = f"{PLACE}/.venv/bin/familiar") -> None:
    """The words are a verb of ours and options it knows."""
    program, verb, *options = words
    assert program == expected
    assert verb in VERBS
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in options if word.startswith("--")} <= known


def test_the_image_is_made_of_the_wheel_and_the_pinned_packages() -> None:
    """Everything copied is in the repository or is the wheel, and nothing else is let through to the build."""
    [(copied, _), *_] = [(rest.split()[:-1], rest) for rest in of("COPY") if not rest.startswith("--from")]
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    locks = [name for name in copied if name.endswith(".lock")]

    assert allowed[1] == "*"
    assert [line.removeprefix("!") for line in allowed[2:]] == copied
    assert [name for name in copied if name not in locks] == ["dist/familiar_connect-*.whl"]
    assert [name for name in locks if not (ROOT / name).is_file()] == []
    assert f"pip wheel --no-deps --wheel-dir {Path(copied[-1]).parent} ." in CONTAINERFILE.read_text(encoding="utf-8")


def test_the_image_installs_nothing_that_is_not_pinned() -> None:
    """Packages by their hashes, then the wheel without an index; no line names a key, an index or an address."""
    build, system = of("RUN")
    installs = re.findall(r"pip install ([^|&]*)", build)

    assert [line for line in installs if "--require-hashes" not in line and "--no-index" not in line] == []
    assert [line for line in installs if "--no-deps" not in line] == []
    assert "libgomp1" in system
    assert not re.search(r"(?i)token|secret|passw|api_?key|https?:|--index|\bARG\b|\bADD\b", str(read_containerfile()))


def test_the_image_runs_and_is_looked_after_by_real_commands() -> None:
    """The entry, its default and the health check."""
    entry, command = json.loads(of("ENTRYPOINT")[0]), json.loads(of("CMD")[0])
    [health] = of("HEALTHCHECK")
    check = json.loads(health[health.index("[") :])

    check_command([*entry, *command], "/opt/familiar/bin/familiar")
    check_command(check, "/opt/familiar/bin/familiar")
    assert check[1:] == ["doctor", "--live"]
    assert "/opt/familiar" in next(rest for name, rest in last_stage() if name == "COPY")


def test_the_image_runs_as_nobody_special_and_keeps_its_data() -> None:
    """After the set-up, which is root's; by number, so that a cluster can see that it is not root."""
    names = [name for name, _ in last_stage()]

    assert names.index("RUN") < names.index("USER") < names.index("ENTRYPOINT")
    assert "RUN" not in names[names.index("USER") :]
    assert of("USER") == ["10001"]
    assert "useradd --uid 10001" in of("RUN")[-1]
    assert of("VOLUME") == ["/data"]
    assert {"FAMILIAR_HOME=/data", "HOME=/data"} <= set(of("ENV")[0].split())


def test_the_compose_file_builds_that_image_and_keeps_its_data() -> None:
    """Its paths lead to the repository."""
    yaml = pytest.importorskip("yaml")
    composed: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    service = composed["services"]["familiar"]

    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == CONTAINERFILE
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["volumes"] == ["data:/data"]
    assert "data" in composed["volumes"]
    assert service["restart"] == "unless-stopped"


def test_the_unit_is_well_formed_and_its_command_exists() -> None:
    """It keeps data where it may write, and waits for a clean end."""
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(DEPLOY / "familiar-connect.service", encoding="utf-8")
    service = unit["Service"]

    assert unit.sections() == ["Unit", "Service", "Install"]
    check_command(shlex.split(service["ExecStart"]))
    assert f"FAMILIAR_HOME=/var/lib/{service['StateDirectory']}" in service["Environment"]
    assert service["User"] != "root"
    assert int(service["TimeoutStopSec"]) > 30


def test_the_guide_names_every_file() -> None:
    """Nobody has to guess what a file is for."""
    guide = (ROOT / "docs" / "guides" / "deploy.md").read_text(encoding="utf-8")

    assert [path.name for path in (*DEPLOY.iterdir(), CONTAINERFILE) if path.name not in guide] == []
