"""Save, SaveSlices, Restore, RestoreSlice: savers in graphs of before TensorFlow 1.0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import gpugraph as tf

OLD_SAVER = """
node { name: "v" op: "Variable" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } } } } }
node { name: "file" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "x" } } } }
node { name: "names" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } }
    string_val: "v" } } } }
node { name: "slices" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } }
    string_val: "" } } } }
node { name: "name" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "v" } } } }
node { name: "slice" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "" } } } }
node { name: "save" op: "SaveSlices" input: "file" input: "names" input: "slices" input: "v"
  attr { key: "T" value { list { type: DT_FLOAT } } } }
node { name: "restore_slice" op: "RestoreSlice" input: "file" input: "name" input: "slice"
  attr { key: "dt" value { type: DT_FLOAT } }
  attr { key: "preferred_shard" value { i: -1 } } }
node { name: "restore" op: "Assign" input: "v" input: "restore_slice"
  attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 8 }
"""


def test_a_saver_of_before_1_0_runs(tmp_path: Path) -> None:
    path = str(tmp_path / "old")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(text_format.Parse(OLD_SAVER, tf.GraphDef()), name="")
        session.run(tf.assign(session.graph.get_tensor_by_name("v:0"), [1.0, 2.0]))
        session.run("save", {"file:0": path})
        session.run(tf.assign(session.graph.get_tensor_by_name("v:0"), [0.0, 0.0]))
        session.run("restore", {"file:0": path})
        np.testing.assert_array_equal(session.run("v:0"), [1, 2])
    assert tf.train.list_variables(path) == [("v", [2])]


def run(fetch: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetch)


def test_ops_write_and_read(tmp_path: Path) -> None:
    path, raw = str(tmp_path / "v1"), tf.raw_ops
    with tf.Graph().as_default():
        run(raw.Save(filename=path, tensor_names=["a", "b"], data=[[1, 2], b"text"]))
        whole = raw.Restore(file_pattern=path, tensor_name="a", dt=tf.int32)
        part = raw.RestoreSlice(
            file_pattern=path, tensor_name="a", shape_and_slice="2 1,1", dt=tf.int32
        )
        assert whole.shape.rank is None and part.shape == [1]
        values = run([whole, part, raw.Restore(file_pattern=path, tensor_name="b", dt=tf.string)])
        assert [np.asarray(value).tolist() for value in values] == [[1, 2], [2], b"text"]
        wrong = raw.Restore(file_pattern=path, tensor_name="a", dt=tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not equal original dtype"):
            run(wrong)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Got 1 tensor names"):
            run(raw.Save(filename=path, tensor_names=["a"], data=[1, 2]))
        gone = raw.Restore(file_pattern=f"{path}-gone", tensor_name="a", dt=tf.float32)
        with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
            run(gone)
