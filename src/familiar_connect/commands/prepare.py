"""prepare_to_start: what is asked and fetched before a familiar is opened to talk."""

from __future__ import annotations

from pathlib import Path

from familiar_connect.commands.common import profile_of, say
from familiar_connect.commands.trust import ask_about_endpoints
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.llm import EMBEDDED_MODEL, MAIN_SLOT
from familiar_connect.errors import ModelSetupError


def prepare_to_start(root: Path, home: Path, *, model: str | None = None) -> None:
    """Ask about what nobody allowed yet, and fetch the small model where it answers and is not here.

    *model* is the one that was named for this call; without it the settings say which one answers.
    """
    from familiar_connect.llm.embedded.weights import find_small_model

    ask_about_endpoints(root, home)
    if find_small_model(home) is None and (model or _answering_model(root, home)) == EMBEDDED_MODEL:
        fetch_small_model(home)


def fetch_small_model(home: Path) -> None:
    """Fetch the small model into *home*, with progress: it comes with `run.py`, not with a wheel.

    Where that fails it is said, and the start goes on: what is heard is kept, and each reply says what is missing.
    """
    from familiar_connect.commands.model import fetch_progress
    from familiar_connect.llm.local.catalogue import SMALL_MODEL
    from familiar_connect.llm.local.fetch import fetch_model
    from familiar_connect.llm.local.library import ModelLibrary

    size = f"{SMALL_MODEL.bytes / 1e6:.0f} MB"
    say(f"Fetching {SMALL_MODEL.title}, once: {size}, licence {SMALL_MODEL.licence}.", err=True)
    try:
        with fetch_progress(SMALL_MODEL.title, quiet=False) as progress:
            fetch_model(SMALL_MODEL, ModelLibrary(home).path_for(SMALL_MODEL.name), progress=progress)
    except ModelSetupError as error:
        say(f"familiar: {error}", err=True)


def _answering_model(root: Path, home: Path) -> str:
    from familiar_connect.config import load_character_config

    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    return config.llm[MAIN_SLOT].model
