"""Epilogues on the CPU: products by tiles include the ops that follow, and agree with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.devices.native.native_runtime import kernel_file
from gpugraph.kernel import SUMMED_AT_ONCE
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_evaluation import ArrayContext
from tests.devices.native_programs import needs_compiler

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")
    with tf.Graph().as_default() as graph:
        yield graph


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(size=shape).astype(dtype)


def config(level: Any) -> tf.ConfigProto:
    options = tf.OptimizerOptions(global_jit_level=level)
    return tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))


def both(fetches: Any, feeds: Any, runs: int = 2, error: float = 1e-4) -> list[str]:
    """Check that native code and NumPy give the same results, and return the pass's report."""
    results = []
    for level in (tf.OptimizerOptions.ON_1, tf.OptimizerOptions.OFF):
        with tf.Session(config=config(level)) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(runs):
                values = session.run(fetches, feeds)
            reports = session.explain(fetches, feeds).reports
            [lines] = [report.lines for report in reports if report.name == "matmul_epilogues"]
            results.append((values, list(lines)))
    (found, done), (wanted, nothing) = results
    assert not nothing
    for one, other in zip(found, wanted, strict=True):
        if other is not None:
            np.testing.assert_allclose(one, other, error, error * max(1.0, np.abs(other).max()))
    return done


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_a_layer_is_one_step(dtype: Any, turned: Any) -> None:
    a = tf.placeholder(dtype, (128, 65) if turned[0] else (65, 128))
    b = tf.placeholder(dtype, (96, 128) if turned[1] else (128, 96))
    product = tf.matmul(a, b, transpose_a=turned[0], transpose_b=turned[1], name="product")
    y = tf.nn.relu(tf.nn.bias_add(product, tf.constant(numbers(96, dtype=dtype))), name="y")
    feeds = {x: numbers(*x.shape.as_list(), dtype=dtype) for x in (a, b)}
    assert both([y], feeds) == ["y: MatMul with BiasAdd, Relu: product, BiasAdd, y"]


def test_a_residual_is_added_in_the_store() -> None:
    x, w = tf.placeholder(tf.float32, (64, 128)), tf.placeholder(tf.float32, (128, 128))
    y = tf.add(tf.matmul(x, w, name="xw") + tf.constant(numbers(128)), x, name="y")
    done = both([y], {x: numbers(64, 128), w: numbers(128, 128)})
    assert done == ["y: MatMul with BiasAdd, Add: xw, add, y"]


def test_a_batch_with_one_matrix_is_one_product() -> None:
    x, w = tf.placeholder(tf.float32, (4, 3, 20, 64)), tf.placeholder(tf.float32, (64, 96))
    y = tf.nn.relu(tf.matmul(x, w, name="xw") + tf.constant(numbers(96)), name="y")
    assert len(both([y], {x: numbers(4, 3, 20, 64), w: numbers(64, 96)})) == 1


def test_small_products_keep_their_kernels() -> None:
    x, w = tf.placeholder(tf.float32, (16, 24)), tf.placeholder(tf.float32, (24, 50))
    y = tf.nn.relu(tf.matmul(x, w) + tf.constant(numbers(50)))
    assert both([y], {x: numbers(16, 24), w: numbers(24, 50)}) == []


def test_what_has_no_size_yet_keeps_its_ops() -> None:
    x, w = tf.placeholder(tf.float32, (None, 64)), tf.placeholder(tf.float32, (64, 96))
    kept = tf.boolean_mask(x, x[:, 0] > 0)
    y = tf.nn.relu(tf.matmul(kept, w) + tf.constant(numbers(96)))
    assert both([y], {x: numbers(300, 64), w: numbers(64, 96)}) == []


def test_no_number_stays_no_number() -> None:
    x, w = numbers(64, 128), numbers(128, 96)
    x[3, 5], x[40, 2] = np.nan, np.inf
    a, b = tf.placeholder(tf.float32, x.shape), tf.placeholder(tf.float32, w.shape)
    y = tf.nn.relu(tf.matmul(a, b) + tf.constant(numbers(96)))
    with tf.Session(config=config(tf.OptimizerOptions.ON_1)) as session:
        for _ in range(2):
            found = session.run(y, {a: x, b: w})
    assert np.isnan(found[3]).all() and not np.isnan(np.delete(found, 3, 0)).any()
    assert set(found[40][~np.isfinite(found[40])]) == {np.inf}


def test_a_network_trains_as_by_numpy() -> None:
    x, labels = tf.placeholder(tf.float32, (128, 70)), tf.placeholder(tf.int32, (128,))
    hidden = x
    for index, size in enumerate((70, 96, 96)):
        w = tf.Variable(numbers(size, 96) / 9, name=f"w{index}")
        hidden = tf.nn.relu(tf.matmul(hidden, w) + tf.Variable(numbers(96), name=f"b{index}"))
    logits = tf.matmul(hidden, tf.Variable(numbers(96, 5)))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    feeds = {x: numbers(128, 70), labels: np.arange(128, dtype=np.int32) % 5}
    assert len(both([loss, train], feeds, runs=8, error=1e-3)) == 3


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_any_order_of_what_follows(data: Any) -> None:
    m, n, k = (data.draw(st.integers(48, 150)) for _ in range(3))
    with tf.Graph().as_default():
        a, b = tf.placeholder(tf.float32, (m, k)), tf.placeholder(tf.float32, (k, n))
        y: Any = tf.matmul(a, b)
        for follower in data.draw(st.lists(st.sampled_from(["bias", "add", "relu"]), max_size=4)):
            if follower == "relu":
                y = tf.nn.relu(y)
            else:
                y = y + tf.constant(numbers(n) if follower == "bias" else numbers(m, n))
        both([y], {a: numbers(m, k), b: numbers(k, n)})


def test_the_gradient_of_a_loop_is_summed_up_in_the_product() -> None:
    """The sum is a loop variable: each iteration's product goes on from it, in its memory."""
    x, w = tf.placeholder(tf.float32, (64, 128)), tf.Variable(numbers(128, 128) / 9)
    y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w))), [0, x])[1]
    [by_w] = tf.gradients(tf.reduce_sum(tf.square(y)), [w], gate_gradients=True)
    feeds = {x: numbers(64, 128)}
    done = both([by_w], feeds, runs=3)
    assert any("MatMul with Add" in line and "Enter_grad/Add" in line for line in done)
    with tf.Session(config=config(tf.OptimizerOptions.ON_1)) as session:
        session.run(w.initializer)
        session.run(by_w, feeds)
        lines = str(session.explain(by_w, feeds)).splitlines()
    [product] = [line for line in lines if "_FusedMatMul" in line]
    assert "in place of" in product and "b_acc" in product


@pytest.mark.parametrize("fused", [["Add"], ["BiasAdd", "Add", "Relu"]])
def test_numpy_adds_to_what_is_there_too(fused: list[str]) -> None:
    a, b, bias, addend = numbers(5, 7), numbers(7, 6), numbers(6), numbers(5, 6)
    args = [bias, addend] if len(fused) > 1 else [addend]
    attrs = {"T": tf.float32, "num_args": len(args), "fused_ops": fused}
    attrs |= {"transpose_a": False, "transpose_b": False}
    kernel = find_kernel("_FusedMatMul", "CPU", attrs).kernel
    inputs = [a, b, *args]
    context = ArrayContext("product", attrs, inputs, [addend.shape], [tf.float32])
    wanted = a @ b + (bias if len(fused) > 1 else 0) + addend
    kernel.make(context, *inputs, addend)()
    wanted = np.maximum(wanted, 0) if "Relu" in fused else wanted
    np.testing.assert_allclose(addend, wanted, 1e-5, 1e-5)


def test_a_sum_in_registers_is_as_long_as_the_kernel_takes_it() -> None:
    source = kernel_file("host_matmul.h")
    assert f"#define GG_MATMUL_DEPTH {SUMMED_AT_ONCE} " in source


@pytest.mark.parametrize(
    "sizes", [(64, 512, 64), (64, 64, 512), (64, 128, 64), (62, 100, 256), (61, 130, 257)]
)
@pytest.mark.parametrize("with_bias", [False, True])
def test_bits_do_not_depend_on_who_else_needs_what_is_added(
    sizes: tuple[int, int, int], with_bias: bool
) -> None:
    """Its memory is free after the product in one run, and not in the other."""
    rows, columns, inner = sizes
    shapes = [(rows, inner), (inner, columns), (rows, columns), (columns, columns)]
    a, b, c, d = places = [tf.placeholder(tf.float32, shape) for shape in shapes]
    added, product = tf.matmul(c, d), tf.matmul(a, b)
    if with_bias:
        product = tf.nn.bias_add(product, tf.constant(numbers(columns)))
    result = tf.matmul(tf.nn.relu(product + added) if with_bias else product + added, d)
    feeds = {place: numbers(*shape) for place, shape in zip(places, shapes)}
    results = []
    for fetches in ([result], [result, added]):
        with tf.Session(config=config(tf.OptimizerOptions.ON_1)) as session:
            results += [session.run(fetches, feeds)[0] for _ in range(2)]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
