"""Random programs: native code, fused steps and plain steps agree, in values and gradients."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import gpugraph as tf
from gpugraph.devices.codegen.c_compiler import compiler

pytestmark = pytest.mark.skipif(bool(compiler().reason), reason=compiler().reason)

UNARY = [tf.tanh, tf.sigmoid, tf.negative, tf.square, tf.nn.relu, tf.exp, tf.erf, tf.nn.softplus]
BINARY = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.squared_difference]
REDUCE = [tf.reduce_sum, tf.reduce_mean, tf.reduce_max]


def config(level: int, opt_level: int = 0) -> tf.ConfigProto:
    options = tf.OptimizerOptions(global_jit_level=level, opt_level=opt_level)
    return tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))


PLAIN = config(tf.OptimizerOptions.OFF, tf.OptimizerOptions.L0)
NATIVE = config(tf.OptimizerOptions.ON_1)


@st.composite
def programs(draw: Any) -> Any:
    rows, columns = draw(st.sampled_from([1, 3, 17])), draw(st.sampled_from([1, 4, 10, 70]))
    kinds = ["unary", "binary", "rows", "columns", "all", "product", "softmax", "shape", "loss"]
    index = st.integers(0, 100)
    steps = [
        (draw(st.sampled_from(kinds)), draw(index), draw(index), draw(index))
        for _ in range(draw(st.integers(2, 12)))
    ]
    return (rows, columns), steps


def grown(steps: Any, known: list[Any], columns: int) -> list[Any]:
    """Add a tensor of each step; all of them are (rows, columns), or broadcast to it."""
    for kind, which, first, second in steps:
        a, b = known[first % len(known)], known[second % len(known)]
        calm = tf.clip_by_value(a, -2.0, 2.0)
        if kind == "unary":
            known.append(UNARY[which % len(UNARY)](calm))
        elif kind == "binary":
            known.append(BINARY[which % len(BINARY)](calm, b))
        elif kind == "rows" and a.shape.ndims == 2:
            known.append(REDUCE[which % 3](calm, -1, keepdims=True))
        elif kind == "columns" and a.shape.ndims == 2:
            known.append(REDUCE[which % 3](calm, 0, keepdims=True))
        elif kind == "all":
            known.append(REDUCE[which % 3](calm))
        elif kind == "product" and a.shape.ndims == 2 and a.shape[1] == columns:
            known.append(tf.matmul(calm, tf.ones([columns, columns]) / columns))
        elif kind == "softmax" and a.shape.ndims == 2:
            known.append(tf.nn.softmax(calm) if which % 2 else tf.nn.log_softmax(calm))
        elif kind == "shape" and a.shape.ndims == 2:
            turned = tf.transpose(calm) if which % 2 else tf.reshape(calm, [-1])
            known.append(tf.transpose(turned) if which % 2 else tf.reshape(turned, tf.shape(a)))
        elif kind == "loss" and a.shape.ndims == 2:
            labels = tf.zeros([a.shape[0]], tf.int32)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=calm)
            known.append(tf.expand_dims(losses, 1))
    return known


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(programs())
def test_native_and_plain_agree(program: Any) -> None:
    (rows, columns), steps = program
    with tf.Graph().as_default(), pytest.MonkeyPatch.context() as patch:
        patch.delenv("GPUGRAPH_NATIVE", raising=False)
        random = np.random.RandomState(len(steps))
        shapes = [(rows, columns), (1, columns), (rows, 1), ()]
        inputs = [tf.placeholder(tf.float64, shape) for shape in shapes]
        weights = tf.Variable(random.randn(rows, columns))
        known = grown(steps, [tf.cast(each, tf.float32) for each in [*inputs, weights]], columns)
        total = tf.add_n([tf.reduce_mean(tf.square(each)) for each in known])
        train = tf.train.GradientDescentOptimizer(0.1).minimize(total)
        gradients = tf.gradients(total, inputs[:2])
        feeds = {each: random.randn(*each.shape.as_list()) for each in inputs}
        found = []
        for chosen in (PLAIN, NATIVE):
            with tf.Session(config=chosen) as session:
                session.run(tf.global_variables_initializer())
                got = [session.run([known[-1], total, gradients, train], feeds) for _ in range(2)]
                found.append([*got[1][:2], *got[1][2], session.run(weights)])
        for one, other in zip(*found):
            scale = max(1.0, float(np.abs(one).max()))
            np.testing.assert_allclose(other, one, rtol=2e-4, atol=2e-5 * scale)
