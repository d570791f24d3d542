"""What the page is told beside the talk: it comes by the stream of events alone."""

from __future__ import annotations

import http.client
from contextlib import closing, suppress
from threading import Thread

from benchmarks.reliability.harness import FAMILIAR_ID

LONGEST_S = 300.0


def hear_notices(host: str, cookie: str, heard: list[str]) -> None:
    """Put each notice of the first chat into *heard* until the program ends."""
    Thread(target=_read, args=(host, cookie, heard), name="notices", daemon=True).start()


def _read(host: str, cookie: str, heard: list[str]) -> None:
    connection = http.client.HTTPConnection(host, timeout=LONGEST_S)
    with closing(connection), suppress(OSError, http.client.HTTPException):
        connection.request("GET", f"/f/{FAMILIAR_ID}/chats/1/events", headers={"Cookie": cookie})
        kind = ""
        for line in connection.getresponse():
            text = line.decode()
            kind = text.strip() if text.startswith("event:") else kind
            if kind == "event: notice" and text.startswith("data:"):
                heard.append(text)
