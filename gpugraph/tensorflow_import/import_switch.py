"""`as_tensorflow`, which makes `import tensorflow` import this package."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpugraph.tensorflow_import.answering_modules import (
    ROOT,
    KerasFinder,
    TensorFlowFinder,
    TensorFlowModule,
)
from gpugraph.tensorflow_import.libraries.later_libraries import LaterLibraryFinder
from gpugraph.tensorflow_import.missing_names import MissingNames
from gpugraph.tensorflow_import.old_keras import keras_1_arguments
from gpugraph.tensorflow_import.refused_names import listen_to_refusals

_LOCK = threading.Lock()
_LATER = LaterLibraryFinder()
_users: dict[TensorFlowFinder, int] = {}
"""The finder in use, if any, mapped to the number of open `as_tensorflow` blocks and `install`
calls.
"""


def _record_refusal(path: str) -> None:
    """Record that a program called a refused name, in the list of missing names."""
    for finder in _users:
        finder.missing.add(path)


listen_to_refusals(_record_refusal)


@contextmanager
def as_tensorflow() -> Iterator[MissingNames]:
    """Make `import tensorflow`, and imports of its submodules, import this package within the
    block.

        with gpugraph.as_tensorflow() as missing:
            import old_program  # contains `import tensorflow as tf`
        print(missing)          # the names that it used and gpugraph lacks

    At the end of the block, TensorFlow's modules are removed from `sys.modules`. Modules that
    imported them keep their references. Blocks may be nested, and apply to all threads. Raises
    ImportError if another TensorFlow is already imported.
    """
    finder = install()
    try:
        yield finder.missing
    finally:
        _leave(finder)


def install() -> TensorFlowFinder:
    """Make `import tensorflow` import this package from now on. Return the finder in use.

    Raises ImportError if another TensorFlow is already imported.
    """
    with _LOCK:
        finder = next(iter(_users), None)
        if finder is None:
            _refuse_another()
            finder = TensorFlowFinder()
            sys.meta_path[:0] = [finder, _LATER]
            sys.meta_path.append(KerasFinder(finder))
        _users[finder] = _users.get(finder, 0) + 1
        return finder


def _refuse_another() -> None:
    """Raise ImportError if a TensorFlow other than this package's is imported."""
    other = sys.modules.get(ROOT)
    if other is not None and not isinstance(other, TensorFlowModule):
        version = getattr(other, "__version__", "of no version")
        file = getattr(other, "__file__", None) or "an unknown place"
        raise ImportError(
            f"TensorFlow {version} is already imported, from {file}: gpugraph answers `import "
            f"tensorflow` only in a process that has not imported it",
            name=ROOT,
        )


def _serves(other: Any, finder: TensorFlowFinder) -> bool:
    return isinstance(other, KerasFinder) and other._finder is finder


def _leave(finder: TensorFlowFinder) -> None:
    with _LOCK:
        _users[finder] -= 1
        if _users[finder]:
            return
        del _users[finder]
        keras_1_arguments.withdraw()
        sys.meta_path[:] = [
            other
            for other in sys.meta_path
            if other not in (finder, _LATER) and not _serves(other, finder)
        ]
        for name, module in list(sys.modules.items()):
            if isinstance(module, TensorFlowModule):
                del sys.modules[name]
