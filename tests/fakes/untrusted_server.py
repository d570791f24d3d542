"""An https server on loopback whose certificate nobody signed but itself. The key is for tests and guards nothing."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsnna8uk+4mXgJ6Cq
ul4lETjjTPcji+kr9ZpuXzoViKehRANCAAT7dYYufOlf+XCX29SNkrrl7q/0PeLG
X7EGh+9KD96opPKKMn2mdZMLjWyV1KRkcCYKTTvqjIBO8o2breVCglv1
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBYTCCAQegAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAkxMjcuMC4w
LjEwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CTEyNy4wLjAuMTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPt1hi586V/5cJfb
1I2SuuXur/Q94sZfsQaH70oP3qik8ooyfaZ1kwuNbJXUpGRwJgpNO+qMgE7yjZut
5UKCW/WjSDBGMBoGA1UdEQQTMBGHBH8AAAGCCWxvY2FsaG9zdDAJBgNVHRMEAjAA
MB0GA1UdDgQWBBRnYpLpQi//3KHN7Et+o9mgU+jurjAKBggqhkjOPQQDAgNIADBF
AiB5xjj6LE20SFF4Q0cFQ6cEve2oR4tJ5hZCaSFeUO9KrgIhAP0+0z+sLgocG4cY
Dd3wVT7LhjB4s9kWtr0uQaJMRHVK
-----END CERTIFICATE-----
"""
"""Key and certificate for 127.0.0.1, valid for a hundred years."""


@dataclass(frozen=True)
class UntrustedServer:
    base_url: str


@contextlib.contextmanager
def untrusted_server(folder: Path) -> Iterator[UntrustedServer]:
    """Shakes hands with whoever comes, as long as they trust it."""
    file = folder / "untrusted.pem"
    file.write_text(CERTIFICATE, encoding="ascii")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_serve, args=(listening, context), daemon=True)
        thread.start()
        yield UntrustedServer(f"https://127.0.0.1:{listening.getsockname()[1]}/v1")
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
    thread.join(100)


def _serve(listening: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with contextlib.suppress(OSError), connection:
            connection.settimeout(10)
            context.wrap_socket(connection, server_side=True).close()
