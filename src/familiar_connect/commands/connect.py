"""connect: use a model of another server. Finds those on this computer, asks for a word, writes one setting."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from familiar_connect.commands.common import home_of, json_option, say, say_json, spinner
from familiar_connect.commands.exit_codes import asking_a_model
from familiar_connect.commands.model_choice import ModelChoice, WrittenChoice, write_model
from familiar_connect.config.command import command_name
from familiar_connect.config.folders import HomeFolder
from familiar_connect.errors import ConfigError, MissingKeyError, ModelError
from familiar_connect.support.word_wrap import wrap_for

if TYPE_CHECKING:
    from familiar_connect.llm.local.discovery import LocalServer

CONNECT_EPILOG = """\b
Examples:
  familiar connect                                       finds servers on this computer, asks, tests, saves
  familiar connect --list --json                         what was found, for a script; saves nothing
  familiar connect ollama                                the same for a server whose address is known
  familiar connect localhost:9999                        any address; http:// and /v1 are optional
  familiar connect --to ollama --model llama3.2          every familiar
  familiar connect --to ollama --model llama3.2 --familiar mira
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
    "lmstudio": KnownEndpoint("http://127.0.0.1:1234/v1", None, "default"),
    "llamacpp": KnownEndpoint("http://127.0.0.1:8080/v1", None, "default"),
    "koboldcpp": KnownEndpoint("http://127.0.0.1:5001/v1", None, "default"),
    "vllm": KnownEndpoint("http://127.0.0.1:8000/v1", None, "the name you served"),
    "embedded": KnownEndpoint(None, None, "embedded"),
}

OTHER = "other"
CALL_PATH = "/chat/completions"
USUAL_PATH = "/v1"
"""Where nearly every server has what OpenAI has."""
HOST_GIVEN = re.compile(r"localhost\b|\[[0-9a-f:]+\]|[\w-]+(?:\.[\w-]+)+|[\w-]+:\d", re.IGNORECASE)
"""How an address without its scheme begins: a name or number with a dot, or a name with a port."""
KEY_NAME = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
TEST_TIMEOUT_S = 30.0
LOCAL_TEST_TIMEOUT_S = 300.0
"""A server on this computer may load the model first."""
MOST_LISTED = 40


@dataclass(frozen=True, kw_only=True)
class ConnectOptions:
    """What the command line says."""

    to: str | None = None
    url: str | None = None
    model: str | None = None
    key_env: str | None = None
    test: bool = True
    quiet: bool = False
    """Nothing is said or asked but the result."""
    ports: tuple[int, ...] = ()


@click.command(epilog=CONNECT_EPILOG)
@click.argument("where", required=False)
@click.option("--familiar", "familiar_id", metavar="ID", help="Only this familiar (default: all in this home).")
@click.option("--to", type=click.Choice(list(KNOWN_ENDPOINTS)), help="A kind of server whose address is known.")
@click.option("--url", help="Base URL of any OpenAI-compatible endpoint, ending before /chat/completions.")
@click.option("--model", help="The model's id there; asked for if there are several.")
@click.option("--key-env", help="The variable that holds the key; asks for the key if it is not set.")
@click.option(
    "--port", "ports", type=click.IntRange(1, 65535), multiple=True, help="Also look for a server on this port."
)
@click.option("--list", "only_list", is_flag=True, help="Show the servers and models on this computer; write nothing.")
@click.option("--no-test", is_flag=True, help="Save without testing the endpoint first.")
@json_option
@click.pass_context
def connect(
    ctx: click.Context,
    where: str | None,
    familiar_id: str | None,
    to: str | None,
    url: str | None,
    model: str | None,
    key_env: str | None,
    ports: tuple[int, ...],
    only_list: bool,
    no_test: bool,
    as_json: bool,
) -> int:
    """Use a model server: find those on this computer, ask, test, save and keep the key.

    WHERE is what --to or --url takes: a kind of endpoint, or an address.
    """
    if where is not None and (to is not None or url is not None):
        raise click.UsageError(f"{where} and --{'to' if to else 'url'} each name an address: give only one", ctx=ctx)
    if where is not None:
        to, url = (where.lower(), None) if where.lower() in KNOWN_ENDPOINTS else (None, where)
    if only_list:
        return _show_servers(ports, as_json=as_json)
    options = ConnectOptions(
        to=to, url=url, model=model, key_env=key_env, test=not no_test, quiet=as_json, ports=tuple(ports)
    )
    if as_json and (model is None or (to is None and url is None)) and to != "embedded":
        raise ConfigError(
            "--json asks no questions: give --to or --url, and --model (`--list --json` shows what there is)"
        )
    return connect_home(home_of(ctx), familiar_id, options)


def connect_home(home: Path, familiar_id: str | None, options: ConnectOptions) -> int:
    """Connect the familiars of *home*, or one of them, as *options* say; what they leave open is asked."""
    if options.to is not None and options.url is not None:
        raise click.UsageError(f"--to {options.to} and --url each name an address: give only one")
    if options.to is None and options.url is None:
        options = _choose(options)
    if options.to == "embedded":
        choice = ModelChoice(model="embedded")
        _say_written(write_model(home, familiar_id, choice), choice, None, options)
        return 0
    with asking_a_model("Nothing was written."):
        target = _target(options, home)
        answer = _connect(target, home, options)
    base_url = None if options.to == "openrouter" else target.address
    choice = ModelChoice(model=target.model, base_url=base_url, api_key_env=target.key_env)
    _say_written(write_model(home, familiar_id, choice), choice, answer, options)
    return 0


@dataclass(frozen=True, kw_only=True)
class ConnectTarget:
    """What to connect to."""

    address: str
    model: str
    key_env: str | None


@dataclass(frozen=True, kw_only=True)
class WordAnswer:
    """What a model said when it was asked for a word."""

    text: str
    seconds: float


# What there is


def _show_servers(ports: Sequence[int], *, as_json: bool) -> int:
    servers = _find(ports, quiet=as_json)
    if as_json:
        say_json([asdict(server) for server in servers])
        return 0
    for server in servers:
        say(f"{server.kind} at {server.base_url}")
        for model in server.models:
            say(f"  {model}")
        if not server.models:
            say("  no model is loaded")
    if not servers:
        say("No model server answers on this computer (Ollama, LM Studio, llama.cpp, KoboldCpp, vLLM).")
    return 0


def _find(ports: Sequence[int], *, quiet: bool) -> list[LocalServer]:
    from familiar_connect.llm.local.discovery import find_local_servers

    with spinner("looking for models on this computer", quiet=quiet):
        return find_local_servers(ports)


def _choose(options: ConnectOptions) -> ConnectOptions:
    """What the person picks from a numbered list of everything there is."""
    servers = _find(options.ports, quiet=False)
    there = [(server, model) for server in servers for model in server.models]
    rows = there[:MOST_LISTED]
    for number, (server, model) in enumerate(rows, start=1):
        say(f"{number:>3}  {model:<32} {server.kind}, {server.base_url}")
    if not rows:
        say("No model server answers on this computer.")
    if len(there) > len(rows):
        say(f"     … and {len(there) - len(rows):,} more: choose one with --model")
    more = [("openrouter", "OpenRouter, with a key"), (OTHER, "another address"), ("embedded", "the embedded model")]
    for number, (word, says) in enumerate(more, start=len(rows) + 1):
        say(f"{number:>3}  {word:<32} {says}")
    picked = _pick([*(model for _, model in rows), *(word for word, _ in more)], "Which one")
    if picked < len(rows):
        server, model = rows[picked]
        return replace(options, url=server.base_url, model=options.model or model)
    return replace(options, to=more[picked - len(rows)][0])


def _pick(rows: Sequence[str], question: str) -> int:
    """Position of the row that was answered with, by its number or its words."""

    def read(given: str) -> str:
        if given.isdecimal() and 1 <= int(given) <= len(rows):
            return str(int(given) - 1)
        if given in rows:
            return str(rows.index(given))
        known = given in KNOWN_ENDPOINTS and KNOWN_ENDPOINTS[given].url
        why = f"no server answers at {KNOWN_ENDPOINTS[given].url}" if known else "that is not in the list"
        raise ConfigError(f"Enter a number from 1 to {len(rows)}: {why}")

    return int(_ask(f"{question} (a number)", read, default="1"))


# What is meant


def _target(options: ConnectOptions, home: Path) -> ConnectTarget:
    """What the options say; what they leave open is asked."""
    known = KNOWN_ENDPOINTS.get(options.to or "", KnownEndpoint(None, None, ""))
    key_env = options.key_env
    if options.to == OTHER:
        address = _ask("Base URL, such as http://127.0.0.1:8000/v1", _address)
        question = "Name for its key, such as MY_KEY (leave empty if it needs none)"
        key_env = _key_name(key_env) if key_env else _ask(question, _key_name, default="")
    else:
        address = _address(options.url or known.url or "")
        key_env = _key_name(key_env or known.key_env or "")
    model = _model(options.model) if options.model else _ask_model(address, options, key_env, home)
    return ConnectTarget(address=address, model=model, key_env=key_env or None)


def _ask_model(address: str, options: ConnectOptions, key_env: str, home: Path) -> str:
    """One of the models that the endpoint says it has; any id where it does not say."""
    from familiar_connect.config.secrets import Secrets
    from familiar_connect.config.trust import TrustedOrigins
    from familiar_connect.llm.local.discovery import list_models

    example = KNOWN_ENDPOINTS[options.to].example if options.to in KNOWN_ENDPOINTS else None
    key = Secrets(home).get(key_env) if key_env and TrustedOrigins(home).may_send(key_env, address) else None
    models: tuple[str, ...] = ()
    if options.to != "openrouter" and (key or not key_env):
        with spinner(f"asking {address} for its models"):
            models = list_models(address, key) or ()
    if len(models) == 1:
        say(f"{address} has one model: {models[0]}")
        return models[0]
    if not models or len(models) > MOST_LISTED:
        return _ask("Model id", _model, default=example)
    for number, each in enumerate(models, start=1):
        say(f"{number:>3}  {each}")
    return models[_pick(models, "Which model")]


def _ask(question: str, read: Callable[[str], str], default: str | None = None, *, hide: bool = False) -> str:
    """The answer to *question* as *read* takes it; someone at a terminal is asked again while it cannot be used."""
    while True:
        try:
            shown = wrap_for(sys.stdout, question)
            return read(str(click.prompt(shown, default=default, hide_input=hide)).strip())
        except ConfigError as mistake:
            if not sys.stdin.isatty():
                raise
            say(f"{mistake}.", err=True)


def _address(given: str) -> str:
    from familiar_connect.config.llm import BASE_URL
    from familiar_connect.config.rules import InvalidValue

    try:
        address = str(BASE_URL.read(_complete_address(given)))
    except InvalidValue:
        raise ConfigError(f"The base URL must be {BASE_URL.says}") from None
    if "://" not in given:
        say(f"{given.strip()} becomes {address}", err=True)
    short = address.rstrip("/").removesuffix(CALL_PATH)
    if short == address.rstrip("/"):
        return address
    say(f"{CALL_PATH} was removed from the address; every call adds it.")
    return short


def _complete_address(given: str) -> str:
    """*given* with what people leave out: http:// at home, https:// elsewhere, and the path that servers have."""
    from familiar_connect.support.web_origin import is_own_network

    bare = given.strip()
    if "://" in bare or not HOST_GIVEN.match(bare):
        return bare
    scheme = "http" if is_own_network(f"http://{bare}") else "https"
    _, slash, path = bare.partition("/")
    return f"{scheme}://{bare}" if path else f"{scheme}://{bare.removesuffix(slash)}{USUAL_PATH}"


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


# Whether it works


def _connect(target: ConnectTarget, home: Path, options: ConnectOptions) -> WordAnswer | None:
    """Ask *target* for a word, then keep its key and allow its address."""
    from familiar_connect.config.secrets import Secrets
    from familiar_connect.config.trust import TrustedOrigins

    trust = TrustedOrigins(home)
    if target.key_env:
        trust.check_binding(target.address, target.key_env)
    new_key, answer = _new_key(target, home, options)
    if new_key and target.key_env:
        Secrets(home).put(target.key_env, new_key)
        if not options.quiet:
            say(f"The key is in {HomeFolder(home).secrets_file} as {target.key_env}, readable by you alone.")
    if target.key_env or not trust.is_trusted(target.address):
        trust.add(target.address, target.key_env)
    return answer


def _new_key(target: ConnectTarget, home: Path, options: ConnectOptions) -> tuple[str | None, WordAnswer | None]:
    """The key to keep, None where none is needed or the kept one does; and what the endpoint answered to it."""
    from familiar_connect.config.secrets import Secrets

    kept = Secrets(home).get(target.key_env) if target.key_env else None
    new = _ask_key(target, home, options) if target.key_env and not kept else None
    if not options.test:
        return new, None
    try:
        return new, _test(target, new or kept, options)
    except ModelError as error:
        if error.status not in (401, 403) or not target.key_env or not sys.stdin.isatty() or options.quiet:
            raise
        say(str(error), err=True)
        new = _ask_key(target, home, options)
        return new, _test(target, new, options)


def _ask_key(target: ConnectTarget, home: Path, options: ConnectOptions) -> str:
    if options.quiet:
        raise MissingKeyError(f"{target.key_env} is not set, and --json asks no questions: set it, or leave --json out")
    return _ask(f"Key for {target.address} (kept in {HomeFolder(home).secrets_file})", _key, hide=True)


def _test(target: ConnectTarget, key: str | None, options: ConnectOptions) -> WordAnswer:
    asking = f"Asking {target.model} at {target.address} for a word"
    if not options.quiet:
        say(f"{asking} …")
    with spinner(asking, quiet=options.quiet):
        answer = asyncio.run(ask_for_word(target, key))
    if not options.quiet:
        say(f"It answered: {answer.text or '(nothing, but it works)'} ({answer.seconds:.1f} s)")
    return answer


async def ask_for_word(target: ConnectTarget, key: str | None, *, timeout_s: float | None = None) -> WordAnswer:
    """One short call; its failure is the sentence the person needs."""
    from familiar_connect.llm import LLMClient, Message
    from familiar_connect.llm.call_clock import CallLimits
    from familiar_connect.llm.retry import RetryPolicy
    from familiar_connect.support.text import one_line
    from familiar_connect.support.web_origin import is_this_machine

    usual = LOCAL_TEST_TIMEOUT_S if is_this_machine(target.address) else TEST_TIMEOUT_S
    client = LLMClient(
        api_key=key or "",
        model=target.model,
        base_url=target.address,
        key_name=target.key_env,
        limits=CallLimits(timeout_s=timeout_s or usual, max_output_tokens=16),
        retry=RetryPolicy(max_retries=1 if timeout_s is None else 0),
    )
    began = time.monotonic()
    try:
        reply = await client.chat([Message(role="user", content="Say hello in one word.")])
    finally:
        await client.close()
    return WordAnswer(text=one_line(reply.content)[:80], seconds=time.monotonic() - began)


# What was done


def _say_written(
    written: WrittenChoice, choice: ModelChoice, answer: WordAnswer | None, options: ConnectOptions
) -> None:
    if options.quiet:
        shown = {"answer": answer.text, "seconds": round(answer.seconds, 2)} if answer else {}
        say_json({**asdict(choice), "files": written.files, "familiars": written.familiars, **shown})
        return
    say_choice(written, choice.model)
    if options.to != "embedded":
        say("A message costs one call; summaries and memories are written between replies.")


def say_choice(written: WrittenChoice, model: str) -> None:
    """Where a model was written, who does not follow, and how to talk now."""
    alone = len(written.familiars) == 1 and written.files[-1].parent.name == written.familiars[0]
    whose = written.familiars[0] if alone else "every familiar of this home"
    named = "the embedded model" if model == "embedded" else model
    say(f"{written.files[-1]}: {whose} now uses {named}, except in slots that name their own model.")
    for sentence in written.exceptions:
        say(sentence)
    name = f" --familiar {written.familiars[0]}" if len(written.familiars) == 1 else ""
    say(f"Talk: `{command_name()} chat{name}`")
