"""Putting a familiar on its feet: models, stores and path from one folder."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.config import load_character_config
from familiar_connect.config.secrets import Secrets
from familiar_connect.familiar import Familiar
from familiar_connect.llm.embedded.server import EmbeddedServer
from familiar_connect.llm.slots import create_llm_clients
from familiar_connect.support.clock import Clock


def load_familiar(
    root: Path, *, home: Path, defaults_path: Path | None = None, clock: Clock | None = None, wake: bool = True
) -> tuple[Familiar, EmbeddedServer | None]:
    """The familiar in *root* with a client for every slot.

    The embedded model starts in the background; without *wake*, only when it is first asked.
    """
    config = load_character_config(root / "character.toml", defaults_path=defaults_path)
    secrets = Secrets(home)
    embedded = EmbeddedServer(cache_dir=home / "cache" / "embedded", cache_key=root.name)
    clients = create_llm_clients(secrets.get("OPENROUTER_API_KEY"), config, secrets=secrets.get, embedded=embedded)
    familiar = Familiar.load_from_disk(root, llm_clients=dict(clients), defaults_path=defaults_path, clock=clock)
    if not config.llm["main_prose"].is_embedded:
        return familiar, None
    if wake:
        embedded.start_in_background()
    return familiar, embedded
