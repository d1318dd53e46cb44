"""A keyword that a function does not have raises TypeError with the function's own name."""

from __future__ import annotations

import functools
import inspect
import re
from functools import partial
from types import ModuleType
from typing import Any

import pytest

import gpugraph as tf

_MODULES = (
    "",
    *("contrib.layers", "contrib.rnn", "contrib.seq2seq", "contrib.losses", "contrib.metrics"),
    *("contrib.slim", "layers", "nn", "losses", "metrics", "image", "math", "random", "strings"),
    *("sparse", "sets"),
)
_FAULT = r"([\w.<>]+)\(\) (got an unexpected keyword argument 'no_such_keyword'|missing \d)"


def _module(path: str) -> Any:
    return functools.reduce(getattr, path.split("."), tf) if path else tf


def _functions(module: Any) -> dict[str, Any]:
    return {
        name: value
        for name in dir(module)
        if not name.startswith("_")
        and callable(value := getattr(module, name))
        and not inspect.isclass(value)
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", "").startswith("gpugraph")
    }


def _is_alias(name: str, other: str) -> bool:
    """Return whether all words of a name are in the other, as in `linalg.det` and `matrix_det`."""
    words, others = set(name.split("_")), set(other.split("_"))
    return words <= others or others <= words


@pytest.mark.parametrize("path", _MODULES)
def test_each_function_is_named(path: str) -> None:
    public = {name for other in _MODULES for name in dir(_module(other))}
    faults = []
    for name, function in _functions(_module(path)).items():
        with pytest.raises((TypeError, NotImplementedError)) as caught:
            function(no_such_keyword=1)
        if caught.type is NotImplementedError:  # a function that is refused
            continue
        original = function.func if isinstance(function, partial) else function
        found = re.match(_FAULT, str(caught.value))
        named = found[1] if found else ""
        if named not in (name, original.__name__) or not (
            named in public or _is_alias(name, named)
        ):
            faults.append(f"{name}: {caught.value}")
    assert not faults, path


def test_a_missing_argument_is_reported_after_a_wrong_one() -> None:
    with pytest.raises(TypeError, match=r"^convolution2d\(\) missing a required argument"):
        tf.contrib.slim.conv2d()
    with pytest.raises(TypeError, match=r"^fully_connected\(\) got an .* argument 'activation'$"):
        tf.contrib.slim.fully_connected(activation=None)
    with pytest.raises(TypeError, match=r"^dense\(\) got an .* argument 'unit'$"):
        tf.layers.dense(unit=3)
