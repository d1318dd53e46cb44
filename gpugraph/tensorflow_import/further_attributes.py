"""Access to names of the module table as attributes of this package, such as
`gpugraph.compat.v2.exp`.
"""

from __future__ import annotations

import threading
from typing import Any

from gpugraph.tensorflow_import.answering_modules import TensorFlowFinder
from gpugraph.tensorflow_import.import_switch import install
from gpugraph.tensorflow_import.refused_names import reason_of
from gpugraph.tensorflow_import.tensorflow_names import ModulePath, find, library_module

_FINDER = TensorFlowFinder()
_lookups = threading.local()


def further_attribute(path: str, name: str) -> Any:
    """Look up a name that a public module lacks, and return its value. The name is looked up in the
    module table.

    The look-up may import a library such as tensorflow-estimator. In that case, `import tensorflow`
    imports this package from then on. Raises AttributeError if the name is missing or refused.

    A look-up in the table reads the attributes of public modules, which may call this function
    again. If the name is missing, such a nested call also raises AttributeError.
    """
    if getattr(_lookups, "is_running", False):
        raise AttributeError(name)
    _lookups.is_running = True
    try:
        value = find(path, name)
    finally:
        _lookups.is_running = False
    if reason_of(value):
        raise AttributeError(name)
    if not isinstance(value, ModulePath):
        return value
    finder = install() if library_module(value.path) is not None else _FINDER
    return finder.module(value.path)
