"""Graphs as producers 8 to 27 wrote them: op types and attrs of their time, and none of later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpugraph as tf

F, INT, Z = tf.float32, tf.int32, tf.complex64


class Old(NamedTuple):
    """A graph: its producer, its nodes as "name op inputs..." with attrs, and its result.

    Its first node that is not a constant is "x", which is fed. result: computed by NumPy from the
    fed value.
    """

    producer: int
    nodes: list[tuple[str, dict[str, Any]]]
    fed: Any
    result: Callable[[Any], Any]
    fetch: str = "y:0"


def x(dtype: tf.DType = F, shape: Any = ()) -> tuple[str, dict[str, Any]]:
    """Return a placeholder of any shape.

    Up to version 21, graphs expressed an unknown shape by an empty one.
    """
    return "x Placeholder", {"dtype": dtype, "shape": tf.TensorShape(shape)}


def const(name: str, value: Any) -> tuple[str, dict[str, Any]]:
    array = np.asarray(value)
    return f"{name} Const", {"dtype": tf.as_dtype(array.dtype), "value": array}


def images(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def positive(side: int) -> Any:
    matrices = images(2, side, side).astype(np.float64)
    return matrices @ matrices.swapaxes(-1, -2) + np.eye(side)


def moved(array: Any, kernel: Any) -> Any:
    """Return a convolution of stride 1 without padding."""
    windows = np.lib.stride_tricks.sliding_window_view(array, kernel.shape[:2], (1, 2))
    return np.einsum("brcikl,klio->brco", windows, kernel)


KERNEL = images(2, 2, 3, 2)
FOUR = np.float32([1, 2, 3, 4])

GRAPHS = {
    "normalization": Old(
        8,
        [
            x(),
            *(const(name, FOUR) for name in ("m", "v", "b", "g")),
            (
                "y BatchNormWithGlobalNormalization x m v b g",
                {"T": F, "variance_epsilon": 0.5, "scale_after_normalization": True},
            ),
        ],
        images(2, 3, 2, 4),
        lambda a: (a - FOUR) / np.sqrt(FOUR + 0.5) * FOUR + FOUR,
    ),
    "placeholder": Old(8, [x(), ("y MatMul x x", {"T": F})], images(3, 3), lambda a: a @ a),
    "concatenation": Old(
        8,
        [x(), const("d", np.int32(1)), ("y Concat d x x", {"T": F, "N": 2})],
        images(2, 2),
        lambda a: np.concatenate([a, a], 1),
    ),
    "stack": Old(9, [x(), ("y Pack x x", {"T": F, "N": 2})], FOUR, lambda a: np.stack([a, a])),
    "unstack": Old(
        9, [x(), ("y Unpack x", {"T": F, "num": 2})], images(2, 3), lambda a: a[1], "y:1"
    ),
    "products": Old(
        11, [x(), ("y BatchMatMul x x", {"T": F})], images(4, 2, 2), lambda a: a @ a
    ),
    "reciprocal": Old(10, [x(), ("y Inv x", {"T": F})], FOUR, lambda a: 1 / a),
    "index": Old(
        15,
        [x(), const("d", np.int32(1)), ("y ArgMax x d", {"T": F})],
        images(3, 4),
        lambda a: a.argmax(1),
    ),
    "mean": Old(
        12,
        [x(), const("d", np.int32([0])), ("y Mean x d", {"T": F, "keep_dims": True})],
        images(3, 4),
        lambda a: a.mean(0, keepdims=True),
    ),
    "diagonals": Old(
        13,
        [x(), ("y BatchMatrixDiag x", {"T": F})],
        images(2, 3),
        lambda a: a[..., None] * np.eye(3),
    ),
    "bands": Old(
        13,
        [
            x(),
            *(const(name, np.int64(number)) for name, number in (("l", 0), ("u", -1))),
            ("y BatchMatrixBandPart x l u", {"T": F}),
        ],
        images(2, 3, 3),
        np.triu,
    ),
    "factors": Old(
        12,
        [x(tf.float64), ("y BatchCholesky x", {"T": tf.float64})],
        positive(3),
        np.linalg.cholesky,
    ),
    "inverses": Old(
        12,
        [x(tf.float64), ("y BatchMatrixInverse x", {"T": tf.float64})],
        positive(2),
        np.linalg.inv,
    ),
    "solutions": Old(
        12,
        [x(tf.float64), ("y BatchMatrixSolve x x", {"T": tf.float64})],
        positive(2),
        lambda a: np.broadcast_to(np.eye(2), a.shape),
    ),
    "eigenvalues": Old(
        10,
        [x(), ("y SelfAdjointEig x", {"T": F})],
        np.diag(FOUR[:3]),
        lambda a: np.concatenate([np.diag(a)[None], np.eye(3)]),
    ),
    "singular values": Old(
        12,
        [x(tf.float64), ("y BatchSvd x", {"T": tf.float64, "compute_uv": False})],
        positive(3),
        lambda a: np.linalg.svd(a, compute_uv=False),
    ),
    "transform": Old(
        14, [x(Z), ("y BatchFFT x", {})], images(2, 4).astype(np.complex64), np.fft.fft
    ),
    "convolution": Old(
        8,
        [
            x(),
            const("k", KERNEL),
            ("y Conv2D x k", {"T": F, "strides": [1, 1, 1, 1], "padding": b"VALID"}),
        ],
        images(1, 4, 5, 3),
        lambda a: moved(a, KERNEL),
    ),
    "channels apart": Old(
        17,
        [
            x(),
            const("k", np.ones((2, 2, 2, 1), np.float32)),
            ("y DepthwiseConv2dNative x k", {"T": F, "strides": [1] * 4, "padding": b"VALID"}),
        ],
        images(1, 3, 3, 2),
        lambda a: a[:, 1:, 1:] + a[:, 1:, :-1] + a[:, :-1, 1:] + a[:, :-1, :-1],
    ),
    "maximum of windows": Old(
        8,
        [
            x(),
            ("y MaxPool x", {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": b"SAME"}),
        ],
        images(1, 4, 4, 1),
        lambda a: a.reshape(1, 2, 2, 2, 2, 1).max((2, 4)),
    ),
    "loss": Old(
        8,
        [
            x(),
            const("l", np.int64([1, 0])),
            ("y SparseSoftmaxCrossEntropyWithLogits x l", {"T": F}),
        ],
        images(2, 3),
        lambda a: np.log(np.exp(a).sum(1)) - a[[0, 1], [1, 0]],
    ),
    "rows": Old(
        8,
        [x(), const("i", np.int32([2, 0])), ("y Gather x i", {"Tparams": F, "Tindices": INT})],
        images(3, 2),
        lambda a: a[[2, 0]],
    ),
    "parts": Old(
        8,
        [x(), const("d", np.int32(1)), ("y Split d x", {"T": F, "num_split": 2})],
        images(2, 4),
        lambda a: a[:, 2:],
        "y:1",
    ),
    "slices": Old(
        18,
        [
            x(),
            *(const(name, np.int32([v])) for name, v in (("b", 3), ("e", 0), ("s", -2))),
            ("y StridedSlice x b e s", {"T": F, "Index": INT}),
        ],
        images(4, 2),
        lambda a: a[3:0:-2],
    ),
    "reverse": Old(
        18,
        [x(), const("d", np.array([True, False])), ("y Reverse x d", {"T": F})],
        images(3, 2),
        lambda a: a[::-1],
    ),
    "larger images": Old(
        8,
        [x(), const("s", np.int32([4, 2])), ("y ResizeNearestNeighbor x s", {"T": F})],
        images(1, 2, 1, 2),
        lambda a: a.repeat(2, 1).repeat(2, 2),
    ),
    "rounded": Old(
        21,
        [x(), ("y QuantizeAndDequantize x", {"T": F, "num_bits": 8})],
        np.float32([-1, 0, 1]),
        lambda a: a,
    ),
    "numbers": Old(
        15,
        [
            x(INT),
            *(const(name, np.int32(v)) for name, v in (("a", 1), ("s", 2))),
            ("y Range a x s", {}),
        ],
        np.int32(8),
        lambda a: np.arange(1, a, 2, dtype=np.int32),
    ),
    "places": Old(
        20,
        [
            x(tf.int64),
            const("n", np.int32(3)),
            *(const(name, np.float32(v)) for name, v in (("on", 1), ("off", 0))),
            ("y OneHot x n on off", {"T": F}),
        ],
        np.int64([2, 0]),
        lambda a: np.eye(3, dtype=np.float32)[a],
    ),
    "squeezed": Old(
        9,
        [x(), const("d", np.int32(0)), ("e ExpandDims x d", {"T": F}), ("y Squeeze e", {"T": F})],
        images(1, 3),
        lambda a: a[0],
    ),
    "cast": Old(
        25,
        [x(shape=None), ("y Cast x", {"SrcT": F, "DstT": INT})],
        FOUR / 2,
        lambda a: a.astype("i"),
    ),
    "bias": Old(
        8, [x(), const("b", FOUR), ("y BiasAdd x b", {"T": F})], images(2, 4), lambda a: a + FOUR
    ),
    "neighbours": Old(
        8, [x(), ("y LRN x", {"alpha": 0.0, "bias": 4.0})], images(1, 1, 1, 5), lambda a: a / 2
    ),
    "array": Old(
        15,
        [
            x(),
            const("n", np.int32(1)),
            ("t TensorArray n", {"dtype": F}),
            const("i", np.int32(0)),
            const("f", np.float32(0)),
            ("w TensorArrayWrite t:0 i x f", {"T": F}),
            ("y TensorArrayRead t:0 i w", {"dtype": F}),
        ],
        images(2, 2),
        lambda a: a,
    ),
    "quantized": Old(
        27,
        [
            x(shape=None),
            *(const(name, np.float32(v)) for name, v in (("a", 0), ("b", 255))),
            ("q QuantizeV2 x a b", {"T": tf.quint8}),
            ("y Dequantize q q:1 q:2", {"T": tf.quint8}),
        ],
        np.float32([0, 7, 255]),
        lambda a: a,
    ),
}  # fmt: skip


def graph_def_of(old: Old) -> Any:
    message = tf.GraphDef()
    message.versions.producer = old.producer
    for text, attrs in old.nodes:
        name, op, *inputs = text.split()
        node = message.node.add(name=name, op=op, input=inputs)
        for key, value in attrs.items():
            set_attr(node.attr[key], value)
    return message


def set_attr(attr: Any, value: Any) -> None:
    if isinstance(value, tf.DType):
        attr.type = value.as_datatype_enum
    elif isinstance(value, tf.TensorShape):
        attr.shape.CopyFrom(value.as_proto())
    elif isinstance(value, np.ndarray):
        attr.tensor.CopyFrom(tf.make_tensor_proto(value))
    elif isinstance(value, list):
        attr.list.i.extend(value)
    else:
        setattr(attr, {bool: "b", int: "i", float: "f", bytes: "s"}[type(value)], value)


@pytest.mark.parametrize("kind", GRAPHS)
def test_an_old_graph_runs(kind: str) -> None:
    old = GRAPHS[kind]
    expected = old.result(old.fed)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def_of(old), name="")
        result = session.run(old.fetch, {"x:0": old.fed})
        again = tf.get_default_graph().as_graph_def()
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    assert again.versions.producer == old.producer
    with tf.Graph().as_default(), tf.Session() as session:  # as it is written again
        tf.import_graph_def(again, name="")
        np.testing.assert_array_equal(session.run(old.fetch, {"x:0": old.fed}), result)


def test_there_are_thirty() -> None:
    assert len(GRAPHS) >= 30
    assert {old.producer for old in GRAPHS.values()} >= {8, 15, 21, 27}
