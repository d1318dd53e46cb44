"""The table of TensorFlow's modules: every path can be imported, every target is there."""

from __future__ import annotations

import importlib

import pytest

import gpugraph
from gpugraph.tensorflow_import.answering_modules import full_name
from gpugraph.tensorflow_import.module_table import ROWS, TREES
from gpugraph.tensorflow_import.tensorflow_names import ModulePath, find, is_module, names, target

SCHEDULES = gpugraph.keras.optimizers.schedules


@pytest.mark.parametrize("path", sorted({*ROWS, *TREES}))
def test_every_path_can_be_imported_and_has_all_its_names(path: str) -> None:
    full = full_name(path)
    with gpugraph.as_tensorflow() as missing:
        module = importlib.import_module(full)
        assert module.__name__ == full
        assert [name for name in dir(module) if not hasattr(module, name)] == []
        assert len(missing) == 0


@pytest.mark.parametrize("path", sorted(ROWS))
def test_every_target_is_there(path: str) -> None:
    row = ROWS[path]
    for token in (*row.names.values(), *row.sources):
        value = target(token)
        assert not isinstance(value, ModulePath) or is_module(value.path), token


def test_every_module_has_names() -> None:
    packages = {path for path in ROWS if not (ROWS[path].names or ROWS[path].sources)}
    assert [path for path in ROWS if path not in packages and not names(path)] == []
    assert [path for path in packages if not any(p.startswith(f"{path}.") for p in ROWS)] == []


@pytest.mark.parametrize(
    ("path", "name", "public"),
    [
        ("python.ops.array_ops", "reshape", gpugraph.reshape),
        ("python.ops.gen_math_ops", "mat_mul", gpugraph.raw_ops.MatMul),
        ("python.ops.gen_nn_ops", "conv2d_backprop_input", gpugraph.raw_ops.Conv2DBackpropInput),
        ("python.ops.gen_nn_ops", "top_kv2", gpugraph.raw_ops.TopKV2),
        ("python.ops.rnn_cell_impl", "RNNCell", gpugraph.nn.rnn_cell.RNNCell),
        ("python.framework.ops", "Tensor", gpugraph.Tensor),
        ("python.framework.tensor_util", "constant_value", gpugraph.get_static_value),
        ("python.platform.tf_logging", "info", gpugraph.logging.info),
        ("python.util.nest", "is_sequence", gpugraph.nest.is_nested),
        ("python.training.adam", "AdamOptimizer", gpugraph.train.AdamOptimizer),
        ("python.keras.layers", "Dense", gpugraph.keras.layers.Dense),
        ("python.keras.layers.core", "Dense", gpugraph.keras.layers.Dense),
        ("python.keras._impl.keras.layers.core", "Dense", gpugraph.keras.layers.Dense),
        ("python.keras.engine.base_layer", "InputSpec", gpugraph.keras.layers.InputSpec),
        ("python.keras.optimizer_v2.adam", "Adam", gpugraph.keras.optimizers.Adam),
        ("contrib.keras.api.keras.layers", "Dense", gpugraph.keras.layers.Dense),
        ("keras.optimizers.schedules", "ExponentialDecay", SCHEDULES.ExponentialDecay),
        ("python.training.summary_io", "SummaryWriterCache", gpugraph.summary.FileWriterCache),
        ("compat.v1.nn", "relu", gpugraph.nn.relu),
        ("contrib.framework.python.ops", "arg_scope", gpugraph.contrib.framework.arg_scope),
        ("core.protobuf.config_pb2", "ConfigProto", gpugraph.ConfigProto),
        ("", "__version__", "1.15.5"),
        ("version", "VERSION", "1.15.5"),
    ],
)
def test_a_name_of_an_internal_module_is_the_public_one(path, name, public) -> None:
    assert find(path, name) == public


@pytest.mark.parametrize("name", ["base", "ops", "devices", "session", "memory", "shapes", "rnn"])
def test_folders_of_this_package_are_no_modules_of_tensorflow(name: str) -> None:
    assert not is_module(name)
    with pytest.raises(AttributeError):
        find("", name)
