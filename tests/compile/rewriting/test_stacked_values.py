"""Stacks: a loop keeps less for its gradient, whose bits stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.config import RewriterConfig
from gpugraph.ops.framework.op_declaration import raw_ops

from ..stages import compiled, make_target, types

COUNT, SHAPE = 5, (32, 16)
VALUE = np.random.RandomState(0).uniform(-1, 1, SHAPE)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def slope(body: Callable[[Any], Any], dtype: Any = "float32", shape: Any = SHAPE, **loop: Any):
    """Return the input of a loop, and the gradient of the loop's result."""
    x = tf.placeholder(dtype, shape)
    _, y = tf.while_loop(
        lambda i, _: i < COUNT, lambda i, value: (i + 1, body(value)), [0, x], **loop
    )
    return x, tf.gradients(tf.reduce_sum(y), x)[0]


def gated(x: Any) -> Any:
    gate = tf.sigmoid(x)
    return gate * x + (1.0 - gate) * tf.tanh(x)


def run(fetch: Any, feeds: Any, toggle: int, **config: Any) -> tuple[bytes, str, int]:
    """Return the value's bytes, the pass's report, and the maximum of bytes in use."""
    options = tf.GraphOptions(rewrite_options=RewriterConfig(loop_optimization=toggle))
    with tf.Session(config=tf.ConfigProto(graph_options=options, **config)) as session:
        said = session.explain(fetch, feeds).of_pass("stacked_values")
        value = np.asarray(session.run(fetch, feeds)).tobytes()
        for device in session._backend.devices:  # the first run may have checked native code
            device.allocator.clear_stats()
        assert np.asarray(session.run(fetch, feeds)).tobytes() == value
        most = max(use.peak_bytes_in_use for use in session.memory_stats().values())
    return value, said, most


def both(fetch: Any, feeds: Any, **config: Any) -> tuple[str, int]:
    """Check that all bits stay, and return the pass's report and the bytes that it saves."""
    value, said, most = run(fetch, feeds, RewriterConfig.DEFAULT, **config)
    expected, off, before = run(fetch, feeds, RewriterConfig.OFF, **config)
    assert "loop_optimization is OFF" in off
    assert value == expected
    return said, before - most


def num_stacks(fetch: Any, feeds: Any, target: Any = None) -> tuple[int, int]:
    """Return how many stacks there are before the pass, and behind it."""
    before, behind = (
        types(compiled([fetch], feeds, upto, target))
        for upto in ("variable_restores", "stacked_values")
    )
    for kind in "StackPushV2", "StackPopV2":
        assert behind.count(kind) == behind.count("StackV2")
    return before.count("StackV2"), behind.count("StackV2")


def test_what_is_computed_of_another_kept_value_is_not_kept():
    x, gradient = slope(gated, shape=(64, 512))
    assert num_stacks(gradient, {x: (64, 512)}) == (4, 3)
    said, saved = both(gradient, {x: np.resize(VALUE, (64, 512))})
    assert "1 values are computed from others instead of stashed" in said
    assert "while/sub (Sub), 128.0KiB in each iteration" in said
    assert saved >= (COUNT - 1) * (64 * 512 * 4)


BODIES = {
    "a chain": (lambda x: tf.exp(x) * (2.0 - x) * tf.maximum(3.0 - x, 0.5), 2),
    "of two kept values": (lambda x: (g := tf.sin(x)) * x * (g - x), 2),
    "kept twice": (lambda x: (t := tf.tanh(x)) * tf.identity(t), 1),
    "a broadcast constant": (lambda x: x * (x + np.linspace(0, 1, 16)), 1),
}
LEFT = {
    "what takes long": lambda x: tf.exp(x) * x,
    "what it is computed of is not kept": lambda x: (1.0 - tf.random_uniform(SHAPE)) * x,
    "half": (lambda x: (1 - x) * x, "float16"),
    "small": (lambda x: (1 - x) * x, "float32", (4,)),
}


@pytest.mark.parametrize("case", BODIES)
def test_what_else_is_not_kept(case):
    body, fewer = BODIES[case]
    x, gradient = slope(body)
    before, behind = num_stacks(gradient, {x: SHAPE})
    assert (before - behind, behind) == (fewer, before - fewer)
    both(gradient, {x: VALUE})


@pytest.mark.parametrize("case", LEFT)
def test_what_stays(case):
    body, *rest = LEFT[case] if isinstance(LEFT[case], tuple) else (LEFT[case],)
    x, gradient = slope(body, *rest)
    before, behind = num_stacks(gradient, {x: x.shape.as_list()})
    assert before == behind > 0


def test_of_open_sizes():
    x, gradient = slope(gated, shape=[None, 16])
    before, behind = num_stacks(gradient, {x: (None, 16)})
    assert before - behind == 1
    both(gradient, {x: VALUE})


@pytest.mark.parametrize("device, swaps", [("/gpu:0", False), ("/gpu:0", True), ("/cpu:0", True)])
def test_on_devices(device, swaps):
    with tf.device(device):
        x, gradient = slope(gated, swap_memory=swaps)
    assert num_stacks(gradient, {x: SHAPE}, make_target(gpus=1)) == (4, 3)
    both(gradient, {x: VALUE}, gpu_options=tf.GPUOptions(virtual_gpus=[16]))


def test_a_value_of_another_device_stays():
    def body(x):
        with tf.device("/cpu:0"):
            other = 1.0 - x
        return x * other

    with tf.device("/gpu:0"):
        x, gradient = slope(body)
    before, behind = num_stacks(gradient, {x: SHAPE}, make_target(gpus=1))
    assert before == behind > 0


def test_two_backward_loops_of_one_loop():
    x, y = tf.placeholder(tf.float32, SHAPE), tf.placeholder(tf.float32, SHAPE)
    loop = tf.while_loop(
        lambda i, a, b: i < COUNT, lambda i, a, b: (i + 1, gated(a), gated(b) * a), [0, x, y]
    )
    gradients = [tf.gradients(part, [x, y][: 1 + which])[0] for which, part in enumerate(loop[1:])]
    total = gradients[0] + 2.0 * gradients[1]
    before, behind = num_stacks(total, {x: SHAPE, y: SHAPE})
    assert before - behind == 3
    both(total, {x: VALUE, y: VALUE / 2})


def test_stacks_that_one_loop_pushes_onto_and_pops_from():
    """There a pop may come before the push of its iteration, or behind it."""
    x = tf.placeholder(tf.float32, SHAPE)
    handles = [raw_ops.StackV2(-1, elem_type=tf.float32) for _ in range(2)]
    first = [raw_ops.StackPushV2(handle, x * k) for k, handle in enumerate(handles, 2)]

    def body(i, total):
        a = total * 0.5
        pushed = raw_ops.StackPushV2(handles[0], a)
        with tf.control_dependencies([pushed]):
            early = raw_ops.StackPopV2(handles[0], elem_type=tf.float32)
        late = raw_ops.StackPopV2(handles[1], elem_type=tf.float32)
        with tf.control_dependencies([late]):
            pushed = raw_ops.StackPushV2(handles[1], 1.0 - a)
        with tf.control_dependencies([pushed]):
            early.set_shape(SHAPE), late.set_shape(SHAPE)
            return i + 1, tf.identity(early + late)

    with tf.control_dependencies(first):
        start = tf.identity(x)
    _, y = tf.while_loop(lambda i, _: i < 3, body, [0, start], parallel_iterations=1)
    said, _ = both(y, {x: VALUE})
    assert "0 values" in said


OPS = {
    "1 - x": lambda x, y: 1.0 - x,
    "x * y": lambda x, y: x * y,
    "x - y": lambda x, y: x - y,
    "max": tf.maximum,
    "square": lambda x, y: tf.square(x),
    "tanh": lambda x, y: tf.tanh(x),
    "sigmoid": lambda x, y: tf.sigmoid(y),
    "branch": lambda x, y: tf.cond(
        tf.reduce_sum(x) > 0, lambda: gated(x) * y, lambda: (2.0 - y) * x * y
    ),
    "loop": lambda x, y: tf.while_loop(
        lambda i, _: i < 2, lambda i, z: (i + 1, gated(z) * y), [0, x]
    )[1],
}


@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(OPS)), st.integers(0, 9), st.integers(0, 9)),
                min_size=3, max_size=8))  # fmt: skip
def test_bits_stay_in_any_loop(drawn):
    def body(x):
        values = [x]
        for name, one, other in drawn:
            value = OPS[name](values[one % len(values)], values[other % len(values)])
            values.append(value)
        return tf.add_n(values) / len(values)

    with tf.Graph().as_default():
        x, gradient = slope(body)
        both(gradient, {x: VALUE})


def test_constants_and_values_that_nothing_reads_are_not_kept():
    x, gradient = slope(lambda value: tf.sigmoid(value) * value, shape=(None, 16))
    before, behind = num_stacks(gradient, {x: SHAPE})
    assert before >= 4  # the axes over which products were broadcast
    assert behind == 2
    both(gradient, {x: VALUE})
