"""A loopback server with a small embedder shaped like a multilingual one: same meaning near, and all texts close."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from familiar_connect.memory.index.hashing import HashingModel
from familiar_connect.memory.index.letters import WORD

DIM = 48
MEANINGS = {
    "schlüssel": "key", "ключ": "key", "ключи": "key", "鍵": "key", "spare": "extra", "ersatzschlüssel": "extra key",
    "hängt": "hangs", "hinterm": "behind", "fensterladen": "shutter", "bus": "bus", "voll": "full", "where": "place",
    "wo": "place", "где": "place", "is": "", "the": "", "der": "", "war": "", "ist": "",
}  # fmt: skip
CLOSENESS = 2.0
"""How much of every vector is the same: two texts that have nothing in common are 0.8 apart, as in E5."""


@dataclass
class EmbeddingServer:
    """Where it is, and what it was asked."""

    url: str
    inputs: list[list[str]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    status: int = 200
    body: object = None
    """Answered instead of vectors."""

    def embed(self, texts: list[str]) -> list[list[float]]:
        said = [" ".join(MEANINGS.get(w, w) for w in WORD.findall(text.lower())) for text in texts]
        rows = HashingModel(DIM).embed(said)
        return np.hstack([np.full((len(rows), 1), CLOSENESS), rows]).tolist()  # type: ignore[no-any-return]


@contextmanager
def serve_embeddings() -> Iterator[EmbeddingServer]:
    """Serves until the block ends."""
    found = EmbeddingServer("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found.inputs.append(asked["input"])
            found.keys.append(self.headers["Authorization"])
            vectors = found.embed(asked["input"])
            rows = [{"index": at, "embedding": row} for at, row in reversed(list(enumerate(vectors)))]
            body = json.dumps(found.body if found.body is not None else {"data": rows}).encode()
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quietly."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}/v1#tiny-multilingual"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
