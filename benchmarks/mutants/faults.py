"""The faults that can be planted in a module: each is one node of its syntax tree, changed as a tired person would.

Left alone: annotations, decorators, docstrings, messages of errors and the log. What a fault changes is told by its
source text, not by its line, so that a fault explained once stays explained when lines move.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.mutants.sql_faults import sql_changes

OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
OTHER_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
OTHER_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
SKIPPED_FIELDS = frozenset({"annotation", "returns", "decorator_list", "bases", "type_params"})
LOGGERS = frozenset({"logger", "log", "warnings"})
LONGEST_SHOWN = 120
SMALL = 10
"""Smaller numbers are off by one; a larger one is a measure, and made nothing or a thousand times itself."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One wrong change: where, what stood there, what stands there now."""

    module: str
    file: str
    line: int
    last_line: int
    function: str
    kind: str
    original: str
    planted: str
    at_import: bool = False
    """Whether the line runs when the module is imported, not when a function is called."""
    node: int = field(compare=False)
    replacement: ast.AST = field(compare=False, repr=False)

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.module, self.function, self.original, self.planted

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.kind}: `{self.original}` → `{self.planted}`"


def find_faults(source: str, module: str, file: str) -> list[Fault]:
    """Every fault that can be planted in *source*, in the order of its text."""
    tree = ast.parse(source)
    numbers = {id(node): number for number, node in enumerate(ast.walk(tree))}
    found = []
    for node, function, at_import in _sites(tree, (), at_import=True, called=_called_at_import(tree)):
        for kind, replacement in _changes(node):
            ast.copy_location(replacement, node)
            place = node.target if isinstance(node, ast.comprehension) else node
            line = getattr(place, "lineno", 1)
            fault = Fault(
                module=module,
                file=file,
                line=line,
                last_line=_last_line(node, line),
                function=".".join(function) or "<module>",
                kind=kind,
                original=_text_of(node, kind),
                planted=_text_of(replacement, kind),
                at_import=at_import,
                node=numbers[id(node)],
                replacement=replacement,
            )
            if fault.original != fault.planted:
                found.append(fault)
    return found


def _last_line(node: ast.AST, line: int) -> int:
    """The last line of what is changed itself: of a handler or a condition, not of all it guards."""
    match node:
        case ast.If(test=test) | ast.While(test=test):
            return test.end_lineno or line
        case ast.ExceptHandler(body=[first, *_]):
            return first.lineno
        case ast.comprehension(ifs=conditions):
            return max([line, *(each.end_lineno or line for each in conditions)])
    return getattr(node, "end_lineno", None) or line


def plant(source: str, fault: Fault) -> ast.Module:
    """The tree of *source* with *fault* in it."""
    tree = ast.parse(source)
    target = next(node for number, node in enumerate(ast.walk(tree)) if number == fault.node)
    changed = _Exchange(target, copy.deepcopy(fault.replacement)).visit(tree)
    assert isinstance(changed, ast.Module)
    return ast.fix_missing_locations(changed)


class _Exchange(ast.NodeTransformer):
    def __init__(self, target: ast.AST, replacement: ast.AST) -> None:
        self._target, self._replacement = target, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        return self._replacement if node is self._target else super().generic_visit(node)


def _text_of(node: ast.AST, kind: str) -> str:
    text = node.value if kind == "SQL" and isinstance(node, ast.Constant) else ast.unparse(node)
    first, *more = str(text).strip().splitlines() or [""]
    text = " ".join([first, *(line.strip() for line in more)])
    return text if kind == "SQL" or len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def _called_at_import(tree: ast.Module) -> frozenset[str]:
    """The functions that its own top level calls, as one that builds a table does, and those in them that they call."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    outer = _names_called(statement for statement in tree.body if not isinstance(statement, defined))
    builders = [node for node in tree.body if isinstance(node, defined[:2]) and node.name in outer]
    inner = {each.name for builder in builders for each in ast.walk(builder) if isinstance(each, defined[:2])}
    return frozenset(outer | (inner & _names_called(builders)))


def _names_called(statements: Iterable[ast.AST]) -> set[str]:
    calls = (node.func for each in statements for node in ast.walk(each) if isinstance(node, ast.Call))
    return {called.id for called in calls if isinstance(called, ast.Name)}


def _sites(
    node: ast.AST, function: tuple[str, ...], *, at_import: bool, called: frozenset[str]
) -> Iterator[tuple[ast.AST, tuple[str, ...], bool]]:
    """Nodes that may be changed, each with its function and whether it runs at import."""
    if _is_left_alone(node):
        return
    yield node, function, at_import
    if isinstance(node, ast.Raise):
        return
    name_of = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else None
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    inner = (*function, name_of) if name_of is not None else function
    for name, value in ast.iter_fields(node):
        if name in SKIPPED_FIELDS or (isinstance(node, ast.ClassDef) and name == "keywords"):
            continue
        is_later = is_function and name == "body" and name_of not in called
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _sites(child, inner, at_import=at_import and not is_later, called=called)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.MatchValue():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in LOGGERS
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in {"__all__", "__slots__", *LOGGERS}
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "NewType" | "ParamSpec"))):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assert():
            return True
    return False


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The wrong forms of *node*, each with its kind."""
    if isinstance(node, ast.expr):
        yield from _wrong_expressions(node)
        yield from _dropped_parts(node)
    elif isinstance(node, ast.stmt):
        yield from _wrong_statements(node)
    elif isinstance(node, ast.comprehension):
        for number in range(len(node.ifs)):
            without = copy.deepcopy(node)
            del without.ifs[number]
            yield "dropped filter", without
    elif isinstance(node, ast.ExceptHandler) and not isinstance(node.body[-1], ast.Raise):
        yield "raised on", ast.ExceptHandler(type=node.type, name=node.name, body=[ast.Raise()])


def _wrong_expressions(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Compare(ops=ops):
            for number, operator in enumerate(ops):
                for other in OTHER_COMPARISONS[type(operator)]:
                    yield "comparison", ast.Compare(node.left, _with(ops, number, other()), node.comparators)
        case ast.BoolOp(op=operator, values=values):
            yield "and/or", ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "dropped not", operand
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            others = (number + 1, number - 1) if number < SMALL else (0, number * 1000)
            yield from (("constant", ast.Constant(other)) for other in others if other >= 0)
        case ast.Constant(value=str() as text):
            yield from (("SQL", ast.Constant(changed)) for changed in sql_changes(text))
        case ast.BinOp(left=left, op=operator, right=right) if not _is_text(left) and not _is_text(right):
            if other_operator := OTHER_OPERATORS.get(type(operator)):
                yield "operator", ast.BinOp(left, other_operator(), right)
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in OTHER_CALLS:
            yield "call", ast.Call(ast.Name(OTHER_CALLS[name], ast.Load()), arguments, node.keywords)
        case ast.Call(func=function, args=[ast.Name() as first, ast.Name() as second, *more]):
            yield "swapped arguments", ast.Call(function, [second, first, *more], node.keywords)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "negated condition", ast.IfExp(test, orelse, body)
        case ast.Subscript(value=value, slice=ast.Slice()) if isinstance(node.ctx, ast.Load):
            yield "dropped slice", value


def _dropped_parts(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.BoolOp(op=operator, values=values):
            for number in range(len(values)):
                left = [*values[:number], *values[number + 1 :]]
                yield "dropped operand", left[0] if len(left) == 1 else ast.BoolOp(operator, left)
        case ast.Compare(left=ast.Tuple(elts=first), ops=[operator], comparators=[ast.Tuple(elts=second)]):
            if len(first) == len(second):
                for number in range(len(first)):
                    pair = (ast.Tuple([*each[:number], *each[number + 1 :]], ast.Load()) for each in (first, second))
                    yield "dropped element", ast.Compare(next(pair), [operator], [next(pair)])
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[(ast.Tuple() | ast.Set()) as among]):
            for number in range(len(among.elts) if len(among.elts) > 1 else 0):
                fewer = ast.Tuple([*among.elts[:number], *among.elts[number + 1 :]], ast.Load())
                yield "dropped element", ast.Compare(node.left, node.ops, [fewer])
        case ast.Call(keywords=keywords):
            for number, keyword in enumerate(keywords):
                if keyword.arg is not None:
                    left_keywords = [*keywords[:number], *keywords[number + 1 :]]
                    yield "dropped argument", ast.Call(node.func, node.args, left_keywords)


def _wrong_statements(node: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    match node:
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            negated = copy.deepcopy(node)
            negated.test = ast.UnaryOp(ast.Not(), copy.deepcopy(test))
            yield "negated condition", negated
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())) | ast.AugAssign() | ast.Delete():
            yield "removed statement", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Raise() | ast.Continue() | ast.Break():
            yield "removed statement", ast.Pass()
        case ast.Return(value=None):
            yield "removed statement", ast.Pass()
        case ast.Return(value=ast.expr() as value):
            yield from (("returned", ast.Return(other)) for other in _other_returns(value))


def _other_returns(value: ast.expr) -> list[ast.expr]:
    match value:
        case ast.Constant(value=bool() | None) | ast.Name(id="self"):
            return []  # a constant is changed as such
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return [ast.Constant(True), ast.Constant(False)]
        case ast.List(elts=[_, *_]) | ast.ListComp():
            return [ast.List([], ast.Load())]
        case ast.Dict(keys=[_, *_]) | ast.DictComp():
            return [ast.Dict([], [])]
        case ast.JoinedStr() | ast.Constant(value=str()):
            return [ast.Constant("")]
    return [ast.Constant(None)]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _with(operators: Sequence[ast.cmpop], number: int, other: ast.cmpop) -> list[ast.cmpop]:
    return [*operators[:number], other, *operators[number + 1 :]]
