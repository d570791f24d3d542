"""The parts a familiar may have besides its character and memory: platforms, presets, documents.

Each is looked at without waking the familiar, and told in one sentence with what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from familiar_connect.commands.common import profile_of
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.home import profile_path
from familiar_connect.errors import FamiliarError, PresetError

if TYPE_CHECKING:
    from familiar_connect.config.character import CharacterConfig
    from familiar_connect.config.secrets import Secrets
    from familiar_connect.extensions.parts import Extension, PlatformPart
    from familiar_connect.extensions.setup import PartSetup


@dataclass(frozen=True)
class DoctorFinding:
    """One thing looked at."""

    area: str
    state: Literal["ok", "warn", "bad"]
    says: str


def check_platforms(root: Path, home: Path, *, knocks: bool = False) -> Iterator[DoctorFinding]:
    """Where `familiar run` would answer; what its owner began to set up and cannot work is bad.

    When it *knocks*, a network that can be asked about the set-up is asked, with its real library.
    """
    from familiar_connect.config import load_character_config
    from familiar_connect.config.secrets import Secrets

    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    setup = part_setup(root, config, Secrets(home))
    for built_in, part in find_built_in_platforms():
        reason = setup.why_absent(part, built_in)
        if reason is None and knocks and part.ask_network is not None:
            yield from _ask_network(built_in, part, setup)
            continue
        missing = setup.why_not_set_up(part, built_in)
        is_wanted = setup.is_begun(part, built_in)
        yield _platform_finding(built_in.name, reason, missing, is_wanted=is_wanted)


def _platform_finding(name: str, reason: str | None, missing: str | None, *, is_wanted: bool) -> DoctorFinding:
    """How a platform stands: *reason* says why it does not run, *missing* what its owner has not given."""
    if reason is None:
        return DoctorFinding(name, "ok", "set up, and its library is installed: `familiar run` answers there")
    return DoctorFinding(name, "bad", reason) if is_wanted else DoctorFinding(name, "ok", f"off: {missing}")


def find_built_in_platforms() -> Iterator[tuple[Extension, PlatformPart]]:
    """The platforms that come with the program as extensions."""
    from familiar_connect.extensions.load import load_built_in

    for each in load_built_in():
        if each.extension is not None:
            yield from ((each.extension, part) for part in each.extension.platforms)


def part_setup(root: Path, config: CharacterConfig, secrets: Secrets) -> PartSetup:
    """What the files of a familiar say of its parts."""
    from familiar_connect.extensions.setup import PartSetup
    from familiar_connect.support.clock import SystemClock

    return PartSetup(root=root, config=config, secrets=secrets, clock=SystemClock())


def list_built_in_platforms(setup: PartSetup) -> list[tuple[Extension, PlatformPart]]:
    """Those of them that a familiar is set up for, whether their libraries are there or not."""
    return [
        (built_in, part) for built_in, part in find_built_in_platforms() if setup.why_not_set_up(part, built_in) is None
    ]


def _ask_network(extension: Extension, part: PlatformPart, setup: PartSetup) -> Iterator[DoctorFinding]:
    """What the network itself says of the set-up."""
    from familiar_connect.commands.network_check import ask_network  # heavy: `list` does without it

    for each in ask_network(extension, part, setup):
        yield DoctorFinding(extension.name, each.state, each.says)


def platforms_of(root: Path) -> list[str]:
    """The platforms a familiar is set up for, whether their libraries are there or not."""
    from familiar_connect.config import load_character_config
    from familiar_connect.config.secrets import Secrets

    home = FamiliarFolder(root).home.root
    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_path(home))
    return [built_in.name for built_in, _ in list_built_in_platforms(part_setup(root, config, Secrets(home)))]


def check_presets(root: Path, home: Path | None = None) -> Iterator[DoctorFinding]:
    """The preset in force, and those that channels choose for themselves."""
    from familiar_connect.presets.prompt_order import nodes_of
    from familiar_connect.presets.store import PresetStore
    from familiar_connect.presets.types import PresetFidelity

    store = PresetStore(FamiliarFolder(root).presets)
    name = store.active()
    if name is None:
        count = len(store.names())
        says = f"none active ({count} imported)" if count else "none: `familiar preset import FILE` adds one"
        yield DoctorFinding("preset", "ok", says)
    else:
        fix = "`familiar preset use NAME` activates another, `familiar preset off` none"
        try:
            nodes = nodes_of(store.get(name), PresetFidelity.with_memory)
        except PresetError as error:
            yield DoctorFinding("preset", "bad", f"{name} is active but cannot be used: {error}; {fix}")
        else:
            yield _preset_size(root, home, name, [node.content for node in nodes])
    for channel_id, chosen in _channel_presets(root):
        try:
            store.get(chosen)
        except PresetError as error:
            fix = f"`familiar preset use NAME --channel {channel_id}` chooses another"
            yield DoctorFinding("preset", "bad", f"{FamiliarFolder(root).channel_file(channel_id)}: {error}; {fix}")


def check_proposals(root: Path) -> Iterator[DoctorFinding]:
    """What waits for the owner; nothing is said when nothing does."""
    from familiar_connect.memory.maintenance.review import Review
    from familiar_connect.memory.store import MemoryStore

    if not FamiliarFolder(root).memory.is_dir():
        return
    waiting = Review(MemoryStore(FamiliarFolder(root).memory, audit_dir=FamiliarFolder(root).audit)).list()
    kinds = {"proposal": "proposals", "quarantine": "batches the memory writer gave up on", "broken": "unreadable ones"}
    counts = {says: sum(pending.kind == kind for pending in waiting) for kind, says in kinds.items()}
    if waiting:
        says = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        yield DoctorFinding("review", "warn", f"{says} waiting: `familiar memory review`")


def check_consent(root: Path, home: Path) -> Iterator[DoctorFinding]:
    """Settings in the familiar's files that do not count, because the owner has not allowed them."""
    from familiar_connect.commands.consent import allow_command, missing_settings

    for each in missing_settings(root, home):
        fix = f"allow it with `{allow_command(root, each)}`, or remove it"
        yield DoctorFinding("consent", "warn", f"{each} has no effect, because you have not allowed it: {fix}")


def check_extensions(root: Path, home: Path, *, knocks: bool = False) -> Iterator[DoctorFinding]:
    """Extensions the owner allowed that are left out, parts that are not set up, and settings of those not allowed.

    When it *knocks*, their networks are asked as those of our own platforms are.
    """
    from familiar_connect.config import load_character_config
    from familiar_connect.config.extension_list import ExtensionList
    from familiar_connect.config.secrets import Secrets
    from familiar_connect.support.clock import SystemClock

    config = load_character_config(FamiliarFolder(root).settings_file)
    allowed = {each.name for each in ExtensionList(home).list_allowed()}
    for name in sorted(config.extension_tables.keys() - allowed):
        fix = f"`familiar extension allow {name}` lets it run"
        yield DoctorFinding("extensions", "warn", f"[{name}] has no effect, because you have not allowed it: {fix}")
    if not allowed:
        return
    from familiar_connect.extensions.create import PartMaker, check_parts
    from familiar_connect.extensions.load import load_extensions

    maker = PartMaker(root=root, config=config, secrets=Secrets(home), clock=SystemClock())
    loaded = load_extensions(home)
    for each, (name, trouble) in zip(loaded, check_parts(loaded, maker), strict=True):
        yield DoctorFinding("extensions", "bad" if trouble else "ok", f"{name}: {trouble or 'runs here'}")
        for part in each.extension.platforms if each.extension is not None and not trouble and knocks else ():
            if each.extension is not None and part.ask_network is not None:
                yield from _ask_network(each.extension, part, maker.setup)


def check_character(root: Path, home: Path) -> Iterator[DoctorFinding]:
    """Who the familiar is, where that is more than its prompts show."""
    from familiar_connect.config import load_character_config
    from familiar_connect.config.channel import channel_config_for_mode
    from familiar_connect.context.layers import Layer
    from familiar_connect.context.providers.character import read_character
    from familiar_connect.llm.profiles import capabilities_for
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.reply.request import with_model_limits
    from familiar_connect.support.tokens import estimate_tokens

    folder = FamiliarFolder(root)
    if not folder.memory.is_dir():
        return
    config = load_character_config(folder.settings_file, defaults_path=profile_of(home))
    slot = config.llm["main_prose"]
    channel = replace(channel_config_for_mode(config.default_mode), budgets=config.budgets)
    channel = with_model_limits(channel, capabilities_for(slot.model, slot.base_url, slot))
    room = channel.budget_by_layer[Layer.character]
    texts = [text for stem, text in read_character(MemoryStore(folder.memory)) if stem != "mes_example"]
    tokens = sum(estimate_tokens(text, slot.model) for text in texts)
    if tokens > room:
        fix = "shorten it, or raise `character` under [budget]"
        says = f"memory/self is about {tokens:,} tokens, and a prompt shows only {room:,} of them; {fix}"
        yield DoctorFinding("character", "warn", says)


def check_regex(root: Path) -> Iterator[DoctorFinding]:
    """Regex scripts, where there are any: those that cannot run are named with the reason."""
    from familiar_connect.commands.consent import scripts_of, waiting_scripts
    from familiar_connect.presets.regex_scripts import script_problem
    from familiar_connect.presets.regex_summary import summarize_scripts

    if not FamiliarFolder(root).memory.is_dir():
        return  # the card cannot be read; the check of memory says so
    try:
        scripts = scripts_of(root)
    except PresetError as error:
        yield DoctorFinding("regex", "bad", str(error))
        return
    if not scripts:
        return
    yield DoctorFinding("regex", "ok", summarize_scripts(scripts))
    if names := ", ".join(each.name for each in waiting_scripts(scripts)):
        fix = f"`familiar regex allow --familiar {root.name}` shows what they do and allows them"
        yield DoctorFinding("regex", "warn", f"off until you allow them: {names}; {fix}")
    for script in scripts:
        problem = None if script.is_off and not script.is_waiting else script_problem(script)
        if problem is not None:
            fix = f'`familiar regex off "{script.name}"` hides this line'
            says = f"{script.name} ({script.origin}) cannot run: {problem}; {fix}"
            yield DoctorFinding("regex", "warn", says)


def _preset_size(root: Path, home: Path | None, name: str, texts: list[str]) -> DoctorFinding:
    """How much room the prompts of the preset take; too much where the talk has less than half of the window left."""
    from familiar_connect.config import load_character_config
    from familiar_connect.llm.profiles import capabilities_for
    from familiar_connect.support.text import pluralize
    from familiar_connect.support.tokens import estimate_tokens

    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=home and profile_of(home))
    slot = config.llm["main_prose"]
    window = slot.context_window or capabilities_for(slot.model).window
    tokens = sum(estimate_tokens(text, slot.model) for text in texts)
    says = f"{name}, {pluralize(len(texts), 'prompt')}, about {tokens:,} tokens"
    if window and tokens * 2 > window:
        fix = "`familiar preset toggle` turns prompts off, `familiar preset off` the preset"
        return DoctorFinding(
            "preset", "warn", f"{says}: too large for {slot.model}, which takes {window:,} in all; {fix}"
        )
    return DoctorFinding("preset", "ok", says)


def _channel_presets(root: Path) -> Iterator[tuple[int, str]]:
    """Channels with a preset of their own; settings that cannot be read are told of elsewhere."""
    from familiar_connect.config import DEFAULT_CHANNEL_MODE
    from familiar_connect.config.load import load_channel_config

    for path in FamiliarFolder(root).channel_files():
        if not path.stem.isascii() or not path.stem.isdigit():
            continue
        try:
            config = load_channel_config(path, default_mode=DEFAULT_CHANNEL_MODE)
        except FamiliarError:
            continue
        if config is not None and config.preset:
            yield int(path.stem), config.preset


def active_preset(root: Path) -> str | None:
    """The name of the preset in force."""
    folder = FamiliarFolder(root).presets
    if not folder.is_dir():
        return None  # none was ever imported: what reads them need not be loaded
    from familiar_connect.presets.store import PresetStore

    return PresetStore(folder).active()


def check_documents(root: Path) -> Iterator[DoctorFinding]:
    """The texts that were given to the familiar to look things up in; broken ones are told of with the memory."""
    from familiar_connect.memory.store import MemoryStore
    from familiar_connect.memory.types import DOCUMENTS_FOLDER

    own = FamiliarFolder(root)
    folder = own.memory / DOCUMENTS_FOLDER
    files = MemoryStore(own.memory).glob(f"{DOCUMENTS_FOLDER}*.md") if folder.is_dir() else []
    if not files:
        yield DoctorFinding("documents", "ok", "none: `familiar import document FILE` adds one")
        return
    size = sum((own.memory / path).stat().st_size for path in files)
    searched = own.index.is_dir()
    says = f"{len(files)} in {folder}, {size / 1e3:.1f} kB"
    if not searched:
        yield DoctorFinding(
            "documents", "warn", f"{says}, not searched yet: `familiar memory reindex` builds the index"
        )
    else:
        yield DoctorFinding("documents", "ok", says)


def check_voice(root: Path, home: Path) -> Iterator[DoctorFinding]:
    """What `familiar voice` lacks on this computer, each with the fix; nobody has to have it."""
    from importlib.util import find_spec

    from familiar_connect.config import load_character_config
    from familiar_connect.config.extras import how_to_install
    from familiar_connect.voice.backends import libraries_for, list_model_files
    from familiar_connect.voice.devices.sound_card import SOUND_LIBRARY, SoundCard
    from familiar_connect.voice.service_access import ServiceAccess

    config = load_character_config(FamiliarFolder(root).settings_file, defaults_path=profile_of(home))
    access = ServiceAccess.of_home(home)
    wanted = (*libraries_for(config, access), SOUND_LIBRARY)
    lacking = [name for name in wanted if find_spec(name) is None]
    if len(lacking) == len(wanted):
        yield DoctorFinding("voice", "ok", f"off: {how_to_install('voice')}")
        return
    if lacking:
        yield DoctorFinding(
            "voice", "warn", f"some parts are missing ({', '.join(lacking)}): {how_to_install('voice')}"
        )
        return
    problems = [*_missing_speech_models(list_model_files(config, access)), *SoundCard().list_problems()]
    for problem in problems:
        yield DoctorFinding("voice", "warn", problem)
    if not problems:
        yield DoctorFinding("voice", "ok", "recogniser, voice, microphone and speakers work: try `familiar voice`")


def _missing_speech_models(model_files: Mapping[str, str]) -> Iterator[str]:
    """Models that their packages should have brought: of each package a file by its pattern."""
    from importlib.util import find_spec

    from familiar_connect.config.extras import how_to_install

    for name, pattern in model_files.items():
        spec = find_spec(name)
        folders = spec.submodule_search_locations if spec is not None else None
        if folders and not any(next(Path(folder).glob(pattern), None) for folder in folders):
            reason = how_to_install("voice").partition("; ")[2]
            yield f"the package {name} has no model: remove the package and {reason}"
