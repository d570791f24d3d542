"""Commands set up logging for the whole process; here it is taken away again."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from familiar_connect.support.log import ROOT


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    roots = [logging.getLogger(name) for name in (ROOT, "")]
    before = [(list(root.handlers), root.level) for root in roots]
    yield
    for root, (handlers, level) in zip(roots, before, strict=True):
        root.handlers[:] = handlers
        root.setLevel(level)
