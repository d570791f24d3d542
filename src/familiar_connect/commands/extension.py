"""extension: what is installed beside the program, and which of it may run in this home."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import home_of, json_option, say, say_json
from familiar_connect.commands.lazy_group import VerbGroup
from familiar_connect.config.built_in import BUILT_IN, BUILT_IN_IMPORTERS, BUILT_IN_VOICES, provider_of
from familiar_connect.config.extension_list import (
    AllowedExtension,
    ExtensionList,
    FoundExtension,
    find_extensions,
    is_extension_name,
)
from familiar_connect.errors import ConfigError

if TYPE_CHECKING:
    from familiar_connect.extensions.parts import Extension

EXTENSION_EPILOG = """\b
Examples:
  familiar extension list                  what is installed, and what may run
  familiar extension allow weather         let it run from the next start
  familiar extension info weather          what it adds, its settings and its keys
  familiar extension forbid weather
An extension is a package that you install with pip into the program's own environment.
"""
NOT_LISTED = "installed, not allowed"


@click.group(cls=VerbGroup, epilog=EXTENSION_EPILOG, invoke_without_command=True)
@click.pass_context
def extension(ctx: click.Context) -> None:
    """List, allow and forbid packages that add platforms, prompt blocks, tools or verbs."""
    if ctx.invoked_subcommand is None:
        _show_all(ctx, as_json=False)


@extension.command(name="list")
@json_option
@click.pass_context
def list_extensions(ctx: click.Context, as_json: bool) -> None:
    """List the installed extensions, and say which run here and why the others do not."""
    _show_all(ctx, as_json=as_json)


@extension.command(name="info")
@click.argument("name")
@json_option
@click.pass_context
def show_extension(ctx: click.Context, name: str, as_json: bool) -> int:
    """Show what NAME adds, its settings and the keys it may read. Loads it, so it must be allowed."""
    from familiar_connect.extensions.load import ExtensionFault, load_extension

    found = _find_installed(name)
    if name not in BUILT_IN and ExtensionList(home_of(ctx)).find(name) is None:
        raise ConfigError(f"{name} is not allowed, so it is not loaded: `familiar extension allow {name}`")
    try:
        loaded = load_extension(found)
    except ExtensionFault as fault:
        say(f"{name} is left out: {fault}.", err=True)
        return 1
    facts = _facts(found, loaded)
    if as_json:
        say_json(facts)
        return 0
    say(f"{name} {found.version}, from the package {found.package}.")
    for label, lines in facts.items():
        if isinstance(lines, list) and lines:
            say(f"{label}: {', '.join(lines)}")
    return 0


@extension.command(name="allow")
@click.argument("name")
@click.pass_context
def allow_extension(ctx: click.Context, name: str) -> None:
    """Let NAME run in this home. It has your rights, like any program you start."""
    if name in BUILT_IN:
        if name in BUILT_IN_IMPORTERS:
            raise ConfigError(f"{name} comes with the program and is allowed: `familiar import` uses it")
        section = "`provider`" if name in BUILT_IN_VOICES else f"its section [{name}]"
        raise ConfigError(f"{name} comes with the program and is allowed: {section} switches it on")
    found = _find_installed(name)
    ExtensionList(home_of(ctx)).allow(found)
    say(
        f"{name} {found.version} runs from the next start. It has the same rights on this computer as "
        f"you, so allow only what you trust. `familiar extension forbid {name}` reverts this."
    )


@extension.command(name="forbid")
@click.argument("name")
@click.pass_context
def forbid_extension(ctx: click.Context, name: str) -> int:
    """Stop NAME from running in this home. Its settings and files stay."""
    owned = ExtensionList(home_of(ctx))
    if not owned.forbid(name):
        say(f"{name} was not allowed; `familiar extension list` shows what is.", err=True)
        return 1
    say(f"{name} stops running at the next start.")
    return 0


def _find_installed(name: str) -> FoundExtension:
    from familiar_connect.extensions.load import find_built_in

    installed = {each.name: each for each in (*find_built_in(), *find_extensions())}
    if name not in installed:
        known = ", ".join(installed) or "none"
        shown = name if is_extension_name(name) else "that"
        raise ConfigError(f"no installed package has an extension {shown}; installed: {known}")
    return installed[name]


def _show_all(ctx: click.Context, *, as_json: bool) -> None:
    own, rows = list(_wing_states()), list(_states(ExtensionList(home_of(ctx)).list_allowed()))
    if as_json:
        say_json([{"name": name, "version": version, "state": state} for name, version, state in (*own, *rows)])
        return
    for name, version, state in (*own, *rows):
        say(f"{name} {version}: {state}")
    if not rows:
        say("No other extensions are installed. docs/guides/extend.md shows how one is made.")


def _wing_states() -> Iterator[tuple[str, str, str]]:
    """As `_states`, for those that come with the program."""
    from familiar_connect.extensions.load import find_built_in, load_built_in

    for found, loaded in zip(find_built_in(), load_built_in(BUILT_IN), strict=True):
        state = f"left out: {loaded.trouble}" if loaded.extension is None else _describe_built_in(loaded.extension)
        yield found.name, found.version, state


def _describe_built_in(extension: Extension) -> str:
    """How one that comes with the program is used."""
    if extension.name in BUILT_IN_IMPORTERS:
        return f"comes with the program; `familiar import` reads {', '.join(each.name for each in extension.importers)}"
    if extension.tool_sources:
        return f'comes with the program; names such as "{extension.name}.SERVER_TOOL" in `tools` use it'
    if extension.name not in BUILT_IN_VOICES:
        return f"comes with the program; [{extension.name}] sets it up"
    parts = (extension.recognizer, extension.synthesizer)
    sections = " and ".join(f"[{part.shared_section}]" for part in parts if part is not None)
    return f'comes with the program; `provider = "{provider_of(extension.name)}"` under {sections} uses it'


def _states(allowed: list[AllowedExtension]) -> Iterator[tuple[str, str, str]]:
    """Each extension, its version and how it stands: those of the owner's list first, in its order."""
    from familiar_connect.extensions.load import ExtensionFault, load_extension

    installed = {each.name: each for each in find_extensions()}
    for row in allowed:
        found = installed.pop(row.name, None)
        if found is None:
            yield row.name, row.version, f"allowed, but the package {row.package} is no longer installed"
            continue
        try:
            load_extension(found)
        except ExtensionFault as fault:
            yield row.name, found.version, f"left out: {fault}"
            continue
        newer = "" if found.version == row.version else f"; version {row.version} was the one you allowed"
        yield row.name, found.version, f"allowed{newer}"
    for found in installed.values():
        yield found.name, found.version, f"{NOT_LISTED}: `familiar extension allow {found.name}`"


def _facts(found: FoundExtension, loaded: Extension) -> dict[str, object]:
    from familiar_connect.extensions.load import list_settings

    provider = provider_of(loaded.name) if loaded.name in BUILT_IN_VOICES else f"extension:{loaded.name}"
    return {
        "name": loaded.name,
        "version": found.version,
        "package": found.package,
        "platform": [loaded.name] if loaded.platforms else [],
        "models": [f"extension:{loaded.name}/\u2026"] if loaded.model is not None else [],
        "hears": [provider] if loaded.recognizer is not None else [],
        "speaks": [provider] if loaded.synthesizer is not None else [],
        "prompt blocks": [str(len(loaded.providers))] if loaded.providers else [],
        "processors": [str(len(loaded.processors))] if loaded.processors else [],
        "tools": [f"{loaded.name}.{tool.name}" for tool in loaded.tools],
        "slash commands": [str(len(loaded.slash_commands))] if loaded.slash_commands else [],
        "verbs": [verb.name for verb in loaded.verbs],
        "imports": [each.name for each in loaded.importers],
        "settings": [f"[{section}] {key}" for section, key in list_settings(loaded)],
        "keys": sorted({name for part in loaded.parts for name in part.secrets}),
    }
