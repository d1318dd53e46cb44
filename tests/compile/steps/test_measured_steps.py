"""Steps of a GPU that count the sizes of their outputs: their reports, waits and memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.framework import kernel_registry as kernels
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT
from gpugraph.ops.indexing.where_and_unique_launches import where_nonzero_elements

from ...devices.cuda.gpus import needs_cxx

pytestmark = needs_cxx

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def on_gpu() -> tf.Session:
    return tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(emulated_gpus=[64])))


def test_the_report_says_that_it_waits_and_what_is_captured_around() -> None:
    x = tf.placeholder(tf.float32, [40])
    y = tf.tanh(x) + tf.reverse(x, [0])
    kept = tf.boolean_mask(y, y > 0, name="kept")
    with on_gpu() as session:
        report = str(session.explain(kept, {x: np.zeros(40)}))
        assert f"kept/Where (Where) waits for {GPU}, which counts the sizes" in report
        assert "runs on the host" not in report
        assert "captured from " in report and " to kept/Where: " in report
        for seed in range(4):
            array = np.random.default_rng(seed).normal(size=40).astype(np.float32)
            wanted = np.tanh(array) + array[::-1]
            np.testing.assert_allclose(session.run(kept, {x: array}), wanted[wanted > 0], rtol=1e-5)


def test_sizes_of_sizes_and_open_shapes() -> None:
    x = tf.placeholder(tf.int64, [None])
    different, indices = tf.unique(tf.boolean_mask(x, x > 2))
    sums = tf.segment_sum(tf.cast(tf.sort(indices), tf.float32), tf.sort(indices))
    fetches = [different, tf.size(different), sums]
    with on_gpu() as session:
        assert "runs on the host" not in str(session.explain(fetches, {x: [1, 2]}))
        for size in [*range(12), 5000, 0]:  # the later ones by the plan of open sizes
            array = np.random.default_rng(size).integers(0, 9, size)
            kept = array[array > 2]
            _, first, counts = np.unique(kept, return_index=True, return_counts=True)
            order = np.argsort(first)
            results = session.run(fetches, {x: array})
            assert results[0].tolist() == kept[np.sort(first)].tolist()
            assert results[1] == len(first)
            assert results[2].tolist() == (np.arange(len(first)) * counts[order]).tolist()


def test_what_has_no_kernel_says_why() -> None:
    x, ids = tf.placeholder(tf.complex64, [3]), tf.constant([0, 0, 1])
    with on_gpu() as session, tf.device("/GPU:0"):
        y = tf.segment_sum(x, ids, name="sums")
        report = str(session.explain(y, {x: np.zeros(3)}))
        assert f"sums (SegmentSum) runs on the host for {GPU}: there is no kernel of comp" in report
        assert session.run(y, {x: [1, 2j, 3]}).tolist() == [1 + 2j, 3]


def test_memory_is_that_of_the_plan_after_each_run() -> None:
    x = tf.placeholder(tf.float32, [900])
    fetches = [*tf.dynamic_partition(x, tf.cast(x > 0, tf.int32), 2), tf.where(x > 0)]
    with on_gpu() as session:
        used = []
        for seed in range(5):
            array = np.random.default_rng(seed).normal(size=900)
            session.run(fetches, {x: array})
            devices = session._backend.devices
            used.append([device.allocator.get_stats().bytes_in_use for device in devices])
        assert used[1:] == used[:1] * 4


def test_in_a_branch_and_in_a_loop() -> None:
    x, big = tf.placeholder(tf.float32, [60]), tf.placeholder(tf.bool, [])
    with tf.device("/GPU:0"):
        chosen = tf.cond(big, lambda: tf.where(x > 1), lambda: tf.where(x > 0))
        total = tf.while_loop(
            lambda i, _: i < 4,
            lambda i, s: (i + 1, s + tf.shape(tf.where(x > tf.cast(i, tf.float32) / 2))[0]),
            [0, 0],
        )[1]
    with on_gpu() as session:
        for seed in range(3):
            array = np.random.default_rng(seed).normal(size=60).astype(np.float32)
            for limit in (0, 1):
                results = session.run([chosen, total], {x: array, big: bool(limit)})
                assert results[0].tolist() == np.argwhere(array > limit).tolist()
                assert results[1] == sum(int((array > i / 2).sum()) for i in range(4))


def losses(session: tf.Session) -> tuple[list[float], str]:
    """Return the losses of a few steps over embeddings in three parts, which update only used
    rows.
    """
    draw = np.random.default_rng(0)
    ids, rows = tf.placeholder(tf.int64, [50]), tf.placeholder(tf.int64, [50])
    parts = [tf.Variable(draw.normal(size=(n, 4)).astype(np.float32)) for n in (5, 5, 4)]
    whole = tf.nn.embedding_lookup(parts, ids, "div")
    positions = tf.stack([rows, tf.zeros_like(rows)], 1)
    sparse = tf.SparseTensor(positions, ids, [7, 1])
    means = tf.nn.embedding_lookup_sparse(parts, sparse, None, combiner="mean")
    loss = tf.reduce_sum(whole * whole) + tf.reduce_sum(means * means)
    step = tf.train.AdagradOptimizer(0.1).minimize(loss)
    session.run(tf.global_variables_initializer())
    feeds = {ids: draw.integers(0, 14, 50), rows: np.sort(draw.integers(0, 7, 50))}
    report = str(session.explain([loss, step], feeds))
    return [float(session.run([loss, step], feeds)[0]) for _ in range(5)], report


def test_embeddings_in_parts_are_trained_without_the_host() -> None:
    with tf.Session() as session:
        wanted, _ = losses(session)
    with tf.Graph().as_default(), on_gpu() as session, tf.device("/GPU:0"):
        values, report = losses(session)
    assert "runs on the host" not in report
    assert "DynamicPartition) waits for" in report
    np.testing.assert_allclose(values, wanted, rtol=1e-5)


def test_what_constants_say_is_not_waited_for() -> None:
    x = tf.placeholder(tf.float32, [4, 2])
    sums = tf.segment_sum(x, tf.constant([0, 0, 2, 2]), name="sums")
    mixed = tf.dynamic_stitch([[3, 0], [4, 3]], [x[:2], x[2:]], name="mixed")
    means = tf.sparse_segment_mean(x, [3, 1, 1], [0, 0, 1], name="taken")
    fetches = [tf.tanh(sums) + 1, mixed * 2, means]
    with on_gpu() as session:
        report = str(session.explain(fetches, {x: np.zeros((4, 2))}))
        assert "waits for" not in report and "runs on the host" not in report
        assert "0 are sized at run time" in report and "not captured" not in report
        for seed in range(4):
            array = np.random.default_rng(seed).normal(size=(4, 2)).astype(np.float32)
            results = session.run(fetches, {x: array})
            wanted = np.stack([array[:2].sum(0), np.zeros(2), array[2:].sum(0)])
            np.testing.assert_allclose(results[0], np.tanh(wanted) + 1, rtol=1e-5)
            np.testing.assert_allclose(
                results[1], 2 * np.stack([array[1], [0, 0], [0, 0], array[3], array[2]])
            )
            np.testing.assert_allclose(results[2], [(array[3] + array[1]) / 2, array[1]], rtol=1e-5)


@pytest.mark.parametrize("ids", [[0, 2, 1], [-1, 0, 1]])
def test_wrong_constants_end_the_run(ids: list[int]) -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    sums = tf.segment_mean(x, tf.constant(ids), name="sums")
    mixed = tf.dynamic_stitch([[-1, 0, 1]], [x], name="mixed")
    with on_gpu() as session:
        for fetch in (sums, mixed):
            message = f"node {fetch.op.name}"
            for _ in range(3):
                with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                    session.run(fetch, {x: np.ones((3, 2))})


def test_an_op_of_ones_own_needs_no_attr_for_its_dtype() -> None:
    def find(x: Any) -> list[Any]:
        return [np.argwhere(x)]

    host = tf.Call(find, dynamic=True)
    name = "PlacesOfFloats"
    op = tf.register_op(
        name,
        inputs="x: float32",
        outputs="y: int64",
        infer=lambda context: [tf.TensorShape([None, 1])],
        cpu=host,
        gpu=where_nonzero_elements(host),
        grad=NO_GRADIENT,
        doc="Where floats are not 0.",
    )
    try:
        x = tf.placeholder(tf.float32, [5])
        y = op(x)
        with on_gpu() as session:
            assert f"({name}) waits for {GPU}" in str(session.explain(y, {x: np.ones(5)}))
            assert session.run(y, {x: [0, 1, 0, 2, 0]}).tolist() == [[1], [3]]
    finally:
        DECLARATIONS.pop(name)
        for key in [key for key in kernels._KERNELS if key[0] == name]:
            kernels._KERNELS.pop(key)
