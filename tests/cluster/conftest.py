"""A watch over the tests of clusters: one that blocks ends the run."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator

import pytest

WATCH_S = 100


@pytest.fixture(autouse=True)
def watch(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("exhaustive"):
        yield
        return
    faulthandler.dump_traceback_later(WATCH_S, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
