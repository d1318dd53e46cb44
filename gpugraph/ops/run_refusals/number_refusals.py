"""The checks and messages of TensorFlow's kernels for products, reductions, segments, matrices and
strings.
"""

from __future__ import annotations

from gpugraph.base.errors import FailedPreconditionError, OutOfRangeError
from gpugraph.ops.run_refusals.refusal_rules import (
    Refused,
    Rule,
    no_negative,
    rank_from,
    rank_is,
    same_rows,
    same_shapes,
    when,
)

_BATCH_RANK = (
    rank_from(0, 2, "In[0] ndims must be >= 2: {0.rank}"),
    rank_from(1, 2, "In[1] ndims must be >= 2: {1.rank}"),
)


def _batches_differ(op: Refused) -> bool:
    sizes = zip(reversed(op.x[0].sizes[:-2]), reversed(op.x[1].sizes[:-2]))
    return any(one != other and 1 not in (one, other) for one, other in sizes)


def _first_batch(op: Refused) -> str | None:
    for axis, (one, other) in enumerate(zip(op.x[0].sizes[:-2], op.x[1].sizes[:-2])):
        if one != other:
            return (
                f"In[0].dim({axis}) and In[1].dim({axis}) must be the same: {op.x[0].text} vs "
                f"{op.x[1].text}"
            )
    return None


def _bias_axis(op: Refused) -> int:
    return 1 if op.attrs.get("data_format") == b"NCHW" else -1


_BIAS_ADD = (
    rank_from(0, 2, "Input tensor must be at least 2D: {0.text}"),
    rank_is(1, 1, "Biases must be 1D: {1.text}"),
    when(
        lambda op: op.x[0].sizes[_bias_axis(op)] != op.x[1].count,
        "Must provide as many biases as the last dimension of the input tensor: {1.text} vs. "
        "{0.text}",
    ),
)


def _arg_axis(op: Refused) -> str | None:
    axis, rank = op.x[1].value, op.x[0].rank
    if axis is None or -rank <= int(axis) < rank:
        return None
    return f"Expected dimension in the range [{-rank}, {rank}), but got {int(axis)}"


_ARG_REDUCTION: tuple[Rule, ...] = (
    rank_is(1, 0, "dim must be a scalar, but received tensor of shape: {1.text}"),
    _arg_axis,
)


_SCAN: tuple[Rule, ...] = (rank_is(1, 0, "ScanOp: axis must be a scalar, not {1.text}"),)

_NUM_SEGMENTS = "num_segments should be a scalar, not shape {{{0}.text}}"
_SEGMENT_COUNTS = (
    rank_is(2, 0, _NUM_SEGMENTS.format(2)),
    when(
        lambda op: op.x[0].sizes[: op.x[1].rank] != op.x[1].sizes,
        "data.shape = {0.text} does not start with segment_ids.shape = {1.text}",
    ),
)
_SEGMENTS = (
    rank_from(0, 1, "input must be at least rank 1"),
    rank_is(1, 1, "segment_ids should be a vector."),
    same_rows(
        "segment_ids should be the same size as dimension 0 of input. They have {1.count} and "
        "{0.sizes[0]}."
    ),
)
_SPARSE_SEGMENTS = (
    rank_is(1, 1, "indices should be a vector."),
    rank_is(2, 1, "segment_ids should be a vector."),
    same_shapes(
        1, 2, "segment_ids and indices should have same size. They have {2.count} and {1.count}."
    ),
)

_SOLVE = (
    when(
        lambda op: op.x[0].rank != op.x[1].rank and op.x[0].rank >= 2,
        "All input tensors must have the same rank.",
    ),
    rank_from(0, 2, "Input tensor 0 must have rank >= 2, got {0.rank}"),
    when(
        lambda op: op.x[0].sizes[:-2] != op.x[1].sizes[:-2],
        "All input tensors must have the same outer dimensions.",
    ),
)
_SQUARE = when(
    lambda op: op.x[0].sizes[-1] != op.x[0].sizes[-2], "First input (lhs) must be a square matrix."
)
_RIGHT_HAND = when(
    lambda op: op.x[0].sizes[-2] != op.x[1].sizes[-2], "Input matrix and rhs are incompatible."
)


def _band(slot: int, axis: int, name: str, place: str) -> Rule:
    def rule(op: Refused) -> str | None:
        value, size = op.x[slot].value, op.x[0].sizes[axis]
        if value is None or int(value) <= size:
            return None
        return (
            f"{name} must be negative or less or equal to number of {place} ({size}) got: "
            f"{int(value)}"
        )

    return rule


_BAND_PART: tuple[Rule, ...] = (
    rank_from(0, 2, "input must be at least 2-dim, received shape: {0.text}"),
    rank_is(1, 0, "num_lower must be scalar, got shape {1.text}"),
    rank_is(2, 0, "num_upper must be scalar, got shape {2.text}"),
    _band(1, -2, "num_lower", "rows"),
    _band(2, -1, "num_upper", "columns"),
)
_SET_DIAG = (
    "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is "
    "not equal to the longests diagonal in range [lower_diag_index:upper_diag_index].\n"
    "Input shape: {0.text}\nDiagonal shape: {1.text}"
)
_CHANNELS = when(
    lambda op: op.x[0].sizes[-1:] != (3,),
    "input must have 3 channels but input only has {0.columns} channels.",
    FailedPreconditionError,
)


def _string_join(op: Refused) -> str | None:
    wide = [item for item in op.x if item.rank]
    for item in wide[1:]:
        if item.sizes != wide[0].sizes:
            return f"Input shapes do not match: {wide[0].text} vs. {item.text}"
    return None


NUMBER_REFUSALS: dict[str, tuple[Rule, ...]] = {
    "MatMul": (
        rank_is(0, 2, "In[0] is not a matrix. Instead it has shape {0.text}"),
        rank_is(1, 2, "In[1] is not a matrix. Instead it has shape {1.text}"),
    ),
    "BatchMatMul": (
        when(
            lambda op: op.x[0].rank != op.x[1].rank,
            "In[0] and In[1] has different ndims: {0.text} vs. {1.text}",
        ),
        *_BATCH_RANK,
        _first_batch,
    ),
    "BatchMatMulV2": (
        *_BATCH_RANK,
        when(
            _batches_differ,
            "In[0] and In[1] must have compatible batch dimensions: {0.text} vs. {1.text}",
        ),
    ),
    **dict.fromkeys(("BiasAdd", "BiasAddV1"), _BIAS_ADD),
    "BiasAddGrad": _BIAS_ADD[:1],
    **dict.fromkeys(("ArgMax", "ArgMin"), _ARG_REDUCTION),
    **dict.fromkeys(("Cumsum", "Cumprod", "CumulativeLogsumexp"), _SCAN),
    **dict.fromkeys([f"UnsortedSegment{kind}" for kind in ("Sum", "Prod", "Max", "Min")],
                    _SEGMENT_COUNTS),
    **dict.fromkeys([f"Segment{kind}" for kind in ("Sum", "Prod", "Max", "Min", "Mean")],
                    _SEGMENTS),
    **dict.fromkeys([f"SparseSegment{kind}" for kind in ("Sum", "Mean", "SqrtN")],
                    _SPARSE_SEGMENTS),
    **dict.fromkeys(
        [f"SparseSegment{kind}WithNumSegments" for kind in ("Sum", "Mean", "SqrtN")],
        (rank_is(3, 0, _NUM_SEGMENTS.format(3)), *_SPARSE_SEGMENTS),
    ),
    **dict.fromkeys(("MatrixSolve", "BatchMatrixSolve"), (*_SOLVE, _SQUARE, _RIGHT_HAND)),
    **dict.fromkeys(("MatrixSolveLs", "BatchMatrixSolveLs"), (*_SOLVE, _RIGHT_HAND)),
    **dict.fromkeys(("MatrixBandPart", "BatchMatrixBandPart"), _BAND_PART),
    **dict.fromkeys(
        ("MatrixDiag", "BatchMatrixDiag"),
        (rank_from(0, 1, "diagonal must be at least 1-dim, received shape: {0.text}"),),
    ),
    **dict.fromkeys(
        ("MatrixDiagPart", "BatchMatrixDiagPart"),
        (rank_from(0, 2, "input must be at least 2-dim, received shape: {0.text}"),),
    ),
    **dict.fromkeys(
        ("MatrixSetDiag", "BatchMatrixSetDiag"),
        (
            rank_from(0, 2, "input must be at least 2-dim, received shape: {0.text}"),
            rank_from(1, 1, "diagonal must be at least 1-dim, received shape: {1.text}"),
            when(lambda op: True, _SET_DIAG),
        ),
    ),
    **dict.fromkeys(("RGBToHSV", "HSVToRGB"),
                    (rank_from(0, 1, "input must be at least 1D{0.text}"), _CHANNELS)),
    "StringJoin": (_string_join,),
    "Substr": (same_shapes(1, 2, "pos and len should have the same shape, got: {1.text} vs. "
                           "{2.text}"),),
    "StringSplit": (
        rank_is(0, 1, "input must be a vector, got shape: {0.text}"),
        rank_is(1, 0, "delimiter must be a scalar, got shape: {1.text}"),
    ),
    "UnsortedSegmentJoin": (
        when(
            lambda op: op.x[1].rank > op.x[0].rank,
            "Invalid segment_id rank {1.rank} for input with {0.rank} dimension(s)",
            OutOfRangeError,
        ),
    ),
    **dict.fromkeys(
        [f"Stateless{kind}" for kind in ("RandomUniform", "RandomNormal", "TruncatedNormal",
                                         "RandomUniformInt")],
        (
            rank_is(0, 1, "shape must be a vector of {{int32,int64}}, got shape {0.text}"),
            rank_is(1, 1, "seed must have shape [2], not {1.text}"),
            when(lambda op: op.x[1].count != 2, "seed must have shape [2], not {1.text}"),
            no_negative(0),
        ),
    ),
}  # fmt: skip
"""The checks of TensorFlow's kernels, by op type, in the kernels' order. The first check that fails
determines the message.
"""
