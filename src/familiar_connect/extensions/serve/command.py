"""`familiar serve`: the endpoint, and the keys by which programs come in."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

import click

from familiar_connect.api import ConfigError, SetupError
from familiar_connect.api.support import how_to_install
from familiar_connect.api.verbs import VerbHost, json_option, open_verb
from familiar_connect.extensions.serve.keys import KeyAudience, KeyBook

PORT = 8018
LOCAL_HOST = "127.0.0.1"
NOTE_TOKENS = 400
READ_BY = {
    KeyAudience.private: "nobody else",
    KeyAudience.group: "several people",
    KeyAudience.everyone: "everyone",
}
EPILOG = f"""\b
Examples:
  familiar serve key add laptop --person Sam     make a key; it is shown once
  familiar serve                                 answer at http://{LOCAL_HOST}:{PORT}/v1
  familiar serve --port 9000
Every familiar of the home is a model there. Ctrl-C stops.
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 something is set up wrong.
"""
KEY_EPILOG = """\b
Examples:
  familiar serve key add laptop --person Sam              what is said with it is between Sam and the familiar
  familiar serve key add sams-pc --person Sam --owner     and Sam is you: it may tell what you said in the terminal
  familiar serve key add team --audience group            for several people; each request says who speaks
  familiar serve key revoke laptop                        nobody comes in by it any more
"""


@click.group(invoke_without_command=True, epilog=EPILOG)
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--host", default=LOCAL_HOST, show_default=True, help="Where to listen.")
@click.option("--name", "names", multiple=True, metavar="NAME", help="A name it goes by, with --host.")
@click.option(
    "--note-tokens",
    default=NOTE_TOKENS,
    show_default=True,
    type=click.IntRange(0, 100_000),
    help="How much of a program's own system prompt is shown to the model, as material.",
)
@click.pass_context
def serve(ctx: click.Context, port: int, host: str, names: tuple[str, ...], note_tokens: int) -> int | None:
    """Let other programs talk with your familiars, as with an OpenAI-compatible endpoint."""
    if ctx.invoked_subcommand is not None:
        return None
    if find_spec("uvicorn") is None:
        raise SetupError(f"the endpoint: {how_to_install('web')}")
    home = open_verb(ctx)
    for familiar_id in home.list_familiars():
        home.prepare_familiar(familiar_id)
    return asyncio.run(_serve(home, host, port, frozenset(names), note_tokens))


async def _serve(home: VerbHost, host: str, port: int, names: frozenset[str], note_tokens: int) -> int:
    from familiar_connect.api.answering import PageAddress, is_loopback, listen_on, make_server
    from familiar_connect.extensions.serve.app import ServeApp
    from familiar_connect.extensions.serve.opened import OpenedFamiliars

    keys = KeyBook(home.folder)
    opened = OpenedFamiliars(home.list_familiars, home.open_familiar, keys, note_tokens=note_tokens)
    with (
        listen_on(host, port, what="the endpoint", start="`familiar serve --port 0`") as listening,
        home.stop_on_signal() as leaving,
    ):
        address = PageAddress(host=host, port=int(listening.getsockname()[1]), names=names)
        server = make_server(ServeApp(opened, keys, address, home.clock))
        home.say(f"Listening at {address.url}/v1 for programs that have a key. Ctrl-C stops.")
        if not is_loopback(host):
            home.say("Other computers can reach it, and nothing is encrypted: put a proxy with HTTPS before it.")
        if not keys.all():
            home.say("There is no key yet: `familiar serve key add laptop --person YOUR-NAME` makes one.")
        async with opened:
            serving = asyncio.create_task(server.serve(sockets=[listening]), name="endpoint")
            asked = asyncio.create_task(leaving.wait(), name="leaving")
            await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
            server.leave()
            await serving
            asked.cancel()
    return 0


@serve.group(epilog=KEY_EPILOG)
def key() -> None:
    """Make, list and revoke the keys by which programs come in."""


@key.command("add")
@click.argument("name")
@click.option("--person", default="", metavar="NAME", help="Who speaks with it; without it, each request says who.")
@click.option(
    "--audience",
    type=click.Choice([each.value for each in KeyAudience]),
    default=KeyAudience.private.value,
    show_default=True,
    help="Who reads what is said with it.",
)
@click.option("--owner", "is_owner", is_flag=True, help="That person is you.")
@click.option("--watch", "may_watch", is_flag=True, help="It also lets a program follow what happens.")
@json_option
@click.pass_context
def make_key(
    ctx: click.Context, name: str, person: str, audience: str, is_owner: bool, may_watch: bool, as_json: bool
) -> None:
    """Make a key called NAME and show it, once."""
    if is_owner and not person:
        raise ConfigError("--owner says that the person is you: name yourself with --person")
    home = open_verb(ctx)
    made = KeyBook(home.folder).add(
        name, person=person, audience=KeyAudience(audience), is_owner=is_owner, may_watch=may_watch
    )
    if as_json:
        home.say_json({"name": name, "key": made})
        return
    home.say(made)
    home.say("Put it into the program as its API key. It is shown this once; only a fingerprint of it is kept.")


@key.command("list")
@json_option
@click.pass_context
def show_keys(ctx: click.Context, as_json: bool) -> None:
    """List the keys: who speaks with each, and who reads along."""
    home = open_verb(ctx)
    keys = KeyBook(home.folder).all()
    if as_json:
        facts = [{"name": each.name, "person": each.person, "audience": each.audience.value} for each in keys]
        home.say_json([{**fact, "owner": each.is_owner} for fact, each in zip(facts, keys, strict=True)])
        return
    for each in keys:
        whose = f"{each.person} (you)" if each.is_owner else each.person or "whoever each request names"
        watches = "; it may watch" if each.may_watch else ""
        home.say(f"{each.name}: {whose}, read by {READ_BY[each.audience]}{watches}")
    if not keys:
        home.say("There is none; `familiar serve key add laptop --person YOUR-NAME` makes one.")


@key.command("revoke")
@click.argument("name")
@click.pass_context
def revoke_key(ctx: click.Context, name: str) -> None:
    """Let nobody in by the key called NAME any more, from this moment on."""
    home = open_verb(ctx)
    KeyBook(home.folder).revoke(name)
    home.say(f"The key {name} opens nothing any more.")
