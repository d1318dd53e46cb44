"""tf.compat.v2: the functions with other arguments, and the classes that do not change."""

from __future__ import annotations

import gpugraph.compat.v2 as tf2
import numpy as np
import pytest

import gpugraph as tf

RNG = np.random.RandomState(3)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def values(*fetches):
    with tf.Session() as session:
        return session.run(fetches)


def test_transposed_convolutions_take_dilations_before_the_name():
    image = RNG.rand(1, 3, 3, 2).astype(np.float32)
    volume = RNG.rand(1, 2, 3, 3, 2).astype(np.float32)
    flat = RNG.rand(2, 2, 4, 2).astype(np.float32)
    deep = RNG.rand(2, 2, 2, 4, 2).astype(np.float32)
    new2 = tf2.nn.conv2d_transpose(image, flat, [1, 6, 6, 4], 2, "SAME", "NHWC", None, "a")
    old2 = tf.nn.conv2d_transpose(image, flat, [1, 6, 6, 4], [1, 2, 2, 1])
    new3 = tf2.nn.conv3d_transpose(volume, deep, [1, 4, 6, 6, 4], 2, "SAME", "NDHWC", None, "b")
    old3 = tf.nn.conv3d_transpose(volume, deep, [1, 4, 6, 6, 4], [1, 2, 2, 2, 1])
    assert new2.op.name.startswith("a")
    assert new3.op.name.startswith("b")
    new2, old2, new3, old3 = values(new2, old2, new3, old3)
    np.testing.assert_array_equal(new2, old2)
    np.testing.assert_array_equal(new3, old3)
    with pytest.raises(TypeError, match="value"):
        tf2.nn.conv2d_transpose(value=image, filters=flat, output_shape=[1], strides=1)


@pytest.mark.parametrize("loss", ["nce_loss", "sampled_softmax_loss"])
def test_tables_in_parts_have_consecutive_rows(loss):
    table, biases = RNG.rand(7, 3).astype(np.float32), RNG.rand(7).astype(np.float32)
    inputs, labels = RNG.rand(2, 3).astype(np.float32), np.array([[1], [5]])
    sampled = (np.array([0, 6, 3]), np.full([2, 1], 0.5), np.full([3], 0.25))
    sampled = tuple(tf.constant(part, part.dtype if i == 0 else tf.float32)
                    for i, part in enumerate(sampled))  # fmt: skip
    parts = [tf.constant(table[:4]), tf.constant(table[4:])]
    arguments = (labels, inputs, 3, 7, 1, sampled)
    whole = getattr(tf.nn, loss)(table, biases, *arguments)
    in_parts = getattr(tf2.nn, loss)(parts, biases, *arguments)
    by_remainder = getattr(tf.nn, loss)(parts, biases, *arguments)
    whole, in_parts, by_remainder = values(whole, in_parts, by_remainder)
    np.testing.assert_allclose(in_parts, whole, rtol=1e-6)
    assert not np.allclose(by_remainder, whole)


def test_sampled_softmax_takes_a_seed_before_the_name():
    table, biases = np.eye(5, 3, dtype=np.float32), np.zeros(5, np.float32)
    loss = tf2.nn.sampled_softmax_loss(
        table, biases, [[1]], np.ones([1, 3], np.float32), 2, 5, 1, None, True, 7, "drawn"
    )
    names = [op.name for op in tf.get_default_graph().get_operations()]
    assert any(name.startswith("drawn/") for name in names)
    first, second = values(loss)[0], values(loss)[0]
    np.testing.assert_array_equal(first, second)


def test_safe_lookup_takes_the_norm_before_the_name():
    ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], np.array([1, -1, 4]), [3, 2])
    table = np.arange(15, dtype=np.float32).reshape(5, 3) + 1
    parts = [tf.constant(table[:3]), tf.constant(table[3:])]
    new = tf2.nn.safe_embedding_lookup_sparse(parts, ids, None, "mean", None, 1.0, "safe")
    assert new.op.name.startswith("safe")
    rows = values(new)[0]
    expected = np.zeros([3, 3], np.float32)
    for row, index in ((0, 1), (2, 4)):
        expected[row] = table[index] / np.linalg.norm(table[index])
    np.testing.assert_allclose(rows, expected, rtol=1e-6)


def test_a_device_spec_does_not_change():
    spec = tf2.DeviceSpec(job="ps", device_type="gpu", device_index=1)
    with pytest.raises(AttributeError):
        spec.job = "worker"
    assert spec.replace(job="worker", task=2).to_string() == "/job:worker/task:2/device:GPU:1"
    assert spec.to_string() == "/job:ps/device:GPU:1"
    assert spec.parse_from_string("/cpu:0").to_string() == "/device:CPU:0"
    assert spec.to_string() == "/job:ps/device:GPU:1"
    merged = spec.make_merged_spec(tf2.DeviceSpec.from_string("/task:3/cpu:0"))
    assert type(merged) is tf2.DeviceSpec
    assert merged.to_string() == "/job:ps/task:3/device:CPU:0"
    assert not hasattr(spec, "merge_from")
    assert isinstance(tf.DeviceSpec(), tf2.DeviceSpec)
    assert spec == tf.DeviceSpec.from_string(spec.to_string())
    assert {spec: 1}[tf2.DeviceSpec.from_string("/job:ps/gpu:1")] == 1
    with pytest.raises(TypeError):
        spec.replace(rack=1)
    with tf.device(spec):
        assert tf.constant(1).device == "/job:ps/device:GPU:1"


def test_modes_of_aggregation_are_those_of_version_1():
    modes = tf2.VariableAggregation
    assert [mode.name for mode in modes] == ["NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"]
    assert not hasattr(modes, "ONLY_FIRST_TOWER")
    assert modes.SUM == tf.VariableAggregation.SUM
    assert tf.VariableAggregation.SUM == modes.SUM
    assert modes.SUM != tf.VariableAggregation.MEAN
    assert {modes.SUM} == {tf.VariableAggregation.SUM}
    variable = tf.Variable(1.0, aggregation=modes.MEAN)
    assert variable.aggregation is tf.VariableAggregation.MEAN
    assert tf.VariableAggregation.ONLY_FIRST_TOWER == modes.ONLY_FIRST_REPLICA


def test_a_name_scope_takes_a_name_alone():
    with tf2.name_scope("a") as first, tf2.name_scope("b/") as second:
        assert (first, second) == ("a/", "b/")
    scope = tf2.name_scope("a")
    assert scope.name == "a"
    with scope as prefix:
        assert prefix == "a_1/"
        assert tf.constant(1).op.name == "a_1/Const"
    with pytest.raises(TypeError, match="name for name_scope must be a string"):
        tf2.name_scope(None)
