"""`load_function`: arrays in, arrays out, in many threads, until it is closed."""

from __future__ import annotations

import pathlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        s = tf.sparse_placeholder(tf.float32, name="s")
        w = tf.Variable([[1.0], [2.0]], name="w")
        y = tf.matmul(x, w, name="y")
        session.run(tf.global_variables_initializer())
        predict = tf.saved_model.predict_signature_def
        builder = tf.saved_model.Builder(tmp_path / "m")
        signatures = {
            "serving_default": predict({"x": x}, {"y": y, "twice": 2 * y}),
            "sparse": predict({"s": s}, {"s": s, "sum": tf.sparse.reduce_sum(s)}),
        }
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
    return tmp_path / "m"


def test_arrays_in_and_out(folder: pathlib.Path) -> None:
    with tf.Graph().as_default() as graph:
        function = tf.saved_model.load_function(folder)
        assert graph.get_operations() == []
    assert repr(function) == "<LoadedFunction 'serving_default': ['x'] -> ['twice', 'y']>"
    assert function.inputs["x"] == tf.TensorSpec([None, 2], tf.float32, "x:0")
    assert function.outputs["y"].shape.as_list() == [None, 1]
    assert function.method_name == "tensorflow/serving/predict"
    for result in (function({"x": [[1, 1]]}), function(x=np.ones((1, 2)))):
        assert set(result) == {"y", "twice"} and result["y"].dtype == np.float32
        np.testing.assert_array_equal(result["twice"], [[6.0]])
    function.close()
    function.close()
    with pytest.raises(RuntimeError, match="is closed"):
        function(x=[[1, 1]])


def test_sparse_values(folder: pathlib.Path) -> None:
    value = tf.SparseTensorValue([[0, 1]], np.float32([3]), [2, 2])
    with tf.saved_model.load_function(folder, "sparse") as function:
        result = function(s=value)
    assert result["sum"] == 3 and isinstance(result["s"], tf.SparseTensorValue)


def test_many_threads(folder: pathlib.Path) -> None:
    with tf.saved_model.load_function(folder) as function, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: function(x=[[n, n]])["y"].item(), range(200)))
    assert results == [3.0 * number for number in range(200)]


def test_what_is_refused(folder: pathlib.Path) -> None:
    load = tf.saved_model.load_function
    with pytest.raises(ValueError, match=r"no signature 'a'; it has \['serving_default', 'sparse'"):
        load(folder, "a")
    with pytest.raises(RuntimeError, match="'train' could not be found"):
        load(folder, tags="train")
    with pytest.raises(OSError, match="does not exist"):
        load(folder / "variables")
    with load(folder, "serving_default", tags=["serve"]) as function:
        for inputs in ({}, {"x": 1, "z": 2}, {"z": 2}):
            with pytest.raises(ValueError, match=r"has the inputs \['x'\]"):
                function(inputs)
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            function(x=[1.0])
        assert function(x=[[1, 0]])["y"] == 1
