"""Modules that programs take from TensorFlow's modules, which import them."""

from __future__ import annotations

import pytest

import gpugraph
from gpugraph.tensorflow_import.module_rows.imported_modules import IMPORTED_MODULES
from gpugraph.tensorflow_import.tensorflow_names import ModulePath, find, is_module


def test_every_module_is_there() -> None:
    assert [path for path in IMPORTED_MODULES.values() if not is_module(path)] == []


@pytest.mark.parametrize(
    ("path", "name", "module"),
    [
        ("contrib.slim", "init_ops", "python.ops.init_ops"),
        ("python.ops.rnn", "array_ops", "python.ops.array_ops"),
        ("python.ops.rnn", "vs", "python.ops.variable_scope"),
        ("contrib.layers.python.layers.layers", "nest", "python.util.nest"),
        ("", "pywrap_tensorflow", "python.pywrap_tensorflow"),
    ],
)
def test_a_module_has_the_modules_that_it_imports(path: str, name: str, module: str) -> None:
    assert find(path, name) == ModulePath(module)


def test_the_modules_are_the_same_objects() -> None:
    with gpugraph.as_tensorflow() as missing:
        from tensorflow.contrib import slim  # noqa: PLC0415
        from tensorflow.python.ops import init_ops  # noqa: PLC0415

        assert slim.init_ops is init_ops and slim.init_ops.zeros_initializer()
        assert len(missing) == 0


def test_public_modules_and_refused_names_are_as_before() -> None:
    with pytest.raises(AttributeError):
        find("nn", "array_ops")
    with pytest.raises(AttributeError):
        find("contrib.slim", "no_such_module")
    assert not isinstance(find("python.ops", "clustering_ops"), ModulePath)
