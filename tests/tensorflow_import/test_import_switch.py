"""`as_tensorflow`: `import tensorflow` within it, after it, twice, and beside another one."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import types

import pytest

import gpugraph


def tensorflow_modules() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "tensorflow"]


def test_a_program_imports_it_in_every_form() -> None:
    with gpugraph.as_tensorflow():
        names: dict[str, object] = {}
        exec(
            "import tensorflow as tf\n"
            "import tensorflow.compat.v1 as tf1\n"
            "import tensorflow.contrib.slim as slim\n"
            "import tensorflow.python.ops.math_ops\n"
            "from tensorflow import nn, float32\n"
            "from tensorflow.contrib import layers\n"
            "from tensorflow.contrib.framework.python.ops import add_arg_scope\n"
            "from tensorflow.python.ops import array_ops, rnn_cell_impl as cells\n"
            "from tensorflow.python.framework.ops import get_default_graph as graph\n"
            "from tensorflow.core.protobuf.config_pb2 import ConfigProto\n",
            names,
        )
    tf = names["tf"]
    assert isinstance(tf, types.ModuleType) and tf.__name__ == "tensorflow"
    assert tf.__version__ == tf.VERSION == names["tf1"].__version__ == "1.15.5"
    assert tf.matmul is gpugraph.matmul is names["tf1"].matmul
    assert names["nn"] is tf.nn and names["tf1"].nn.relu is tf.nn.relu is gpugraph.nn.relu
    assert names["slim"].conv2d is gpugraph.contrib.slim.conv2d
    assert names["layers"] is tf.contrib.layers
    assert names["cells"].RNNCell is gpugraph.nn.rnn_cell.RNNCell
    assert names["graph"]() is gpugraph.get_default_graph()
    assert tf.executing_eagerly() is False
    assert tf.python.ops.array_ops is names["array_ops"]
    assert tf.app.flags.FLAGS is tf.flags.FLAGS  # a module that two modules have


def test_all_names_come_by_a_star() -> None:
    with gpugraph.as_tensorflow():
        names: dict[str, object] = {}
        exec("from tensorflow.nn import *", names)
    assert names["relu"] is gpugraph.nn.relu and "rnn_cell" in names


def test_its_modules_leave_with_it_and_still_answer() -> None:
    with gpugraph.as_tensorflow():
        import tensorflow as tf  # noqa: PLC0415

        assert "tensorflow" in sys.modules
        kept = tf.contrib
    assert tensorflow_modules() == []
    assert kept.slim.conv2d is gpugraph.contrib.slim.conv2d
    assert tf.losses.log_loss is gpugraph.losses.log_loss
    assert tensorflow_modules() == []


def test_it_leaves_after_an_error_too() -> None:
    finders = list(sys.meta_path)
    with pytest.raises(ZeroDivisionError), gpugraph.as_tensorflow():
        importlib.import_module("tensorflow")
        raise ZeroDivisionError
    assert tensorflow_modules() == [] and sys.meta_path == finders


def test_blocks_may_be_nested_and_share_what_is_missing() -> None:
    with gpugraph.as_tensorflow() as outer:
        tf = importlib.import_module("tensorflow")
        with gpugraph.as_tensorflow() as inner:
            assert importlib.import_module("tensorflow") is tf
            assert not hasattr(tf, "nothing_of_this_name")
        assert importlib.import_module("tensorflow") is tf
        assert inner is outer and len(outer) == 1
    assert tensorflow_modules() == []


def test_another_tensorflow_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    other = types.ModuleType("tensorflow")
    other.__version__ = "2.21.0"
    other.__file__ = "/somewhere/tensorflow/__init__.py"
    monkeypatch.setitem(sys.modules, "tensorflow", other)
    with pytest.raises(ImportError, match=r"TensorFlow 2\.21\.0 is already imported, from /some"):
        with gpugraph.as_tensorflow():
            pass
    assert sys.modules["tensorflow"] is other


def test_packages_beside_it_are_not_answered() -> None:
    with gpugraph.as_tensorflow() as missing:
        assert importlib.util.find_spec("tensorflow.nn") is not None
        assert importlib.util.find_spec("tensorflow.nothing") is None
        with pytest.raises(ModuleNotFoundError, match="No module named 'tensorflow_of_another'"):
            importlib.import_module("tensorflow_of_another")
        assert len(missing) == 1


def test_threads_import_the_same_modules() -> None:
    imported = []
    with gpugraph.as_tensorflow():
        barrier = threading.Barrier(8)

        def ask() -> None:
            barrier.wait()
            imported.append(importlib.import_module("tensorflow.python.ops.nn_ops"))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(imported) == 8 and len(set(map(id, imported))) == 1


def test_a_function_is_not_hidden_by_the_module_of_its_name() -> None:
    with gpugraph.as_tensorflow():
        ops = importlib.import_module("tensorflow.contrib.framework.python.ops")
        module = importlib.import_module("tensorflow.contrib.framework.python.ops.arg_scope")
        assert ops.arg_scope is module.arg_scope is gpugraph.contrib.framework.arg_scope


def test_a_program_may_replace_a_name() -> None:
    with gpugraph.as_tensorflow():
        tf = importlib.import_module("tensorflow")
        tf.nn.relu = len
        assert importlib.import_module("tensorflow.nn").relu is len
    assert gpugraph.nn.relu is not len
