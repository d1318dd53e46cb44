"""The newer CTC loss, `tf.nn.ctc_loss_v2`, which also accepts dense labels.

The op CTCLoss requires sparse labels, and the blank as the last class. This module therefore
converts dense labels, and reorders the classes of the logits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.masks_and_coordinates import sequence_mask
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.ctc_loss import ctc_loss
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, expect_sparse

_FIRST, _LAST = np.array(0, np.int32), np.array(2, np.int32)


def _order(classes: int, blank: int) -> list[int]:
    """Return the classes in ascending order, except that the blank is last."""
    return [*range(blank), *range(blank + 1, classes), blank]


def _renumber_labels(labels: Any, classes: int, blank: int) -> Any:
    """Return the labels as indices into `_order(classes, blank)`."""
    numbers = np.argsort(_order(classes, blank)).astype(np.int32)
    return raw_ops.GatherV2(numbers, labels, _FIRST)


def _sparse(labels: Any, lengths: Any, classes: int, blank: int) -> SparseTensor:
    """Return the labels as a sparse tensor of new label numbers, with the first `lengths[i]` labels
    of each row i.

    An empty row has one blank in the result, because the op requires a label.
    """
    labels, lengths = convert_to_tensor(labels), cast(lengths, dtypes.int32)
    wide = raw_ops.PadV2(
        labels, np.array([[0, 0], [0, 1]], np.int32), cast(blank, labels.dtype.base_dtype)
    )
    shape = raw_ops.Shape(wide, out_type=dtypes.int64)
    is_kept = sequence_mask(raw_ops.Maximum(lengths, np.array(1, np.int32)), shape[1])
    indices = raw_ops.Where(is_kept)
    counts = sequence_mask(lengths, shape[1])
    numbers = _renumber_labels(wide, classes, blank)
    blanks = raw_ops.Add(raw_ops.ZerosLike(numbers), np.array(classes - 1, np.int32))
    chosen = raw_ops.Select(counts, numbers, blanks)
    return SparseTensor(indices, raw_ops.GatherNd(chosen, indices), shape)


def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return -log p(labels) [batch] by connectionist temporal classification. Any class can be the
    blank.

    The loss has a gradient, but no second gradient. Raises ValueError if labels are sparse and
    there is no `blank_index`, if `blank_index` is not a class, or if the number of classes is not
    known. A run raises InvalidArgumentError if there are more labels than time steps, or if a label
    is not a class.

    Args:
      labels: integers [batch, longest], of which the first `label_length[i]` of row i are used, or
        an int32 SparseTensor, for which `label_length` is ignored.
      logits: floats [time, batch, classes], or [batch, time, classes] if `logits_time_major` is
        false.
      logit_length: int32 [batch], the number of time steps of each sequence that are used.
      blank_index: the class of the blank. A negative number counts from the end. For dense labels,
        the default is 0.
      unique: ignored. TensorFlow uses it for speed.
    """
    del unique
    is_sparse = isinstance(labels, (SparseTensor, SparseTensorValue))
    if is_sparse and blank_index is None:
        raise ValueError("Argument `blank_index` must be provided when labels is a SparseTensor.")
    with op_scope(name, "ctc_loss"):
        source = convert_to_tensor(logits, name="logits")
        classes = source.shape.with_rank(3)[2].value
        if classes is None:
            raise ValueError(f"The number of classes of logits is not known: {source!r}")
        blank = (blank_index or 0) + (classes if (blank_index or 0) < 0 else 0)
        if not 0 <= blank < classes:
            raise ValueError(f"blank_index {blank_index} is none of {classes} classes")
        if blank != classes - 1:
            order = np.array(_order(classes, blank), np.int32)
            source = raw_ops.GatherV2(source, order, _LAST)
        if is_sparse:
            sparse = expect_sparse(labels)
            values = _renumber_labels(sparse.values, classes, blank)
            renumbered = SparseTensor(sparse.indices, values, sparse.dense_shape)
        else:
            renumbered = _sparse(labels, label_length, classes, blank)
        return ctc_loss(renumbered, source, logit_length, time_major=logits_time_major)


def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the distinct labels of each row, and the position of each label among them.

    The first result, int64 [batch, longest], has each row's distinct labels in order of first
    appearance, padded with zeros. The second result, int32 [batch, longest], has for each label its
    position among the row's distinct labels.

    Args:
      labels: integers [batch, longest].
    """
    with op_scope(name, "ctc_unique_labels", labels):
        wanted = convert_to_tensor(labels, name="labels")
        columns, rows = raw_ops.ExpandDims(wanted, 2), raw_ops.ExpandDims(wanted, 1)
        same = raw_ops.Cast(raw_ops.Equal(columns, rows), DstT=dtypes.int32)
        first = raw_ops.ArgMax(same, np.array(2, np.int32), output_type=dtypes.int32)
        places = raw_ops.Range(0, raw_ops.Shape(wanted)[1], 1)
        is_first = raw_ops.Cast(raw_ops.Equal(first, places), DstT=dtypes.int32)
        count = raw_ops.Cumsum(is_first, np.array(1, np.int32), exclusive=True)
        # begins[row, place, k]: whether k distinct labels precede `place`
        begins = raw_ops.Equal(raw_ops.ExpandDims(count, 2), places)
        starts = raw_ops.Cast(begins, DstT=dtypes.int64) * raw_ops.Cast(
            raw_ops.ExpandDims(is_first, 2), DstT=dtypes.int64
        )
        values = raw_ops.Cast(columns, DstT=dtypes.int64)
        unique = raw_ops.Sum(starts * values, np.array(1, np.int32))
        hits = raw_ops.Cast(raw_ops.Equal(raw_ops.ExpandDims(first, 2), places), DstT=dtypes.int32)
        positions = raw_ops.Sum(hits * raw_ops.ExpandDims(count, 1), np.array(2, np.int32))
        return unique, positions
