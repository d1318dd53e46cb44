"""Interfaces that Python, NumPy and h5py have changed since Keras 2.1.6 ... 2.3.1, restored for
Keras.

Nothing here concerns TensorFlow. `apply` is called before Keras is imported, in a separate process.
"""

from __future__ import annotations

import collections
import collections.abc
import importlib.util
import sys
import types
from typing import Any

import h5py
import numpy as np


def apply() -> None:
    """Put all of it back."""
    _python()
    _numpy()
    _h5py()


def _python() -> None:
    """Python 3.10 took the abstract classes out of `collections`, 3.12 `distutils` away."""
    for name in ("Callable", "Iterable", "Mapping", "Sequence"):
        setattr(collections, name, getattr(collections.abc, name))
    if importlib.util.find_spec("distutils") is None:
        version: Any = types.ModuleType("distutils.version")
        version.StrictVersion = lambda text: tuple(map(int, text.split(".")))
        package: Any = types.ModuleType("distutils")
        package.version = version
        sys.modules |= {"distutils": package, "distutils.version": version}


def _numpy() -> None:
    """NumPy 2 took away second names."""
    for name, value in {"Inf": np.inf, "string_": np.bytes_, "unicode_": np.str_}.items():
        setattr(np, name, value)


def _h5py() -> None:
    """h5py 3 reads text of ASCII as str, h5py 2 as the bytes that were written.

    No list of names is the truth value of an array either, where NumPy 2 refuses to give one.
    """
    read = h5py.AttributeManager.__getitem__

    def as_before(attributes: Any, name: str) -> Any:
        value = read(attributes, name)
        if isinstance(value, np.ndarray) and not value.size:
            return np.array([], "S1")
        text = h5py.check_string_dtype(attributes.get_id(name).dtype)
        if text is None or text.encoding != "ascii" or text.length is not None:
            return value
        if isinstance(value, str):
            return value.encode()
        return np.array([item.encode() for item in value])

    h5py.AttributeManager.__getitem__ = as_before
