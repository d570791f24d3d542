"""write_model: which model the familiars use, written where it holds for all of them or for one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from familiar_connect.commands.common import open_root, profile_of
from familiar_connect.config.folders import FamiliarFolder, HomeFolder
from familiar_connect.config.home import familiar_root, list_familiars
from familiar_connect.config.llm import EMBEDDED_MODEL, EMBEDDED_PREFIX, MAIN_SLOT, LLMSlotConfig
from familiar_connect.config.permissions import refuse_links
from familiar_connect.config.toml import format_value
from familiar_connect.errors import ConfigError, FamiliarError


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """A model and how it is reached."""

    model: str
    base_url: str | None = None
    api_key_env: str | None = None


@dataclass(frozen=True, kw_only=True)
class WrittenChoice:
    """Where a choice was written, and who does not follow it."""

    files: tuple[Path, ...]
    familiars: tuple[str, ...]
    exceptions: tuple[str, ...]
    """One sentence for each familiar whose own settings name another model for its replies."""


def write_model(home: Path, familiar_id: str | None, choice: ModelChoice) -> WrittenChoice:
    """Set the model of one familiar, or of all of them: those there are, and those to come.

    For all it stands in the profile; a familiar whose own `[llm.default]` names a model is changed there too.
    """
    from familiar_connect.config.load import write_default_model

    if familiar_id is not None:
        root = open_root(home, familiar_id)
        files, names = [FamiliarFolder(root).settings_file], [root.name]
    else:
        profile, names = HomeFolder(home).profile, list_familiars(home)
        for folder in (profile, *(FamiliarFolder(familiar_root(home, name)) for name in names)):
            refuse_links(folder)
        own = [FamiliarFolder(familiar_root(home, name)).settings_file for name in names]
        files = [*(file for file in own if _names_a_model(file)), profile.settings_file]
    for file in files:
        write_default_model(file, model=choice.model, base_url=choice.base_url, api_key_env=choice.api_key_env)
    return WrittenChoice(files=tuple(files), familiars=tuple(names), exceptions=tuple(_exceptions(home, names, choice)))


def write_reply_model(home: Path, familiar_id: str, choice: ModelChoice) -> None:
    """Where the settings of one familiar name another model for its replies, let them name *choice*."""
    from familiar_connect.config.edit import find_setting, write_setting
    from familiar_connect.config.load import load_character_config

    file, profile = FamiliarFolder(open_root(home, familiar_id)).settings_file, profile_of(home)
    main = load_character_config(file, defaults_path=profile).llm[MAIN_SLOT]
    if (main.model, main.base_url) == (choice.model, choice.base_url):
        return
    values = {"model": choice.model, "base_url": choice.base_url, "api_key_env": choice.api_key_env}
    # In an order in which the file makes sense after each step: a model inside the program has no address.
    for name in sorted(values, key=lambda each: values[each] is not None):
        write_setting(file, find_setting(f"llm.{MAIN_SLOT}.{name}"), values[name], defaults_path=profile)


def slot_for_model(home: Path, slot: LLMSlotConfig, model: str) -> LLMSlotConfig:
    """The slot *slot* with *model* in it, for one call: a model on this computer by its name, else one of its endpoint.

    What the settings say of the other model, such as its window, does not hold for this one.
    """
    from familiar_connect.llm.local.library import ModelLibrary

    name = model.strip().removeprefix(EMBEDDED_PREFIX)
    library = ModelLibrary(home)
    is_local = name == EMBEDDED_MODEL or model.startswith(EMBEDDED_PREFIX)
    is_local = is_local or name in {each.name for each in library.models_here()}
    if not is_local and (slot.is_embedded or not name):
        fetch = any(name == each.name for each in library.catalogue())
        known = f"`familiar model get {name}` fetches it" if fetch else "`familiar model list` shows those that can run"
        raise ConfigError(f"there is no model {format_value(name)} here: {known}; `familiar connect` adds a server's")
    if is_local and name != EMBEDDED_MODEL:
        library.file_of(name)
    chosen = name if name == EMBEDDED_MODEL or not is_local else f"{EMBEDDED_PREFIX}{name}"
    return replace(
        slot,
        model=chosen,
        base_url=None if is_local else slot.base_url,
        api_key_env=None if is_local else slot.api_key_env,
        fallbacks=(),
        context_window=None,
        vision=None,
        tools=None,
        strict_roles=None,
        price_per_million_input=None,
        price_per_million_output=None,
    )


def _names_a_model(file: Path) -> bool:
    from familiar_connect.config.toml import read_toml

    llm = (read_toml(file) or {}).get("llm")
    default = llm.get("default") if isinstance(llm, dict) else None
    return isinstance(default, dict) and bool({"model", "base_url"} & default.keys())


def _exceptions(home: Path, names: list[str], choice: ModelChoice) -> list[str]:
    from familiar_connect.config.load import load_character_config

    found = []
    for name in names:
        file = FamiliarFolder(familiar_root(home, name)).settings_file
        try:
            main = load_character_config(file, defaults_path=profile_of(home)).llm[MAIN_SLOT]
        except FamiliarError as error:
            found.append(f"{name} could not be looked at: {error}")
            continue
        if main.model != choice.model:
            found.append(f"{name} keeps {main.model} for its replies: [llm.main_prose] in {file} says so.")
    return found
