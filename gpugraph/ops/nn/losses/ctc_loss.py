"""Connectionist temporal classification (CTC), the loss of a label sequence with unknown timing.

See Graves et al., 2006. With a blank before, between and after its labels, a sequence of L labels
has U = 2 L + 1 places. A path is at one place at each time step. In the next step it stays at this
place, moves to the next place, or skips the blank between two different labels. The probabilities
of all paths are summed step by step, for all sequences of a batch together:

    ahead[u]  = log p(the inputs up to t, at place u at t)
    behind[u] = log p(the inputs after t, from place u at t)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, RowSource, Signature
from gpugraph.ops.arrays.reshape_and_transpose import transpose
from gpugraph.ops.framework.identity_and_shape import prevent_gradient
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.sparse.sparse_positions import check_increasing, positions
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, expect_sparse

_ATTRS = {
    "preprocess_collapse_repeated": Attr("bool", False),
    "ctc_merge_repeated": Attr("bool", True),
    "ignore_longer_outputs_than_inputs": Attr("bool", False),
}


# -- labels


def _rows(indices: Any, values: Any, count: int) -> list[list[int]]:
    """Return the labels of each of `count` sequences, from the indices and values of a sparse
    tensor.

    Raises InvalidArgumentError if indices are out of range or not in ascending order.
    """
    try:
        shape = [count, int(indices[:, 1].max(initial=-1)) + 1]
        check_increasing(indices, positions(indices, shape))
    except InvalidArgumentError as error:
        raise invalid_argument(f"label SparseTensor is not valid: {error.message}") from None
    rows: list[list[int]] = [[] for _ in range(count)]
    for row, label in zip(indices[:, 0].tolist(), values.tolist()):
        rows[row].append(label)
    return rows


def _effective_labels(row: list[int], number: int, blank: int, collapse: bool) -> list[int]:
    """Return the labels of a sequence before the first blank. Only blanks may follow the first
    blank.

    Raises InvalidArgumentError if the row is empty, or has a negative label or a label after a
    blank.

    Args:
      number: the sequence's index in the batch.
      collapse: whether to merge equal adjacent labels.
    """
    if not row:
        raise invalid_argument(f"Labels length is zero in batch {number}")
    labels = [
        label
        for index, label in enumerate(row)
        if not (collapse and index and label == row[index - 1])
    ]
    ends = next((index for index, label in enumerate(labels) if label >= blank), len(labels))
    if any(label < blank for label in labels[ends:]):
        raise invalid_argument(
            f"Saw a non-null label (index >= num_classes - 1) following a null label, batch: "
            f"{number} num_classes: {blank + 1} labels: {row}"
        )
    if min(row) < 0:
        raise invalid_argument(
            f"All labels must be nonnegative integers, batch: {number} labels: {row}"
        )
    return labels[:ends]


def _labels(attrs: Any, indices: Any, values: Any, times: Any, blank: int) -> list[list[int]]:
    """Return the labels of each sequence, without blanks.

    Raises InvalidArgumentError if a sequence has more labels than time steps, unless an attr allows
    this.
    """
    collapse = attrs["preprocess_collapse_repeated"]
    labels = []
    for number, row in enumerate(_rows(indices, values, len(times))):
        labels.append(_effective_labels(row, number, blank, collapse))
        if len(row) > times[number] and not attrs["ignore_longer_outputs_than_inputs"]:
            raise invalid_argument(
                f"Not enough time for target transition sequence (required: {len(row)}, available: "
                f"{times[number]}) in batch {number}. You can turn this error into a warning by "
                f"using the flag ignore_longer_outputs_than_inputs"
            )
    return labels


# -- paths


class _Paths:
    """All places of all sequences, [batch, places], and the log weights of the moves between them.

    `stay` is 0 where a path may stay at a place, and `skip` is 0 where a path may reach a place by
    skipping a blank. `inside` is 0 at the places of a sequence, and `last` is 0 at its last two
    places, where a path may end. All other elements are -inf.
    """

    def __init__(self, labels: list[list[int]], times: Any, blank: int, merge: bool) -> None:
        counts = np.array([len(row) for row in labels])
        self.times, self.sizes = times, 2 * counts + 1
        self.used = (times > 0) & (counts <= times)
        self.places = np.full((len(labels), 2 * int(counts.max(initial=0)) + 1), blank)
        for row, row_labels in zip(self.places, labels):
            row[1 : 2 * len(row_labels) : 2] = row_labels
        is_label = self.places != blank
        same = np.zeros(self.places.shape, bool)
        same[:, 2:] = self.places[:, 2:] == self.places[:, :-2]
        self.stay = np.where(is_label & (not merge), -np.inf, 0.0)
        self.skip = np.where(is_label & ~(same & merge), 0.0, -np.inf)
        self.skip[:, :2] = -np.inf
        inside = np.arange(self.places.shape[1]) < self.sizes[:, None]
        self.inside = np.where(inside, 0.0, -np.inf)
        last = np.arange(self.places.shape[1]) >= self.sizes[:, None] - 2
        self.last = np.where(last, self.inside, -np.inf)

    def ahead(self, seen: Any) -> Any:
        """Return `ahead` [time, batch, places], given `seen`, the log probability of each place's
        class.
        """
        totals = np.full(seen.shape, -np.inf)
        totals[0, :, :2] = seen[0, :, :2] + self.inside[:, :2]
        for t in range(1, len(seen)):
            before = totals[t - 1]
            total = before + self.stay
            total[:, 1:] = np.logaddexp(total[:, 1:], before[:, :-1])
            total[:, 2:] = np.logaddexp(total[:, 2:], before[:, :-2] + self.skip[:, 2:])
            totals[t] = total + seen[t] + self.inside
        return totals

    def behind(self, seen: Any) -> Any:
        """Return `behind` [time, batch, places]. The recursion for each sequence starts at the last
        time step of this sequence.
        """
        totals = np.full(seen.shape, -np.inf)
        for t in range(len(seen) - 1, -1, -1):
            if t + 1 < len(seen):
                after = totals[t + 1] + seen[t + 1]
                total = after + self.stay
                total[:, :-1] = np.logaddexp(total[:, :-1], after[:, 1:])
                total[:, :-2] = np.logaddexp(total[:, :-2], after[:, 2:] + self.skip[:, 2:])
                totals[t] = total
            ends = self.times == t + 1
            totals[t, ends] = self.last[ends]
        return totals


def _log_softmax(logits: Any) -> Any:
    wide = logits.astype(np.float64)
    wide -= wide.max(axis=2, keepdims=True)
    wide -= np.log(np.exp(wide).sum(axis=2, keepdims=True))
    return wide


def _loss_and_gradient(paths: _Paths, logits: Any, loss: Any, gradient: Any) -> None:
    """Compute loss = -log p(labels), and its gradient with respect to the logits.

    The gradient at a time and class is the softmax of the logits, minus the probability, given the
    labels, that a path has this class at this time.
    """
    most = max(int(paths.times.max(initial=0)), 1)
    gradient[most:] = 0
    logits, gradient = logits[:most], gradient[:most]
    steps, batch, classes = logits.shape
    known = _log_softmax(logits)
    seen = np.take_along_axis(known, np.broadcast_to(paths.places, (steps, *paths.places.shape)), 2)
    both = paths.ahead(seen) + paths.behind(seen)
    total = np.logaddexp.reduce(both[0], axis=1)
    possible = paths.used & (total > -np.inf)
    loss[...] = np.where(paths.used, -total, 0)
    shares = np.exp(both - np.where(possible, total, 0)[:, None])
    rows = np.arange(steps * batch).reshape(steps, batch, 1) * classes + paths.places
    by_class = np.bincount(rows.ravel(), shares.ravel(), steps * batch * classes)
    active = paths.used & (np.arange(steps)[:, None] < paths.times)
    slope = np.exp(known) - by_class.reshape(logits.shape)
    gradient[...] = np.where(active[..., None], slope, 0)


def _bind(
    context: KernelContext,
    logits: Any,
    indices: Any,
    values: Any,
    times: Any,
    loss: Any,
    gradient: Any,
) -> Callable[[], Any]:
    attrs, blank = context.attrs, logits.shape[2] - 1

    def run() -> None:
        late = np.flatnonzero(times > len(logits))
        if late.size:
            raise invalid_argument(f"sequence_length({late[0]}) <= {len(logits)}")
        labels = _labels(attrs, indices, values, times, blank)
        if not gradient.size:
            loss.fill(0)
            return
        paths = _Paths(labels, times, blank, attrs["ctc_merge_repeated"])
        with np.errstate(all="ignore"):
            _loss_and_gradient(paths, logits, loss, gradient)

    return run


def _native(signature: Signature) -> list[int]:
    (steps, batch, classes), (count, columns) = signature.input_shapes[:2]
    if columns != 2:
        raise NotImplementedError("labels_indices have not two columns")
    return [steps, batch, classes, count, *(int(signature.attrs[name]) for name in _ATTRS)]


# -- the op


def _infer(context: InferContext) -> Sequence[TensorShape]:
    steps, batch, classes = of_rank(context.shapes[0], 3, "inputs")
    count, columns = of_rank(context.shapes[1], 2, "labels_indices")
    if columns not in (2, None) and not context.is_building:
        raise ValueError(f"labels_indices need 2 columns, but have {columns}")
    values = TensorShape.of(of_rank(context.shapes[2], 1, "labels_values"))
    values.merge_with(TensorShape.of((count,)))
    times = TensorShape.of(of_rank(context.shapes[3], 1, "sequence_length"))
    both = times.merge_with(TensorShape.of((batch,)))
    return [both, TensorShape.of((steps, of_rank(both, 1, "batch")[0], classes))]


def _back(op: Any, dloss: Any, _: Any) -> list[Any]:
    slope = prevent_gradient(
        op.outputs[1],
        message="the loss and its gradient are computed together, and there is no second one",
    )
    return [raw_ops.Mul(raw_ops.ExpandDims(dloss, -1), slope), None, None, None]


_ctc_loss = op(
    "CTCLoss",
    inputs="inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32",
    outputs="loss: T, gradient: T",
    attrs={"T": (dtypes.float32, dtypes.float64), **_ATTRS},
    infer=_infer,
    **numpy_kernels(
        Call(make=_bind), RowSource("host_ctc.h", "gg_ctc_loss", _native, is_exact=False)
    ),
    grad=_back,
    doc=(
        "-log p(labels) for logits (time, batch, classes), whose last class is the blank, and the "
        "gradient with respect to the logits."
    ),
)


def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """Return -log p(labels) [batch] by connectionist temporal classification.

    `logits` is a newer name of `inputs`. If no path exists, because repeated labels need blanks
    between them, the loss is infinite. The loss has a gradient, but no second gradient. Raises
    TypeError unless labels are sparse. A run raises InvalidArgumentError if a sequence has no
    labels, negative labels, or more labels than time steps, or if a length exceeds the number of
    time steps.

    Args:
      labels: an int32 SparseTensor [batch, longest] with the labels of each sequence.
      inputs: floats [time, batch, classes], or [batch, time, classes] if `time_major` is false. The
        last class is the blank.
      sequence_length: int32 [batch], the number of time steps of each sequence that are used.
      preprocess_collapse_repeated: whether to merge equal adjacent labels first.
      ctc_merge_repeated: whether a label may last for several time steps.
      ignore_longer_outputs_than_inputs: whether a sequence with more labels than time steps has the
        loss 0 instead of raising an error.
    """
    if not isinstance(labels, (SparseTensor, SparseTensorValue)):
        raise TypeError(f"Expected labels (first argument) to be a SparseTensor, not {labels!r}")
    sparse, source_logits = expect_sparse(labels), logits if inputs is None else inputs
    source = (
        convert_to_tensor(source_logits, name="inputs")
        if time_major
        else transpose(source_logits, [1, 0, 2])
    )
    loss, _ = _ctc_loss(
        source,
        sparse.indices,
        sparse.values,
        sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )
    return loss
