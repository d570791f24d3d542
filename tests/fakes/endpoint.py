"""The endpoint for other programs, served by the real program, and what asks it."""

from __future__ import annotations

import http.client
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from familiar_connect.config.folders import HomeFolder
from familiar_connect.extensions.serve.keys import KeyAudience, KeyBook
from tests.fakes.model_server import DONE, ModelServer, event, head
from tests.fakes.program import make_home, model_endpoint
from tests.fakes.program_process import environment, start_program
from tests.fakes.waiting import wait_until

WAIT_S = 120.0


@dataclass
class Endpoint:
    """A running `familiar serve`, and the model behind its familiar."""

    home: Path
    url: str
    model: ModelServer

    def add_key(
        self,
        name: str,
        person: str = "",
        *,
        audience: KeyAudience = KeyAudience.private,
        is_owner: bool = False,
        may_watch: bool = False,
    ) -> str:
        """A key of the home."""
        book = KeyBook(HomeFolder(self.home).extension_data("serve"))
        return book.add(name, person=person, audience=audience, is_owner=is_owner, may_watch=may_watch)

    def ask(self, path: str, body: object = None, *, key: str | None = None, **headers: str) -> tuple[int, Any]:
        """One request, said exactly; status and JSON of the answer. Names of *headers* are written with `_` for `-`."""
        at = urlsplit(self.url)
        connection = http.client.HTTPConnection(at.netloc, timeout=WAIT_S)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"Authorization": f"Bearer {key}"} if key is not None else {}
        try:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
            connection.request("GET" if raw is None else "POST", at.path + path, raw, sent)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def last_prompt(self) -> str:
        """What the model was last asked, as one text."""
        return "\n".join(str(each["content"]) for each in self.model.requests[-1].payload["messages"])


def number_replies() -> Any:
    """An answer of a model that says something else each time: `reply 1`, `reply 2`. Asked for the weather, it calls
    the tool of that name, and says what that gave."""

    numbers = count(1)

    async def answer(server: ModelServer, writer: Any) -> None:
        number, asked = next(numbers), server.requests[-1].payload
        last, tools = asked["messages"][-1], [each["function"]["name"] for each in asked.get("tools", ())]
        if last["role"] == "tool":
            writer.write(head() + event(f"The sky says {last['content']}.") + event(finish="stop") + DONE)
            return
        if "weather" in tools and "weather" in str(last["content"]):
            function = {"name": "weather", "arguments": '{"town": "Graz"}'}
            call = {"index": 0, "id": "own-id", "type": "function", "function": function}
            delta = json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
            writer.write(head() + f"data: {delta}\n\n".encode() + event(finish="tool_calls") + DONE)
            return
        writer.write(head() + event("This is reply ") + event(f"{number}.") + event(finish="stop") + DONE)
        await writer.drain()

    return answer


@contextmanager
def started(home: Path, *words: str, until: str) -> Iterator[str]:
    """`familiar WORDS` from when its output matches *until*, whose first group is given, to Ctrl-C."""
    hears, writes = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    process = start_program(list(words), (nothing, writes, writes), environment(home))
    os.close(writes)
    os.close(nothing)
    said: list[str] = []
    with open(hears, encoding="utf-8", errors="replace") as stream:
        reader = threading.Thread(target=lambda: said.extend(stream), daemon=True)
        reader.start()
        try:
            wait_until(lambda: re.search(until, "".join(said)) or process.poll() is not None, f"`{words[0]}` is ready")
            found = re.search(until, "".join(said))
            assert found is not None, "".join(said)
            yield found[1]
        finally:
            process.send_signal(2)
            try:
                assert process.wait(WAIT_S) == 0, "".join(said)
            finally:
                process.kill()
                reader.join(WAIT_S)


@contextmanager
def served_endpoint(home: Path, *, settings: str = "") -> Iterator[Endpoint]:
    """`familiar serve` over Ember in *home*, whose replies come from a model of ours; *settings* lie below hers."""
    with model_endpoint(number_replies()) as model:
        make_home(home, model)
        profile = HomeFolder(home).profile.settings_file
        profile.parent.mkdir(parents=True, exist_ok=True)
        profile.write_text(f"{settings}\n[llm.main_prose]\ntools = true\n", encoding="utf-8")
        with started(home, "serve", "--port", "0", until=r"(http://\S+/v1)") as url:
            yield Endpoint(home, url, model)
