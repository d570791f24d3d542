"""One started endpoint for every test here: each uses a key and chats of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.endpoint import Endpoint, served_endpoint
from tests.fakes.page import LACKING


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """`familiar serve`, as people start it."""
    if LACKING:
        pytest.skip("the extra `web` is not installed; `python3 run.py test` has it")
    with served_endpoint(tmp_path_factory.mktemp("serve") / "home") as served:
        yield served
