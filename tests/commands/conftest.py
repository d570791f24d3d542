"""Commands set up logging for the whole process; here it is taken away again."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from familiar_connect.support.log import ROOT


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger(ROOT)
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
