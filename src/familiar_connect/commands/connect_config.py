"""connect, config: which model answers, and what every setting is and where it comes from."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from familiar_connect.commands.common import familiar_option, home_of, json_option, profile_of, root_of, say, say_json
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.errors import ConfigError, FamiliarError, ModelError

if TYPE_CHECKING:
    from familiar_connect.config.load import EffectiveSetting

CONNECT_EPILOG = """\b
Examples:
  familiar connect                                       asks, tests, writes
  familiar connect --to ollama --model llama3.2
  familiar connect --to openrouter --model openai/gpt-4o-mini --key-env OPENROUTER_API_KEY
  familiar connect --url http://127.0.0.1:8000/v1 --model my-model
  familiar connect --to embedded                         back to the embedded model
"""


@dataclass(frozen=True)
class KnownEndpoint:
    """An endpoint people commonly have."""

    url: str | None
    key_env: str | None
    example: str


KNOWN_ENDPOINTS: dict[str, KnownEndpoint] = {
    "openrouter": KnownEndpoint("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openai/gpt-4o-mini"),
    "ollama": KnownEndpoint("http://127.0.0.1:11434/v1", None, "llama3.2"),
    "llamacpp": KnownEndpoint("http://127.0.0.1:8080/v1", None, "default"),
    "vllm": KnownEndpoint("http://127.0.0.1:8000/v1", None, "the name you served"),
    "embedded": KnownEndpoint(None, None, "embedded"),
}


OTHER = "other"
CALL_PATH = "/chat/completions"
KEY_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


@click.command(epilog=CONNECT_EPILOG)
@familiar_option
@click.option("--to", type=click.Choice(list(KNOWN_ENDPOINTS)), help="A kind of endpoint whose address is known.")
@click.option("--url", help="Base URL of any OpenAI-compatible endpoint, ending before /chat/completions.")
@click.option("--model", help="The model's id at that endpoint.")
@click.option("--key-env", help="Name of the variable that holds the key; asked for if it is not set.")
@click.option("--no-test", is_flag=True, help="Write without asking the endpoint for a reply first.")
@click.pass_context
def connect(
    ctx: click.Context,
    familiar_id: str | None,
    to: str | None,
    url: str | None,
    model: str | None,
    key_env: str | None,
    no_test: bool,
) -> int:
    """Point every model slot at an endpoint: asks, tests it, writes [llm.default] and keeps the key."""
    from familiar_connect.config.load import write_default_model
    from familiar_connect.config.secrets import Secrets
    from familiar_connect.config.trust import TrustedOrigins

    if to is not None and url is not None:
        raise ConfigError(f"--to {to} and --url each name an address: give one of them")
    home, root = home_of(ctx), root_of(ctx, familiar_id)
    path = FamiliarFolder(root).settings_file
    if to is None and url is None:
        to = click.prompt("Which endpoint", type=click.Choice([*KNOWN_ENDPOINTS, OTHER]), default="openrouter")
    if to == "embedded":
        write_default_model(path, model="embedded")
        say(f"{path}: every slot is back on the embedded model.")
        return 0
    try:
        target = _target(to, url, model, key_env)
        trust = TrustedOrigins(home)
        if target.key_env:
            trust.check_binding(target.address, target.key_env)
        new_key = _new_key(target, home, test=not no_test)
    except FamiliarError as error:
        raise FamiliarError(f"{str(error).rstrip('.')}. Nothing was written.") from error
    if new_key and target.key_env:
        Secrets(home).put(target.key_env, new_key)
        say(f"The key is in {HomeFolder(home).secrets_file} as {target.key_env}, readable by you alone.")
    if target.key_env or not trust.is_trusted(target.address):
        trust.add(target.address, target.key_env)
    base_url = None if to == "openrouter" else target.address
    write_default_model(path, model=target.model, base_url=base_url, api_key_env=target.key_env)
    say(f"{path}: every slot that names no model of its own now uses {target.model}.")
    say("A message costs one call; summaries and memories are made between replies.")
    say(f"Talk:  familiar chat --familiar {root.name}")
    return 0


@dataclass(frozen=True, kw_only=True)
class ConnectTarget:
    """What to connect to."""

    address: str
    model: str
    key_env: str | None


def _target(to: str | None, url: str | None, model: str | None, key_env: str | None) -> ConnectTarget:
    """What the options say; what they leave open is asked."""
    known = KNOWN_ENDPOINTS.get(to or "", KnownEndpoint(None, None, ""))
    if to == OTHER:
        address = _ask("Base URL, such as http://127.0.0.1:8000/v1", _address)
        question = "Name for its key, such as MY_KEY (empty: it needs none)"
        key_env = _key_name(key_env) if key_env else _ask(question, _key_name, default="")
    else:
        address = _address(url or known.url or "")
        key_env = _key_name(key_env or known.key_env or "")
    model = _model(model) if model else _ask("Model id", _model, default=known.example or None)
    return ConnectTarget(address=address, model=model, key_env=key_env or None)


def _ask(question: str, read: Callable[[str], str], **how: Any) -> str:
    """The answer to *question* as *read* takes it; someone at a terminal is asked again while it cannot be used."""
    while True:
        try:
            return read(str(click.prompt(question, **how)).strip())
        except ConfigError as mistake:
            if not sys.stdin.isatty():
                raise
            say(f"{mistake}.", err=True)


def _address(given: str) -> str:
    from familiar_connect.config.llm import BASE_URL
    from familiar_connect.config.rules import InvalidValue

    try:
        address = str(BASE_URL.read(given))
    except InvalidValue:
        raise ConfigError(f"The base URL must be {BASE_URL.says}") from None
    short = address.rstrip("/").removesuffix(CALL_PATH)
    if short == address.rstrip("/"):
        return address
    say(f"{CALL_PATH} is left off the address; every call adds it.")
    return short


def _key_name(given: str) -> str:
    if given and not KEY_NAME.fullmatch(given):
        raise ConfigError("--key-env takes the NAME of a variable, such as OPENROUTER_API_KEY, never the key itself")
    return given


def _model(given: str) -> str:
    if not given.strip() or not given.isprintable():
        raise ConfigError("The model id must be one line of text, as the endpoint spells it")
    return given.strip()


def _key(given: str) -> str:
    if not given or not given.isprintable():
        raise ConfigError("The key must be one line of plain text")
    return given


def _new_key(target: ConnectTarget, home: Path, *, test: bool) -> str | None:
    """The key to keep: None where none is needed or the kept one does. With *test* the endpoint has answered to it."""
    from familiar_connect.config.secrets import Secrets

    kept = Secrets(home).get(target.key_env) if target.key_env else None
    new = _ask_key(target, home) if target.key_env and not kept else None
    if test:
        try:
            asyncio.run(_test(target, new or kept))
        except ModelError as error:
            if error.status not in (401, 403) or not target.key_env or not sys.stdin.isatty():
                raise
            say(str(error), err=True)
            new = _ask_key(target, home)
            asyncio.run(_test(target, new))
    return new


def _ask_key(target: ConnectTarget, home: Path) -> str:
    return _ask(f"Key for {target.address} (kept in {HomeFolder(home).secrets_file})", _key, hide_input=True)


async def _test(target: ConnectTarget, key: str | None) -> None:
    """One short call; its failure is the sentence the person needs."""
    from familiar_connect.llm import LLMClient, Message
    from familiar_connect.llm.openai_compatible import CallLimits
    from familiar_connect.llm.retry import RetryPolicy

    say(f"Asking {target.model} at {target.address} for a word …")
    client = LLMClient(
        api_key=key or "",
        model=target.model,
        base_url=target.address,
        key_name=target.key_env,
        limits=CallLimits(timeout_s=30, max_output_tokens=16),
        retry=RetryPolicy(max_retries=1),
    )
    try:
        reply = await client.chat([Message(role="user", content="Say hello in one word.")])
    finally:
        await client.close()
    say(f"It answered: {reply.content.strip()[:80] or '(nothing, but it works)'}")


@click.group()
def config() -> None:
    """Show the settings and where each comes from; check the files."""


@config.command()
@familiar_option
@json_option
@click.option("--changed", is_flag=True, help="Only what differs from the defaults.")
@click.option("--channel", "channel_id", type=int, metavar="ID", help="The settings of one channel instead.")
@click.pass_context
def show(ctx: click.Context, familiar_id: str | None, as_json: bool, changed: bool, channel_id: int | None) -> None:
    """Every setting, its value, and the file (or default) it comes from."""
    from familiar_connect.config.load import default_settings, explain_character_config

    root = root_of(ctx, familiar_id)
    settings = explain_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home_of(ctx)))
    if channel_id is not None:
        settings = _channel_settings(root, profile_of(home_of(ctx)), channel_id, settings)
    if changed and channel_id is not None:
        settings = [each for each in settings if each.source not in ("default", "mode")]
    elif changed:
        usual = {each.key: each.value for each in default_settings()}
        settings = [each for each in settings if each.source != "default" and each.value != usual.get(each.key)]
    if as_json:
        rows = [{"key": each.key, "value": each.value, "source": each.source} for each in settings]
        say_json(rows)
        return
    if not settings:
        say("Nothing is changed: every setting is at its default.")
    width = max((len(each.key) for each in settings), default=0)
    for each in settings:
        say(f"{each.key:<{width}}  {json.dumps(each.value, ensure_ascii=False, default=str)}  ({each.source})")


def _channel_settings(
    root: Path, defaults_path: Path | None, channel_id: int, familiars: list[EffectiveSetting]
) -> list[EffectiveSetting]:
    from familiar_connect.config.load import explain_channel_config, load_character_config

    folder = FamiliarFolder(root)
    character = load_character_config(folder.settings_file, defaults_path=defaults_path)
    origin = {each.key: each.source for each in familiars}
    return explain_channel_config(folder.channel_file(channel_id), character, origin=origin)


@config.command()
@familiar_option
@click.pass_context
def check(ctx: click.Context, familiar_id: str | None) -> int:
    """Read every settings file of a familiar; say what is wrong and how to mend it."""
    root = root_of(ctx, familiar_id)
    problems = settings_problems(root, profile_of(home_of(ctx)))
    for problem in problems:
        say(f"✗ {problem}")
    if not problems:
        say(f"✓ {root}: all settings files are fine")
    return 1 if problems else 0


def settings_problems(root: Path, defaults_path: Path | None) -> list[str]:
    """One sentence for each settings file that does not load."""
    from familiar_connect.config import load_channel_config, load_character_config
    from familiar_connect.conversation.ignored import IgnoreList
    from familiar_connect.privacy import PrivacyRegistry
    from familiar_connect.subscriptions import SubscriptionRegistry

    looks: list[Callable[[], object]] = [
        lambda: load_character_config(FamiliarFolder(root).settings_file, defaults_path=defaults_path),
        lambda: SubscriptionRegistry(FamiliarFolder(root).subscriptions_file),
        lambda: PrivacyRegistry(FamiliarFolder(root).privacy_file),
        lambda: IgnoreList(FamiliarFolder(root).ignore_list_file),
    ]
    looks += [partial(load_channel_config, sidecar) for sidecar in FamiliarFolder(root).channel_files()]
    problems: list[str] = []
    for look in looks:
        try:
            look()
        except FamiliarError as error:
            problems.append(str(error))
    return problems
