"""doctor: looks at everything a familiar needs and says, for each trouble, what to do about it."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from familiar_connect.commands.common import (
    familiar_option,
    home_of,
    json_option,
    open_root,
    profile_of,
    say_json,
    spinner,
)
from familiar_connect.commands.connect import ConnectTarget, ask_for_word
from familiar_connect.commands.doctor_checks import (
    DoctorFinding,
    check_character,
    check_consent,
    check_documents,
    check_extensions,
    check_platforms,
    check_presets,
    check_proposals,
    check_regex,
    check_voice,
)
from familiar_connect.commands.doctor_report import BETTER_MODELS, report_findings
from familiar_connect.commands.doctor_search import LARGE_BACKLOG, check_search, describe_backlog
from familiar_connect.commands.doctor_speech import check_speech_services
from familiar_connect.commands.settings import settings_problems
from familiar_connect.config.command import command_name, set_familiar_option
from familiar_connect.config.consent import OwnerConsent
from familiar_connect.config.folders import FamiliarFolder
from familiar_connect.config.home import list_familiars
from familiar_connect.config.llm import EMBEDDED_MODEL, MAIN_SLOT
from familiar_connect.errors import FamiliarError, MemoryStoreError
from familiar_connect.support.no_follow import load_bytes
from familiar_connect.support.text import pluralize

if TYPE_CHECKING:
    from familiar_connect.config.llm import LLMSlotConfig
    from familiar_connect.config.trust import TrustedOrigins
    from familiar_connect.memory.store import MemoryStore

LEAST_FREE_BYTES = 200 * 1024 * 1024
EMBEDDED_BYTES = 700 * 1024 * 1024
"""About what the embedded model and a familiar take together."""
CONNECT_TIMEOUT_S = 1.0
SQLITE_START = b"SQLite format 3\0"
"""How long a server on this computer may take to open its door."""
ASK_TIMEOUT_S = 120.0
"""How long a model may take for a word; a server on this computer may load it first."""


@click.command()
@familiar_option
@click.option("--offline", is_flag=True, help="Ask no model and contact no other computer.")
@click.option("--privacy", is_flag=True, help="Only list what the program may contact, and why; contacts no one.")
@click.option("--live", is_flag=True, help="Only say whether the familiar is running: exit code 0 if so, else 1.")
@click.option("--all", "shows_all", is_flag=True, help="Show every check, not only what needs doing.")
@click.option("--ask-models", is_flag=True, hidden=True, help="The default, unless --offline.")
@json_option
@click.pass_context
def doctor(
    ctx: click.Context,
    familiar_id: str | None,
    offline: bool,
    privacy: bool,
    live: bool,
    shows_all: bool,
    ask_models: bool,
    as_json: bool,
) -> int:
    """Check home, settings, models, keys, history, memory, presets, platforms, voice and disk.

    It asks each model for a word, on other servers too, and each platform about your bot's token and permissions.
    Exit code 1 when something is wrong.
    """
    set_familiar_option(familiar_id)
    if live:
        from familiar_connect.commands.doctor_live import show_live

        return show_live(home_of(ctx), familiar_id, as_json=as_json)
    if privacy:
        from familiar_connect.commands.doctor_privacy import show_contacts

        return show_contacts(ctx, familiar_id, as_json=as_json)
    checks = run_checks(home_of(ctx), familiar_id, ask_models=ask_models or not offline)
    if as_json:
        findings = list(checks)
        say_json([asdict(finding) for finding in findings])
    else:
        findings = report_findings(checks, shows_all=shows_all)
    return 1 if any(finding.state == "bad" for finding in findings) else 0


def run_checks(home: Path, familiar_id: str | None, *, ask_models: bool = False) -> Iterator[DoctorFinding]:
    """Every finding, in the order a familiar needs the things; trouble with one hides none of the others."""
    yield DoctorFinding("python", "ok", f"{platform.python_version()} on {platform.machine()}")
    yield _home(home)
    yield _disk(home)
    free = _free_memory()
    yield free
    yield from _run_check("embedded", lambda: [_embedded(home)])
    try:
        if not familiar_id and not list_familiars(home):
            yield DoctorFinding("familiar", "warn", "none yet: `familiar chat` makes one at its first start")
            return
        root = open_root(home, familiar_id)
    except FamiliarError as error:
        yield DoctorFinding("familiar", "bad", str(error))
        return
    yield DoctorFinding("familiar", "ok", f"{root.name} in {root}")
    yield from _run_check("folders", lambda: _folders(root))
    loads = ask_models and free.state == "ok"
    yield from _run_check("settings", lambda: _settings(root, home, ask_models=ask_models, may_load=loads))
    yield from _run_check("history", lambda: [_history(root)])
    yield from _run_check("ledger", lambda: _ledger(root))
    yield from _run_check("chats", lambda: _chats(root))
    yield from _run_check("memory", lambda: _memory(root))
    yield from _run_check("character", lambda: check_character(root, home))
    yield from _run_check("confidence", lambda: _confidence(root))
    yield from _run_check("versions", lambda: _versions(root))
    yield from _run_check("review", lambda: check_proposals(root))
    yield from _run_check("speech", lambda: check_speech_services(root, home))
    yield from _run_check("documents", lambda: check_documents(root))
    yield from _run_check("preset", lambda: check_presets(root, home))
    yield from _run_check("regex", lambda: check_regex(root))
    yield from _run_check("consent", lambda: check_consent(root, home))
    yield from _run_check("extensions", lambda: check_extensions(root, home, knocks=ask_models))
    yield from _run_check("platforms", lambda: check_platforms(root, home, knocks=ask_models))
    yield from _run_check("voice", lambda: check_voice(root, home))
    yield from _run_check("index", lambda: [_index(root)])
    if free.state != "bad":  # loading it would end this process
        yield from _run_check("search", lambda: check_search(root, home))


def _run_check(area: str, look: Callable[[], Iterable[DoctorFinding]]) -> Iterator[DoctorFinding]:
    """What *look* finds; whatever stops it is a finding too."""
    try:
        yield from look()
    except FamiliarError as error:
        yield DoctorFinding(area, "bad", str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        yield DoctorFinding(area, "bad", f"{where}{error.strerror or error}; check that you may read and write it")
    except Exception as error:  # isolation: the checks after this one are worth having
        yield DoctorFinding(area, "bad", f"this could not be checked ({type(error).__name__}: {error})")


def _folders(root: Path) -> Iterator[DoctorFinding]:
    """What a familiar cannot start without being able to use."""
    own = FamiliarFolder(root)
    for folder in (own.memory, own.channels, own.modes):
        name = folder.name
        if not folder.exists():
            continue
        if not folder.is_dir():
            yield DoctorFinding(name, "bad", f"{folder} is a file where a folder is needed: move it away")
        elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            yield DoctorFinding(name, "bad", f"{folder} cannot be read and written: give yourself the right to")


def _settings(root: Path, home: Path, *, ask_models: bool, may_load: bool) -> Iterator[DoctorFinding]:
    problems = settings_problems(root, profile_of(home))
    for problem in problems:
        yield DoctorFinding("settings", "bad", problem)
    if not problems:
        yield DoctorFinding("settings", "ok", "every settings file loads")
        yield from _models(root, home, ask_models=ask_models, may_load=may_load)


def _home(home: Path) -> DoctorFinding:
    there = next(path for path in (home, *home.parents) if path.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=there):
            pass
    except OSError as error:
        fix = "choose another with --home DIR or FAMILIAR_HOME, or give yourself the right to write there"
        return DoctorFinding("home", "bad", f"{home} cannot be written ({error.strerror}): {fix}")
    return DoctorFinding("home", "ok", str(home) if there == home else f"{home} (made at the first start)")


def _disk(home: Path) -> DoctorFinding:
    there = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(there).free
    says = f"{free / 1e9:.1f} GB free"
    if free < LEAST_FREE_BYTES:
        return DoctorFinding("disk", "bad", f"only {free / 1e6:.0f} MB free where {home} is: free some space")
    return DoctorFinding("disk", "ok", says)


def _free_memory() -> DoctorFinding:
    from familiar_connect.support.free_memory import LEAST_BYTES, MEGABYTE, free_memory, left_of_limit, memory_sentence

    free = free_memory()
    if free is None:
        return DoctorFinding("ram", "ok", "this system does not say how much memory is free")
    limit = left_of_limit()
    if limit is not None and limit < LEAST_BYTES:
        return DoctorFinding("ram", "bad", memory_sentence(limit))
    says = f"{free // MEGABYTE:,} MB of memory free"
    if free < EMBEDDED_BYTES:
        return DoctorFinding("ram", "warn", f"{says}, too little for the embedded model: close other programs")
    return DoctorFinding("ram", "ok", says)


def _embedded(home: Path) -> DoctorFinding:
    from familiar_connect.llm.embedded.weights import find_weights

    try:
        weights = find_weights(home)
    except FamiliarError as error:
        return DoctorFinding("embedded", "warn", str(error))
    return DoctorFinding("embedded", "ok", f"{weights.path.name}, {weights.path.stat().st_size / 1e6:.0f} MB")


def _models(root: Path, home: Path, *, ask_models: bool, may_load: bool) -> Iterator[DoctorFinding]:
    from familiar_connect.config.load import load_character_config
    from familiar_connect.config.secrets import Secrets
    from familiar_connect.config.trust import TrustedOrigins

    file = FamiliarFolder(root).settings_file
    config = load_character_config(file, defaults_path=profile_of(home))
    secrets, trust = Secrets(home), TrustedOrigins(home)
    by_model: dict[tuple[str, str | None, str | None], list[str]] = {}
    for slot, each in sorted(config.llm.items()):
        by_model.setdefault((each.model, each.address, each.key_variable), []).append(slot)
        for replica in each.replica_addresses:
            by_model.setdefault((each.model, replica, None), []).append(slot)
    for (model, address, variable), slots in by_model.items():
        whose = "all slots" if len(slots) == len(config.llm) else ", ".join(slots)
        key = secrets.get(variable) if variable else None
        if address is None:
            yield from _embedded_model(whose, model, home, ask=may_load and MAIN_SLOT in slots)
        elif variable and not key:
            fix = f"set {variable} or run `{command_name()} connect`"
            yield DoctorFinding(
                "key", "bad", f"{whose}: {model} at {address} needs a key and {variable} is not set: {fix}"
            )
        elif (refused := _refusal(trust, {slots[0]: config.llm[slots[0]]}, file)) is not None:
            yield DoctorFinding("trust", "bad", refused)
        else:
            reached = _check_reachable(whose, model, address, ask_models=ask_models)
            if reached.state == "bad" or not ask_models:
                yield reached
            else:
                target = ConnectTarget(address=address, model=model, key_env=variable)
                yield _ask_for_word(f"{whose}: {model} at {address}", target, key)


def _embedded_model(whose: str, model: str, home: Path, *, ask: bool) -> Iterator[DoctorFinding]:
    """A model inside the program: whether its file can be run here, and what it says."""
    from familiar_connect.llm.embedded.server import EmbeddedServers

    small = f" (small; `{command_name()} model list` {BETTER_MODELS})" if model == EMBEDDED_MODEL else ""
    says = f"{whose}: {model}{small}"
    try:
        if model != EMBEDDED_MODEL:
            plan = EmbeddedServers(home=home).local(model).plan
            says += f", window {plan.window:,} tokens, about {plan.memory_bytes / 1e6:,.0f} MB of memory"
        if ask:
            says += f", {_embedded_word(model, home)}"
    except FamiliarError as error:
        yield DoctorFinding("model", "bad", f"{whose}: {error}")
        return
    yield DoctorFinding("model", "ok", says)


def _embedded_word(model: str, home: Path) -> str:
    from familiar_connect.config.llm import local_model_name
    from familiar_connect.llm.embedded.probe import ask_model_file, ask_small_model
    from familiar_connect.llm.local.library import ModelLibrary

    name = local_model_name(model)
    with spinner("asking the model for a word"):
        if name is None:
            word = asyncio.run(ask_small_model(home))
        else:
            word = asyncio.run(ask_model_file(name, ModelLibrary(home).file_of(name)))
    return f'says "{word.text}" after {word.load_s:.1f} s of loading and {word.seconds:.1f} s'


def _ask_for_word(says: str, target: ConnectTarget, key: str | None) -> DoctorFinding:
    """What the endpoint says when it is asked for a word, and how long it took; or the sentence of its failure."""
    try:
        with spinner(f"asking {target.model} for a word"):
            answer = asyncio.run(ask_for_word(target, key, timeout_s=ASK_TIMEOUT_S))
    except (FamiliarError, ValueError) as error:
        return DoctorFinding("model", "bad", str(error))
    return DoctorFinding("model", "ok", f'{says} says "{answer.text}" after {answer.seconds:.1f} s')


def _refusal(trust: TrustedOrigins, slots: Mapping[str, LLMSlotConfig], file: Path) -> str | None:
    """Why nothing is sent where *slots* point; None: the owner allowed it."""
    try:
        trust.check(slots, file=file)
    except FamiliarError as error:
        return str(error)
    return None


def _check_reachable(whose: str, model: str, address: str, *, ask_models: bool) -> DoctorFinding:
    """On this computer a knock costs nothing; further away nobody is bothered unasked."""
    says = f"{whose}: {model} at {address}"
    parts = urlsplit(address)
    host = parts.hostname or ""
    if host != "localhost" and host != "::1" and not host.startswith("127."):
        return DoctorFinding(
            "model",
            "ok",
            says if ask_models else f"{says} (not asked: `familiar doctor` without --offline does)",
        )
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S) as knock:
            if parts.scheme == "https":
                ssl.create_default_context().wrap_socket(knock, server_hostname=host).close()
    except ssl.SSLError as error:
        why = getattr(error, "verify_message", "") or "it does not speak https"
        fix = "fix its certificate, or name the one that signed it in the variable SSL_CERT_FILE"
        return DoctorFinding("model", "bad", f"{says}: it cannot be trusted ({why}); {fix}")
    except (OSError, ValueError):
        return DoctorFinding(
            "model", "bad", f"{says}: nothing answers there; start that server, or run `familiar connect`"
        )
    return DoctorFinding("model", "ok", f"{says} (a server listens there)")


def _history(root: Path) -> DoctorFinding:
    path = FamiliarFolder(root).history_db
    if not path.exists():
        return DoctorFinding("history", "ok", "nothing said yet")
    return _check_one("history", lambda: _read_history(path, root.name))


def _read_history(path: Path, familiar_id: str) -> str:
    from familiar_connect.history.message_edits import count_undone
    from familiar_connect.history.store import HistoryStore

    store = HistoryStore(path)
    try:
        problems = store.check()
        if problems:
            raise FamiliarError(f"{path}: {problems[0]}; copy it to a safe place and restore a backup")
        undone = count_undone(store, familiar_id=familiar_id)
        said = store.count(familiar_id=familiar_id) - undone
        taken_back = f", {undone:,} more removed" if undone else ""
        return f"{pluralize(said, 'turn')}{taken_back}, {os.path.getsize(path) / 1e6:.1f} MB, sound"
    finally:
        store.close()


def _chats(root: Path) -> Iterator[DoctorFinding]:
    """The chats of the terminal; nothing is said where there is only the first."""
    from familiar_connect.commands.conversation import TERMINAL_PLACE
    from familiar_connect.history.chats import ChatRegistry

    chats = ChatRegistry(FamiliarFolder(root)).all(TERMINAL_PLACE)
    if len(chats) > 1:
        current = next(chat.name for chat in chats if chat.is_current)
        yield DoctorFinding("chats", "ok", f"{len(chats)} in the terminal, {current!r} is the current one")


def _ledger(root: Path) -> Iterator[DoctorFinding]:
    """The past turns that `inspect` and `metrics` read; nothing is said of sound ones."""
    from familiar_connect.observe.ledger import SQLiteCollector

    path = FamiliarFolder(root).metrics_db
    problem = SQLiteCollector(path).problem() if path.exists() else None
    if problem:
        says = f"{path} cannot be read ({problem}): move it away and a new one is made; no message is lost"
        yield DoctorFinding("ledger", "bad", says)


def _memory(root: Path) -> Iterator[DoctorFinding]:
    from familiar_connect.memory.store import MemoryStore

    folder = FamiliarFolder(root).memory
    if folder.exists() and not folder.is_dir():
        return
    if not folder.is_dir():
        yield DoctorFinding("memory", "warn", f"{folder} is not there yet: it is made at the first start")
        return
    store = MemoryStore(folder)
    files = store.glob("**/*.md")
    shut = store.unreadable_folders()
    yield from (DoctorFinding("memory", "bad", why) for why in shut)
    broken = len(shut)
    for rel_path in files:
        try:
            store.read_file(rel_path)
        except MemoryStoreError as error:
            broken += 1
            yield DoctorFinding("memory", "bad", f"{error}")
    if not any(path.startswith("self/") for path in files):
        yield DoctorFinding("memory", "warn", f"no character: write {folder / 'self' / 'description.md'}")
    elif not _has_text(store, ("self/description.md", "self/personality.md")):
        file = folder / "self" / "description.md"
        yield DoctorFinding("memory", "warn", f"no description: say in {file} who the character is")
    if not broken:
        yield DoctorFinding("memory", "ok", f"{len(files)} readable files in {folder}")


def _has_text(store: MemoryStore, paths: tuple[str, ...]) -> bool:
    """Whether one of the files says anything."""
    for path in paths:
        with suppress(MemoryStoreError):
            if store.read_file(path).strip():
                return True
    return False


def _confidence(root: Path) -> Iterator[DoctorFinding]:
    """Files of a home made before that do not say who may hear them; and what `confidence = "open"` means."""
    from familiar_connect.audience import Confidence
    from familiar_connect.config.load import load_character_config
    from familiar_connect.history.store import HistoryStore
    from familiar_connect.memory.maintenance.audience_proposals import count_unsettled_files
    from familiar_connect.memory.part_audiences import PartAudiences
    from familiar_connect.memory.store import MemoryStore

    folder = FamiliarFolder(root)
    is_open = load_character_config(folder.settings_file).confidence is Confidence.open
    if is_open and OwnerConsent(folder.home.root, root.name).allows_setting("confidence", "open"):
        meaning = 'confidence = "open": the familiar may repeat direct messages and hidden channels anywhere'
        yield DoctorFinding("confidence", "warn", f"{folder.settings_file}: {meaning}")
    if not folder.history_db.exists() or not folder.history_db.stat().st_size or not folder.memory.is_dir():
        return
    with closing(HistoryStore(folder.history_db)) as history:
        store = MemoryStore(folder.memory, audit_dir=folder.audit)
        count = count_unsettled_files(PartAudiences(store, history, familiar_id=root.name))
    if count:
        fix = "`familiar memory audiences` suggests who may"
        yield DoctorFinding("confidence", "warn", f"{count} files do not say who may see them: {fix}")


def _versions(root: Path) -> Iterator[DoctorFinding]:
    """The log of changes and the earlier texts it names."""
    from familiar_connect.memory.audit import AuditLog

    if not (FamiliarFolder(root).audit).is_dir():
        return
    with closing(AuditLog(FamiliarFolder(root).audit)) as audit:
        problems = audit.check()
        for problem in problems:
            yield DoctorFinding("versions", "bad", problem)
        if not problems:
            yield DoctorFinding("versions", "ok", f"{len(audit.entries()):,} changes, every earlier version is there")


def _index(root: Path) -> DoctorFinding:
    index = FamiliarFolder(root).index
    if not index.is_dir():
        return DoctorFinding("index", "ok", "none yet: a running chat builds it, or `familiar memory reindex`")
    for file in index.glob("*.sqlite"):
        if file.stat().st_size and load_bytes(file, limit=len(SQLITE_START)) != SQLITE_START:
            fix = "`familiar memory reindex` rebuilds it, no message is lost"
            return DoctorFinding("index", "bad", f"{file} is damaged: delete it; {fix}")
    size = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
    says = f"{size / 1e6:.1f} MB in {index}; safe to delete, it is rebuilt"
    behind, missing = describe_backlog(root)
    if missing >= LARGE_BACKLOG:
        return DoctorFinding("index", "warn", f"still being built: {behind}. It continues while a chat runs; {says}")
    return DoctorFinding("index", "ok", f"{says}{f'; {behind}' if behind else ''}")


def _check_one(area: str, look: Callable[[], str]) -> DoctorFinding:
    try:
        return DoctorFinding(area, "ok", look())
    except FamiliarError as error:
        return DoctorFinding(area, "bad", str(error))
