"""The files of `deploy/` are well formed, and the commands in them exist."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from familiar_connect.cli import VERBS, cli
from tools.environment import lock_of
from tools.launch import parse_extras

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PLACE = "/opt/familiar-connect"


def dockerfile() -> list[tuple[str, str]]:
    """Instruction and rest of every line, continued lines joined, comments left out."""
    text = re.sub(r"(?m)^#.*\n", "", (DEPLOY / "Dockerfile").read_text(encoding="utf-8")).replace("\\\n", " ")
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in text.splitlines() if line.strip()]


def of(instruction: str) -> list[str]:
    return [rest for name, rest in dockerfile() if name == instruction]


def check_command(words: list[str]) -> None:
    """The words are a verb of ours and options it knows."""
    program, verb, *options = words
    assert program == f"{PLACE}/.venv/bin/familiar"
    assert verb in VERBS
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in options if word.startswith("--")} <= known


def test_the_image_is_made_of_files_that_exist() -> None:
    """Everything copied is in the repository, and let through to the build."""
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [name for rest in of("COPY") for name in rest.split()[:-1]]

    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert ignored[1] == "*"
    assert [name for name in copied if f"!{name}" not in ignored and not name.startswith("requirements")] == []
    assert {"requirements.lock", "requirements-discord.lock", "requirements-twitch.lock"} <= set(copied)


def test_the_image_is_set_up_by_our_own_script() -> None:
    """With extras that have locks."""
    libraries, step = of("RUN")
    words = shlex.split(step.split("&&", maxsplit=1)[0])
    extras, left = parse_extras(words[2:])

    assert "libgomp1" in libraries
    assert words[:2] == ["python3", "run.py"]
    assert left == ["--setup-only"]
    assert [extra for extra in extras if not Path(lock_of(extra)).is_file()] == []


def test_the_image_runs_and_is_looked_after_by_real_commands() -> None:
    """The entry, its default and the health check."""
    entry, command = json.loads(of("ENTRYPOINT")[0]), json.loads(of("CMD")[0])
    health = of("HEALTHCHECK")[0]

    check_command([*entry, *command])
    check_command(json.loads(health[health.index("[") :]))


def test_the_image_runs_as_nobody_special_and_keeps_its_data() -> None:
    """After the set-up, which is root's."""
    names = [name for name, _ in dockerfile()]

    assert names.index("RUN") < names.index("USER") < names.index("ENTRYPOINT")
    assert of("USER") == ["familiar"]
    assert of("VOLUME") == ["/data"]
    assert "FAMILIAR_HOME=/data" in of("ENV")[0]


def test_the_compose_file_builds_that_image_and_keeps_its_data() -> None:
    """Its paths lead to the repository."""
    yaml = pytest.importorskip("yaml")
    composed: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    service = composed["services"]["familiar"]

    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
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

    assert [path.name for path in DEPLOY.iterdir() if path.suffix != ".dockerignore" and path.name not in guide] == []
