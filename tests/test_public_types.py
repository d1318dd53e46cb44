"""The types of the public functions' results, as editors and type checkers see them."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import gpugraph as tf
from gpugraph.api.import_paths import TENSORFLOW_MODULES

MOST_UNTYPED = 250
"""The number of public functions without a type of their results may only fall. Most of them return
structures as their arguments have them."""


def results() -> Iterator[tuple[str, Any]]:
    """Yield the path of each public function and the type of its result."""
    seen = set()
    for path, module in TENSORFLOW_MODULES.items():
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) or not callable(value) or id(value) in seen:
                continue
            seen.add(id(value))
            yield f"{path}.{name}", getattr(value, "__annotations__", {}).get("return")


def test_most_results_have_a_type() -> None:
    untyped = [path for path, kind in results() if kind in ("Any", None) and path[:7] != "contrib"]
    assert len(untyped) <= MOST_UNTYPED, untyped


def test_layers_return_tensors() -> None:
    module = TENSORFLOW_MODULES["layers"]
    functions = [n for n in module.__all__ if n[0].islower() and callable(getattr(module, n))]
    assert len(functions) > 15
    for name in functions:
        assert inspect.signature(getattr(module, name)).return_annotation == "Tensor", name


@pytest.mark.skipif(sys.version_info < (3, 11), reason="overloads are not recorded")
def test_runs_return_values_in_the_structure_of_their_fetches() -> None:
    overloads = typing.get_overloads(tf.Session.run)
    kinds = [inspect.signature(overload).return_annotation for overload in overloads]
    assert kinds == ["None", "list[Any]", "tuple[Any, ...]", "dict[_Key, Any]", "Any"]
