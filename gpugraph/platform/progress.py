"""Progress bars for long work: large restores, and first runs that wait for the compiler."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

DELAY_S = 1.0
"""The seconds that work must take before its bar appears."""


@contextmanager
def progress_bar(total: int, title: str, unit: str) -> Iterator[Callable[[int], object]]:
    """Yield a function that advances a progress bar by a number of units.

    The bar appears on standard error after a second, on terminals and in notebooks, if tqdm is
    installed. Otherwise the function does nothing. Threads may call it at the same time.

    Args:
      total: the number of units of the whole work.
      unit: "B" for bytes, which get a prefix such as M, or a name such as "file".
    """
    bar_class = _bar_class() if total else None
    if bar_class is None:
        yield lambda _: None
        return
    with bar_class(
        total=total,
        desc=title,
        unit=unit,
        unit_scale=unit == "B",
        leave=False,
        delay=DELAY_S,
        file=sys.stderr,
    ) as bar:
        yield bar.update


def in_notebook() -> bool:
    """Return whether the program runs in a notebook."""
    return "ipykernel" in sys.modules


def tqdm_class() -> Any:
    """Return tqdm's class of bars for a notebook or a terminal. Raises ModuleNotFoundError if tqdm
    is not installed.
    """
    return import_module("tqdm.auto").tqdm if in_notebook() else import_module("tqdm").tqdm


def _bar_class() -> Any:
    """Return tqdm's class of bars, or None if tqdm is not installed or nobody would see a bar."""
    if not in_notebook() and not (sys.stderr is not None and sys.stderr.isatty()):
        return None
    try:
        return tqdm_class()
    except ModuleNotFoundError:
        return None
