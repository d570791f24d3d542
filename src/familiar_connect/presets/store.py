"""PresetStore: the presets of one familiar on disk, the switches its owner set, and which one is in force where.

A preset is the file that was imported, byte for byte; `.state.json` beside it says which one is active and what
was toggled. Every change is on disk whole or not at all, and files that are put there or changed by hand are
noticed. All calls block and may come from any thread; from async code run them in one.
"""

from __future__ import annotations

import difflib
import errno
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from familiar_connect.errors import PresetError
from familiar_connect.presets.load import MAX_BYTES, is_no_preset, parse_preset_document, read_preset, safe_preset_name
from familiar_connect.presets.prompt_order import find_node, nodes_of
from familiar_connect.presets.types import OrderEntry, Preset, PresetFidelity, PresetNode
from familiar_connect.support.files import atomic_write, open_locked
from familiar_connect.support.lru import LruCache
from familiar_connect.support.no_follow import LinkRefused, load_bytes, make_folder, refuse_linked_path, remove_file
from familiar_connect.support.text import without_surrogates

if TYPE_CHECKING:
    from familiar_connect.presets.import_report import ImportOutcome, ImportReport

SUFFIX = ".json"
STATE_NAME = ".state.json"
LOCK_NAME = ".lock"
VERSIONS_NAME = ".versions"
MAX_PRESETS = 1_000
MAX_VERSIONS = 50
"""Earlier files kept of one name; beyond it the oldest goes."""
MAX_STATE_BYTES = 4 * 1024 * 1024
MAX_CACHED = 64

_log = logging.getLogger(__name__)

FileStamp = tuple[int, int, int] | None
"""Modification stamp of a file; None where there is no file."""


@dataclass(frozen=True)
class _State:
    active: str | None = None
    toggles: dict[str, dict[str, bool]] = field(default_factory=dict)


@dataclass(frozen=True)
class _CachedLookup:
    """What a lookup found, and the files it was found in."""

    stamps: tuple[FileStamp, FileStamp]
    preset: Preset | None


class PresetStore:
    """The presets in *root*, a folder that the first import makes."""

    def __init__(self, root: Path) -> None:
        self._root = Path(root)
        self._lock = threading.RLock()
        self._cache: LruCache[str | None, _CachedLookup] = LruCache(MAX_CACHED)

    # --- reading ---

    def names(self) -> list[str]:
        """The presets there are, by name."""
        try:
            refuse_linked_path(self._root)
            with os.scandir(self._root) as entries:
                found = [entry.name for entry in entries if _is_preset(entry)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise _unreadable(self._root, error) from None
        return sorted((name.removesuffix(SUFFIX) for name in found), key=lambda name: (name.casefold(), name))

    def get(self, name: str) -> Preset:
        """The preset called *name*, with its owner's toggles."""
        return self._read(self.find(name), self._state())

    def document(self, name: str) -> dict[str, Any]:
        """What the preset's file says, as it is now."""
        stem = self.find(name)
        return parse_preset_document(_bytes(self._path(stem)), stem)

    def raw(self, name: str) -> bytes:
        """The preset's file, as it was imported."""
        return _bytes(self._path(self.find(name)))

    def active(self) -> str | None:
        """The preset of the familiar, if one is in force."""
        name = self._state().active
        return name if name is not None and self._path(name).is_file() else None

    def lookup(self, channel_preset: str | None) -> Preset | None:
        """The preset in force where the channel names *channel_preset*; None there leaves it to the familiar.

        Never fails: a file that cannot be read just now is told, and what it last held goes on being used.
        """
        key = channel_preset.strip() if channel_preset is not None else None
        if key is not None and is_no_preset(key):
            return None
        with self._lock:
            seen = self._cache.get(key)
            stamps = _NEVER
            try:
                stamps = self._stamps(key)
                preset = seen.preset if seen is not None and seen.stamps == stamps else self._load(key)
            except PresetError as error:
                _log.warning(
                    "a preset cannot be read, what is known of it is used",
                    extra={"presets": str(self._root), "reason": str(error)},
                )
                preset = seen.preset if seen is not None else None
            self._cache.put(key, _CachedLookup(stamps, preset))
            return preset

    def _load(self, key: str | None) -> Preset | None:
        state = self._state()
        name = state.active if key is None else self._find(key)
        if name is not None and self._path(name).exists():
            return self._read(name, state)
        if key is not None or name is not None:
            _log.warning(
                "a preset that is named does not exist, none is used",
                extra={"presets": str(self._root), "preset": key or name},
            )
        return None

    def _stamps(self, key: str | None) -> tuple[FileStamp, FileStamp]:
        """Of the state and of the file in force, as they are now."""
        state = _stamp(self._root / STATE_NAME)
        if key is not None:
            name = self._find(key)
        else:
            try:
                name = self._state().active if state is not None else None
            except PresetError:
                name = None
        return state, None if name is None else _stamp(self._path(name))

    # --- writing ---

    def import_bytes(
        self,
        name: str,
        raw: bytes,
        *,
        overwrite: bool = False,
        fidelity: PresetFidelity = PresetFidelity.with_memory,
    ) -> ImportReport:
        """Keep *raw* under *name* and put it in force; the same bytes again change no more than that.

        A different preset of that name is refused unless *overwrite*; then the earlier file is kept as a version
        and its toggles, which were meant for it, are let go. The report is for *fidelity*.
        """
        wanted = safe_preset_name(name)
        from familiar_connect.presets.import_report import report_on  # heavy: the macro engine comes with it

        report = report_on(read_preset(raw, wanted), fidelity=fidelity)
        with self._locked_state() as state:
            stem = self._find(wanted) or wanted
            path = self._path(stem)
            earlier = _bytes(path) if path.exists() else None
            toggles = state.toggles
            if earlier is None and len(self.names()) >= MAX_PRESETS:
                raise PresetError(f"{self._root}: there are {MAX_PRESETS:,} presets already; delete one first")
            if earlier is not None and earlier != raw:
                if not overwrite:
                    raise PresetError(
                        f"another preset is called {stem!r}; import it with --overwrite, which keeps the earlier one "
                        "as a version, or under another name with --name"
                    )
                report = replace(report, kept_as=self._keep_version(stem, earlier))
                toggles = {each: switches for each, switches in toggles.items() if each != stem}
            if earlier != raw:
                self._write(path, raw)
            self._save(replace(state, active=stem, toggles=toggles))
        outcome: ImportOutcome = "imported" if earlier is None else "unchanged" if earlier == raw else "replaced"
        return replace(report, name=stem, outcome=outcome)

    def edit(self, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
        """Let *change* make another document of the preset's file as it is now; whether it did.

        The file before it is kept as a version, and the owner's switches go on counting.
        """
        with self._locked_state():
            stem = self.find(name)
            raw = _bytes(self._path(stem))
            document = parse_preset_document(raw, stem)
            made = change(document)
            if made == document:
                return False
            data = (json.dumps(made, ensure_ascii=False, indent=4) + "\n").encode("utf-8", "surrogatepass")
            if len(data) > MAX_BYTES:
                raise PresetError(f"a preset has at most {MAX_BYTES:,} bytes; shorten a prompt")
            read_preset(data, stem)
            self._keep_version(stem, raw)
            self._write(self._path(stem), data)
            return True

    def use(self, name: str) -> str:
        """Put the preset called *name* in force; its name as it is written."""
        with self._locked_state() as state:
            stem = self.find(name)
            self._read(stem, state)
            self._save(replace(state, active=stem))
            return stem

    def use_none(self) -> None:
        """Put no preset in force."""
        with self._locked_state() as state:
            if state.active is not None:
                self._save(replace(state, active=None))

    def toggle(self, name: str, identifier: str, on: bool | None = None) -> bool:
        """Switch a node of the preset on or off, or over where *on* is None; how it stands then."""
        with self._locked_state() as state:
            stem = self.find(name)
            node = _node(self._read(stem, state), identifier)
            wanted = not node.is_enabled if on is None else on
            switches = {**state.toggles.get(stem, {}), node.identifier: wanted}
            self._save(replace(state, toggles={**state.toggles, stem: switches}))
            return wanted

    def delete(self, name: str) -> str | None:
        """Take the preset away, keeping its file as a version; the preset in force afterwards, if any.

        When it was the one in force, the next by name takes its place.
        """
        with self._locked_state() as state:
            stem = self.find(name)
            path = self._path(stem)
            self._keep_version(stem, _bytes(path))
            survivors = [each for each in self.names() if each != stem]
            active = state.active
            if active == stem:
                active = next((each for each in survivors if each.casefold() > stem.casefold()), None)
                active = active or (survivors[-1] if survivors else None)
            toggles = {each: switches for each, switches in state.toggles.items() if each != stem}
            self._save(_State(active=active, toggles=toggles))
            try:
                remove_file(path)
            except OSError as error:
                raise _unwritable(path, error) from None
            return active

    # --- within ---

    @contextmanager
    def _locked_state(self) -> Iterator[_State]:
        """The state as it is on disk, with nobody else changing it; what was looked up before is forgotten."""
        with self._lock, ExitStack() as held:
            try:
                make_folder(self._root)
                held.enter_context(open_locked(self._root / LOCK_NAME, os.O_RDWR | os.O_CREAT))
            except OSError as error:
                raise _unwritable(self._root, error) from None
            held.callback(self._expire_cache)
            yield self._state()

    def _expire_cache(self) -> None:
        """Make the next lookups read anew; what they fall back on when they cannot is kept."""
        for key, seen in self._cache.items():
            self._cache.put(key, replace(seen, stamps=_NEVER))

    def _state(self) -> _State:
        path = self._root / STATE_NAME
        if not os.path.lexists(path):
            return _State()
        try:
            found = json.loads(_bytes(path, MAX_STATE_BYTES))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise PresetError(
                f"{path}: cannot be understood; delete it and choose again with `familiar preset use NAME`"
            )
        return _state(found)

    def _save(self, state: _State) -> None:
        document = {"active": state.active, "toggles": state.toggles}
        self._write(self._root / STATE_NAME, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode())

    def _write(self, path: Path, data: bytes) -> None:
        try:
            atomic_write(path, data)
        except OSError as error:
            raise _unwritable(path, error) from None

    def _keep_version(self, stem: str, raw: bytes) -> str:
        """*raw* kept among the versions of *stem*, the oldest let go when there are too many; its path from here."""
        folder = self._root / VERSIONS_NAME / stem
        there = sorted((int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal()), reverse=True)
        for number in there[:1]:
            if _bytes(folder / f"{number}{SUFFIX}") == raw:
                return f"{VERSIONS_NAME}/{stem}/{number}{SUFFIX}"
        number = there[0] + 1 if there else 1
        self._write(folder / f"{number}{SUFFIX}", raw)
        for old in there[MAX_VERSIONS - 1 :]:
            remove_file(folder / f"{old}{SUFFIX}")
        return f"{VERSIONS_NAME}/{stem}/{number}{SUFFIX}"

    def _path(self, stem: str) -> Path:
        return self._root / f"{stem}{SUFFIX}"

    def _find(self, name: str) -> str | None:
        """The file that *name* means: as it is written, else whatever the case of its letters."""
        names = self.names()
        wanted = name.removesuffix(SUFFIX)
        for exact in (name, wanted):  # one may be called "0.json" itself
            if exact in names:
                return exact
        same = [each for each in names if each.casefold() == wanted.casefold()]
        return same[0] if same else None

    def find(self, name: str) -> str:
        """The preset that *name* means, as it is written; one that is not there is told with what there is."""
        found = self._find(name)
        if found is not None:
            return found
        names = self.names()
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "`familiar preset list` shows those there are"
        if not names:
            hint = "import one with `familiar preset import FILE`"
        raise PresetError(f"there is no preset {without_surrogates(name)[:100]!r}; {hint}")

    def _read(self, stem: str, state: _State) -> Preset:
        preset = read_preset(_bytes(self._path(stem)), stem)
        switches = state.toggles.get(stem, {})
        return replace(preset, toggles=tuple(OrderEntry(identifier=each, enabled=on) for each, on in switches.items()))


_NEVER: tuple[FileStamp, FileStamp] = ((-1, -1, -1), None)


def _is_preset(entry: os.DirEntry[str]) -> bool:
    return _is_stem(entry.name.removesuffix(SUFFIX)) and entry.name.endswith(SUFFIX) and entry.is_file()


def _is_stem(name: str) -> bool:
    """Whether *name* is one file in the folder, and neither hidden nor something that is no text."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return bool(name) and Path(name).name == name and not name.startswith(".") and "\0" not in name


def _node(preset: Preset, words: str) -> PresetNode:
    nodes = [nodes_of(preset, fidelity) for fidelity in PresetFidelity]
    for found in (find_node(each, words) for each in nodes):
        if found is not None:
            return found
    raise PresetError(
        f"preset {preset.name!r} has no node {without_surrogates(words)[:100]!r}, or several have that name; "
        "`familiar preset show` lists them with their numbers"
    )


def _state(document: Mapping[str, object]) -> _State:
    """The state that *document* says; what does not fit is left out."""
    active, toggles = document.get("active"), document.get("toggles")
    return _State(
        active=active if isinstance(active, str) and _is_stem(active) else None,
        toggles={
            name: {each: on for each, on in switches.items() if isinstance(on, bool)}
            for name, switches in (toggles.items() if isinstance(toggles, dict) else ())
            if isinstance(switches, dict)
        },
    )


def _stamp(path: Path) -> FileStamp:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino


def _bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    try:
        data = load_bytes(path, most + 1)
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.EINVAL, errno.ENXIO):
            raise PresetError(f"{path}: is not a plain file; put the preset itself there") from None
        raise _unreadable(path, error) from None
    if len(data) > most:
        raise PresetError(f"{path}: is larger than {most:,} bytes, which no preset is; move it elsewhere")
    return data


def _unreadable(path: Path, error: OSError) -> PresetError:
    if isinstance(error, LinkRefused):
        return PresetError(str(error))
    return PresetError(f"{path}: cannot be read ({error.strerror or error}); check that you may read it")


def _unwritable(path: Path, error: OSError) -> PresetError:
    if isinstance(error, LinkRefused):
        return PresetError(str(error))
    return PresetError(
        f"{path}: cannot be written ({error.strerror or error}); nothing was changed, check rights and free space"
    )
