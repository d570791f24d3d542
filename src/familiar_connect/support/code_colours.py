"""Code with colours: what stands in a fence of Markdown, cut into pieces that say what they are.

The one place where Pygments is used. It is part of the extra `web`; where it is not installed code has no colours.
Only languages of a list are read, each block only up to a length, and lines that are too long have no colours: what a
stranger writes never stalls a page.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from familiar_connect.support.lru import LruCache

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_COLOURED_CHARS = 8_000
MAX_LINES = 300
MAX_LINE_CHARS = 400
"""The rules of languages look along lines and over several; more of either has no colours."""
WITHIN_S = 0.15
"""What is left of a block after so much time of the processor has no colours."""
LANGUAGES: dict[str, tuple[str, str, str]] = {
    "bash": ("Shell", "shell", "BashLexer"),
    "c": ("C", "c_cpp", "CLexer"),
    "cpp": ("C++", "c_cpp", "CppLexer"),
    "csharp": ("C#", "dotnet", "CSharpLexer"),
    "css": ("CSS", "css", "CssLexer"),
    "diff": ("Diff", "diff", "DiffLexer"),
    "go": ("Go", "go", "GoLexer"),
    "html": ("HTML", "html", "HtmlLexer"),
    "ini": ("INI", "configs", "IniLexer"),
    "java": ("Java", "jvm", "JavaLexer"),
    "javascript": ("JavaScript", "javascript", "JavascriptLexer"),
    "json": ("JSON", "data", "JsonLexer"),
    "kotlin": ("Kotlin", "jvm", "KotlinLexer"),
    "lua": ("Lua", "scripting", "LuaLexer"),
    "makefile": ("Makefile", "make", "MakefileLexer"),
    "markdown": ("Markdown", "markup", "MarkdownLexer"),
    "php": ("PHP", "php", "PhpLexer"),
    "python": ("Python", "python", "PythonLexer"),
    "ruby": ("Ruby", "ruby", "RubyLexer"),
    "rust": ("Rust", "rust", "RustLexer"),
    "sql": ("SQL", "sql", "SqlLexer"),
    "swift": ("Swift", "objective", "SwiftLexer"),
    "toml": ("TOML", "configs", "TOMLLexer"),
    "typescript": ("TypeScript", "javascript", "TypeScriptLexer"),
    "xml": ("XML", "html", "XmlLexer"),
    "yaml": ("YAML", "data", "YamlLexer"),
}
"""Language → how people call it, and the module and class of Pygments that read it."""
ALIASES = {
    **dict.fromkeys(("sh", "shell", "zsh", "console", "shellsession", "shell-session"), "bash"),
    **dict.fromkeys(("c++", "cc", "hpp", "cxx"), "cpp"),
    **dict.fromkeys(("c#", "cs"), "csharp"),
    **dict.fromkeys(("js", "jsx", "node", "mjs"), "javascript"),
    **dict.fromkeys(("ts", "tsx"), "typescript"),
    **dict.fromkeys(("py", "python3", "py3", "pycon"), "python"),
    "golang": "go",
    "h": "c",
    "htm": "html",
    "svg": "xml",
    "kt": "kotlin",
    "make": "makefile",
    "md": "markdown",
    "rb": "ruby",
    "rs": "rust",
    "sqlite": "sql",
    "postgresql": "sql",
    "mysql": "sql",
    "yml": "yaml",
    "cfg": "ini",
    "conf": "ini",
    "properties": "ini",
    "jsonl": "json",
    "json5": "json",
    "patch": "diff",
}
"""Other names of the same languages."""
COLOURS = (
    ("Comment", "c"),
    ("Keyword.Type", "t"),
    ("Keyword", "k"),
    ("Literal.String", "s"),
    ("Literal.Number", "n"),
    ("Name.Builtin", "t"),
    ("Name.Class", "f"),
    ("Name.Function", "f"),
    ("Name.Decorator", "f"),
    ("Name.Tag", "k"),
    ("Name.Attribute", "t"),
    ("Generic.Inserted", "i"),
    ("Generic.Deleted", "d"),
    ("Generic.Heading", "f"),
    ("Operator.Word", "k"),
)
"""Kind of piece by its name in Pygments → what it is called here; the first that fits."""
KINDS = frozenset(kind for _, kind in COLOURS)


@dataclass(frozen=True)
class CodePiece:
    """Some characters of code."""

    text: str
    kind: str
    """One of KINDS; empty: nothing that has a colour."""


_making = threading.Lock()
_coloured: LruCache[tuple[str, str], list[CodePiece]] = LruCache(
    200, size=MAX_COLOURED_CHARS * 20, size_of=lambda pieces: sum(len(piece.text) for piece in pieces)
)
"""A chat is drawn many times."""


def name_language(info: str) -> str:
    """How people call the language that a fence names; empty where it is none that is known."""
    language = _find_language(info)
    return LANGUAGES[language][0] if language else ""


def colour_code(code: str, info: str) -> list[CodePiece]:
    """*code* in the language that a fence names as *info*, in pieces; one piece where it has no colours."""
    language = _find_language(info)
    if not language or not _is_small(code) or not _is_installed():
        return [CodePiece(code, "")]
    found = _coloured.get((code, language))
    if found is None:
        found = _join(_read(code, language))
        _coloured.put((code, language), found)
    return found


def _is_small(code: str) -> bool:
    lines = code.split("\n") if len(code) <= MAX_COLOURED_CHARS else ()
    return 0 < len(lines) <= MAX_LINES and max(map(len, lines)) <= MAX_LINE_CHARS


def _find_language(info: str) -> str:
    word = info.strip().split(maxsplit=1)[0].casefold() if info.strip() else ""
    name = ALIASES.get(word, word)
    return name if name in LANGUAGES else ""


@cache
def _is_installed() -> bool:
    return find_spec("pygments") is not None


def _read(code: str, language: str) -> list[CodePiece]:
    lexer = _lexer(language)
    ends = time.thread_time() + WITHIN_S
    found, at = [], 0
    for _, kind, text in lexer.get_tokens_unprocessed(code):
        found.append(CodePiece(text, _colour(str(kind))))
        at += len(text)
        if time.thread_time() > ends:
            break
    if "".join(piece.text for piece in found) != code[:at]:  # a language that leaves characters out
        return [CodePiece(code, "")]
    return [*found, CodePiece(code[at:], "")]


@cache
def _lexer(language: str) -> Lexer:
    """Reads *language*; a second thread waits until its rules are made."""
    _, module, name = LANGUAGES[language]
    with _making:
        made: Lexer = getattr(import_module(f"pygments.lexers.{module}"), name)()
        return made


@cache
def _colour(kind: str) -> str:
    """*kind* is the name of a kind of Pygments, such as `Token.Name.Function.Magic`."""
    name = kind.removeprefix("Token.")
    return next((colour for begins, colour in COLOURS if f"{name}.".startswith(f"{begins}.")), "")


def _join(pieces: list[CodePiece]) -> list[CodePiece]:
    """Neighbours of one kind as one piece, and no empty ones."""
    joined: list[CodePiece] = []
    for piece in pieces:
        if joined and joined[-1].kind == piece.kind:
            joined[-1] = CodePiece(joined[-1].text + piece.text, piece.kind)
        elif piece.text:
            joined.append(piece)
    return joined
