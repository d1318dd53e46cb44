"""The module `unittest.mock`, which is imported on first use, because its import is slow."""

from __future__ import annotations

import importlib.util
import sys
import unittest
from types import ModuleType

_NAME = "unittest.mock"


def _later() -> ModuleType:
    """Return the module `unittest.mock` if it is already imported. Otherwise return a module object
    that imports it on first access.
    """
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    spec = importlib.util.find_spec(_NAME)
    assert spec is not None and spec.loader is not None
    loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader = loader
    sys.modules[_NAME] = module
    loader.exec_module(module)
    unittest.mock = module  # type: ignore[attr-defined]
    return module


mock = _later()
