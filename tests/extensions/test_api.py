"""`familiar_connect.api`: small, described, used, and all of ours that an example or a built-in extension imports."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from familiar_connect import api, extensions
from familiar_connect.api import (
    answering,
    calls,
    checks,
    commands,
    importing,
    messages,
    servers,
    settings,
    speech,
    stand_in,
    support,
    testing,
    tools,
    verbs,
)
from familiar_connect.config.built_in import BUILT_IN
from tests.fakes.extension_packages import EXAMPLES

MOST_NAMES = {
    api: 44,
    answering: 17,
    calls: 11,
    checks: 2,
    commands: 8,
    importing: 14,
    messages: 22,
    servers: 7,
    settings: 11,
    speech: 24,
    stand_in: 9,
    support: 15,
    testing: 10,
    tools: 2,
    verbs: 4,
}
"""What an author learns, at most, of each module."""
MODULES = sorted(MOST_NAMES, key=lambda module: module.__name__)
EXAMPLE_FILES = sorted(EXAMPLES.rglob("*.py"))
BUILT_IN_FILES = [
    (built_in, file)
    for built_in in BUILT_IN
    for file in sorted((Path(extensions.__path__[0]) / built_in).rglob("*.py"))
]


@cache
def imports_of(file: Path) -> list[tuple[str, str]]:
    """What a file takes from where: (module, name)."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found += [(node.module or "", each.name) for each in node.names]
        elif isinstance(node, ast.Import):
            found += [(each.name, "") for each in node.names]
    return found


def sentence_below(name: str, where: str) -> str:
    """The text that stands alone below the line of the module *where* that gives *name* its value."""
    source = sys.modules[where].__file__
    body = ast.parse(Path(str(source)).read_text(encoding="utf-8")).body
    for made, below in pairwise(body):
        targets = made.targets if isinstance(made, ast.Assign) else [getattr(made, "target", None)]
        is_it = any(isinstance(target, ast.Name) and target.id == name for target in targets)
        if is_it and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            return str(below.value.value)
    return ""


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_it_is_small(module: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever makes an extension learns this many names, at most."""
    with capsys.disabled():
        sys.stdout.write(f"\n{module.__name__} has {len(module.__all__)} names\n")

    assert len(module.__all__) == len(set(module.__all__)) <= MOST_NAMES[module]
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_class_and_function_is_described(module: ModuleType) -> None:
    """In a sentence of its own: not its base's, and not one that Python made of its fields."""
    made = [getattr(module, name) for name in module.__all__]
    kinds = [each for each in made if inspect.isclass(each) or inspect.isfunction(each)]
    sentences = {each.__name__: each.__dict__.get("__doc__", each.__doc__) or "" for each in kinds}

    assert [name for name, sentence in sentences.items() if not sentence or sentence.startswith(f"{name}(")] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_other_name_is_described(module: ModuleType) -> None:
    """A value has its sentence below the line that makes it, in the module it comes from."""
    homes = {name: where for where, name in imports_of(Path(str(module.__file__)))}
    values = [
        name
        for name in module.__all__
        if not inspect.isclass(getattr(module, name)) and not inspect.isfunction(getattr(module, name))
    ]

    assert [name for name in values if not sentence_below(name, homes[name])] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_name_is_used_by_an_example_or_a_built_in_extension(module: ModuleType) -> None:
    """So that whoever wonders how finds a line that a test runs."""
    files = [*EXAMPLE_FILES, *(file for _, file in BUILT_IN_FILES)]
    used = {name for file in files for where, name in imports_of(file) if where == module.__name__}

    assert sorted(set(module.__all__) - used) == []


@pytest.mark.parametrize("file", EXAMPLE_FILES, ids=lambda file: file.name)
def test_an_example_imports_nothing_else_of_ours(file: Path) -> None:
    """As a stranger's extension does."""
    ours = {module for module, _ in imports_of(file) if module.split(".")[0] == "familiar_connect"}

    assert ours <= {module.__name__ for module in MODULES}


@pytest.mark.parametrize(("built_in", "file"), BUILT_IN_FILES, ids=lambda value: getattr(value, "name", value))
def test_a_built_in_extension_imports_nothing_else_of_ours(built_in: str, file: Path) -> None:
    """What comes with the program uses the door that a stranger uses; its own package is its own."""
    ours = {module for module, _ in imports_of(file) if module.split(".")[0] == "familiar_connect"}
    own = {module for module in ours if f"{module}.".startswith(f"familiar_connect.extensions.{built_in}.")}

    assert ours - own <= {module.__name__ for module in MODULES if module is not testing}
