"""`familiar watch`: other programs follow what the familiars of a home hear and say."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from importlib.util import find_spec

import click

from familiar_connect.api import ConfigError, SetupError
from familiar_connect.api.support import fold_name, how_to_install, may_carry_key
from familiar_connect.api.verbs import VerbHost, open_verb
from familiar_connect.extensions.serve.keys import AccessKey, KeyBook

PORT = 8019
LOCAL_HOST = "127.0.0.1"
EPILOG = f"""\b
Examples:
  familiar serve key add board --person Sam --owner --watch
  familiar watch                                                    events at http://{LOCAL_HOST}:{PORT}/events
  familiar watch --webhook https://example.org/hook --key board     post each event there, signed
Nothing is told that the person of the key may not hear. Ctrl-C stops.
Exit codes: 0 stopped by Ctrl-C or SIGTERM, 1 something is set up wrong.
"""


@click.command(epilog=EPILOG)
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0: a free one.")
@click.option("--host", default=LOCAL_HOST, show_default=True, help="Where to listen.")
@click.option("--name", "names", multiple=True, metavar="NAME", help="A name it goes by, with --host.")
@click.option("--webhook", metavar="URL", help="Post each event there instead of listening.")
@click.option("--key", "key_name", metavar="NAME", help="With --webhook: the key that says what may be told.")
@click.pass_context
def watch(
    ctx: click.Context, port: int, host: str, names: tuple[str, ...], webhook: str | None, key_name: str | None
) -> int:
    """Let other programs follow: heard, spoke, remembered, error."""
    home = open_verb(ctx)
    if webhook is not None:
        return asyncio.run(_post(home, webhook, _find_key(home, webhook, key_name)))
    if find_spec("uvicorn") is None:
        raise SetupError(f"the endpoint: {how_to_install('web')}")
    return asyncio.run(_listen(home, host, port, frozenset(names)))


def _find_key(home: VerbHost, webhook: str, name: str | None) -> AccessKey:
    if not webhook.startswith(("http://", "https://")) or not may_carry_key(webhook):
        raise ConfigError(f"--webhook {webhook}: use an https address; plain http is for this computer alone")
    found = [each for each in KeyBook(home.folder).all() if fold_name(each.name) == fold_name(name or "")]
    if not found or not found[0].may_watch:
        raise ConfigError("--webhook needs --key with the name of a key that was made with --watch")
    return found[0]


async def _post(home: VerbHost, url: str, key: AccessKey) -> int:
    from familiar_connect.extensions.serve.watching import Follower, open_hosts, post_events

    with ExitStack() as stack, home.stop_on_signal() as leaving:
        hosts = open_hosts(home.list_familiars(), home.follow_familiar, stack)
        home.say(f"Posting what happens to {url}, signed with the fingerprint of the key {key.name}. Ctrl-C stops.")
        posting = asyncio.create_task(post_events(Follower(hosts, key), url, key.digest, home.say))
        await _wait_for_either(posting, leaving)
    return 0


async def _listen(home: VerbHost, host: str, port: int, names: frozenset[str]) -> int:
    from familiar_connect.api.answering import PageAddress, listen_on, make_server
    from familiar_connect.extensions.serve.watching import WatchApp, open_hosts

    with ExitStack() as stack:
        listening = stack.enter_context(listen_on(host, port, what="the endpoint", start="`familiar watch --port 0`"))
        leaving = stack.enter_context(home.stop_on_signal())
        address = PageAddress(host=host, port=int(listening.getsockname()[1]), names=names)
        hosts = open_hosts(home.list_familiars(), home.follow_familiar, stack)
        server = make_server(WatchApp(hosts, KeyBook(home.folder), address, home.clock))
        home.say(f"Events at {address.url}/events for programs with a key that may watch. Ctrl-C stops.")
        serving = asyncio.create_task(server.serve(sockets=[listening]), name="events")
        asked = asyncio.create_task(leaving.wait())
        await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        server.leave()
        await serving
    return 0


async def _wait_for_either(work: asyncio.Task[None], leaving: asyncio.Event) -> None:
    asked = asyncio.create_task(leaving.wait())
    await asyncio.wait({work, asked}, return_when=asyncio.FIRST_COMPLETED)
    for each in (work, asked):
        each.cancel()
    await asyncio.wait({work, asked})
