"""parse_script: the commands of a script, read without running anything; what is not known here is refused by name."""

from __future__ import annotations

import re

from familiar_connect.errors import ScriptError
from familiar_connect.presets.scripts.types import MAX_COMMANDS, MAX_NESTING, MAX_SCRIPT_CHARS, Command, Script

KNOWN = frozenset(
    {
        *("send", "sendas", "sys", "trigger", "gen", "if", "echo", "input", "buttons", "pass", "return", "abort"),
        *("setvar", "getvar", "addvar", "incvar", "decvar", "flushvar"),
        *("setglobalvar", "getglobalvar", "addglobalvar", "incglobalvar", "decglobalvar", "flushglobalvar"),
    }
)
ALIASES = {"nar": "sys", "narrate": "sys", "popup": "echo", "generate": "gen"}
_NAME = re.compile(r"/([A-Za-z?#][\w?-]*)")
_NAMED = re.compile(r"([A-Za-z_]\w*)=")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_BARE = re.compile(r"(?:\{\{(?:(?!\}\}).)*+\}\}|\\.|(?!:\})[^\s|])*+", re.DOTALL)
_BLANK = re.compile(r"\s*+")
_ESCAPED = re.compile(r'\\([|"])')


def parse_script(text: str, depth: int = 0) -> Script:
    """The commands in *text*; a `ScriptError` says in which line it cannot be read, or what is not known here."""
    if len(text) > MAX_SCRIPT_CHARS:
        raise ScriptError(f"it is longer than {MAX_SCRIPT_CHARS:,} characters")
    return _Parser(text).read_all(depth)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._count = 0

    def read_all(self, depth: int) -> Script:
        script = self._script(depth, is_closure=False)
        if self._at < len(self._text):
            raise self._error("a closure ends that was not begun")
        return script

    def _script(self, depth: int, *, is_closure: bool) -> Script:
        if depth > MAX_NESTING:
            raise self._error(f"closures are nested more than {MAX_NESTING} deep")
        commands: list[Command] = []
        while True:
            self._skip_blank()
            if self._is_at("|"):
                self._at += 1
            elif self._at >= len(self._text):
                if is_closure:
                    raise self._error("a closure `{:` is not closed with `:}`")
                return Script(tuple(commands))
            elif is_closure and self._is_at(":}"):
                self._at += 2
                if self._is_at("()"):
                    self._at += 2
                return Script(tuple(commands))
            elif self._skip_comment():
                continue
            else:
                commands.append(self._command(depth))

    def _command(self, depth: int) -> Command:
        line = self._text.count("\n", 0, self._at) + 1
        found = _NAME.match(self._text, self._at)
        if found is None:
            raise self._error("a command is expected here, which begins with `/`")
        name = ALIASES.get(found[1].lower(), found[1].lower())
        if name not in KNOWN:
            raise self._error(f"/{found[1]} is not run here")
        self._count += 1
        if self._count > MAX_COMMANDS:
            raise self._error(f"it has more than {MAX_COMMANDS} commands")
        self._at = found.end()
        named: dict[str, str | Script] = {}
        while True:
            self._skip_blank()
            key = _NAMED.match(self._text, self._at)
            if key is None:
                break
            self._at = key.end()
            named[key[1].lower()] = self._value(depth)
        return Command(name=name, line=line, named=named, words=self._words(depth))

    def _value(self, depth: int) -> str | Script:
        """What stands behind a name and `=`: a closure, a text in quotes, or a word."""
        if self._is_at("{:"):
            self._at += 2
            return self._script(depth + 1, is_closure=True)
        quoted = _QUOTED.match(self._text, self._at)
        if quoted is not None:
            self._at = quoted.end()
            return _plain(quoted[1])
        bare = _BARE.match(self._text, self._at)
        assert bare is not None
        self._at = bare.end()
        return _plain(bare[0])

    def _words(self, depth: int) -> str | Script:
        """The rest of a command: a closure, or everything up to the next `|`."""
        if self._is_at("{:"):
            self._at += 2
            return self._script(depth + 1, is_closure=True)
        start = self._at
        while self._at < len(self._text):
            if self._is_at("\\"):
                self._at = min(self._at + 2, len(self._text))
            elif self._is_at("{{"):
                end = self._text.find("}}", self._at)
                self._at = end + 2 if end >= 0 else self._at + 2
            elif self._is_at("|") or (depth and self._is_at(":}")):
                break
            else:
                self._at += 1
        words = self._text[start : self._at].strip()
        quoted = _QUOTED.fullmatch(words)
        return _plain(quoted[1] if quoted is not None else words)

    def _skip_comment(self) -> bool:
        if self._is_at("/*"):
            end = self._text.find("*|", self._at)
            self._at = end + 2 if end >= 0 else len(self._text)
            return True
        if self._is_at("//") or self._is_at("/#"):
            ends = [end for end in (self._text.find("|", self._at), self._text.find("\n", self._at)) if end >= 0]
            self._at = min(ends, default=len(self._text))
            return True
        return False

    def _skip_blank(self) -> None:
        found = _BLANK.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _is_at(self, words: str) -> bool:
        return self._text.startswith(words, self._at)

    def _error(self, words: str) -> ScriptError:
        return ScriptError(f"line {self._text.count(chr(10), 0, self._at) + 1}: {words}")


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)
