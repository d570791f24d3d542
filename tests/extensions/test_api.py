"""`familiar_connect.api`: small, described, used, and all of ours that an example or a wing imports."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

import pytest

from familiar_connect import api, extensions
from familiar_connect.config.wings import WINGS
from tests.fakes.extension_packages import EXAMPLES

MOST_NAMES = 44
EXAMPLE_FILES = sorted(EXAMPLES.rglob("*.py"))
WING_FILES = [(wing, file) for wing in WINGS for file in sorted((Path(extensions.__path__[0]) / wing).rglob("*.py"))]


def imports_of(file: Path) -> list[tuple[str, str]]:
    """What a file takes from where: (module, name)."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found += [(node.module or "", each.name) for each in node.names]
        elif isinstance(node, ast.Import):
            found += [(each.name, "") for each in node.names]
    return found


def test_it_is_small(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever makes an extension learns this many names, at most."""
    with capsys.disabled():
        sys.stdout.write(f"\nfamiliar_connect.api has {len(api.__all__)} names\n")

    assert len(api.__all__) == len(set(api.__all__)) <= MOST_NAMES
    assert [name for name in api.__all__ if not hasattr(api, name)] == []


def test_every_class_and_function_is_described() -> None:
    """In a sentence of its own, not one that Python made of its fields."""
    made = [getattr(api, name) for name in api.__all__]
    kinds = [each for each in made if inspect.isclass(each) or inspect.isfunction(each)]

    assert [each.__name__ for each in kinds if (inspect.getdoc(each) or "(").startswith(f"{each.__name__}(")] == []
    assert [each.__name__ for each in kinds if not inspect.getdoc(each)] == []


def test_every_name_is_used_by_an_example_or_a_wing() -> None:
    """So that whoever wonders how finds a line that a test runs."""
    files = [*EXAMPLE_FILES, *(file for _, file in WING_FILES)]
    used = {name for file in files for module, name in imports_of(file) if module == "familiar_connect.api"}

    assert sorted(set(api.__all__) - used) == []


@pytest.mark.parametrize("file", EXAMPLE_FILES, ids=lambda file: file.name)
def test_an_example_imports_nothing_else_of_ours(file: Path) -> None:
    """As a stranger's extension does."""
    ours = {module for module, _ in imports_of(file) if module.split(".")[0] == "familiar_connect"}

    assert ours <= {"familiar_connect.api", "familiar_connect.api.settings", "familiar_connect.api.testing"}


@pytest.mark.parametrize(("wing", "file"), WING_FILES, ids=lambda value: getattr(value, "name", value))
def test_a_wing_imports_nothing_else_of_ours(wing: str, file: Path) -> None:
    """What comes with the program uses the door that a stranger uses; its own package is its own."""
    ours = {module for module, _ in imports_of(file) if module.split(".")[0] == "familiar_connect"}
    own = {module for module in ours if f"{module}.".startswith(f"familiar_connect.extensions.{wing}.")}

    assert ours - own <= {"familiar_connect.api", "familiar_connect.api.settings"}
