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

import click

from familiar_connect.commands.common import familiar_option, home_of, json_option, profile_of, root_of
from familiar_connect.errors import ConfigError, FamiliarError, ModelError

CONNECT_EPILOG = """\b
Examples:
  familiar connect                                       asks, tests, writes
  familiar connect --to ollama --model llama3.2
  familiar connect --to openrouter --model openai/gpt-4o-mini --key-env OPENROUTER_API_KEY
  familiar connect --url http://127.0.0.1:8000/v1 --model my-model
  familiar connect --to embedded                         back to the embedded model
"""


@dataclass(frozen=True)
class Known:
    """An endpoint people commonly have."""

    url: str | None
    key_env: str | None
    example: str


KNOWN: dict[str, Known] = {
    "openrouter": Known("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openai/gpt-4o-mini"),
    "ollama": Known("http://127.0.0.1:11434/v1", None, "llama3.2"),
    "llamacpp": Known("http://127.0.0.1:8080/v1", None, "default"),
    "vllm": Known("http://127.0.0.1:8000/v1", None, "the name you served"),
    "embedded": Known(None, None, "embedded"),
}


OTHER = "other"
KEY_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")


@click.command(epilog=CONNECT_EPILOG)
@familiar_option
@click.option("--to", type=click.Choice(list(KNOWN)), help="A kind of endpoint whose address is known.")
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

    home, root = home_of(ctx), root_of(ctx, familiar_id)
    path = root / "character.toml"
    if to is None and url is None:
        to = click.prompt("Which endpoint", type=click.Choice([*KNOWN, OTHER]), default="openrouter")
    if to == "embedded":
        write_default_model(path, model="embedded")
        click.echo(f"{path}: every slot is back on the embedded model.")
        return 0
    target = _target(to, url, model, key_env)
    secrets = Secrets(home)
    key = secrets.get(target.key_env) if target.key_env else None
    new_key = None
    if target.key_env and not key:
        new_key = key = _ask_key(target, home)
    if not no_test:
        try:
            asyncio.run(_test(target, key))
        except ModelError as error:
            if error.status not in (401, 403) or not target.key_env or not sys.stdin.isatty():
                raise
            click.echo(str(error), err=True)
            new_key = _ask_key(target, home)
            asyncio.run(_test(target, new_key))
    if new_key and target.key_env:
        secrets.put(target.key_env, new_key)
        click.echo(f"The key is in {home / 'secrets.env'} as {target.key_env}, readable by you alone.")
    base_url = None if to == "openrouter" and url is None else target.address
    write_default_model(path, model=target.model, base_url=base_url, api_key_env=target.key_env)
    click.echo(f"{path}: every slot that names no model of its own now uses {target.model}.")
    click.echo(f"Talk:  familiar chat --familiar {root.name}")
    return 0


@dataclass(frozen=True, kw_only=True)
class Target:
    """What to connect to."""

    address: str
    model: str
    key_env: str | None


def _target(to: str | None, url: str | None, model: str | None, key_env: str | None) -> Target:
    """What the options say; what they leave open is asked."""
    known = KNOWN.get(to or "", Known(None, None, ""))
    if to == OTHER:
        url = url or click.prompt("Base URL, such as http://127.0.0.1:8000/v1")
        key_env = key_env or click.prompt("Name for its key, such as MY_KEY (empty: it needs none)", default="") or None
    key_env = key_env or known.key_env
    if key_env and not KEY_NAME.fullmatch(key_env):
        raise ConfigError("--key-env takes the NAME of a variable, such as OPENROUTER_API_KEY, never the key itself")
    address = url or known.url or ""
    if not address.startswith(("http://", "https://")):
        raise ConfigError(f"--url takes an address that begins with http:// or https://, not {address!r}")
    model = model or click.prompt("Model id", default=known.example or None)
    return Target(address=address, model=model, key_env=key_env)


def _ask_key(target: Target, home: Path) -> str:
    asked = f"Key for {target.address} (kept in {home / 'secrets.env'})"
    return str(click.prompt(asked, hide_input=True)).strip()


async def _test(target: Target, key: str | None) -> None:
    """One short call; its failure is the sentence the person needs."""
    from familiar_connect.llm import LLMClient, Message

    click.echo(f"Asking {target.model} at {target.address} for a word …")
    client = LLMClient(
        api_key=key or "",
        model=target.model,
        base_url=target.address,
        key_name=target.key_env,
        timeout_s=30,
        max_output_tokens=16,
    )
    client.retry.max_retries = 1
    try:
        reply = await client.chat([Message(role="user", content="Say hello in one word.")])
    finally:
        await client.close()
    click.echo(f"It answered: {reply.content.strip()[:80] or '(nothing, but it works)'}")


@click.group()
def config() -> None:
    """Show the settings and where each comes from; check the files."""


@config.command()
@familiar_option
@json_option
@click.option("--changed", is_flag=True, help="Only what differs from the defaults.")
@click.pass_context
def show(ctx: click.Context, familiar_id: str | None, as_json: bool, changed: bool) -> None:
    """Every setting, its value, and the file (or default) it comes from."""
    from familiar_connect.config.load import explain_character_config

    root = root_of(ctx, familiar_id)
    settings = explain_character_config(root / "character.toml", defaults_path=profile_of(home_of(ctx)))
    if changed:
        settings = [each for each in settings if each.source != "default"]
    if as_json:
        rows = [{"key": each.key, "value": each.value, "source": each.source} for each in settings]
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2, default=str))
        return
    width = max((len(each.key) for each in settings), default=0)
    for each in settings:
        click.echo(f"{each.key:<{width}}  {json.dumps(each.value, ensure_ascii=False, default=str)}  ({each.source})")


@config.command()
@familiar_option
@click.pass_context
def check(ctx: click.Context, familiar_id: str | None) -> int:
    """Read every settings file of a familiar; say what is wrong and how to mend it."""
    root = root_of(ctx, familiar_id)
    problems = settings_problems(root, profile_of(home_of(ctx)))
    for problem in problems:
        click.echo(f"✗ {problem}")
    if not problems:
        click.echo(f"✓ {root}: all settings files are fine")
    return 1 if problems else 0


def settings_problems(root: Path, defaults_path: Path | None) -> list[str]:
    """One sentence for each settings file that does not load."""
    from familiar_connect.config import load_channel_config, load_character_config
    from familiar_connect.privacy import PrivacyRegistry
    from familiar_connect.subscriptions import SubscriptionRegistry

    looks: list[Callable[[], object]] = [
        lambda: load_character_config(root / "character.toml", defaults_path=defaults_path),
        lambda: SubscriptionRegistry(root / "subscriptions.toml"),
        lambda: PrivacyRegistry(root / "privacy.toml"),
    ]
    looks += [partial(load_channel_config, sidecar) for sidecar in sorted((root / "channels").glob("*.toml"))]
    problems: list[str] = []
    for look in looks:
        try:
            look()
        except FamiliarError as error:
            problems.append(str(error))
    return problems
