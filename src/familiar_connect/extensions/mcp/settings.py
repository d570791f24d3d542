"""read_servers: the file `mcp.toml` of the home: which MCP servers there are, and where and by whom each may be used.

It lies in the home and not with a familiar: a folder that somebody gave away must not start programs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from familiar_connect.api import ConfigError
from familiar_connect.api.support import is_this_machine, load_bytes

T = TypeVar("T")

MAX_FILE = 256 * 1024
MAX_SERVERS = 32
MOST_WAIT_S, MOST_CHARS = 25.0, 100_000
OWNER, DIRECT, EVERYWHERE = "owner", "direct", "everywhere"
_NAME = re.compile(r"[a-z][a-z0-9]{0,30}")
_PLACE = re.compile(r"owner|direct|everywhere|(?:channel|server):[0-9]{1,20}")


@dataclass(frozen=True, kw_only=True)
class ToolRules:
    """Where, by whom and how far tools may be used."""

    places: tuple[str, ...] = (OWNER,)
    """`owner`: where nobody else reads; `direct`: in any direct chat; `channel:N`, `server:N`; `everywhere`."""
    people: tuple[str, ...] = ()
    """Whoever asks: `owner`, or `NETWORK:USER_ID`; empty: everybody who may ask there."""
    wait_s: float = 20.0
    most_chars: int = 8_000
    calls_a_day: int = 100
    """What stands for money: MCP does not tell what a call costs."""


@dataclass(frozen=True, kw_only=True)
class McpServer:
    """One server, and the rules of its tools."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Secrets of this server's; no other one sees them, and it sees none of ours."""
    rules: ToolRules = ToolRules()
    tools: Mapping[str, ToolRules] = field(default_factory=dict)
    """Rules of single tools, by their names at the server."""

    def rules_of(self, tool: str) -> ToolRules:
        return self.tools.get(tool, self.rules)


def read_servers(file: Path) -> dict[str, McpServer]:
    """The servers of *file* by name; none where there is no such file, a `ConfigError` where it is wrong."""
    try:
        document = tomllib.loads(load_bytes(file, MAX_FILE).decode())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: is not valid TOML: {error}") from error
    if len(document) > MAX_SERVERS:
        raise ConfigError(f"{file}: at most {MAX_SERVERS} servers; remove some")
    return {name: _read_server(file, name, table) for name, table in document.items()}


def _read_server(file: Path, name: str, table: object) -> McpServer:
    where = f"{file}: [{name}]"
    if not _NAME.fullmatch(name) or not isinstance(table, dict):
        raise ConfigError(f"{where} must be a section whose name is small letters and digits")
    known = {"command", "url", "env", "tools", *RULES}
    for key in table:
        if key not in known:
            raise ConfigError(f"{where} {key}: there is no such key; there are {', '.join(sorted(known))}")
    command, url = table.get("command", []), table.get("url", "")
    if not _are_texts(command) or not isinstance(url, str) or bool(command) == bool(url):
        raise ConfigError(f"{where}: write `command`, a list of words in quotes, or `url`")
    if url and not url.startswith("https://") and not is_this_machine(url):
        raise ConfigError(f"{where} url: use https://, or an address of this machine")
    env = table.get("env", {})
    if not isinstance(env, dict) or not _are_texts(list(env.values())):
        raise ConfigError(f"{where} env: write names and values in quotes")
    rules = _read_rules(where, table, ToolRules())
    tools = table.get("tools", {})
    if not isinstance(tools, dict) or not all(isinstance(each, dict) for each in tools.values()):
        raise ConfigError(f"{where} tools: write a section for each tool, such as [{name}.tools.search]")
    single = {tool: _read_rules(f"{file}: [{name}.tools.{tool}]", each, rules) for tool, each in tools.items()}
    return McpServer(name=name, command=tuple(command), url=url, env=dict(env), rules=rules, tools=single)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _read_places(value: object) -> tuple[str, ...] | None:
    texts = [str(each) for each in value] if isinstance(value, list) and _are_texts(value) else []
    return tuple(texts) if texts and all(_PLACE.fullmatch(each) for each in texts) else None


def _read_people(value: object) -> tuple[str, ...] | None:
    return tuple(str(each) for each in value) if isinstance(value, list) and _are_texts(value) else None


def _number(least: float, most: float, kind: Callable[[float], T]) -> Callable[[object], T | None]:
    def read(value: object) -> T | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return kind(value) if is_number and least <= value <= most else None  # type: ignore[operator, arg-type]

    return read


RULES: Mapping[str, tuple[Callable[[object], Any], str]] = {
    "places": (_read_places, 'a list of "owner", "direct", "channel:NUMBER", "server:NUMBER" or "everywhere"'),
    "people": (_read_people, 'a list such as ["owner", "NETWORK:USER_ID"]'),
    "wait_s": (_number(0.1, MOST_WAIT_S, float), f"seconds, at most {MOST_WAIT_S:g}"),
    "most_chars": (_number(100, MOST_CHARS, int), f"a number from 100 to {MOST_CHARS}"),
    "calls_a_day": (_number(0, 1_000_000, int), "a whole number"),
}


def _read_rules(where: str, table: Mapping[str, object], otherwise: ToolRules) -> ToolRules:
    found = {}
    for key, (read, what) in RULES.items():
        if key in table:
            value = read(table[key])
            if value is None:
                raise ConfigError(f"{where} {key}: must be {what}")
            found[key] = value
    unknown = [key for key in table if key not in (*RULES, "command", "url", "env", "tools")]
    if unknown:
        raise ConfigError(f"{where} {unknown[0]}: there is no such key; there are {', '.join(RULES)}")
    return replace(otherwise, **found)
