"""Op types that graphs of old producers have: made there, refused in later ones, run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework.changed_arguments.deprecations import DEPRECATIONS
from tests.ops.one_op import make_graph_older

raw = tf.raw_ops


def run(producer: int, make: Any, feeds: Any = None) -> Any:
    """Return the result of `make()` in a graph of that producer, exported and imported again."""
    with tf.Graph().as_default() as graph:
        make_graph_older(producer)
        with tf.name_scope("old"):
            made = make()
        names = [[item.name for item in one] if isinstance(one, list) else one.name
                 for one in (made if isinstance(made, (list, tuple)) else [made])]  # fmt: skip
        graph_def = graph.as_graph_def()
    assert graph_def.versions.producer == producer
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        result = session.run(names, feeds)
    return result if isinstance(made, (list, tuple)) else result[0]


def test_a_deprecated_op_type_is_refused_in_graphs_of_its_version():
    for op_type, (version, words) in DEPRECATIONS.items():
        graph_def = tf.GraphDef()
        graph_def.versions.producer = version
        graph_def.node.add(name="n", op=op_type)
        says = rf"Op {op_type} is not available in GraphDef version {version}. It has been removed "
        with pytest.raises(tf.errors.UnimplementedError) as caught:
            tf.import_graph_def(graph_def)
        assert str(caught.value) == f"{says}in version {version}. {words}."
        graph_def.versions.producer = version - 1
        if tf.raw_ops.__getattr__(op_type).op_def.inputs:
            with pytest.raises(ValueError, match="NodeDef"):  # its inputs are missing
                tf.import_graph_def(graph_def)


def test_arrays_of_before_version_3():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    for version, producer in (("", 15), ("V2", 25)):

        def make(version: str = version) -> Any:
            def op(name: str) -> Any:
                return getattr(raw, f"TensorArray{name}{version}")

            array = op("")(size=3, dtype=tf.float32, dynamic_size=True)
            flow = tf.constant(0.0)
            for row in (2, 0, 1):
                flow = op("Write")(array, row, x[row], flow)
            whole = op("Gather")(array, [0, 1, 2], flow, dtype=tf.float32)
            other = op("")(size=3, dtype=tf.float32, clear_after_read=False)
            filled = op("Scatter")(other, [2, 1, 0], x, tf.constant(0.0))
            row = op("Read")(other, 0, filled, dtype=tf.float32)
            slopes = op("Grad")(other, filled, source="gradients")
            written = op("Scatter")(slopes, [0, 1, 2], x, filled)
            slope = op("Read")(slopes, 1, written, dtype=tf.float32)
            split = op("")(size=2, dtype=tf.float32)
            parts = op("Split")(split, x, tf.constant([1, 2], tf.int64), tf.constant(0.0))
            joined = op("Concat")(split, parts, dtype=tf.float32)
            with tf.control_dependencies([row, slope]):
                closed = op("Close")(other)
            with tf.control_dependencies([closed]):
                size = tf.identity(op("Size")(array, flow))
            return [whole, row, slope, joined[0], joined[1], size]

        whole, row, slope, joined, lengths, size = run(producer, make)
        np.testing.assert_array_equal(whole, x)
        np.testing.assert_array_equal(row, x[2])
        np.testing.assert_array_equal(slope, x[1])
        np.testing.assert_array_equal(joined, x)
        assert lengths.tolist() == [1, 2] and size == 3


def test_arrays_are_packed_and_unpacked():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)

    def make() -> Any:
        array = raw.TensorArray(size=3, dtype=tf.float32)
        flow = raw.TensorArrayUnpack(array, x, tf.constant(0.0))
        return raw.TensorArrayPack(array, flow, dtype=tf.float32)

    np.testing.assert_array_equal(run(15, make), x)


def test_a_placeholder_may_have_any_shape_in_early_graphs():
    for producer, rank in ((0, None), (8, None), (21, None), (22, 0), (27, 0)):
        graph_def = tf.GraphDef()
        graph_def.versions.producer = producer
        node = graph_def.node.add(name="x", op="Placeholder")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
        node.attr["shape"].shape.SetInParent()
        other = graph_def.node.add(name="y", op="MatMul", input=["x", "x"])
        other.attr["T"].type = tf.float32.as_datatype_enum
        if rank == 0:
            with pytest.raises(ValueError, match="Shape must be rank 2 but is rank 0"):
                tf.import_graph_def(graph_def)
            continue
        with tf.Graph().as_default() as graph, tf.Session() as session:
            x, y = tf.import_graph_def(graph_def, return_elements=["x:0", "y:0"])
            assert x.shape.rank is None
            assert session.run(y, {x: [[2.0]]}).tolist() == [[4.0]]
            assert tf.placeholder(tf.float32, []).shape.rank is None  # the graph is an early one
            assert graph.as_graph_def().node[0].attr["shape"].shape.unknown_rank is False
            assert tf.placeholder(tf.float32, [2]).shape.as_list() == [2]


def test_a_placeholder_of_version_2():
    x = np.float32(3)
    result = run(22, lambda: raw.PlaceholderV2(dtype=tf.float32, shape=[]) * 2.0, {
        "old/PlaceholderV2:0": x
    })  # fmt: skip
    assert result == 6
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
        run(22, lambda: raw.PlaceholderV2(dtype=tf.float32, shape=[]) * 2.0)


def test_a_crop_is_a_part_of_the_image():
    image = np.arange(30, dtype=np.int32).reshape(5, 3, 2)

    def make() -> Any:
        size = tf.constant([2, 3], tf.int64)
        return [raw.RandomCrop(image=image, size=size, seed=seed) for seed in range(1, 9)]

    parts = run(7, lambda: [*make()])
    starts = {int(part[0, 0, 0]) // 6 for part in parts}
    assert len(starts) > 1
    for part in parts:
        top = int(part[0, 0, 0]) // 6
        np.testing.assert_array_equal(part, image[top : top + 2])


def test_numbers_of_poisson_and_rounded_ones():
    drawn = run(24, lambda: raw.RandomPoisson(shape=[1000], rate=np.float32([2, 8]), seed=3))
    assert drawn.dtype == np.float32 and drawn.shape == (1000, 2)
    np.testing.assert_allclose(drawn.mean(0), [2, 8], atol=0.4)
    x = np.float32([-1, -0.3, 0, 0.26, 1])
    rounded = run(21, lambda: raw.QuantizeAndDequantize(input=x, num_bits=3))
    newer = run(134, lambda: tf.quantization.quantize_and_dequantize(x, 0, 0, num_bits=3))
    np.testing.assert_array_equal(rounded, newer)


def test_a_normalization_is_differentiated_in_its_graph():
    x = np.random.default_rng(1).normal(size=(2, 3, 2, 4)).astype(np.float32)
    rest = [np.float32([1, 2, 3, 4])] * 4

    def make() -> Any:
        inputs = [tf.constant(x), *map(tf.constant, rest)]
        y = raw.BatchNormWithGlobalNormalization(
            *inputs, variance_epsilon=0.1, scale_after_normalization=True
        )
        same = tf.nn.batch_normalization(*inputs, 0.1)
        return [*tf.gradients(y, inputs), *tf.gradients(same, inputs), y, same]

    result = run(8, make)
    for one, other in [*zip(result[:5], result[5:10]), result[10:]]:
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)


def test_queues_and_readers_of_references(tmp_path):
    path = tmp_path / "lines"
    path.write_text("one\ntwo\n", "utf-8")

    def make() -> Any:
        queue = raw.FIFOQueue(component_types=[tf.string], capacity=3)
        fill = raw.QueueEnqueueMany(queue, [[str(path)]])
        with tf.control_dependencies([fill]):
            size = tf.identity(raw.QueueSize(queue))
        reader = raw.TextLineReader()
        with tf.control_dependencies([size]):
            _, line = raw.ReaderRead(reader, queue)
        return [size, line]

    assert run(25, make) == [1, b"one"]
