"""The startup code of Python processes that a program under `gpugraph run` starts.

It makes `import tensorflow` import gpugraph. The package gpugraph is loaded only at that import.
Then the code runs the next `sitecustomize` on `sys.path`, which this file hides.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


class _FirstImport:
    """A finder that replaces itself with gpugraph's finder at the first import of TensorFlow."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a TensorFlow module. Return None for other modules."""
        if fullname.partition(".")[0] != "tensorflow" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        if PathFinder.find_spec("gpugraph") is None:
            sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(_HERE))))
        from gpugraph.tensorflow_import.import_switch import install  # noqa: PLC0415

        return install().find_spec(fullname, path, target)


def _run_the_next() -> None:
    """Run the next `sitecustomize` on `sys.path`, and remove this file's folder from the path."""
    sys.path[:] = [entry for entry in sys.path if entry != _HERE]
    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


sys.meta_path.insert(0, _FirstImport())
_run_the_next()
