"""Ops that count values: bincount, histograms, bucketize, and confusion matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import (
    Arg,
    Call,
    ErrorFlag,
    KernelContext,
    Launch,
    OpMemory,
    RowSource,
    Scratch,
    Signature,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.cuda_grids import THREADS, Arguments, grid_of
from gpugraph.ops.framework.kernel_helpers import cuda_kernels, ints
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.row_update_launches import (
    ADD,
    combine_changes,
    fill_array,
    sort_changes,
)
from gpugraph.ops.framework.shape_functions import of_rank, same_shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_COUNTED = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def _infer_length(index: int) -> Any:
    """Return the shape inference function for a vector whose length is the value of input
    `index`.
    """

    def infer(context: InferContext) -> Sequence[TensorShape]:
        value = context.value(index)
        return [TensorShape.of((None if value is None else max(0, ints(value)[0]),))]

    return infer


# -- bincount


def _infer_bincount(context: InferContext) -> Sequence[TensorShape]:
    value = context.value(1)
    if value is not None and ints(value)[0] < 0:
        raise ValueError(f"size ({ints(value)[0]}) must be non-negative")
    return _infer_length(1)(context)


def _bind_bincount(_: KernelContext, arr: Any, weights: Any, out: Any) -> Callable[[], Any]:
    numbers, weight = arr.reshape(-1), weights.reshape(-1)

    def run() -> None:
        if numbers.size and numbers.min() < 0:
            raise invalid_argument("Input arr must be non-negative!")
        kept = numbers < out.size
        out.fill(0)
        np.add.at(out, numbers[kept], weight[kept] if weight.size else out.dtype.type(1))

    return run


def _native_count(signature: Signature) -> list[int]:
    weights = prod(signature.input_shapes[2])
    count = prod(signature.input_shapes[0])
    if weights not in (0, count):
        raise NotImplementedError("there are not as many weights as numbers")
    return [count, weights, signature.output_shapes[0][0]]


def _native_histogram(signature: Signature) -> list[int]:
    wide = int(signature.output_types[0].size == 8)
    return [prod(signature.input_shapes[0]), signature.output_shapes[0][0], wide]


def _counting(
    function: str, before: Arguments, output: int, message: str, signature: Signature
) -> list[Launch]:
    """Return launches that count the elements of input 0 in each bin. The counts are stored in
    `output`.

    Args:
      function: the name of the CUDA function.
      before: the function's arguments before the counts.
      message: the error message for an element that the function rejects.
    """
    count, bins = prod(signature.input_shapes[0]), signature.output_shapes[0][0]
    if count >= 1 << 32:
        raise NotImplementedError(f"{count} elements are more than 32 bits count")
    counts = Scratch("counts", bins, dtypes.uint32)
    types = {"ELEMENT": signature.input_types[0], "OUTPUT": signature.output_types[0]}
    block = (THREADS, 1, 1)
    grid = min(grid_of(count)[0], 528), 1, 1
    arguments = (*before, counts, ErrorFlag(message), count, bins)
    return [
        fill_array(counts, 0, bins, dtypes.uint32),
        Launch(function, grid, block, arguments, types),
        Launch("gg_counted", grid_of(bins), block, (counts, Arg(output), bins), types),
    ]


def _launch_bincount(signature: Signature) -> list[Launch]:
    message = "Input arr must be non-negative!"
    arr, weights, bins = signature.input_shapes[0], signature.input_shapes[2], Arg(2)
    if not prod(weights):
        return _counting("gg_bincount", (Arg(0),), bins, message, signature)
    (size,), dtype = signature.output_shapes[0], signature.output_types[0]
    numbers = Arg(0), dtypes.int32, prod(arr), 1, (size,)
    order, changes = sort_changes(*numbers, drops=2, message=message)
    return [
        *order,
        fill_array(bins, 0, size, dtype),
        *combine_changes(bins, Arg(1), changes, dtype, ADD),
    ]


_bincount = op(
    "Bincount",
    inputs="arr: int32, size: int32, weights: T",
    outputs="bins: T",
    attrs={"T": _COUNTED},
    infer=_infer_bincount,
    memory=OpMemory(host_inputs=[1]),
    **cuda_kernels("histogram.cu", _launch_bincount, Call(make=_bind_bincount), optional=[1]),
    native=RowSource(
        "host_counts.h", "gg_count", _native_count, -1, is_exact=False, takes_empty=True
    ),
    grad=NO_GRADIENT,
    doc=(
        "For each of the numbers 0, ..., size - 1, how often it occurs in arr or, if there are "
        "weights, the sum of the weights of its occurrences."
    ),
)


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
) -> Tensor:
    """Return a vector of type `dtype` with the number of times that each number 0, 1, ... occurs in
    the int32 tensor `arr`.

    The vector's length is the largest number plus 1, but at least `minlength` and at most
    `maxlength`. Numbers beyond the vector's length are not counted. A run raises
    InvalidArgumentError if a number is negative.

    Args:
      weights: a tensor of the shape of `arr`. If it is not None, the result is, for each number,
        the sum of the weights of its occurrences, in the dtype of the weights.

    >>> session.run(tf.bincount([0, 2, 2]))
    array([1, 0, 2], dtype=int32)
    """
    with op_scope(None, "bincount"):
        numbers = convert_to_tensor(arr, dtypes.int32, name="arr")
        positive = raw_ops.Greater(_product(raw_ops.Shape(numbers)), 0)
        largest = raw_ops.AddV2(_all(raw_ops.Max, numbers), 1)
        size = raw_ops.Mul(cast(positive, dtypes.int32), largest)
        if minlength is not None:
            size = raw_ops.Maximum(convert_to_tensor(minlength, dtypes.int32, "minlength"), size)
        if maxlength is not None:
            size = raw_ops.Minimum(convert_to_tensor(maxlength, dtypes.int32, "maxlength"), size)
        if weights is not None:
            weight = convert_to_tensor(weights, name="weights")
        else:
            weight = convert_to_tensor(np.zeros(0, as_dtype(dtype).as_numpy_dtype), name="Const")
        counts: Tensor = _bincount(numbers, size, weight)
        shortest = 0 if minlength is None else minlength
        elements, low, high = (_known(argument) for argument in (numbers, shortest, maxlength))
        if elements is not None and low is not None and (high is None) == (maxlength is None):
            length = max(int(elements.max(initial=-1)) + 1, int(low))
            counts.set_shape([length if high is None else min(length, int(high))])
        return counts


def _known(value: Any) -> Any:
    """Return the value of an argument as an array, or None if it is unknown before the run."""
    if isinstance(value, Tensor):
        return constant_value(value)
    return None if value is None else np.asarray(value)


def _all(function: Any, tensor: Tensor) -> Tensor:
    """Return `function(tensor, all axes)`, which reduces the tensor to a scalar."""
    return function(tensor, raw_ops.Range(0, raw_ops.Rank(tensor), 1))


def _product(sizes: Tensor) -> Tensor:
    return raw_ops.Prod(sizes, np.array([0], np.int32))


# -- histograms


def _places(values: Any, low: Any, high: Any, count: int) -> Any:
    """Return the number of the bin of each value. A value outside [low, high) is in the first or
    the last bin.
    """
    step = (float(high) - float(low)) / count
    bins = np.floor((values.astype(np.float64) - float(low)) / step)
    return np.clip(bins, 0, count - 1).astype(np.int64)


def _bind_histogram(
    context: KernelContext, values: Any, value_range: Any, out: Any
) -> Callable[[], Any]:
    count = ints(context.value(2))[0]
    if count <= 0:
        raise invalid_argument(f"nbins should be a positive number, not '{count}'")
    flat = values.reshape(-1)

    def run() -> None:
        low, high = value_range.tolist()
        if low >= high:
            what = f"value_range should satisfy value_range[0] < value_range[1]: [{low}, {high}]"
            raise invalid_argument(what)
        out[...] = np.bincount(_places(flat, low, high, count), minlength=count)

    return run


def _infer_histogram(context: InferContext) -> Sequence[TensorShape]:
    (length,) = of_rank(context.shapes[1], 1, "value_range")
    if length not in (None, 2):
        raise Misfit(f"Dimension must be 2 but is {length}", detail="value_range")
    value = context.value(2)
    if value is not None and ints(value)[0] <= 0:
        raise ValueError(f"Requires nbins > 0, but it is {ints(value)[0]}")
    return _infer_length(2)(context)


def _launch_histogram(signature: Signature) -> list[Launch]:
    message = "value_range should satisfy value_range[0] < value_range[1]"
    return _counting("gg_histogram", (Arg(0), Arg(1)), Arg(2), message, signature)


_histogram = op(
    "HistogramFixedWidth",
    inputs="values: T, value_range: T, nbins: int32",
    outputs="out: dtype",
    attrs={
        "T": _COUNTED,
        "dtype": Attr("type", dtypes.int32, allowed=(dtypes.int32, dtypes.int64)),
    },
    infer=_infer_histogram,
    memory=OpMemory(host_inputs=[2]),
    **cuda_kernels("histogram.cu", _launch_histogram, Call(make=_bind_histogram)),
    native=RowSource("host_counts.h", "gg_histogram", _native_histogram),
    grad=NO_GRADIENT,
    doc=(
        "The number of values in each of nbins equal parts of value_range. Values outside "
        "value_range are counted in the first or the last part."
    ),
)


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Divide an interval into `nbins` equal bins. Return a vector of `dtype` with the number of
    `values` in each bin.

    Values outside the interval are counted in the first or the last bin. A run raises
    InvalidArgumentError unless the first number of `value_range` is smaller than the second.

    Args:
      value_range: the bounds of the interval, two numbers of the values' dtype.
    """
    with op_scope(name, "histogram_fixed_width", values, value_range, nbins) as scope:
        return _histogram(values, value_range, nbins, dtype=as_dtype(dtype), name=scope)


def histogram_fixed_width_bins(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Divide the interval `value_range` into `nbins` bins, and return for each value the index of
    its bin.

    See `histogram_fixed_width` for the arguments. The result has the shape of `values`. Its dtype
    is `dtype`, which is int32 or int64.
    """
    with op_scope(name, "histogram_fixed_width_bins", values, value_range, nbins):
        numbers = convert_to_tensor(values, name="values")
        limits = convert_to_tensor(value_range, name="value_range")
        count = convert_to_tensor(nbins, dtypes.int32, name="nbins")
        kind = numbers.dtype.base_dtype
        wide = dtypes.float64 if kind is dtypes.float64 else dtypes.float32
        one = np.array([1], np.int32)
        ends = [
            raw_ops.StridedSlice(limits, one * index, one * (index + 1), one, shrink_axis_mask=1)
            for index in (0, 1)
        ]
        span = raw_ops.Sub(cast(ends[1], wide), cast(ends[0], wide))
        share = raw_ops.RealDiv(raw_ops.Sub(cast(numbers, wide), cast(ends[0], wide)), span)
        bins = cast(raw_ops.Floor(raw_ops.Mul(cast(count, wide), share)), dtypes.int32)
        inside = raw_ops.Minimum(raw_ops.Maximum(bins, 0), raw_ops.Sub(count, 1))
        return cast(inside, dtype)


# -- buckets


def _bind_bucketize(context: KernelContext, x: Any, out: Any) -> Callable[[], Any]:
    limits = np.array(context.attrs["boundaries"], np.float32)

    def run() -> None:
        out[...] = np.searchsorted(limits, x, side="right")

    return run


def _bucket_numbers(signature: Signature) -> list[int]:
    """Return the parameters of the native kernel (host_bounds.h)."""
    limits = np.array(signature.attrs["boundaries"], np.float32).astype(np.float64)
    if len(limits) > _FEW_BOUNDARIES or not np.isfinite(limits).all():
        raise NotImplementedError(f"NumPy searches {len(limits)} boundaries")
    return [prod(signature.input_shapes[0]), len(limits), *limits.view(np.int64).tolist()]


_FEW_BOUNDARIES = 48
"""The number of boundaries up to which counting is faster than a search."""


def _launch_bucketize(signature: Signature) -> list[Launch]:
    limits = [float(np.float32(limit)) for limit in signature.attrs["boundaries"]]
    if len(limits) > _MAX_BOUNDARIES:
        raise NotImplementedError(
            f"there are {len(limits)} boundaries, more than {_MAX_BOUNDARIES}"
        )
    if not np.isfinite(limits).all():
        raise NotImplementedError("a boundary is not finite")
    text = ", ".join(f"{limit!r}f" for limit in limits) or "0.0f"
    total = prod(signature.output_shapes[0])
    types, block = {"ELEMENT": signature.input_types[0]}, (THREADS, 1, 1)
    arguments, defines = (Arg(0), Arg(1), total, len(limits)), {"BOUNDARIES": text}
    return [Launch("gg_bucketize", grid_of(total), block, arguments, types, defines)]


_MAX_BOUNDARIES = 4096

op(
    "Bucketize",
    inputs="input: T",
    outputs="output: int32",
    attrs={"T": _COUNTED, "boundaries": Attr("list(float)", required=True)},
    infer=same_shape(0),
    **cuda_kernels("bucketize.cu", _launch_bucketize, Call(make=_bind_bucketize)),
    native=RowSource("host_bounds.h", "gg_buckets", _bucket_numbers),
    grad=NO_GRADIENT,
    doc=(
        "For each element, the number of ascending `boundaries` that are less than or equal to it."
    ),
)


# -- confusion matrix


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """Count the pairs of a label and a prediction. Return a square matrix [label, prediction].

    The dtype of the matrix is `dtype`. A run raises InvalidArgumentError if a class is outside the
    matrix.

    Args:
      labels, predictions: class numbers, as vectors of equal length, or of shape (n, 1).
      num_classes: the size of the matrix, by default the largest class number + 1.
      weights: a vector with the weight of each pair, by default 1.
    """
    with op_scope(name, "confusion_matrix", predictions, labels, num_classes, weights):
        classes = [
            cast(_vector(convert_to_tensor(numbers, name=label)), dtypes.int64)
            for numbers, label in ((labels, "labels"), (predictions, "predictions"))
        ]
        if num_classes is None:
            largest = raw_ops.Maximum(
                *(_all(raw_ops.Max, class_numbers) for class_numbers in reversed(classes))
            )
            size = raw_ops.AddV2(largest, np.array(1, np.int64))
        else:
            size = cast(convert_to_tensor(num_classes), dtypes.int64)
        if weights is None:
            counted = raw_ops.OnesLike(cast(classes[1], dtype))
        else:
            counted = cast(convert_to_tensor(weights, name="weights"), dtype)
        places = raw_ops.Pack(classes, axis=1)
        return raw_ops.ScatterNd(places, counted, raw_ops.Pack([size, size]))


def _vector(tensor: Tensor) -> Tensor:
    rank = tensor.shape.rank
    if rank == 2:
        return raw_ops.Squeeze(tensor, squeeze_dims=[-1])
    return tensor
