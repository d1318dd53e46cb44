"""Loss and decoding of connectionist temporal classification (CTC), with dense labels."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import int32, int64
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import epsilon
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.elementwise.unary_functions import log
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd
from gpugraph.ops.nn.losses.ctc_decoders import ctc_beam_search_decoder, ctc_greedy_decoder
from gpugraph.ops.nn.losses.ctc_loss import ctc_loss
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.sparse.sparse_functions import sparse_tensor_to_dense
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> SparseTensor:
    """Convert labels [n, max_length] to a SparseTensor that contains the first `label_lengths[i]`
    labels of each row i.
    """
    sizes = shape(labels)
    counts = expand_dims(range_of(sizes[1]), 0) < expand_dims(cast(label_lengths, int32), 1)
    places = where(counts)
    return SparseTensor(places, gather_nd(labels, places), cast(sizes, int64))


def _times_first(y_pred: Any) -> Tensor:
    """Return log(y_pred + epsilon()) with transposed axes: [n, steps, classes] -> [steps, n,
    classes].
    """
    return log(transpose(y_pred, [1, 0, 2]) + epsilon())


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Tensor:
    """Return the CTC loss of each example: [n, 1].

    Args:
      y_true: labels [n, max_length].
      y_pred: probabilities [n, steps, classes]; the last class is the blank.
      input_length, label_length: [n, 1], the numbers of valid steps and labels of each example.
    """
    lengths = cast(reshape(label_length, [-1]), int32)
    labels = cast_values(ctc_label_dense_to_sparse(y_true, lengths))
    steps = cast(reshape(input_length, [-1]), int32)
    return expand_dims(ctc_loss(labels, _times_first(y_pred), steps), 1)


def cast_values(sparse: SparseTensor) -> SparseTensor:
    """Return a SparseTensor with the values cast to int32."""
    return SparseTensor(sparse.indices, cast(sparse.values, int32), sparse.dense_shape)


def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Tensor], Tensor]:
    """Decode CTC outputs. Return the most likely sequences of labels, and their log-probabilities.

    The sequences are a list of tensors [n, max_length], padded with -1. If `greedy` is true, the
    list has one tensor. Otherwise the list has `top_paths` tensors, the most likely sequences
    first.

    Args:
      y_pred: probabilities [n, steps, classes]; the last class is the blank.
      input_length: the number of valid steps of each example, [n].
      greedy: whether to take the most likely class of each step. Otherwise, a beam search of width
        `beam_width` finds the sequences.
    """
    inputs, steps = _times_first(y_pred), cast(input_length, int32)
    if greedy:
        decoded, logarithms = ctc_greedy_decoder(inputs, steps)
    else:
        decoded, logarithms = ctc_beam_search_decoder(inputs, steps, beam_width, top_paths)
    return [sparse_tensor_to_dense(labels, default_value=-1) for labels in decoded], logarithms
