"""Planting a fault in this process, never on disk: in functions that are loaded, or in a module before it is loaded."""

from __future__ import annotations

import ast
import gc
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import CodeType, FunctionType, ModuleType

from benchmarks.mutants.faults import Fault, plant

Key = tuple[str, str, int]
"""A function: its file, its name with those it stands in, its first line."""


class CannotPlant(Exception):
    """The fault cannot be put into functions that are loaded already."""


def loaded_functions(files: Sequence[str]) -> dict[Key, list[FunctionType]]:
    """Every function of *files* in this process, also those behind decorators."""
    gc.unfreeze()
    found: dict[Key, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            found[_key(each.__code__)].append(each)
    return dict(found)


def plant_in_functions(source: str, file: str, fault: Fault, functions: dict[Key, list[FunctionType]]) -> None:
    """Give the loaded functions of *file* the code they would have with *fault*."""
    codes: dict[Key, list[CodeType]] = defaultdict(list)
    for code in _codes(compile(plant(source, fault), file, "exec", dont_inherit=True)):
        codes[_key(code)].append(code)
    changed = 0
    for key, loaded in functions.items():
        if key[0] != file:
            continue
        new = codes.get(key, [])
        if any(function.__code__ not in new for function in loaded):
            if len(new) != 1:
                raise CannotPlant(f"{len(new)} functions are {key[1]}")
            for function in loaded:
                try:
                    function.__code__ = new[0]
                except ValueError as error:
                    raise CannotPlant(str(error)) from error
                changed += 1
    if not changed:
        raise CannotPlant("no loaded function has it")


def plant_before_import(source: str, file: str, fault: Fault) -> None:
    """Whoever imports the module of *fault* from now on gets it with the fault."""
    sys.meta_path.insert(0, _Finder(fault.module, file, plant(source, fault)))


class _Finder(MetaPathFinder, Loader):
    def __init__(self, module: str, file: str, tree: ast.Module) -> None:
        self._module, self._file, self._tree = module, file, tree

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self._module:
            return None
        spec = spec_from_loader(fullname, self, origin=self._file)
        if spec is not None:
            spec.has_location = True
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._tree, self._file, "exec", dont_inherit=True), module.__dict__)


def _key(code: CodeType) -> Key:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    if code.co_flags & inspect.CO_OPTIMIZED:
        yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
