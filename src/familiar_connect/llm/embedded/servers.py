"""EmbeddedServers: the model servers of one familiar, one for each model file that its slots name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from familiar_connect.config.llm import local_model_name
from familiar_connect.llm.embedded.gguf import ModelFile, read_gguf
from familiar_connect.llm.embedded.run_plan import RunPlan, plan_run
from familiar_connect.llm.embedded.server import EmbeddedServer
from familiar_connect.llm.embedded.weights import Weights, find_weights, require_runtime
from familiar_connect.llm.local.library import ModelLibrary


@dataclass(frozen=True, kw_only=True)
class LocalModel:
    """A model file, how it is run here, and its server."""

    file: ModelFile
    plan: RunPlan
    server: EmbeddedServer


class EmbeddedServers:
    """Servers by model; every slot that names the same model shares one. Without a home only the default is known."""

    def __init__(self, *, home: Path | None = None, cache_dir: Path | None = None, cache_key: str = "") -> None:
        self._library = ModelLibrary(home)
        self._cache_dir = cache_dir
        self._cache_key = cache_key
        self._local: dict[str, LocalModel] = {}
        find = partial(find_weights, home)
        self.default = EmbeddedServer(cache_dir=cache_dir, cache_key=cache_key, find=find)
        """Server of the small model that comes with the program."""

    def local(self, model_id: str, *, window: int | None = None) -> LocalModel:
        """The model behind `embedded:NAME`; a `ModelSetupError` says why it cannot run here.

        *window* is the one the owner asks for; the first slot that names the model decides.
        """
        name = local_model_name(model_id) or ""
        found = self._local.get(name)
        if found is None:
            path = self._library.file_of(name)
            found = open_model_file(name, path, window=window, cache_dir=self._cache_dir, cache_key=self._cache_key)
            self._local[name] = found
        return found

    def server_for(self, model_id: str) -> EmbeddedServer:
        """The server of a model that runs inside the program."""
        return self.default if local_model_name(model_id) is None else self.local(model_id).server


def open_model_file(
    name: str, path: Path, *, window: int | None = None, cache_dir: Path | None = None, cache_key: str = ""
) -> LocalModel:
    """The model file at *path*, ready to be started; a `ModelSetupError` says why it cannot run here."""
    require_runtime()
    file = read_gguf(path)
    plan = plan_run(replace(file, title=name), asked_window=window)
    weights = Weights.of_file(name, file, plan)
    server = EmbeddedServer(cache_dir=cache_dir, cache_key=cache_key, find=lambda: weights)
    return LocalModel(file=file, plan=plan, server=server)
