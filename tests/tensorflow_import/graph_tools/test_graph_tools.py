"""`tensorflow.python.tools` and `tensorflow.tools.graph_transforms` on a small network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.graph_tools import (
    checkpoint_printing,
    frozen_graph_files,
    graph_transforms,
    inference_graphs,
    stripped_graphs,
)

IMAGES = np.random.RandomState(0).rand(2, 6, 6, 3).astype(np.float32)


def network() -> Any:
    """Build a convolution with batch normalization, from the placeholder x to the node out."""
    x = tf.placeholder(tf.float32, [None, 6, 6, 3], name="x")
    kernel = tf.get_variable("kernel", [3, 3, 3, 4])
    convolved = tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME", name="conv")
    scale = tf.get_variable("scale", [4], initializer=tf.constant_initializer(1.5))
    mean = tf.get_variable("mean", [4], initializer=tf.constant_initializer(0.25))
    ones = tf.constant([1.0, 2.0, 3.0, 4.0])
    normal, _, _ = tf.nn.fused_batch_norm(
        convolved, scale, ones, mean, ones, is_training=False, name="norm"
    )
    checked = tf.check_numerics(tf.identity(normal), "not a number")
    tf.random.normal([2], name="unused")
    return tf.nn.relu(checked, name="out")


def run(graph_def: Any) -> Any:
    """Return the network's output for the images."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        assert "unused" not in [operation.name for operation in graph.get_operations()]
        return session.run("out:0", {"x:0": IMAGES})


@pytest.fixture(name="saved")
def fixture_saved(tmp_path: Path) -> tuple[Path, Any]:
    """Write the graph and a checkpoint; return the folder and the network's output."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        out = network()
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
        tf.train.write_graph(graph, str(tmp_path), "graph.pbtxt")
        tf.train.write_graph(graph, str(tmp_path), "graph.pb", as_text=False)
        expected = session.run(out, {"x:0": IMAGES})
    return tmp_path, expected


def frozen(folder: Path, name: str = "graph.pbtxt", output: str = "out") -> Any:
    """Freeze the graph of the folder."""
    return frozen_graph_files.freeze_graph(
        input_graph=str(folder / name),
        input_saver="",
        input_binary=name.endswith(".pb"),
        input_checkpoint=str(folder / "model.ckpt"),
        output_node_names=output,
        restore_op_name="save/restore_all",
        filename_tensor_name="save/Const:0",
        output_graph=str(folder / "frozen.pb"),
        clear_devices=True,
        initializer_nodes="",
    )


@pytest.mark.parametrize("name", ["graph.pbtxt", "graph.pb"])
def test_a_frozen_graph_has_the_values_of_the_checkpoint(saved: Any, name: str) -> None:
    folder, expected = saved
    graph_def = frozen(folder, name)
    np.testing.assert_array_equal(run(graph_def), expected)
    written = tf.GraphDef.FromString((folder / "frozen.pb").read_bytes())
    assert [node.name for node in written.node] == [node.name for node in graph_def.node]


def test_a_meta_graph_is_frozen_too(saved: Any) -> None:
    folder, expected = saved
    graph_def = frozen_graph_files.freeze_graph(
        "", "", True, str(folder / "model.ckpt"), "out", None, None, "", False, "",
        input_meta_graph=str(folder / "model.ckpt.meta"),
    )  # fmt: skip
    np.testing.assert_array_equal(run(graph_def), expected)


def test_missing_checkpoints_and_outputs_are_printed(saved: Any, capsys: Any) -> None:
    folder, _ = saved
    assert frozen(folder, output="") == -1
    (folder / "model.ckpt.index").unlink()
    assert frozen(folder) == -1
    text = capsys.readouterr().out
    assert "supply the name of a node" in text and "doesn't exist" in text
    with pytest.raises(OSError, match="does not exist"):
        frozen(folder, "other.pb")


def test_optimized_graphs_compute_the_same_without_normalizations(saved: Any) -> None:
    folder, expected = saved
    result = inference_graphs.optimize_for_inference(
        frozen(folder), ["x"], ["out"], tf.float32.as_datatype_enum
    )
    types = {node.op for node in result.node}
    assert types == {"Placeholder", "Const", "Conv2D", "BiasAdd", "Relu"}
    np.testing.assert_allclose(run(result), expected, rtol=1e-5, atol=1e-6)


def test_stripped_graphs_begin_at_other_inputs(saved: Any) -> None:
    folder, _ = saved
    result = stripped_graphs.strip_unused(frozen(folder), ["norm"], ["out"], tf.float32)
    assert [node.op for node in result.node if node.name == "norm"] == ["Placeholder"]
    assert "conv" not in [node.name for node in result.node]
    with pytest.raises(KeyError, match="other"):
        stripped_graphs.strip_unused(result, ["other"], ["out"], tf.float32)
    with pytest.raises(ValueError, match="appears to refer to a Tensor"):
        stripped_graphs.strip_unused(result, ["norm:0"], ["out"], tf.float32)


@pytest.mark.parametrize(
    "transforms",
    [
        ['strip_unused_nodes(type=float, shape="1,6,6,3")'],
        ["remove_nodes(op=Identity, op=CheckNumerics)", "fold_old_batch_norms"],
        ["fold_constants(ignore_errors=true) fold_batch_norms"],
        ["merge_duplicate_nodes", "sort_by_execution_order", "obfuscate_names"],
        ["remove_device", "remove_attribute(attribute_name=_class)", "fuse_resize_and_conv"],
    ],
)
def test_transforms_keep_the_values(saved: Any, transforms: list[str]) -> None:
    folder, expected = saved
    result = graph_transforms.TransformGraph(frozen(folder), ["x"], ["out"], transforms)
    np.testing.assert_allclose(run(result), expected, rtol=1e-5, atol=1e-6)


def test_transforms_fold_constants_and_products() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        weights = tf.constant(np.arange(12, dtype=np.float32).reshape(3, 4)) + 1.0
        scale = tf.constant([1.0, 2.0, 3.0, 4.0])
        tf.identity(tf.matmul(x, weights) * scale, name="out")
    transforms = ["fold_constants", "fold_batch_norms"]
    result = graph_transforms.TransformGraph(graph.as_graph_def(), ["x"], ["out"], transforms)
    assert sorted(node.op for node in result.node if node.op != "Const") == [
        *("Identity", "MatMul", "Placeholder")
    ]
    fed = np.ones((2, 3), np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(result, name="")
        found = session.run("out:0", {"x:0": fed})
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
    np.testing.assert_allclose(found, fed @ matrix * [1, 2, 3, 4])


def test_unknown_transforms_are_errors() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="'fold' not recognized"):
        graph_transforms.TransformGraph(tf.GraphDef(), [], [], ["fold"])
    with pytest.raises(NotImplementedError, match="quantized"):
        graph_transforms.TransformGraph(tf.GraphDef(), [], [], ["quantize_weights"])


def test_weights_are_rounded_to_a_number_of_steps() -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(np.linspace(0, 1, 100, dtype=np.float32), name="c")
    result = graph_transforms.TransformGraph(
        graph.as_graph_def(), [], ["c"], ["round_weights(num_steps=4)"]
    )
    values = inference_graphs.values_from_const(result.node[0])
    assert sorted(set(values.tolist())) == [0.0, 0.25, 0.5, 0.75]


def test_checkpoints_are_printed(saved: Any, capsys: Any) -> None:
    folder, _ = saved
    path = str(folder / "model.ckpt")
    checkpoint_printing.print_tensors_in_checkpoint_file(path, "mean", all_tensors=False)
    assert "0.25 0.25" in capsys.readouterr().out
    checkpoint_printing.print_tensors_in_checkpoint_file(path, None, True, True)
    text = capsys.readouterr().out
    assert "tensor_name:  kernel" in text and "total number of params" in text.lower()
    checkpoint_printing.print_tensors_in_checkpoint_file(path, "other", False)
    assert "other" in capsys.readouterr().out
