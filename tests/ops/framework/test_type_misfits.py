"""Operands of different dtypes: refused in TensorFlow's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import gpugraph as tf

MATMUL = "Input 'b' of 'MatMul' Op has type float32 that does not match type int32 of argument 'a'."
SAME = "x and y must have the same dtype, got tf.int32 != tf.float32"


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def ints() -> Any:
    return tf.constant([[1]])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: tf.matmul(ints(), [[2.5]]), MATMUL),
        (lambda: tf.matmul([[1]], [[2.5]]), MATMUL),
        (lambda: ints() @ [[2.5]], MATMUL),
        (lambda: tf.tensordot(ints(), [[2.5]], 1), MATMUL),
        (lambda: tf.linalg.matvec(ints(), [2.5]), MATMUL),
        (lambda: tf.nn.xw_plus_b(ints(), [[2.5]], [1.0]), MATMUL),
        (
            lambda: tf.matmul([[2.5]], ints()),
            "Input 'b' of 'MatMul' Op has type int32 that does not match type float32 of argument",
        ),
        (
            lambda: tf.matmul([[[2.5]]], tf.constant([[[1]]])),
            "Input 'y' of 'BatchMatMulV2' Op has type int32 that does not match type float32 of "
            "argument 'x'.",
        ),
        (
            lambda: tf.sparse_tensor_dense_matmul(tf.SparseTensor([[0, 0]], [1], [1, 1]), [[2.5]]),
            "Input 'b' of 'SparseTensorDenseMatMul' Op has type float32 that does not match type "
            "int32 of argument 'a_values'.",
        ),
        (lambda: ints() / 1.5, SAME),
        (lambda: tf.truediv(ints(), 1.5), SAME),
        (lambda: tf.div(ints(), 1.5), "Expected int32, got 1.5 of type 'float' instead."),
        (lambda: 1.5 / ints(), "Expected int32, got 1.5 of type 'float' instead."),
        (
            lambda: tf.nn.weighted_cross_entropy_with_logits(tf.constant([1]), [2.0], 1.0),
            "Expected int32 passed to parameter 'x' of op 'Mul', got 0.0 of type 'float' instead.",
        ),
        (
            lambda: tf.complex(tf.constant(1.0), tf.constant(1.0, tf.float64)),
            "real and imag have incorrect types: float32 float64",
        ),
        (
            lambda: tf.nn.l2_loss([1]),
            "Value passed to parameter 't' has DataType int32 not in list of allowed values: "
            "float16, ",
        ),
    ],
)
def test_words_of_one_value(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(words)}"):
        build()


@pytest.mark.parametrize(
    ("build", "start"),
    [
        (lambda: tf.concat([tf.constant([1]), tf.constant([1.5])], 0), "'values' of 'ConcatV2' Op"),
        (lambda: tf.concat([tf.constant([1]), [1.5]], 0), "'values' of 'ConcatV2' Op"),
        (lambda: tf.stack([tf.constant(1), 1.5]), "'values' of 'Pack' Op"),
        (lambda: tf.stack([tf.constant([1]), [1.5]], axis=1), "'values' of 'Pack' Op"),
        (lambda: tf.add_n([tf.constant(1), tf.constant(1.5)]), "'inputs' of 'AddN' Op"),
    ],
)
def test_words_of_a_list(build: Callable[[], Any], start: str) -> None:
    words = f"Tensors in list passed to {start} have types [int32, float32] that don't all match."
    with pytest.raises(TypeError, match=f"^{re.escape(words)}"):
        build()
    with pytest.raises(TypeError, match=r"^Tensors in list passed to .*\[int32, <NOT CONV"):
        tf.concat([tf.constant([1]), object()], 0)


def test_words_of_sums_of_several() -> None:
    words = "^inputs must be a list of at least one Tensor with the same dtype and shape"
    for inputs in ([], [tf.constant(1), tf.constant(1.5)]):
        with pytest.raises(ValueError, match=words):
            tf.accumulate_n(inputs)


def test_plain_values_take_the_dtype_beside_them() -> None:
    half, wide = tf.constant([[2.0]], tf.float16), tf.constant([[2.0]], tf.float64)
    products = [tf.matmul(half, [[3]]), tf.matmul([[3]], wide), wide @ [[3]], wide / 0.5]
    assert [product.dtype for product in products] == [tf.float16] + [tf.float64] * 3
    with tf.Session() as session:
        assert [value.item() for value in session.run(products)] == [6.0, 6.0, 6.0, 4.0]
        assert session.run(tf.stack([wide, [[1]]])).ravel().tolist() == [2.0, 1.0]
