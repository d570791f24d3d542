"""Measures of the code's structure that a reader feels: names, constructors, assignments, untyped values.

    python3 tools/structure.py            the counts, and every place behind them
    python3 tools/structure.py --json     the same for a script

`tests/test_architecture.py` holds each measure to its aim. Standard library only.
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src" / "familiar_connect"
MAX_PARAMETERS = 10

IRREGULAR_PARTICIPLES = frozenset(
    [
        "begun",
        "bound",
        "brought",
        "built",
        "caught",
        "chosen",
        "drawn",
        "felt",
        "found",
        "given",
        "grown",
        "heard",
        "held",
        "hidden",
        "kept",
        "known",
        "led",
        "lost",
        "made",
        "meant",
        "met",
        "said",
        "seen",
        "sent",
        "shown",
        "spoken",
        "stood",
        "taken",
        "thought",
        "told",
        "understood",
        "woken",
        "written",
    ]
)
"""Participles that do not end in -ed. `read`, `set`, `put` and `cut` are verbs as well and stay out."""
NOT_PARTICIPLES = frozenset(
    {"need", "embed", "seed", "feed", "speed", "shed", "bed", "red", "exceed", "proceed", "indeed"}
)

LIBRARY_DOORS = frozenset(
    {
        "cli.py",  # click's context
        "commands/common.py",  # click's progress bar
        "commands/help_lines.py",  # click's help
        "llm/embedded/child.py",  # xllamacpp's parameters
        "memory/index/minilm.py",  # ONNX's session options
        "observe/ledger.py",  # SQLite's connection
        "extensions/discord/client.py",  # the Discord library's client, intents and routes
        "extensions/twitch/account.py",  # the Twitch library's client
        "platforms/terminal/line_input.py",  # prompt_toolkit's session
        "support/sqlite.py",  # SQLite's connection
        "support/markdown_rules.py",  # markdown-it's state, which each of its rules moves on
        "support/re2_engine.py",  # RE2's options
    }
)
"""Files that set options of an outside library's objects, which offer no other way."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Block = ast.stmt | ast.excepthandler | ast.match_case
"""What a statement may stand in."""


def main(arguments: list[str] | None = None) -> int:
    """Print the measures of the package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of text")
    options = parser.parse_args(arguments)
    measures = measure(SRC)
    if options.json:
        sys.stdout.write(json.dumps(measures, indent=2) + "\n")
        return 0
    for name, value in measures.items():
        if isinstance(value, list):
            sys.stdout.write(f"{name}: {len(value)}\n" + "".join(f"    {entry}\n" for entry in value))
        else:
            sys.stdout.write(f"{name}: {value}\n")
    return 0


def measure(folder: Path) -> dict[str, list[str] | float]:
    """Every measure of the package in *folder*, by the name it is printed with."""
    trees = read_trees(folder)
    return {
        "public names used in two rooms": names_in_two_rooms(trees),
        "public functions named by a bare participle": participle_functions(trees),
        "constructors with more than 10 parameters": wide_constructors(trees),
        "assignments to a collaborator's attribute": collaborator_assignments(trees),
        "Any per 1,000 lines": any_per_thousand_lines(folder, trees),
    }


def read_trees(folder: Path) -> dict[str, ast.Module]:
    """The syntax tree of each module, by its path inside the package.

    No garbage is looked for meanwhile: nothing of it is any, and to look costs more than to read.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return {
            path.relative_to(folder).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
            for path in sorted(folder.rglob("*.py"))
        }
    finally:
        if was_enabled:
            gc.enable()


@cache
def nodes_in(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Every node of *tree*, found once: to walk it is most of what a measure costs."""
    return tuple(ast.walk(tree))


def names_in_two_rooms(trees: dict[str, ast.Module]) -> list[str]:
    """Public classes and module-level functions that two rooms define under one name."""
    places: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
                places[node.name].add(path)
    return [
        f"{name}: {', '.join(sorted(paths))}"
        for name, paths in sorted(places.items())
        if len({path.split("/")[0] for path in paths}) > 1
    ]


def participle_functions(trees: dict[str, ast.Module]) -> list[str]:
    """Public functions and methods whose name opens with a participle."""
    return [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in trees.items()
        for node in nodes_in(tree)
        if isinstance(node, Function) and not node.name.startswith("_") and is_participle(node.name.split("_")[0])
    ]


def is_participle(word: str) -> bool:
    """Whether *word* is a participle by its look."""
    return word in IRREGULAR_PARTICIPLES or (word.endswith("ed") and word not in NOT_PARTICIPLES)


def wide_constructors(trees: dict[str, ast.Module]) -> list[str]:
    """`__init__` methods with more parameters than a reader can hold."""
    return [
        f"{path}:{node.lineno} {owner.name} {count}"
        for path, tree in trees.items()
        for owner in nodes_in(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, Function) and node.name == "__init__"
        if (count := len(node.args.args) + len(node.args.kwonlyargs) - 1) > MAX_PARAMETERS
    ]


@dataclass(frozen=True)
class PackageClasses:
    """The package's own classes: which are records, and which name their attributes."""

    records: frozenset[str]
    """Dataclasses: values and results that are filled in by whoever made them."""
    collaborators: frozenset[str]
    """All other classes."""
    attributes: dict[str, frozenset[str]]
    """Attribute → the classes that have it."""


def read_classes(trees: dict[str, ast.Module]) -> PackageClasses:
    """Every class of the package with the attributes it declares or sets on itself."""
    records: set[str] = set()
    others: set[str] = set()
    attributes: dict[str, set[str]] = defaultdict(set)
    for tree in trees.values():
        for node in nodes_in(tree):
            if isinstance(node, ast.ClassDef):
                is_record = any("dataclass" in ast.unparse(each) for each in node.decorator_list)
                (records if is_record else others).add(node.name)
                for name in own_attributes(node):
                    attributes[name].add(node.name)
    return PackageClasses(
        frozenset(records - others),
        frozenset(others),
        {name: frozenset(owners) for name, owners in attributes.items()},
    )


def own_attributes(owner: ast.ClassDef) -> set[str]:
    """Attributes that *owner* declares in its body or sets on itself in a method."""
    names = {
        each.target.id for each in owner.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            names.add(node.attr)
    return names


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def collaborator_assignments(trees: dict[str, ast.Module]) -> list[str]:
    """Assignments to an attribute of a collaborator from outside its class.

    An instance of one of our classes is a collaborator unless its class is a dataclass: a record is filled in by
    whoever made it. An object of an outside library counts too, except in the files of `LIBRARY_DOORS`.
    """
    classes = read_classes(trees)
    return [
        f"{path}:{target.lineno} {ast.unparse(target)}"
        for path, tree in trees.items()
        for owner, function in functions_in(tree)
        for target in assigned_attributes(function)
        if is_collaborator(target, function, owner, classes, is_door=path in LIBRARY_DOORS)
    ]


def functions_in(tree: ast.Module) -> Iterator[tuple[ast.ClassDef | None, Function]]:
    """Every function with the class it is a method of; a function inside a method belongs to that class too."""
    pending: list[tuple[ast.ClassDef | None, ast.AST]] = [(None, tree)]
    while pending:
        owner, node = pending.pop()
        if isinstance(node, Function):
            yield owner, node
        inner = node if isinstance(node, ast.ClassDef) else owner
        pending.extend((inner, child) for child in ast.iter_child_nodes(node) if isinstance(child, Block))


def assigned_attributes(function: Function) -> Iterator[ast.Attribute]:
    """The attributes that *function* itself assigns; a function inside it answers for itself."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, Function | ast.ClassDef):
            continue
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            continue  # a value: nothing is assigned in it
        if isinstance(node, ast.Attribute):
            yield node
        pending.extend(ast.iter_child_nodes(node))


def is_collaborator(
    target: ast.Attribute, function: Function, owner: ast.ClassDef | None, classes: PackageClasses, *, is_door: bool
) -> bool:
    """Whether the object that *target* is set on belongs to somebody else."""
    if is_self(target.value) or target.attr.startswith("__"):
        return False
    found = type_of(target.value, function, owner) or (is_door and type_of(root_of(target), function, owner)) or None
    if found is None:  # whichever of our classes has such an attribute
        owners = classes.attributes.get(target.attr, frozenset())
        return bool(owners & classes.collaborators) if owners else not is_door
    if found in classes.records or (owner is not None and found == owner.name):
        return False
    return found in classes.collaborators or not is_door


def root_of(target: ast.Attribute) -> ast.expr:
    """The object that a chain of attributes begins with."""
    value: ast.expr = target
    while isinstance(value, ast.Attribute | ast.Subscript):
        value = value.value
    return value


def type_of(value: ast.expr, function: Function, owner: ast.ClassDef | None) -> str | None:
    """The class of *value*, by an annotation or the call that made it; None where neither says."""
    name = ast.unparse(value)
    for argument in (*function.args.args, *function.args.kwonlyargs):
        if argument.arg == name and argument.annotation is not None:
            return class_named(argument.annotation)
    for scope in (function, owner):
        for node in ast.walk(scope) if scope is not None else ():
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
                return class_named(node.annotation)
            if isinstance(node, ast.Assign) and name in [ast.unparse(each) for each in node.targets]:
                made = node.value.value if isinstance(node.value, ast.Await) else node.value
                if isinstance(made, ast.Call) and (class_name := class_named(made.func) or returned(made, owner)):
                    return class_name
    return None


def returned(call: ast.Call, owner: ast.ClassDef | None) -> str | None:
    """The class that a call of one of *owner*'s own methods gives, by its annotation."""
    if owner is None or not isinstance(call.func, ast.Attribute) or not is_self(call.func.value):
        return None
    for method in owner.body:
        if isinstance(method, Function) and method.name == call.func.attr and method.returns is not None:
            return class_named(method.returns)
    return None


def class_named(node: ast.expr) -> str | None:
    """The class that an annotation or a call names; None for a name that is no class's."""
    words = ast.unparse(node).strip("\"'").removesuffix(" | None").split("[")[0].split(".")
    last = words[-1].lstrip("_")
    return words[-1] if last[:1].isupper() and last != "Any" else None


def any_per_thousand_lines(folder: Path, trees: dict[str, ast.Module]) -> float:
    """How often `Any` stands as a type, for a thousand lines."""
    lines = sum(len((folder / path).read_text(encoding="utf-8").splitlines()) for path in trees)
    uses = sum(isinstance(node, ast.Name) and node.id == "Any" for tree in trees.values() for node in nodes_in(tree))
    return round(1000 * uses / lines, 1)


if __name__ == "__main__":
    sys.exit(main())
