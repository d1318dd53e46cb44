"""Epilogues: ops that follow a product on a GPU are fused into it where that saves a pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.config import RewriterConfig
from gpugraph.ops.framework.op_declaration import raw_ops
from tests.devices.cuda.gpus import needs_cxx

pytestmark = needs_cxx

GPU = tf.GPUOptions(emulated_gpus=[64])


@pytest.fixture(autouse=True)
def graph(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("GPUGRAPH_VERIFY", "1")
    with tf.Graph().as_default() as graph:
        yield graph


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(list(shape)).normal(size=shape).astype(dtype)


def told(explained: Any) -> list[str]:
    """What the pass did: which ops with which others."""
    [report] = [each for each in explained.reports if each.name == "matmul_epilogues"]
    return list(report.lines)


def both(fetches: Any, feeds: Any, error: float = 2e-5) -> list[str]:
    """Check that a GPU and the CPU give the same results, and return the pass's report."""
    results = []
    for options in (GPU, None):
        with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
            session.run(tf.global_variables_initializer())
            explained = session.explain(fetches, feeds)
            if options is GPU:
                done = told(explained)
                assert "runs on the host" not in str(explained)
            results.append([session.run(fetches, feeds) for _ in range(3)])
    for one, other in _pairs(*results):
        np.testing.assert_allclose(one, other, error, error * max(1.0, np.abs(other).max()))
    return done


def _pairs(found: Any, wanted: Any) -> Any:
    """Yield the arrays of two equal structures of lists."""
    if isinstance(wanted, list):
        for one, other in zip(found, wanted, strict=True):
            yield from _pairs(one, other)
    elif wanted is not None:
        yield np.asarray(found).astype(np.float64), np.asarray(wanted).astype(np.float64)


def product(dtype: Any = tf.float32) -> tuple[Any, Any, Any]:
    """Return two placeholders of matrices, their feeds, and their product."""
    a, b = tf.placeholder(dtype, [4, 6]), tf.placeholder(dtype, [6, 8])
    feeds = {a: numbers(4, 6, dtype=dtype.as_numpy_dtype)}
    return {**feeds, b: numbers(6, 8, dtype=dtype.as_numpy_dtype)}, tf.matmul(a, b, name="ab"), a


ADDITIONS = {
    "BiasAdd": lambda y, b: tf.nn.bias_add(y, b, name="sum"),
    "Add": lambda y, b: raw_ops.Add(y, b, name="sum"),
    "AddV2 the other way": lambda y, b: raw_ops.AddV2(b, y, name="sum"),
    "Add of a row": lambda y, b: raw_ops.AddV2(y, tf.expand_dims(b, 0), name="sum"),
}


@pytest.mark.parametrize("addition", ADDITIONS)
@pytest.mark.parametrize("relu", [False, True])
def test_a_bias_and_a_relu_become_part_of_a_product(addition: str, relu: bool) -> None:
    feeds, ab, _ = product()
    y = ADDITIONS[addition](ab, tf.constant(numbers(8)))
    y = tf.nn.relu(y, name="y") if relu else y
    message = (
        "y: MatMul with BiasAdd, Relu: ab, sum, y" if relu else "sum: MatMul with BiasAdd: ab, sum"
    )
    assert both(y, feeds) == [message]


@pytest.mark.parametrize("dtype", [tf.float64, tf.float16, tf.bfloat16])
def test_other_floating_types_do_so_too(dtype: Any) -> None:
    feeds, ab, _ = product(dtype)
    y = tf.nn.relu(tf.nn.bias_add(ab, tf.cast(tf.constant(numbers(8)), dtype)))
    error = {"float64": 1e-12, "float16": 4e-3, "bfloat16": 3e-2}[dtype.name]
    assert len(both(y, feeds, error)) == 1


def test_a_relu_alone_and_a_sum_of_two_products_do() -> None:
    feeds, ab, a = product()
    c = tf.constant(numbers(6, 8))
    assert both(tf.nn.relu(ab, name="y"), feeds) == ["y: MatMul with Relu: ab, y"]
    for add in (raw_ops.AddV2, lambda x, y, name: tf.add_n([x, y], name=name)):
        [message] = both(add(tf.matmul(a, c), tf.matmul(a, -c), name="sum"), feeds)
        assert "MatMul with Add" in message and message.startswith("sum")


def test_a_residual_is_added_too() -> None:
    x, w = tf.placeholder(tf.float32, [3, 5, 8]), tf.constant(numbers(8, 8))
    dense = tf.nn.bias_add(tf.tensordot(x, w, 1), tf.constant(numbers(8)), name="dense")
    y = tf.nn.relu(tf.add(x, dense, name="sum"), name="y")
    [message] = both(y, {x: numbers(3, 5, 8)})
    assert "MatMul with BiasAdd, Add, Relu" in message and message.startswith("y: ")


def test_batches_share_a_bias() -> None:
    x, w = tf.placeholder(tf.float32, [2, 3, 5, 4]), tf.placeholder(tf.float32, [3, 6, 4])
    y = tf.matmul(x, w, transpose_b=True, name="xw")
    y = tf.nn.relu(y + tf.constant(numbers(6)), name="y")
    feeds = {x: numbers(2, 3, 5, 4), w: numbers(3, 6, 4)}
    assert both(y, feeds) == ["y: BatchMatMulV2 with BiasAdd, Relu: xw, add, y"]


# -- where nothing is saved


@pytest.mark.parametrize(
    "after", [tf.tanh, lambda y: tf.reduce_sum(tf.square(y), 1), tf.nn.softmax]
)
def test_what_one_kernel_would_do_is_left_to_it(after: Any) -> None:
    feeds, ab, _ = product()
    y = tf.nn.relu(tf.nn.bias_add(ab, tf.constant(numbers(8))))
    assert both(after(y), feeds) == []


def test_a_result_that_is_in_memory_anyway_is_made_by_the_product() -> None:
    """Others that fusion has in one kernel with the bias read it from there."""
    feeds, ab, _ = product()
    y = tf.nn.bias_add(ab, tf.constant(numbers(8)), name="y")
    assert len(both([tf.tanh(y), y], feeds)) == 1
    assert len(both([tf.tanh(y), tf.matmul(y, y, transpose_b=True)], feeds)) == 1


def test_what_is_computed_on_the_way_is_no_addend() -> None:
    feeds, ab, a = product()
    other = tf.constant(numbers(4, 8)) * a[0, 0]
    y = tf.add(tf.nn.bias_add(ab, tf.constant(numbers(8)), name="s"), tf.exp(other), name="y")
    assert both(y, feeds) == []


@pytest.mark.parametrize("taker", ["fetch", "control", "other"])
def test_what_others_take_in_between_stays(taker: str) -> None:
    feeds, ab, _ = product()
    y = tf.nn.relu(tf.nn.bias_add(ab, tf.constant(numbers(8))))
    with tf.control_dependencies([ab] if taker == "control" else []):
        z = tf.constant(1.0) * tf.reduce_sum(ab if taker == "other" else y)
    assert both([y, z, ab][: 3 if taker == "fetch" else 2], feeds) == []


def test_other_additions_stay() -> None:
    feeds, ab, _ = product()
    column, row, matrix = numbers(4, 1), numbers(8), numbers(2, 4, 8)
    integers = tf.cast(ab, tf.int32)
    for y in (
        ab + tf.constant(column),
        ab + tf.constant(matrix),
        tf.nn.relu6(ab),
        tf.matmul(integers, integers, transpose_b=True) + tf.constant([1, 2, 3, 4]),
        tf.add_n([ab, ab, ab]),
        ab - tf.constant(row),
    ):
        assert both(y, feeds) == []


def test_it_is_switched_off_as_other_rewrites_and_without_native_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    feeds, ab, _ = product()
    y = tf.nn.relu(ab)
    rewrites = RewriterConfig(remapping=RewriterConfig.OFF)
    options = tf.GraphOptions(rewrite_options=rewrites)
    for config, why in (
        (tf.ConfigProto(gpu_options=GPU, graph_options=options), "switched off: remapping is OFF"),
        (tf.ConfigProto(), "no GPU has kernels, the CPU has no native code: GPUGRAPH_NATIVE is 0"),
    ):
        with tf.Session(config=config) as session:
            [report] = [
                each
                for each in session.explain(y, feeds).reports
                if each.name == "matmul_epilogues"
            ]
        assert report.summary == why and not report.lines


def test_without_fusion_every_pass_is_saved() -> None:
    feeds, ab, _ = product()
    y = tf.tanh(tf.nn.bias_add(ab, tf.constant(numbers(8)), name="y"))
    options = tf.GraphOptions(
        optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0),
        rewrite_options=RewriterConfig(remapping=RewriterConfig.ON),
    )
    config = tf.ConfigProto(gpu_options=GPU, graph_options=options)
    with tf.Session(config=config) as session:
        assert told(session.explain(y, feeds)) == ["y: MatMul with BiasAdd: ab, y"]


def test_what_cublaslt_has_nothing_for_is_said() -> None:
    x = tf.placeholder(tf.int32, [2, 2])
    y = tf.matmul(x, x, name="y")
    with tf.Session(config=tf.ConfigProto(gpu_options=GPU)) as session:
        message = str(session.explain(y, {x: np.eye(2)}))
        assert session.run(y, {x: [[1, 2], [3, 4]]}).tolist() == [[7, 10], [15, 22]]
    assert (
        "y (MatMul) on /job:localhost/replica:0/task:0/device:GPU:0 is computed by kernels"
        in message
    )


# -- whole programs


def test_a_network_trains_as_on_the_cpu() -> None:
    x, labels = tf.placeholder(tf.float32, [None, 12]), tf.placeholder(tf.int32, [None])
    tf.set_random_seed(1)
    hidden = tf.layers.dense(x, 16, tf.nn.relu)
    wide = tf.layers.dense(tf.reshape(hidden, [-1, 4, 16]), 16, tf.nn.relu)
    logits = tf.layers.dense(tf.reshape(wide, [-1, 16]), 5)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    step = tf.train.AdamOptimizer(0.02).minimize(loss)
    feeds = {x: numbers(20, 12), labels: np.arange(20) % 5}
    done = both([loss, step], feeds, 1e-4)
    assert [line.split(":")[0] for line in done] == ["dense/Relu", "dense_1/Relu"]


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.tuples(*[st.sampled_from([1, 2, 3, 17, 65])] * 3),
    batch=st.sampled_from([(), (1,), (3,), (2, 1)]),
    turned=st.tuples(st.booleans(), st.booleans()),
    shared=st.booleans(),
    finishes=st.tuples(*[st.booleans()] * 3),
    inner=st.booleans(),
)
def test_any_shapes_give_what_numpy_gives(
    sizes: Any, batch: Any, turned: Any, shared: bool, finishes: Any, inner: bool
) -> None:
    """Without `inner` there is nothing to sum: the product is zeros."""
    m, n, k = sizes[0], sizes[1], sizes[2] * inner
    shapes = [(k, m) if turned[0] else (m, k), (n, k) if turned[1] else (k, n)]
    a = numbers(*batch, *shapes[0])
    b = numbers(*(() if shared else batch), *shapes[1])
    bias, addend = numbers(n), numbers(*batch, m, n)
    wanted = (a.swapaxes(-1, -2) if turned[0] else a) @ (b.swapaxes(-1, -2) if turned[1] else b)
    wanted = wanted + bias * finishes[0] + addend * finishes[1]
    wanted = np.maximum(wanted, 0) if finishes[2] else wanted
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(gpu_options=GPU)) as session:
        places = [tf.placeholder(tf.float32, item.shape) for item in (a, b, bias, addend)]
        y = tf.matmul(places[0], places[1], transpose_a=turned[0], transpose_b=turned[1])
        y = tf.nn.bias_add(y, places[2]) if finishes[0] else y
        y = y + places[3] if finishes[1] else y
        y = tf.nn.relu(y) if finishes[2] else y
        feeds = dict(zip(places, (a, b, bias, addend)))
        assert len(told(session.explain(y, feeds))) == (any(finishes) and n > 1)
        result = session.run(y, feeds)
    np.testing.assert_allclose(result, wanted, 2e-5, 1e-4)


def test_sizes_that_stay_open_are_no_hindrance() -> None:
    x, w = tf.placeholder(tf.float32, [None, 6]), tf.constant(numbers(6, 8))
    y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), tf.constant(numbers(8))), name="y")
    with tf.Session(config=tf.ConfigProto(gpu_options=GPU)) as session:
        for rows in range(1, 13):
            value = numbers(rows, 6)
            wanted = np.maximum(value @ numbers(6, 8) + numbers(8), 0)
            np.testing.assert_allclose(session.run(y, {x: value}), wanted, 2e-5, 2e-5)
        assert len(told(session.explain(y, {x: numbers(13, 6)}))) == 1
