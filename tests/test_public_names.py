"""The public names: the snapshot of their parameters is current, and nothing else is public."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pickle
import re
import types
from pathlib import Path

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.api.import_paths import PUBLIC_MODULES, TENSORFLOW_MODULES

ROOT = Path(__file__).resolve().parents[1]


def load(name: str) -> types.ModuleType:
    """Import a script of `ci/`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


signatures = load("public_signatures")
FACES = sorted(
    {
        module
        for module in signatures.public_modules().values()
        if module is tf or module.__name__.startswith("gpugraph.api.")
    },
    key=lambda module: module.__name__,
)


@pytest.mark.parametrize("module", FACES, ids=lambda module: module.__name__)
def test_nothing_else_is_public(module):
    others = {
        name: value
        for name, value in vars(module).items()
        if name not in signatures.names_of(module) and not name.startswith("_")
    }
    strangers = [
        name
        for name, value in others.items()
        if not (inspect.ismodule(value) and value.__name__.startswith("gpugraph."))
    ]
    assert strangers == []


def test_faces_define_nothing():
    defined = [
        f"{module.__name__}.{name}"
        for module in FACES
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
    ]
    assert defined == []


def test_numpy_stays_inside():
    leaks = [
        name
        for name, value in signatures.public_values().items()
        if value is np or (getattr(value, "__module__", None) or "").partition(".")[0] == "numpy"
    ]
    assert leaks == []


def test_functions_and_classes_have_docstrings():
    silent = [
        name
        for name, value in signatures.public_values().items()
        if inspect.isclass(value) or inspect.isroutine(value)
        if not isinstance(value, types.GenericAlias)  # a class to inspect, on Python 3.10
        if not (value.__doc__ or "").strip()
    ]
    assert silent == []


def test_signatures_are_those_of_the_snapshot():
    """A changed signature is shown by the difference; `ci/public_signatures.py` accepts it."""
    assert signatures.difference() == ""


def accepted(x, y=(1, 2.5), *more, is_exact=False, **rest):
    """A function with every kind of parameter."""


class Pair(tuple):
    _fields = ("a", "b")

    def __new__(cls, a, b=None):
        return super().__new__(cls, (a, b))


def test_a_line_has_every_kind_of_parameter():
    assert signatures.parameters(accepted) == "x y=(1,2.5) *more is_exact=False **rest"
    assert signatures.parameters(lambda x, *, key: x) == "x * key"
    assert signatures.parameters(Pair) == "a b=None"
    assert signatures.parameters(int) is None
    assert signatures.parameters(3) is None


def test_a_changed_signature_is_a_difference(monkeypatch):
    monkeypatch.setattr(signatures, "public_values", lambda: {"nn.relu": accepted, "Pair": Pair})
    changed = signatures.difference().splitlines()
    assert "+nn.relu: x y=(1,2.5) *more is_exact=False **rest" in changed
    assert "-nn.relu: features name=None" in changed


def test_aliases_are_the_same_objects():
    assert tf.nn.sigmoid is tf.sigmoid is tf.math.sigmoid
    assert tf.random.uniform is tf.random_uniform
    assert tf.initializers.zeros is tf.zeros_initializer
    assert tf.linalg.transpose is tf.matrix_transpose
    assert tf.math.divide_no_nan is tf.div_no_nan
    assert tf.initialize_all_variables is tf.global_variables_initializer
    assert tf.errors.OpError is tf.OpError
    assert tf.dtypes.cast is tf.cast
    assert tf.dtypes.as_string is tf.strings.as_string
    assert tf.dtypes.complex is tf.complex
    assert tf.dtypes.saturate_cast is tf.saturate_cast
    assert tf.io.decode_csv is tf.decode_csv
    assert tf.io.decode_png is tf.image.decode_png
    assert tf.io.read_file is tf.read_file
    assert tf.io.gfile.GFile is tf.gfile.GFile
    assert tf.initializers.global_variables is tf.global_variables_initializer
    assert tf.initializers.local_variables is tf.local_variables_initializer
    assert tf.initializers.variables is tf.variables_initializer


def test_the_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", tf.__version__)


def test_few_public_modules_are_not_tensorflows():
    """All others can be imported as `tensorflow.keras.losses` too."""
    assert [path for path in signatures.public_modules() if path not in TENSORFLOW_MODULES] == [
        "",
        "devices",
        "memory",
        "session",
        "shapes",
        "ops.kernels",
        "ops.shape_functions",
        "rnn.rnn_cell",
        "session.direct",
    ]


@pytest.mark.parametrize("path", sorted(PUBLIC_MODULES))
def test_public_paths_can_be_imported(path):
    """`import gpugraph.nn`, `from gpugraph import nn` and `from gpugraph.nn import relu` work."""
    module = importlib.import_module(path)
    assert module is PUBLIC_MODULES[path]
    parent, _, name = path.rpartition(".")
    assert getattr(importlib.import_module(parent), name, module) is module
    assert signatures.names_of(module)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("keras.engine.network", "Network"),
        ("train.optimizers.adam", "AdamOptimizer"),
        ("variables.variable", "Variable"),
        ("contrib_layers.fully_connected", "fully_connected"),
    ],
)
def test_pickles_name_classes_by_the_paths_of_before_folders_moved(path: str, name: str) -> None:
    found = pickle.loads(f"cgpugraph.{path}\n{name}\n.".encode())
    assert found.__module__.startswith(("gpugraph.library.", "gpugraph.building."))
    assert found.__module__.endswith(f".{path.partition('.')[2]}")
    assert found.__name__ == name
