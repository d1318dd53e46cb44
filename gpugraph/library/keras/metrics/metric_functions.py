"""Metrics of examples, as functions of targets and predictions: accuracies and cosines.

The losses in `library/keras/losses/loss_functions.py` are also used as metrics.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import float32, int32, int64
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.losses import loss_functions
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import reshape, squeeze
from gpugraph.ops.elementwise.comparison_and_select import equal, greater
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.top_k import in_top_k
from gpugraph.ops.reductions.argmax_and_argmin import argmax
from gpugraph.ops.reductions.reduction_functions import reduce_mean


def accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Return 1 where a prediction equals its target, otherwise 0."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    y_pred.shape.assert_is_compatible_with(y_true.shape)
    return cast(equal(cast(y_true, y_pred.dtype.base_dtype), y_pred), floatx())


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """Return, for each example, the fraction of predictions that equal their targets, 0 or 1.

    A prediction above `threshold` is treated as 1, any other prediction as 0.
    """
    y_true, y_pred = loss_functions.alike(y_true, y_pred)
    decided = cast(greater(y_pred, threshold), y_pred.dtype.base_dtype)
    return reduce_mean(cast(equal(y_true, decided), floatx()), axis=-1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Return 1 for each example whose largest prediction and largest target have the same index,
    else 0.
    """
    return cast(equal(argmax(y_true, axis=-1), argmax(y_pred, axis=-1)), floatx())


def _classes(y_true: Any, y_pred: Tensor) -> Tensor:
    """Return class indices as a tensor with one axis fewer than the predictions.

    If the indices have the rank of the predictions, the last axis, of size 1, is removed.
    """
    y_true = convert_to_tensor(y_true)
    ranks = y_true.shape.rank, y_pred.shape.rank
    return squeeze(y_true, [-1]) if None not in ranks and ranks[0] == ranks[1] else y_true


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """Return 1 for each example whose target is the index of the largest prediction, else 0."""
    y_pred = convert_to_tensor(y_pred)
    classes = _classes(y_true, y_pred)
    largest = cast(argmax(y_pred, axis=-1), classes.dtype.base_dtype)
    return cast(equal(classes, largest), floatx())


def _in_top(y_pred: Any, classes: Tensor, k: int) -> Tensor:
    """Return 1 where a class index [...] is the index of one of the k largest predictions [...,
    classes], else 0.
    """
    y_pred = cast(y_pred, float32)
    if y_pred.shape.rank is None or y_pred.shape.rank <= 2:
        return cast(in_top_k(y_pred, cast(classes, int32), k), floatx())
    rows = reshape(y_pred, [-1, int(y_pred.shape[-1])])
    hits = in_top_k(rows, cast(reshape(classes, [-1]), int32), k)
    return reshape(cast(hits, floatx()), shape(classes))


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """Return 1 for each example for which the class of the largest target is among the k largest
    predictions, else 0.
    """
    return _in_top(y_pred, argmax(y_true, axis=-1), k)


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """Return 1 for each example whose target is the index of one of the k largest predictions, else
    0.
    """
    y_pred = convert_to_tensor(y_pred)
    return _in_top(y_pred, cast(_classes(y_true, y_pred), int64), k)


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Return the cosine of the angle between targets and predictions along `axis`."""
    return -loss_functions.cosine_similarity(y_true, y_pred, axis)
