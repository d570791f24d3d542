"""connect, config: which model answers, and what every setting is and where it comes from."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path

import click

from familiar_connect.commands.common import familiar_option, home_of, json_option, profile_of, root_of
from familiar_connect.errors import ConfigError, FamiliarError

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
    if url is None and to is None:
        to = click.prompt("Which endpoint", type=click.Choice(list(KNOWN)), default="openrouter")
    known = KNOWN[to] if to else Known(url, None, "")
    path = root / "character.toml"
    if to == "embedded":
        write_default_model(path, model="embedded")
        click.echo(f"{path}: every slot is back on the embedded model.")
        return 0
    address = url or known.url
    key_env = key_env or known.key_env
    model = model or click.prompt("Model id", default=known.example or None)
    secrets = Secrets(home)
    key = secrets.get(key_env) if key_env else None
    new_key = None
    if key_env and not key:
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", key_env):
            raise ConfigError(
                "--key-env takes the NAME of a variable, such as OPENROUTER_API_KEY, never the key itself"
            )
        new_key = key = click.prompt(f"Key for {address} (kept in {home / 'secrets.env'})", hide_input=True).strip()
    if not no_test:
        asyncio.run(_test(address, model, key, key_env))
    if new_key and key_env:
        secrets.put(key_env, new_key)
        click.echo(f"The key is in {home / 'secrets.env'} as {key_env}, readable by you alone.")
    write_default_model(path, model=model, base_url=address if to != "openrouter" else None, api_key_env=key_env)
    click.echo(f"{path}: every slot that names no model of its own now uses {model}.")
    return 0


async def _test(address: str | None, model: str, key: str | None, key_env: str | None) -> None:
    """One short call; its failure is the sentence the person needs."""
    from familiar_connect.llm import LLMClient, Message

    click.echo(f"Asking {model} at {address} for a word …")
    client = LLMClient(
        api_key=key or "", model=model, base_url=address or "", key_name=key_env, timeout_s=30, max_output_tokens=16
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

    problems: list[str] = []
    try:
        load_character_config(root / "character.toml", defaults_path=defaults_path)
    except FamiliarError as error:
        problems.append(str(error))
    for sidecar in sorted((root / "channels").glob("*.toml")):
        try:
            load_channel_config(sidecar)
        except FamiliarError as error:
            problems.append(str(error))
    return problems
