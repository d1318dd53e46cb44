"""CTC decoding, which computes labels from logits: the most likely class at each time, or a beam
search.

The last class is the blank, which separates equal adjacent labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import int32
from gpugraph.base.errors import FailedPreconditionError, invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, RowSource, Signature
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.arrays.masks_and_coordinates import sequence_mask
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.elementwise.comparison_and_select import logical_and, not_equal
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import merge_sizes, of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.coordinate_gather_scatter import scatter_nd
from gpugraph.ops.indexing.gather import boolean_mask
from gpugraph.ops.nn.losses.ctc_beam_search import search
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_max, reduce_sum
from gpugraph.ops.sparse.sparse_tensor import SparseTensor

_FLOATS = (dtypes.float32, dtypes.float64)


def _check_times(times: Any, steps: int) -> None:
    late = np.flatnonzero(times > steps)
    if late.size:
        raise FailedPreconditionError.of_no_node(f"sequence_length({late[0]}) <= {steps}")


def _sparse(rows: Sequence[Sequence[int]]) -> tuple[Any, Any, Any]:
    """Return the (indices, values, shape) of a sparse tensor with these rows of different
    lengths.
    """
    lengths = [len(labels) for labels in rows]
    indices = [(row, place) for row, length in enumerate(lengths) for place in range(length)]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array([label for labels in rows for label in labels], np.int64),
        np.array([len(rows), max(lengths, default=0)], np.int64),
    )


def _batch(context: InferContext) -> int | None:
    """Return the number of sequences, or None if it is unknown. Raises ValueError if an input has a
    wrong rank.
    """
    batch = of_rank(context.shapes[0], 3, "inputs")[1]
    times = TensorShape.of(of_rank(context.shapes[1], 1, "sequence_length"))
    return merge_sizes(batch, of_rank(times, 1, "sequence_length")[0])


# -- the most likely label at each time


def _infer_greedy(context: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of(sizes) for sizes in ((None, 2), (None,), (2,), (_batch(context), 1))]


def _bind_greedy(context: KernelContext, logits: Any, times: Any) -> Callable[[], Any]:
    blank, merge = logits.shape[2] - 1, context.attrs["merge_repeated"]

    def run() -> list[Any]:
        _check_times(times, len(logits))
        used = logits[: max(int(times.max(initial=0)), 0)]
        best = used.argmax(axis=2) if used.size else np.zeros(used.shape[:2], np.int64)
        there = np.arange(len(used))[:, None] < times
        is_label = there & (best != blank)
        if merge:
            is_label[1:] &= best[1:] != best[:-1]
        rows = [best[is_label[:, index], index].tolist() for index in range(logits.shape[1])]
        total = np.where(there, used.max(axis=2, initial=-np.inf), 0).sum(axis=0)
        return [*_sparse(rows), 0 - total[:, None].astype(logits.dtype)]

    return run


def _native_greedy() -> RowSource:
    def parameters(signature: Signature) -> list[int]:
        room = signature.output_shapes[1][0]
        return [*signature.input_shapes[0], int(signature.attrs["merge_repeated"]), room]

    def sizes(_: Signature, logits: Any, times: Any) -> list[tuple[int, ...]]:
        room = int(np.clip(times, 0, len(logits)).sum())
        return [(room, 2), (room,), (2,), (logits.shape[1], 1)]

    return RowSource(
        "host_ctc.h", "gg_ctc_greedy", parameters, sizes=sizes, counted=[0, 1], is_exact=False
    )


_greedy = op(
    "CTCGreedyDecoder",
    inputs="inputs: T, sequence_length: int32",
    outputs="decoded_indices: int64, decoded_values: int64, decoded_shape: int64, "
    "log_probability: T",
    attrs={"merge_repeated": Attr("bool", False), "T": _FLOATS},
    infer=_infer_greedy,
    **numpy_kernels(Call(make=_bind_greedy, dynamic=True), _native_greedy()),
    grad=NO_GRADIENT,
    doc=(
        "The labels with the largest logits (time, batch, classes), and the negated sum of these "
        "logits."
    ),
)


def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """Return the most likely class at each time, without blanks.

    The result is ([labels], score). `labels` is a SparseTensor. `score` has shape [batch, 1], and
    is the negated sum of the largest logits. A run raises FailedPreconditionError if a length
    exceeds the number of time steps.

    Args:
      inputs: floats [time, batch, classes].
      sequence_length: int32 [batch], the number of time steps of each sequence that are used.
      merge_repeated: whether to merge equal classes at successive time steps into one label.
    """
    indices, values, sizes, total = _greedy(inputs, sequence_length, merge_repeated=merge_repeated)
    return [SparseTensor(indices, values, sizes)], total


# -- the most likely sequences


def _infer_beams(context: InferContext) -> Sequence[TensorShape]:
    paths = context.attrs["top_paths"]
    of_each = [((None, 2),), ((None,),), ((2,),)]
    shapes = [TensorShape.of(sizes) for (sizes,) in of_each for _ in range(paths)]
    return [*shapes, TensorShape.of((_batch(context), paths))]


def _bind_beams(context: KernelContext, logits: Any, times: Any) -> Callable[[], Any]:
    width, paths, merge = (
        context.attrs[key] for key in ("beam_width", "top_paths", "merge_repeated")
    )

    def run() -> list[Any]:
        _check_times(times, len(logits))
        if paths > width:
            raise invalid_argument("requested more paths than the beam width.")
        sequences = [
            search(logits[: max(0, times[index]), index], width, paths, merge)
            for index in range(logits.shape[1])
        ]
        sparse = [_sparse([best[path].labels for best in sequences]) for path in range(paths)]
        chances = [[path.log_probability for path in best] for best in sequences]
        parts = [part for kind in zip(*sparse) for part in kind]
        return [*parts, np.array(chances, logits.dtype).reshape(len(sequences), paths)]

    return run


_MOST_PATHS = 20
"""The maximum number of paths of the native kernel, which has few arrays."""


def _native_beams() -> RowSource:
    def parameters(signature: Signature) -> list[int]:
        attrs, paths = signature.attrs, signature.attrs["top_paths"]
        if not paths <= min(attrs["beam_width"], _MOST_PATHS):
            raise NotImplementedError("there are many paths")
        room = signature.output_shapes[0][0]
        merge = int(attrs["merge_repeated"])
        return [*signature.input_shapes[0], attrs["beam_width"], paths, merge, room]

    def sizes(signature: Signature, logits: Any, times: Any) -> list[tuple[int, ...]]:
        room, paths = int(np.clip(times, 0, len(logits)).sum()), signature.attrs["top_paths"]
        of_path = (room, 2), (room,), (2,)
        return [*(part for part in of_path for _ in range(paths)), (logits.shape[1], paths)]

    return RowSource(
        "host_ctc_beam.h", "gg_ctc_beam", parameters, sizes=sizes, separate=True, is_exact=False
    )


_beam_search = op(
    "CTCBeamSearchDecoder",
    inputs="inputs: T, sequence_length: int32",
    outputs="decoded_indices: top_paths * int64, decoded_values: top_paths * int64, "
    "decoded_shape: top_paths * int64, log_probability: T",
    attrs={
        "beam_width": Attr("int", required=True, minimum=1),
        "top_paths": Attr("int", required=True, minimum=1),
        "merge_repeated": Attr("bool", True),
        "T": _FLOATS,
    },
    infer=_infer_beams,
    **numpy_kernels(Call(make=_bind_beams, dynamic=True), _native_beams()),
    grad=NO_GRADIENT,
    doc="The most likely label sequences for logits (time, batch, classes), by a beam search.",
)


def ctc_beam_search_decoder(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """Return the most likely label sequences of each example with their log probabilities, most
    likely first.

    The result is a list of `top_paths` SparseTensors of labels, and log probabilities [batch,
    top_paths]. Raises ValueError if `beam_width` or `top_paths` is below 1. A run raises
    FailedPreconditionError if a length exceeds the number of time steps. It raises
    InvalidArgumentError if `top_paths` exceeds `beam_width` or the number of sequences that were
    found.

    Args:
      inputs: floats [time, batch, classes].
      sequence_length: int32 [batch], the number of time steps of each sequence that are used.
      beam_width: the number of sequences that are kept at each time.
      merge_repeated: whether to merge equal adjacent labels, even if a blank separates them.
    """
    *columns, chances = _beam_search(
        inputs, sequence_length, beam_width=beam_width, top_paths=top_paths,
        merge_repeated=merge_repeated,
    )  # fmt: skip
    return [SparseTensor(*parts_of_path) for parts_of_path in zip(*columns)], chances


def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """Call `ctc_beam_search_decoder` with `merge_repeated=False`, which keeps equal labels that a
    blank separates.
    """
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


# -- labels


def collapse_repeated(
    labels: Any, seq_length: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Merge equal adjacent labels. Return (labels [batch, longest], lengths [batch]).

    The resulting rows are padded with 0 to the length of the longest row.

    Args:
      labels: a tensor of shape [batch, max]. Only the first `seq_length[i]` labels of row i are
        used.
    """
    with op_scope(name, "collapse_repeated_labels", labels, seq_length):
        source = convert_to_tensor(labels, name="labels")
        lengths = convert_to_tensor(seq_length, name="seq_length")
        differ = not_equal(source[:, 1:], source[:, :-1])
        mask = concat([ones_like(source[:, :1], dtypes.bool), differ], axis=1)
        width = source.shape[1].value
        mask = logical_and(
            mask, sequence_mask(lengths, maxlen=shape(source)[1] if width is None else width)
        )
        left = reduce_sum(cast(mask, int32), axis=1)
        longest = reduce_max(left)
        targets = reshape(sequence_mask(left, maxlen=longest), [-1])
        places = range_of(shape(targets)[0])
        flat = scatter_nd(
            expand_dims(boolean_mask(places, targets), axis=1),
            boolean_mask(reshape(source, [-1]), reshape(mask, [-1])),
            shape(targets),
        )
        batch = source.shape[0].value
        rows = shape(source)[0] if batch is None else batch
        return reshape(flat, [rows, longest]), cast(left, lengths.dtype.base_dtype)
