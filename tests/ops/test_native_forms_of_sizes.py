"""Native kernels and NumPy give the same results at sizes beyond those of the samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

RANDOM = np.random.RandomState(7)


def given(array: Any) -> Any:
    """Return a placeholder, for which each run is given the array."""
    tensor = tf.placeholder(tf.as_dtype(array.dtype), array.shape)
    tf.add_to_collection("given", (tensor, array))
    return tensor


def floats(*shape: int) -> Any:
    return given(RANDOM.rand(*shape).astype(np.float32))


def integers(low: int, high: int, shape: Any, kind: Any = np.int32) -> Any:
    return given(RANDOM.randint(low, high, shape).astype(kind))


def words(count: int) -> Any:
    made = [
        bytes(RANDOM.randint(0, 256, RANDOM.randint(0, 40)).astype(np.uint8)) for _ in range(count)
    ]
    return given(np.array(made, object))


def numbers_near_ties() -> Any:
    halves = (RANDOM.randint(-(10**9), 10**9, 2000) + 0.5) / 1e6
    powers = RANDOM.randint(-(2**40), 2**40, 2000) / 2.0**30
    return np.concatenate([halves, powers, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-9, -1e-9]])


def labels(batch: int) -> Any:
    counts = RANDOM.randint(1, 9, batch)
    places = [(row, column) for row, count in enumerate(counts) for column in range(count)]
    values = RANDOM.randint(0, 11, len(places)).astype(np.int32)
    return tf.SparseTensor(np.array(places, np.int64), values, [batch, 9])


def ctc(**options: bool) -> list[Any]:
    logits = floats(30, 7, 12) * 5
    lengths = np.array([30, 20, 17, 30, 25, 19, 18], np.int32)
    loss = tf.nn.ctc_loss(labels(7), logits, lengths, **options)
    return [loss, tf.gradients(loss, logits)[0]]


def responses(channels: int, beta: float) -> list[Any]:
    images = floats(2, 5, 7, channels)
    normal = tf.nn.lrn(images, depth_radius=3, bias=1.5, alpha=0.3, beta=beta)
    return [normal, tf.gradients(normal, images)[0]]


def triangles(lower: bool, adjoint: bool) -> Any:
    matrix = floats(2, 150, 150) + 60 * np.eye(150, dtype=np.float32)
    return tf.matrix_triangular_solve(matrix, floats(2, 150, 3), lower, adjoint)


CASES: dict[str, Callable[[], Any]] = {
    "narrow bands": lambda: tf.matrix_band_part(floats(997, 5, 3), 1, 1),
    "wide bands": lambda: tf.matrix_band_part(floats(3, 70, 300), 2, -1),
    "bands of bytes": lambda: tf.matrix_band_part(integers(-9, 9, (401, 7, 7), np.int8), -1, 0),
    "sequences": lambda: tf.reverse_sequence(
        floats(40, 6, 33), integers(0, 41, 6), seq_axis=0, batch_axis=1
    ),
    "sequences of numbers": lambda: tf.reverse_sequence(
        floats(500, 9), integers(0, 10, 500), seq_axis=1
    ),
    "reversed rows": lambda: [
        tf.reverse(integers(0, 99, (3, 131), kind), [1])
        for kind in (np.int8, np.int16, np.float32, np.float64, np.complex128)
    ],
    "responses": lambda: responses(67, 0.75) + responses(16, 0.5) + responses(5, 0.6),
    "ctc": ctc,
    "ctc of labels that do not last": lambda: ctc(ctc_merge_repeated=False),
    "ctc of collapsed labels": lambda: ctc(preprocess_collapse_repeated=True),
    "greedy decoding": lambda: [
        tensor
        for merges in (False, True)
        for [path], score in [
            tf.nn.ctc_greedy_decoder(floats(50, 6, 4), np.array([50, 0, 9, 31, 1, 50]), merges)
        ]
        for tensor in (path.indices, path.values, path.dense_shape, score)
    ],
    "triangles": lambda: [triangles(a, b) for a in (False, True) for b in (False, True)],
    "boxes": lambda: tf.image.draw_bounding_boxes(
        floats(5, 9, 11, 3), floats(5, 13, 4) * 2 - 0.5
    ),
    "stitched rows": lambda: tf.dynamic_stitch(
        [given(np.array([5, 1], np.int32)), given(np.array([[0], [1]], np.int32))],
        [floats(2, 3), floats(2, 1, 3)],
    ),
    "positions": lambda: [
        tf.argmax(floats(3, 7, 300), 1), tf.argmin(floats(3, 7, 300), 1, output_type=tf.int32)
    ],
    "one hot rows": lambda: [
        tf.one_hot(integers(-1, 8, (37, 5)), 7, dtype=kind)
        for kind in (tf.float32, tf.uint8, tf.float64)
    ],
    "counts": lambda: [
        tf.bincount(integers(0, 50, 5000)),
        tf.bincount(integers(0, 9000, 5000), floats(5000)),
        tf.histogram_fixed_width(floats(5000) * 3 - 1, [0.0, 1.0], 7),
    ],
    "joined strings": lambda: tf.string_join([words(300), "é", words(300)], "::separator::"),
    "decoded strings": lambda: tf.decode_base64(tf.encode_base64(words(300), pad=True)),
    "numbers as text": lambda: [
        tf.as_string(given(numbers_near_ties())),
        tf.as_string(given(numbers_near_ties().astype(np.float32))),
        tf.as_string(integers(-(2**62), 2**62, 50, np.int64)),
    ],
    "fake quantization": lambda: [
        tf.fake_quant_with_min_max_vars(floats(900) * 9 - 4, -1.0, 2.0, num_bits=5),
        tf.fake_quant_with_min_max_vars(floats(900), 0.0, 0.0),
        tf.fake_quant_with_min_max_args(floats(900) * 20 - 10, narrow_range=True),
    ],
    "segments": lambda: [
        of(floats(900, width), given(np.sort(RANDOM.randint(0, 40, 900))))
        for of in (tf.segment_sum, tf.segment_mean)
        for width in (1, 33, 130)
    ],
}  # fmt: skip


def results(graph: tf.Graph, fetches: Any, level: Any) -> list[Any]:
    options = tf.OptimizerOptions(global_jit_level=level, opt_level=tf.OptimizerOptions.L0)
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
    with tf.Session(graph=graph, config=config) as session:
        return session.run(fetches, dict(graph.get_collection("given")))


@pytest.mark.parametrize("case", CASES)
def test_native_code_equals_numpy(case: str) -> None:
    """Each kernel gives NumPy's results; sums in another order may differ in their last digits."""
    with tf.Graph().as_default() as graph:
        made = CASES[case]()
        fetches = made if isinstance(made, list) else [made]
        native = results(graph, fetches, tf.OptimizerOptions.ON_1)
        plain = results(graph, fetches, tf.OptimizerOptions.OFF)
    for found, expected in zip(native, plain, strict=True):
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
        else:
            np.testing.assert_array_equal(found, expected)
