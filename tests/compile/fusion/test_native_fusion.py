"""Fusing for native kernels: ops that one kernel can compute become one step, and no others do."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import compiler

from ..stages import compiled, types

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

SHAPE = (6, 4)
VALUE = np.linspace(-1, 1, 24, dtype=np.float32).reshape(SHAPE)


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.delenv("GPUGRAPH_NATIVE", raising=False)
    with tf.Graph().as_default() as graph:
        yield graph


def groups(fetches, upto="memory_planning"):
    """Op types of each fused step, sorted."""
    unit = compiled(fetches, {X[0]: SHAPE}, upto=upto)
    return sorted(sorted(kind for _, kind, _ in ops) for ops in unit.fused.values())


X = []


@pytest.fixture(autouse=True)
def x(graph):
    X[:] = [tf.placeholder(tf.float32, SHAPE, name="x")]
    yield X[0]


def answers(fetches):
    """By fused steps without native code, and by native code."""
    results = []
    for level in (tf.OptimizerOptions.DEFAULT, tf.OptimizerOptions.ON_1):
        options = tf.OptimizerOptions(global_jit_level=level)
        config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
        with tf.Session(config=config) as session:
            results.append(session.run(fetches, {X[0]: VALUE}))
    return results


def test_layers_that_differ_in_the_sign_of_a_zero_are_not_alike(x):
    below = tf.nn.relu(x) - 1.0
    slopes = 0.0, -0.0
    groups_of_ops = [tf.nn.leaky_relu(below * (2.0 + k), z) for k, z in enumerate(slopes)]
    single_ops = [tf.nn.leaky_relu(x, slope) for slope in slopes]
    for results in answers([groups_of_ops, single_ops]):
        for pair in results:
            assert [bool(np.signbit(result[0, 0])) for result in pair] == [True, False]


def test_small_tensors_too(x):
    assert groups([tf.tanh(tf.exp(x) * 2.0)]) == [["Exp", "Mul", "Tanh"]]


def test_a_normalization_is_one_step(x):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.squared_difference(x, mean), -1, keepdims=True)
    y = (x - mean) * tf.rsqrt(variance + 1e-5)
    assert groups([y]) == [["AddV2", "Mean", "Mean", "Mul", "Rsqrt", "SquaredDifference", "Sub"]]
    plain, native = answers(y)
    want = (VALUE - VALUE.mean(1, keepdims=True)) / VALUE.std(1, keepdims=True)
    np.testing.assert_allclose(plain, want, rtol=1e-3)
    np.testing.assert_allclose(native, want, rtol=1e-3)


def test_a_sum_over_rows_ends_a_step(x):
    total = tf.reduce_sum(tf.exp(x), 0, keepdims=True)
    y = tf.tanh(x) + total
    assert groups([y]) == [["AddV2", "Tanh"], ["Exp", "Sum"]]
    for result in answers(y):
        want = np.tanh(VALUE) + np.exp(VALUE).sum(0, keepdims=True)
        np.testing.assert_allclose(result, want, rtol=1e-5)


def test_a_sum_over_all_ends_a_step(x):
    y = tf.exp(x) / tf.reduce_sum(tf.exp(x))
    (found_groups,) = [group for group in groups([y]) if "Sum" in group]
    assert found_groups == ["Exp", "Sum"]
    for found_groups in answers(y):
        np.testing.assert_allclose(found_groups, np.exp(VALUE) / np.exp(VALUE).sum(), rtol=1e-5)


def test_a_recipe_is_a_part_like_others(x):
    y = tf.nn.softmax(x * 3.0) + 1.0
    assert groups([y]) == [["AddV2", "Mul", "Softmax"]]
    plain, native = answers(y)
    np.testing.assert_allclose(plain, native, rtol=1e-6)


def test_what_has_no_texts_stays_apart(x):
    y = tf.exp(tf.cumsum(tf.tanh(x) * 2.0)) + 1.0
    assert groups([y]) == [["AddV2", "Exp"], ["Mul", "Tanh"]]


def test_sums_in_the_middle_have_no_kernel(x):
    wide = tf.reshape(x, [2, 3, 4])
    y = tf.reduce_sum(tf.exp(wide), 1, keepdims=True)
    assert "Sum" in types(compiled([y], {x: SHAPE}, upto="memory_planning"))
    for result in answers(y):
        want = np.exp(VALUE).reshape(2, 3, 4).sum(1, keepdims=True)
        np.testing.assert_allclose(result, want, rtol=1e-5)


def test_empty_tensors_and_complex_numbers_are_left_alone(graph):
    empty = tf.placeholder(tf.float32, [0, 4])
    z = tf.placeholder(tf.complex64, [3])
    fetches = [tf.tanh(empty * 2.0), tf.square(z * 2.0)]
    unit = compiled(fetches, {empty: (0, 4), z: (3,)}, upto="fusion_groups")
    assert "_Fused" not in types(unit)


def test_a_long_chain_is_cut(x, monkeypatch):
    monkeypatch.setattr(sys.modules["gpugraph.compile.fusion.fusion_groups"], "MAX_WEIGHT", 8)
    y = x
    for _ in range(30):
        y = tf.tanh(y) + 0.1
    found_groups = groups([y])
    assert sum(map(len, found_groups)) == 60
    assert max(map(len, found_groups)) <= 8
    plain, native = answers(y)
    np.testing.assert_allclose(plain, native, rtol=1e-5)


def test_an_op_that_refuses_is_named_though_it_is_part_of_a_step():
    labels = tf.placeholder(tf.int32, [6])
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=X[0] * 2.0, name="losses"
    )
    y = losses + 1.0
    assert "_Fused" in types(compiled([y], {X[0]: SHAPE, labels: (6,)}, upto="fusion_groups"))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(y, {X[0]: VALUE, labels: [0, 1, 2, 3, 4, 5]})
    assert "node losses" in str(caught.value)
    assert "test_native_fusion.py" in str(caught.value)


def test_memory_of_steps_is_given_back_with_the_session(x):
    y = tf.nn.softmax(tf.exp(x) * 2.0) + 1.0
    with tf.Session() as session:
        session.run(y, {x: VALUE})
        before = session.memory_stats()
        for _ in range(5):
            session.run(y, {x: VALUE})
        assert session.memory_stats() == before


def test_of_layers_that_are_alike_one_is_looked_at(x, monkeypatch):
    looked = []
    record = sys.modules["gpugraph.compile.fusion.fused_node"].Record
    builds = record._builds_kernel
    monkeypatch.setattr(record, "_builds_kernel", lambda r: looked.append(r) or builds(r))
    y = x
    for _ in range(9):
        y = tf.tanh(tf.matmul(y, tf.ones([4, 4])) * 0.5) - tf.reduce_mean(y, -1, keepdims=True)
    assert len(groups([y])) == 9
    assert len(looked) == 3  # the first and the last have others around them


def test_ops_that_differ_in_a_value_or_an_attr_are_no_copies_of_each_other(x):
    sums = [tf.reduce_sum(tf.exp(x * k), axis, keepdims=True) for k, axis in ((2.0, 0), (3.0, 1))]
    narrow = [tf.cast(tf.cast(x * 9.0, dtype), tf.float32) for dtype in (tf.int32, tf.float64)]
    scaled = [tf.nn.leaky_relu(x - 0.1, alpha=alpha) for alpha in (0.1, 0.3)]
    wanted = [
        np.exp(VALUE * 2).sum(0, keepdims=True),
        np.exp(VALUE * 3).sum(1, keepdims=True),
        np.trunc(VALUE * np.float32(9)),
        VALUE * 9,
        *[np.where(VALUE > 0.1, VALUE - 0.1, (VALUE - 0.1) * alpha) for alpha in (0.1, 0.3)],
    ]
    for results in answers([*sums, *narrow, *scaled]):
        for result, want in zip(results, wanted):
            np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-6)
