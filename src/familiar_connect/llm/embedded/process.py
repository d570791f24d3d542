"""ChildProcess: one run of the child, from its launch to its end.

Plain blocking code for a thread: it belongs to no event loop. The child's complaints are read all the
time and only the last of them kept.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any
from urllib.parse import urlsplit

from familiar_connect.config.command import command_to_add
from familiar_connect.errors import ModelError, ModelSetupError
from familiar_connect.llm.embedded import child
from familiar_connect.llm.embedded.weights import RUNTIME_PACKAGE, repair_advice

COMMAND = (sys.executable, "-P", str(Path(child.__file__)))
LAST_LINES = 8
MAX_LINE_CHARS = 300
MAX_ANSWER_BYTES = 16 << 20
GRACE_S = 3.0


class ChildProcess:
    """A launched child. `address` is known once `wait_ready` returned."""

    def __init__(
        self,
        settings: dict[str, Any],
        command: tuple[str, ...] = COMMAND,
        *,
        label: str = "The embedded model",
        advice: str = "",
    ) -> None:
        self.address = ""
        self._label = label
        self._advice = advice or repair_advice()
        self._token = str(settings["token"])
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._answers: SimpleQueue[str] = SimpleQueue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Waiting threads that spin starve the rest of a small machine.
            env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
            # Out of the terminal's reach: a Ctrl-C meant for the conversation must not end the model.
            start_new_session=True,
        )
        self._readers = [
            threading.Thread(target=self._read_answers, name="embedded-model-answers", daemon=True),
            threading.Thread(target=self._read_complaints, name="embedded-model-complaints", daemon=True),
        ]
        for reader in self._readers:
            reader.start()
        self._send(settings)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wait_ready(self, timeout_s: float) -> str:
        """The address, once the child listens; a ModelSetupError when it never will."""
        try:
            line = self._answers.get(timeout=timeout_s)
        except Empty:
            raise ModelSetupError(f"{self._label} did not start within {timeout_s:.0f} s; {self._advice}") from None
        try:
            answer = json.loads(line) if line else {}
        except ValueError:
            answer = {"problem": "start", "detail": line[:MAX_LINE_CHARS]}
        if answer.get("address"):
            self.address = str(answer["address"])
            return self.address
        raise self._why_not(answer)

    def post(self, path: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Ask the child's server something small; a ModelError when it does not answer well."""
        at = urlsplit(self.address)
        connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=timeout_s)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        try:
            connection.request("POST", path, json.dumps(body).encode(), headers)
            response = connection.getresponse()
            answer = json.loads(response.read(MAX_ANSWER_BYTES))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ModelError(f"The embedded model did not answer ({type(error).__name__}).", retryable=True) from error
        finally:
            connection.close()
        if response.status != 200 or not isinstance(answer, dict):
            raise ModelError(f"The embedded model refused {path.partition('?')[0]}.", status=response.status)
        return answer

    def end(self, grace_s: float = GRACE_S) -> None:
        """End the child: its input closes, then it is asked, then it is made to. Its pipes close."""
        self._close(self._process.stdin)
        if not self._has_ended(grace_s):
            self._process.terminate()
        if not self._has_ended(grace_s):
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join(grace_s)
        self._close(self._process.stdout)
        self._close(self._process.stderr)

    def _has_ended(self, within_s: float) -> bool:
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _send(self, settings: dict[str, Any]) -> None:
        """The settings, and the token among them, go where no list of processes shows them."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(settings).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it died at once; `wait_ready` tells why

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline(MAX_ANSWER_BYTES)
        self._answers.put(line.decode("utf-8", "replace").strip())

    def _read_complaints(self) -> None:
        assert self._process.stderr is not None
        while line := self._process.stderr.readline(MAX_LINE_CHARS):
            text = line.decode("utf-8", "replace").strip()
            if text:
                self._last.append(text)

    def _why_not(self, answer: dict[str, Any]) -> ModelSetupError:
        try:
            code: int | None = self._process.wait(GRACE_S)
            self._readers[1].join(GRACE_S)  # its last words may still be on their way
        except subprocess.TimeoutExpired:
            code = None
        detail = str(answer.get("detail") or (self._last[-1] if self._last else "")).strip()
        if code is not None and -code == getattr(signal, "SIGILL", 4):
            return ModelSetupError(
                "The embedded model cannot run on this processor, which lacks AVX2: "
                "connect another model with `familiar connect`."
            )
        if answer.get("problem") == "library":
            mend = repair_advice(command_to_add([RUNTIME_PACKAGE]))
            return ModelSetupError(f"The embedded model's library cannot be loaded ({detail[:MAX_LINE_CHARS]}): {mend}")
        ended = f" and ended with code {code}" if code is not None else ""
        told = f" ({detail[:MAX_LINE_CHARS]})" if detail else ""
        return ModelSetupError(f"{self._label} could not start{ended}{told}: {self._advice}")

    @staticmethod
    def _close(pipe: IO[bytes] | None) -> None:
        try:
            if pipe is not None:
                pipe.close()
        except OSError:
            pass  # what was still to be written has no reader any more
