"""find_local_servers: which model servers run on this computer, and which models they have.

The usual ports are knocked at together, on loopback only; a server is whatever answers to `/v1/models` like one. Plain
blocking code for a command.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from familiar_connect.support.text import one_line
from familiar_connect.support.web_origin import is_this_machine

if TYPE_CHECKING:
    import httpx2

USUAL_PORTS: Mapping[int, str] = {
    11434: "Ollama",
    1234: "LM Studio",
    8080: "llama.cpp",
    5001: "KoboldCpp",
    8000: "vLLM",
}
CONNECT_TIMEOUT_S = 1.0
ANSWER_TIMEOUT_S = 5.0
MAX_BODY_BYTES = 4 << 20
MAX_MODELS = 200
MAX_ID_CHARS = 200


@dataclass(frozen=True, kw_only=True)
class LocalServer:
    """A model server on this computer."""

    kind: str
    base_url: str
    models: tuple[str, ...]


def find_local_servers(more_ports: Sequence[int] = ()) -> list[LocalServer]:
    """Every model server at the usual ports and *more_ports*, in that order."""
    ports = {**dict.fromkeys(more_ports, "a model server"), **_own_ollama_port(), **USUAL_PORTS}
    with ThreadPoolExecutor(max_workers=len(ports)) as pool:
        found = list(pool.map(lambda port: _look(port, ports[port]), ports))
    return [server for server in found if server is not None]


def _own_ollama_port() -> dict[int, str]:
    """Where Ollama listens if it was told so, on this computer."""
    try:
        told = urlsplit(f"//{os.environ.get('OLLAMA_HOST', '').rpartition('//')[2]}")
        host, port = told.hostname or "", told.port
    except ValueError:
        return {}
    is_here = host in ("", "0.0.0.0", "::") or is_this_machine(f"http://{host}")
    return {port: "Ollama"} if port and is_here else {}


def _look(port: int, kind: str) -> LocalServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    models = list_models(base_url)
    return None if models is None else LocalServer(kind=kind, base_url=base_url, models=models)


def list_models(base_url: str, key: str | None = None) -> tuple[str, ...] | None:
    """The ids of the models at *base_url*; None when nobody there tells them."""
    import httpx2

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    timeout = httpx2.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    try:
        with (
            httpx2.Client(
                # Plain HTTP has no certificates to check, and each port would read the system's.
                verify=base_url.startswith("https:"),
                timeout=timeout,
                trust_env="//127.0.0.1" not in base_url,
            ) as client,
            client.stream("GET", f"{base_url.rstrip('/')}/models", headers=headers) as response,
        ):
            return _ids(_body(response)) if response.status_code == 200 else None
    except (httpx2.TransportError, httpx2.InvalidURL, OSError, ValueError):
        return None


def _body(response: httpx2.Response) -> bytes:
    body = b""
    for block in response.iter_bytes():
        body += block
        if len(body) > MAX_BODY_BYTES:
            raise ValueError("longer than a list of models")
    return body


def _ids(body: bytes) -> tuple[str, ...] | None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    rows = answer.get("data", answer.get("models")) if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        return None
    ids = [row.get("id") or row.get("name") for row in rows if isinstance(row, dict)]
    named = (one_line(each) for each in ids if isinstance(each, str))
    return tuple(dict.fromkeys(each for each in named if each and len(each) <= MAX_ID_CHARS))[:MAX_MODELS]
