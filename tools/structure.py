"""Measures of the code's structure that a reader feels: names, constructors, assignments, untyped values.

    python3 tools/structure.py            the counts, and every place behind them
    python3 tools/structure.py --json     the same for a script

`tests/test_architecture.py` holds each measure to its aim. Standard library only.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
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

Function = ast.FunctionDef | ast.AsyncFunctionDef


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
    """The syntax tree of each module, by its path inside the package."""
    return {
        path.relative_to(folder).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    }


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
        for node in ast.walk(tree)
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
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, Function) and node.name == "__init__"
        if (count := len(node.args.args) + len(node.args.kwonlyargs) - 1) > MAX_PARAMETERS
    ]


def collaborator_assignments(trees: dict[str, ast.Module]) -> list[str]:
    """Assignments `a.b.c = ...`, and `a.b = ...` where *a* is another object that the function did not make."""
    return [
        f"{path}:{target.lineno} {ast.unparse(target)}"
        for path, tree in trees.items()
        for function in ast.walk(tree)
        if isinstance(function, Function)
        for target in assigned_attributes(function)
        if is_foreign(target, function)
    ]


def assigned_attributes(function: Function) -> Iterator[ast.Attribute]:
    """The attributes that *function* itself assigns; a function inside it answers for itself."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, Function | ast.ClassDef):
            continue
        if isinstance(node, ast.Assign):
            yield from (target for target in node.targets if isinstance(target, ast.Attribute))
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Attribute):
            yield node.target
        pending.extend(ast.iter_child_nodes(node))


def is_foreign(target: ast.Attribute, function: Function) -> bool:
    """Whether the assigned object belongs to somebody else: not made here, and not our own."""
    if isinstance(target.value, ast.Attribute):
        return True
    if not isinstance(target.value, ast.Name) or target.value.id in ("self", "cls"):
        return False
    arguments = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    return target.value.id in arguments or not target.attr.startswith("_") or target.value.id in closed_over(function)


def closed_over(function: Function) -> set[str]:
    """Names that *function* reads but does not bind."""
    bound = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return read - bound


def any_per_thousand_lines(folder: Path, trees: dict[str, ast.Module]) -> float:
    """How often `Any` stands as a type, for a thousand lines."""
    lines = sum(len((folder / path).read_text(encoding="utf-8").splitlines()) for path in trees)
    uses = sum(isinstance(node, ast.Name) and node.id == "Any" for tree in trees.values() for node in ast.walk(tree))
    return round(1000 * uses / lines, 1)


if __name__ == "__main__":
    sys.exit(main())
