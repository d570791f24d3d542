"""list_contacts: what the program may contact with the settings as they are, and why. Nothing is contacted to say it.

Each row is read from the same settings that the client of it is built from, so a setting that leads elsewhere shows
here. `UNASKED` rows happen while a familiar talks; a `FIRST_START` row once; `ON_REQUEST` rows only when the owner runs
the command they name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from familiar_connect.commands.common import home_of, open_root, profile_of, say, say_below, say_json
from familiar_connect.commands.doctor_checks import find_built_in_platforms, list_built_in_platforms, part_setup
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.home import list_familiars
from familiar_connect.errors import FamiliarError
from familiar_connect.support.web_origin import is_this_machine, origin_of

if TYPE_CHECKING:
    import click

    from familiar_connect.config.character import CharacterConfig

ANYWHERE = "any public address"
PACKAGE_INDEX = "the package index of pip"
HUB = "https://huggingface.co"
FETCHES = "`familiar model get NAME`, or Ctrl-G where a chat offers one,"
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
When = Literal["while it talks", "at the first start", "when you ask"]
UNASKED: When = "while it talks"
FIRST_START: When = "at the first start"
ON_REQUEST: When = "when you ask"
NEVER = (
    "makers of libraries: telemetry is switched off before onnxruntime and the Hugging Face hub are loaded",
    "us: no statistics, no crash reports, no update checks",
    "an address inside your own network that a message or a card names",
)


@dataclass(frozen=True)
class Contact:
    """Somebody the program may contact."""

    where: str
    """An origin, or words where there is no one address."""
    when: When
    why: str


def list_contacts(home: Path, root: Path | None) -> list[Contact]:
    """Everybody, for the familiar in *root*; None: there is none yet, and the settings are the first ones."""
    from familiar_connect.config.load import load_character_config

    if root is None:
        return list(_list_requested(home, None))
    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    return [
        *_list_models(config),
        *_list_embedder(config),
        *_list_media(config),
        *_list_speech(config, home, root),
        *_list_platforms(config, home, root),
        *_list_extensions(home),
        *_list_proxies(),
        *_list_requested(home, config),
    ]


def _list_models(config: CharacterConfig) -> Iterator[Contact]:
    """Each address that a slot of [llm] sends prompts to."""
    by_origin: dict[str, list[str]] = {}
    for slot, each in sorted(config.llm.items()):
        if each.address is not None:
            for address in (each.address, *each.replica_addresses):
                by_origin.setdefault(origin_of(address), []).append(f"{slot} ({each.model})")
    for origin, slots in by_origin.items():
        yield Contact(origin, UNASKED, f"[llm] prompts go there: {', '.join(slots)}")


def _list_embedder(config: CharacterConfig) -> Iterator[Contact]:
    """The server that finds meaning, where the settings name one."""
    if _is_address(config.embedder):
        why = "[providers.content_search] what is said and remembered goes there, to be found by its meaning"
        yield Contact(origin_of(config.embedder), UNASKED, why)


def _is_address(embedder: str) -> bool:
    return embedder.startswith(("http://", "https://"))


def _list_media(config: CharacterConfig) -> Iterator[Contact]:
    """Addresses that people name in messages; the small models inside the program see nothing."""
    if any(each.address is not None or each.vision for each in config.llm.values()):
        yield Contact(ANYWHERE, UNASKED, "pictures and films in messages are fetched, for a model that can see them")


def _list_speech(config: CharacterConfig, home: Path, root: Path) -> Iterator[Contact]:
    """The services of [stt] and [tts], where speech is not made on this computer."""
    from familiar_connect.voice.service_access import ServiceAccess, name_service

    access = ServiceAccess.of_home(home, file=FamiliarFolder(root).settings_file)
    rows = (
        ("[stt]", config.stt, "what people say aloud goes there"),
        ("[tts]", access.choose_voice(config.tts), "what it says aloud goes there"),
    )
    for section, service, what in rows:
        address = access.address_of(service)
        if address is not None:  # extensions are told one by one
            yield Contact(origin_of(address), UNASKED, f"{section} by voice {what}: {name_service(service)}")


def _list_platforms(config: CharacterConfig, home: Path, root: Path) -> Iterator[Contact]:
    """The platforms of built-in extensions, where `familiar run` would answer there."""
    from familiar_connect.config.secrets import Secrets

    setup = part_setup(root, config, Secrets(home))
    for built_in, part in list_built_in_platforms(setup):
        begins = next(iter(part.required), built_in.name)
        is_secret = begins in part.secrets
        why = f"{f'{begins}:' if is_secret else f'[{built_in.name}]'} `familiar run` answers on {built_in.name.title()}"
        hosts = part.hosts(setup.context_for(part, built_in)) if callable(part.hosts) else part.hosts
        yield from (Contact(host, UNASKED, why) for host in hosts)


def _list_extensions(home: Path) -> Iterator[Contact]:
    """What the owner's extensions contact is their own affair, so each is named."""
    from familiar_connect.config.extension_list import ExtensionList

    for each in ExtensionList(home).list_allowed():
        why = f"you allowed the extension {each.name}, of the package {each.package}; only its maker can say where to"
        yield Contact("anywhere", UNASKED, why)


def _list_proxies() -> Iterator[Contact]:
    """A proxy of the user's own, which everything else goes through."""
    for name in PROXIES:
        address = os.environ.get(name) or os.environ.get(name.lower())
        host = urlsplit(address).hostname if address else None
        if host:
            yield Contact(host, UNASKED, f"{name} in the environment: what goes to other computers goes through it")


def _list_requested(home: Path, config: CharacterConfig | None) -> Iterator[Contact]:
    """What only a command of the owner's contacts."""
    from familiar_connect.llm.embedded.weights import find_small_model
    from familiar_connect.llm.local.catalogue import read_catalogue
    from familiar_connect.llm.local.discovery import USUAL_PORTS

    for origin in dict.fromkeys(origin_of(each.url) for each in read_catalogue(home)):
        yield Contact(origin, ON_REQUEST, f"{FETCHES} fetches a model, also from where that sends it")
    yield Contact(PACKAGE_INDEX, ON_REQUEST, f"{FETCHES} where its publisher cannot be reached")
    if find_small_model(home) is None:
        yield Contact(PACKAGE_INDEX, FIRST_START, "the small model is fetched, unless another one answers")
    ports = ", ".join(map(str, USUAL_PORTS))
    who = "`familiar connect`, or a chat on the small model that offers a better one, looks for model servers"
    yield Contact("http://127.0.0.1", ON_REQUEST, f"{who} on this computer (ports {ports})")
    yield Contact(
        "the address you name", ON_REQUEST, "`familiar connect` and `familiar model use URL` ask it for a word"
    )
    networks = [each.name.title() for each, part in find_built_in_platforms() if part.ask_network is not None]
    asked = " and ".join(("each model", *networks))
    yield Contact("all of the above", ON_REQUEST, f"`familiar doctor` asks {asked}; --offline asks no one")
    if config is not None and _uses_fastembed(config):
        yield Contact(HUB, ON_REQUEST, "`familiar memory reindex --fetch` fetches the embedder that your settings name")


def _uses_fastembed(config: CharacterConfig) -> bool:
    return config.embedder not in ("auto", "hashing") and not _is_address(config.embedder)


def show_contacts(ctx: click.Context, familiar_id: str | None, *, as_json: bool) -> int:
    """What `doctor --privacy` prints."""
    home = home_of(ctx)
    try:
        root = open_root(home, familiar_id) if familiar_id or list_familiars(home) else None
        contacts = list_contacts(home, root)
    except ValueError as error:
        raise FamiliarError(f"the settings hold an invalid address ({error}): `familiar doctor` says where") from error
    if as_json:
        rows = [{**asdict(each), "is_this_computer": is_this_machine(each.where)} for each in contacts]
        say_json({"contacts": rows, "never": list(NEVER)})
        return 0
    _say_rows("While it talks, with the current settings:", (each for each in contacts if each.when == UNASKED))
    if first := [each for each in contacts if each.when == FIRST_START]:
        _say_rows("Once, at the first start:", first)
    _say_rows("Only when you ask for it:", (each for each in contacts if each.when == ON_REQUEST))
    say("Never:")
    for text in NEVER:
        say_below("  ", text)
    return 0


def _say_rows(title: str, contacts: Iterable[Contact]) -> None:
    say(title)
    rows = list(contacts)
    for each in rows:
        here = " (this computer)" if is_this_machine(each.where) else ""
        say_below(f"  {each.where}{here}: ", each.why)
    if not rows:
        say_below("  ", "no one: the model runs inside the program, and no platform is set up")
