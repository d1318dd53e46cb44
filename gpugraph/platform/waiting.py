"""Warnings about a long wait, which state the reason of the wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gpugraph.platform import logging

FIRST_S = 1.0
"""The seconds after which a wait is reported."""

AGAIN_S = 10.0
"""The seconds between two reports of one wait."""


@contextmanager
def warn_while_waiting(text: str) -> Iterator[None]:
    """Log `text` as a warning one second after the start of the block, and then every ten seconds
    until the block ends.
    """
    is_over = threading.Event()

    def warn() -> None:
        pause = FIRST_S
        while not is_over.wait(pause):
            logging.warning("%s", text)
            pause = AGAIN_S

    threading.Thread(target=warn, name="gpugraph-waiting", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
