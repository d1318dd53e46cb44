"""`as_tensorflow`: from when on, and until when, `import tensorflow` is answered here."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gpugraph.tensorflow_import.answering_modules import ROOT, TensorFlowFinder, TensorFlowModule
from gpugraph.tensorflow_import.missing_names import MissingNames

_LOCK = threading.Lock()
_users: dict[TensorFlowFinder, int] = {}
"""The finder that answers, with how many blocks are open."""


@contextmanager
def as_tensorflow() -> Iterator[MissingNames]:
    """Within it, `import tensorflow` and all below it give this package's names.

        with gpugraph.as_tensorflow() as missing:
            import old_program  # which says `import tensorflow as tf`
        print(missing)          # the names that it asked for and that are not there

    At the end TensorFlow's modules leave `sys.modules`; who imported them keeps them. Blocks may
    be nested, and are one for all threads. ImportError if a TensorFlow is already imported.
    """
    finder = install()
    try:
        yield finder.missing
    finally:
        _leave(finder)


def install() -> TensorFlowFinder:
    """Answers `import tensorflow` from now on. ImportError if a TensorFlow is already imported."""
    with _LOCK:
        finder = next(iter(_users), None)
        if finder is None:
            _refuse_another()
            finder = TensorFlowFinder()
            sys.meta_path.insert(0, finder)
        _users[finder] = _users.get(finder, 0) + 1
        return finder


def _refuse_another() -> None:
    """ImportError if there is a TensorFlow that is none of ours."""
    other = sys.modules.get(ROOT)
    if other is not None and not isinstance(other, TensorFlowModule):
        version = getattr(other, "__version__", "of no version")
        file = getattr(other, "__file__", None) or "an unknown place"
        raise ImportError(
            f"TensorFlow {version} is already imported, from {file}: gpugraph answers `import "
            f"tensorflow` only in a process that has not imported it",
            name=ROOT,
        )


def _leave(finder: TensorFlowFinder) -> None:
    with _LOCK:
        _users[finder] -= 1
        if _users[finder]:
            return
        del _users[finder]
        sys.meta_path.remove(finder)
        for name, module in list(sys.modules.items()):
            if isinstance(module, TensorFlowModule):
                del sys.modules[name]
