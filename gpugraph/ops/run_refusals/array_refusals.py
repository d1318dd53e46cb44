"""The checks and messages of TensorFlow's kernels that slice, join, reshape and index arrays."""

from __future__ import annotations

from gpugraph.ops.run_refusals.refusal_rules import (
    Refused,
    Rule,
    no_negative,
    old_scalar,
    rank_from,
    rank_is,
    same_shapes,
    when,
)


def _slice_range(op: Refused) -> str | None:
    begin, size = op.x[1].value, op.x[2].value
    if begin is None or size is None:
        return None
    for axis, (dimension, start, count) in enumerate(zip(op.x[0].sizes, begin, size)):
        if not 0 <= start <= dimension:
            return f"Expected begin[{axis}] in [0, {dimension}], but got {start}"
        if count != -1 and not 0 <= count <= dimension - start:
            return f"Expected size[{axis}] in [0, {dimension - start}], but got {count}"
    return None


def _axis_rule(slot: int, of: int, template: str, extra: int = 0) -> Rule:
    """Return the rule that input `slot`, a scalar, must be an axis of input `of`.

    Args:
      extra: the number by which the allowed range is larger than [-rank, rank) on each side.
      template: the message, with `{0}` for the axis and `{1}` for the rank.
    """

    def rule(op: Refused) -> str | None:
        axis, rank = op.x[slot].value, op.x[of].rank
        if axis is None or -rank - extra <= int(axis.ravel()[0]) < rank + extra:
            return None
        return template.format(int(axis.ravel()[0]), rank)

    return rule


def _pieces(op: Refused) -> str | None:
    axis, sizes = op.x[2].value, op.x[1].value
    if axis is None or sizes is None:
        return None
    total = sum(int(size) for size in sizes if size > 0)
    return (
        "Determined shape must either match input shape along split_dim exactly if fully "
        "specified, or be less than the size of the input along split_dim if not fully specified.  "
        f"Got: {total}"
    )


_SPLIT_RANGE = "-input rank(-{1}) <= split_dim < input rank ({1}), but got {0}"


def _where_batches(op: Refused) -> bool:
    return op.x[0].rank == 1 and op.x[1].rank != 1


def _first_size(op: Refused, slot: int) -> int:
    return op.x[slot].sizes[0] if op.x[slot].rank else -1


_SAME_INPUTS = (
    "Inputs to operation {{op.name}} of type {{op.type}} must have the same size and shape.  "
    "Input {0}: {{{0}.text}} != input {1}: {{{1}.text}}"
)

_SELECT: tuple[Rule, ...] = (
    when(
        lambda op: _where_batches(op) and op.x[1].rank == op.x[2].rank
        and _first_size(op, 0) != _first_size(op, 1),
        "Number of batches of 'then' must match size of 'cond', but saw: {1.sizes[0]} vs. "
        "{0.sizes[0]}",
    ),
    when(
        lambda op: _where_batches(op) and op.x[1].sizes != op.x[2].sizes,
        "'then' and 'else' must have the same size.  but received: {1.text} vs. {2.text}",
    ),
    same_shapes(1, 2, _SAME_INPUTS.format(1, 2)),
    same_shapes(0, 1, _SAME_INPUTS.format(0, 1)),
)  # fmt: skip

_STRIDED_SLICE: tuple[Rule, ...] = (
    when(
        lambda op: any(item.rank != 1 or item.count != op.x[1].count for item in op.x[1:4]),
        "Expected begin, end, and strides to be 1D equal size tensors, but got shapes {1.text}, "
        "{2.text}, and {3.text} instead.",
    ),
)

_UPDATES = "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
_SCATTER: tuple[Rule, ...] = (
    when(
        lambda op: op.x[2].rank and op.x[2].sizes != op.x[1].sizes + op.x[0].sizes[1:],
        f"{_UPDATES}updates.shape {{2.text}}, indices.shape {{1.text}}, params.shape {{0.text}}",
    ),
)


def _inner_rank(op: Refused) -> int:
    return op.x[1].sizes[-1] if op.x[1].rank else 1


def _nd_outer(op: Refused) -> bool:
    outer = max(op.x[1].rank - 1, 0)
    return op.x[1].sizes[:outer] != op.x[2].sizes[:outer]


def _nd_inner(op: Refused) -> str | None:
    outer, inner = max(op.x[1].rank - 1, 0), _inner_rank(op)
    output, updates = op.x[0].sizes[inner:], op.x[2].sizes[outer:]
    if len(output) != len(updates):
        return (
            "Inner dimensions of output shape must match inner dimensions of updates shape. "
            f"Output: {op.x[0].text} updates: {op.x[2].text}"
        )
    if output != updates:
        return (
            f"The inner {len(output)} dimensions of output.shape={op.x[0].text} must match the "
            f"inner {len(output)} dimensions of updates.shape={op.x[2].text}"
        )
    return None


_TENSOR_SCATTER: tuple[Rule, ...] = (
    rank_from(2, 1, "Updates shape must have rank at least one. Found:{2.text}"),
    when(
        lambda op: op.x[0].count == 0 or op.x[1].count == 0,
        "Indices and updates specified for empty output shape",
    ),
    when(
        _nd_outer,
        "Outer dimensions of indices and update must match. Indices shape: {1.text}, updates "
        "shape:{2.text}",
    ),
    _nd_inner,
)

_SPARSE_TO_DENSE: tuple[Rule, ...] = (
    when(
        lambda op: op.x[0].rank > 2,
        "sparse_indices should be a scalar, vector, or matrix, got shape {0.text}",
    ),
    rank_is(1, 1, "output_shape must be rank 1, got shape {1.text}"),
    when(
        lambda op: op.x[1].count != (op.x[0].sizes[1] if op.x[0].rank == 2 else 1),
        "output_shape has incorrect number of elements: {1.count} should be: the number of "
        "columns of sparse_indices, whose shape is {0.text}",
    ),
    when(
        lambda op: op.x[2].rank and op.x[2].sizes != (op.x[0].sizes[:1] or (1,)),
        "sparse_values has incorrect shape {2.text}, should be [] or one value for each of the "
        "indices, whose shape is {0.text}",
    ),
    when(lambda op: op.x[3].count != 1, "default_value should be a scalar."),
    no_negative(1),
)

_PAD = rank_is(1, 2, "paddings must be a matrix with 2 columns: {1.text}")
_PAD_COLUMNS = when(
    lambda op: op.x[1].sizes[1:] != (2,), "paddings must be a matrix with 2 columns: {1.text}"
)


def _mirror_pad(op: Refused) -> str | None:
    paddings, offset = op.x[1].value, int(op.attrs["mode"] in ("REFLECT", b"REFLECT"))
    if paddings is None or op.x[1].sizes != (op.x[0].rank, 2):
        return None
    for size, (before, after) in zip(op.x[0].sizes, paddings):
        if max(before, after) > size - offset and offset:
            return (
                f"paddings must be less than the dimension size: {before}, {after} not less than "
                f"{size}"
            )
        if max(before, after) > size:
            return (
                f"paddings must be no greater than the dimension size: {before}, {after} greater "
                f"than {size}"
            )
    return None


def _unpack_count(op: Refused) -> bool:
    axis, rank = int(op.attrs.get("axis", 0)), op.x[0].rank
    return -rank <= axis < rank and op.x[0].sizes[axis] != op.attrs["num"]


def _scalars(names: str, start: int, words: str) -> tuple[Rule, ...]:
    """Return the rules that some inputs must be scalars.

    Args:
      names: the names of these inputs, starting with input `start`.
      words: the template of the message, with `{name}` and `{shape}`.
    """
    return tuple(
        rank_is(slot, 0, words.format(name=name, shape=f"{{{slot}.text}}"))
        for slot, name in enumerate(names.split(), start)
    )


def _vector(slot: int, name: str) -> Rule:
    words = f"{name} must be a vector of {{{{int32,int64}}}}, got shape {{{slot}.text}}"
    return when(lambda op: op.x[slot].rank != 1, words)


ARRAY_REFUSALS: dict[str, tuple[Rule, ...]] = {
    "Slice": (
        when(
            lambda op: any(item.sizes != (op.x[0].rank,) for item in op.x[1:]),
            "Expected begin and size arguments to be 1-D tensors of size {0.rank}, but got shapes "
            "{1.text} and {2.text} instead.",
        ),
        _slice_range,
    ),
    "Split": (
        rank_is(0, 0, "split_dim must be a scalar but has rank {0.rank}"),
        _axis_rule(0, 1, _SPLIT_RANGE),
    ),
    "SplitV": (
        when(
            lambda op: op.x[1].sizes != (op.attrs["num_split"],),
            "size of the split_tensor must be 1-D and have the same elements as outputs got "
            "{1.rank} -D and {1.count} elements",
        ),
        _axis_rule(2, 0, _SPLIT_RANGE),
        _pieces,
    ),
    "Fill": (
        when(lambda op: op.x[0].rank > 1, "dims must be a vector, got shape {0.text}"),
        old_scalar(1, "value must be a scalar, got shape {1.text}"),
        no_negative(0),
    ),
    "Reshape": (
        when(lambda op: op.x[1].rank > 1, "sizes input must be 1-D, not {1.text}"),
        no_negative(1, "Size {1} must be non-negative, not {0}", -1),
        when(
            lambda op: op.x[1].rank == 0 and op.x[1].value is not None,
            "Input to reshape is a tensor with {0.count} values, but the requested shape has "
            "{1.value}",
        ),
    ),
    "Gather": (rank_from(0, 1, "params must be at least 1 dimensional"),),
    "GatherV2": (rank_is(2, 0, "axis must be scalar"),),
    "GatherNd": (
        when(
            lambda op: _inner_rank(op) > op.x[0].rank,
            "index innermost dimension length must be <= params rank; saw: {1.columns} vs. "
            "{0.rank}",
        ),
    ),
    **dict.fromkeys(("Pad", "MirrorPad", "MirrorPadGrad"), (_PAD, _PAD_COLUMNS, _mirror_pad)),
    "PadV2": (
        _PAD,
        _PAD_COLUMNS,
        rank_is(2, 0, "constant_values must be a scalar. Found: {2.text}"),
    ),
    "Tile": (
        rank_is(1, 1, "Expected multiples to be 1-D, but got shape {1.text}"),
        no_negative(1, "Expected multiples[{1}] >= 0, but got {0}"),
    ),
    **dict.fromkeys(
        ("Transpose", "ConjugateTranspose"), (rank_is(1, 1, "perm must be a vector, not {1.text}"),)
    ),
    "StridedSlice": _STRIDED_SLICE,
    "Unpack": (
        when(_unpack_count, "Input shape axis {op.attrs[axis]} must equal {op.attrs[num]}, got "
             "shape {0.text}"),
    ),
    "LinSpace": _scalars("start stop num", 0, "{name} must be a scalar, not shape {shape}"),
    "Range": tuple(
        old_scalar(slot, f"{name} must be a scalar, not shape {{{slot}.text}}")
        for slot, name in enumerate(("start", "limit", "delta"))
    ),
    "Select": _SELECT,
    "OneHot": (
        *_scalars("depth on_value off_value", 1, "{name} must be a scalar, but got: {shape}"),
        no_negative(1, "depth must be non-negative, got: {0}"),
    ),
    "ExpandDims": (
        _axis_rule(1, 0, "Tried to expand dim index {0} for tensor with {1} dimensions.", 1),
    ),
    "BroadcastTo": (
        _vector(1, "shape"),
        no_negative(1),
        when(
            lambda op: op.x[1].count < op.x[0].rank,
            "Rank of input ({0.rank}) must be no greater than rank of output shape ({1.count}).",
        ),
    ),
    "ConcatOffset": (
        rank_is(0, 0, "Concat dim tensor should be a scalar integer, but got shape {0.text}"),
    ),
    "ReverseV2": (rank_is(1, 1, "'dims' must be 1-dimension, not {1.rank}"),),
    "Reverse": (
        rank_is(1, 1, "'dims' must be 1-dimension, not {1.rank}"),
        when(
            lambda op: op.x[1].count != op.x[0].rank,
            "'dims' must have the same number of values as 'input' has dimensions. 'input' has "
            "{0.rank}'dims' has {1.count} values",
        ),
    ),
    "ReverseSequence": (
        when(lambda op: op.attrs["batch_dim"] >= op.x[0].rank,
             "batch_dim must be < input rank ( {op.attrs[batch_dim]} vs. {0.rank})"),
        when(lambda op: op.attrs["seq_dim"] >= op.x[0].rank,
             "seq_dim must be < input rank ( {op.attrs[seq_dim]} vs. {0.rank})"),
        rank_is(1, 1, "seq_lengths must be 1-dim, not {1.rank}"),
    ),
    "SparseToDense": _SPARSE_TO_DENSE,
    **dict.fromkeys(
        [f"TensorScatter{kind}" for kind in ("Update", "Add", "Sub", "Max", "Min")],
        _TENSOR_SCATTER,
    ),
    **dict.fromkeys(
        [f"Scatter{kind}" for kind in ("Update", "Add", "Sub", "Mul", "Div", "Max", "Min")],
        _SCATTER,
    ),
    "DynamicPartition": (
        when(
            lambda op: op.x[0].sizes[: op.x[1].rank] != op.x[1].sizes,
            "data.shape must start with partitions.shape, got data.shape = {0.text}, "
            "partitions.shape = {1.text}",
        ),
    ),
    **dict.fromkeys(
        ("Unique", "UniqueWithCounts"), (rank_is(0, 1, "unique expects a 1D vector."),)
    ),
}  # fmt: skip
"""The checks of TensorFlow's kernels, by op type, in the kernels' order. The first check that fails
determines the message.
"""
