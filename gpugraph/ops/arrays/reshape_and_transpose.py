"""Ops that change the shape or the order of elements, such as reshape, transpose and broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, broadcast_shapes, shape_text
from gpugraph.base.sizes import varies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import SEPARATE, Call, KernelContext, OpMemory, Signature
from gpugraph.ops.framework.kernel_helpers import Pairs, copying, ints, numpy_kernels, same_bytes
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, op_scope, shape_of
from gpugraph.ops.framework.shape_functions import UNKNOWN, normalize_axis, of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.framework.unbroadcasting import unbroadcast

INDEX = (dtypes.int32, dtypes.int64)
"""The dtypes that sizes, axes and positions may have."""

_INPUT_1_ON_HOST = OpMemory(host_inputs=[1])
_VIEW_OF_INPUT_0 = OpMemory(view={0: 0}, host_inputs=[1])


def by_index(
    inputs: str, outputs: str = "output: T", memory: OpMemory = _INPUT_1_ON_HOST, **attrs: Attr
) -> dict[str, Any]:
    """Return keyword arguments for `op`. They declare an op on a tensor of any dtype, whose second
    input contains sizes or axes.

    The second input has one of the dtypes `INDEX` and is in host memory. The name of its type attr
    is the last word of `inputs`.

    Args:
      attrs: additional attrs of the op.
    """
    index_type = inputs.rpartition(" ")[2]
    return {
        "inputs": inputs,
        "outputs": outputs,
        "attrs": {"T": ALL, index_type: INDEX, **attrs},
        "memory": memory,
    }


def index_op(
    op_type: str, inputs: str, output: str, infer: InferFunction, call: Call, doc: str,
    memory: OpMemory = SEPARATE, **attrs: Attr,
) -> OpFunction:  # fmt: skip
    """Declare an op on integers, without a gradient. Its output has one of the dtypes `INDEX`.

    Args:
      attrs: additional attrs of the op.
    """
    return op(
        op_type,
        inputs=inputs,
        outputs=output,
        attrs={output.rpartition(" ")[2]: INDEX, **attrs},
        infer=infer,
        memory=memory,
        **numpy_kernels(call),
        grad=NO_GRADIENT,
        doc=doc,
    )


# -- reshape


def _infer_reshape(context: InferContext) -> Sequence[TensorShape]:
    source = context.shapes[0]
    asked = context.value_as_shape(1).sizes
    if asked is None:
        return [UNKNOWN]
    value = context.value(1)
    if value is not None and asked.count(None) > 1:
        raise ValueError(f"Only one size may be -1, but the shape is {ints(value)}")
    count = source.num_elements()
    if count is None:
        return [TensorShape.of(asked)]
    known = prod(size for size in asked if size is not None)
    open_sizes = asked.count(None)
    received = f"Input to reshape is a tensor with {count} values, but the requested shape"
    if open_sizes == 0 and known != count:
        raise Misfit(
            f"Cannot reshape a tensor with {count} elements to shape {shape_text(asked)} "
            f"({known} elements)",
            in_run=f"{received} has {known}",
        )
    if open_sizes != 1:
        return [TensorShape.of(asked)]
    if known == 0:
        return [_empty_shape(source, asked)]
    if count % known:
        raise Misfit(
            f"Dimension size must be evenly divisible by {known} but is {count}",
            in_run=f"{received} requires a multiple of {known}",
        )
    return [TensorShape.of(tuple(count // known if n is None else n for n in asked))]


def _empty_shape(source: TensorShape, asked: Sequence[int | None]) -> TensorShape:
    """Return the requested shape `asked`. It contains a size 0, and its unknown size is replaced by
    the inferred size.

    The unknown size is the product of the nonzero sizes of `source` divided by the product of the
    nonzero sizes of `asked`. Raises a Misfit if `source` is not empty.
    """
    assert source.sizes is not None
    count, known = (prod(size for size in sizes if size) for sizes in (source.sizes, asked))
    if 0 not in source.sizes:
        raise Misfit(
            f"Cannot reshape a tensor with {count} elements to shape {shape_text(asked)} "
            "(0 elements)",
            in_run=f"Input to reshape is a tensor with {count} values, but the requested shape "
            "has 0",
        )
    return TensorShape.of(tuple(count // known if size is None else size for size in asked))


def _reshape_back(op: Any, dy: Any) -> list[Any]:
    rest = [None] * (len(op.inputs) - 1)  # no gradients of the shape or the axis
    return [raw_ops.Reshape(dy, shape_of(op.inputs[0])), *rest]


_RESHAPED: dict[str, Any] = {**same_bytes, "grad": _reshape_back}
"""Declaration keywords shared by the ops that change the shape of input 0."""

_reshape = op(
    "Reshape",
    **by_index("tensor: T, shape: Tshape", memory=_VIEW_OF_INPUT_0),
    infer=_infer_reshape,
    **_RESHAPED,
    doc=(
        "The elements of the tensor in the shape `shape`. One size may be -1, and is then inferred."
    ),
)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return the elements of `tensor`, in row-major order, as a tensor of `shape`.

    One size may be -1, which is inferred from the other sizes. If `shape` requires a different
    number of elements, the call raises ValueError. If the number is known only in a run, the run
    raises InvalidArgumentError instead.

    >>> session.run(tf.reshape([1, 2, 3, 4, 5, 6], [2, -1]))
    array([[1, 2, 3],
           [4, 5, 6]], dtype=int32)
    """
    return _reshape(tensor, int_argument(shape), name=name)


def _infer_expand_dims(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    value = context.value(1)
    if sizes is None:
        return [UNKNOWN]
    if value is None:
        return [TensorShape.of((None,) * (len(sizes) + 1))]
    if np.size(value) != 1:
        raise Misfit(
            "'dim' input must be a tensor with a single value",
            in_run=f"'dim' must be a tensor with a single value, but it is {ints(value)}",
        )
    axis, rank = ints(value)[0], len(sizes)
    if not -rank - 1 <= axis <= rank:
        raise ValueError(f"dim {axis} not in the interval [{-rank - 1}, {rank}].")
    axis %= rank + 1
    return [TensorShape.of((*sizes[:axis], 1, *sizes[axis:]))]


_expand_dims = op(
    "ExpandDims",
    **by_index("input: T, dim: Tdim", memory=_VIEW_OF_INPUT_0),
    infer=_infer_expand_dims,
    **_RESHAPED,
    doc="The input with a new axis of size 1 at position `axis`.",
)


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Insert an axis of size 1 at position `axis`. Raises ValueError if `axis` is outside [-rank -
    1, rank].

    Args:
      dim: an older name of `axis`. Raises ValueError unless exactly one of the two is passed.

    >>> session.run(tf.expand_dims([1, 2], axis=1))
    array([[1],
           [2]], dtype=int32)
    """
    if (axis is None) == (dim is None):
        raise ValueError("expand_dims takes one of 'axis' and its older name 'dim'")
    return _expand_dims(input, dim if axis is None else axis, name=name)


def _infer_squeeze(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [UNKNOWN]
    asked = context.attrs["squeeze_dims"]
    if not asked:
        if None in sizes or any(map(varies, sizes)):
            return [UNKNOWN]
        return [TensorShape.of(tuple(size for size in sizes if size != 1))]
    axes = {normalize_axis(axis, len(sizes)) for axis in asked}
    for axis in axes:
        if sizes[axis] not in (1, None):
            message = f"Can not squeeze dim[{axis}], expected a dimension of 1, got {sizes[axis]}"
            raise Misfit(message, in_run=message)
    return [TensorShape.of(tuple(n for axis, n in enumerate(sizes) if axis not in axes))]


_squeeze = op(
    "Squeeze",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": ALL, "squeeze_dims": Attr("list(int)", [], minimum=0)},
    infer=_infer_squeeze,
    memory=OpMemory(view={0: 0}),
    **_RESHAPED,
    doc=(
        "The input without the axes listed in `axis`, which must have size 1. If `axis` is empty, "
        "all axes of size 1 are removed."
    ),
)


def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """Remove from `input` the axes of size 1 listed in `axis`, by default all axes of size 1.

    Args:
      squeeze_dims: an older name of `axis`.

    >>> session.run(tf.squeeze([[[1], [2]]]))
    array([1, 2], dtype=int32)

    Raises ValueError if an axis is outside [-rank, rank) or does not have size 1.
    """
    if axis is not None and squeeze_dims is not None:
        raise ValueError("squeeze takes one of 'axis' and its older name 'squeeze_dims'")
    axes = squeeze_dims if axis is None else axis
    chosen = [] if axes is None else [int(number) for number in np.atleast_1d(axes)]
    return _squeeze(input, squeeze_dims=chosen, name=name)


# -- transpose


def _permutation(value: Any, rank: int) -> list[int]:
    """Return the axes in `value` as non-negative numbers.

    Raises a Misfit if an axis is out of range or missing.
    """
    axes = []
    for axis in ints(value):
        if not -rank <= axis < rank:
            raise Misfit(
                f"perm dim {axis} is out of range of input rank {rank}",
                in_run=f"{axis} is out of range [0 .. {rank})",
            )
        axes.append(axis % rank)
    for axis in range(rank):
        if axis not in axes:
            listed = ",".join(map(str, ints(value)))
            refusal = f"{axis} is missing from {{{listed}}}."
            raise Misfit(refusal, shapes=[TensorShape.of((None,) * rank)])
    return axes


def _infer_transpose(context: InferContext) -> Sequence[TensorShape]:
    source, vector = context.shapes
    length = of_rank(vector, 1, "perm")[0]
    value = context.value(1)
    if source.sizes is None:
        # # The kernel requires an entry for each axis, but TensorFlow 1.15 also accepts perm with
        # one # entry for a scalar, so a length of 1 does not tell the rank.
        return [UNKNOWN if length in (None, 1) else TensorShape.of((None,) * length)]
    rank = len(source.sizes)
    if length is not None and length != rank:
        raise Misfit(
            f"Dimension must be {rank} but is {length}: the entries of perm",
            in_run=f"transpose expects a vector of size {rank}. But input(1) is a vector of size "
            f"{length}",
        )
    if value is None:
        return [TensorShape.of((None,) * rank)]
    return [TensorShape.of(tuple(source.sizes[axis] for axis in _permutation(value, rank)))]


def _transposed(signature: Signature, source: Any, out: Any) -> Pairs:
    return [(source.transpose(_permutation(signature.value(1), source.ndim)), out)]


def _transpose_back(op: Any, dy: Any) -> list[Any]:
    return [raw_ops.Transpose(dy, raw_ops.InvertPermutation(op.inputs[1])), None]


_transpose = op(
    "Transpose",
    **by_index("x: T, perm: Tperm", "y: T"),
    infer=_infer_transpose,
    **copying(_transposed),
    grad=_transpose_back,
    doc=(
        "The input with its axes in the order `perm`: axis i of the output is axis perm[i] of the "
        "input."
    ),
)


def transpose(
    a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """Permute the axes of `a` into the order `perm`. By default, reverse their order.

    If `conjugate` is set, also conjugate complex elements. Raises ValueError if `perm` is not a
    permutation of the axes.

    >>> session.run(tf.transpose([[1, 2, 3], [4, 5, 6]]))
    array([[1, 4],
           [2, 5],
           [3, 6]], dtype=int32)
    """
    if isinstance(a, Tensor) and perm is not None and not conjugate:
        return _transpose(a, int_argument(perm), name=name or "transpose")
    with op_scope(name, "transpose", a) as scope:
        source = convert_to_tensor(a, name="a")
        if perm is None:
            perm = _reversed_axes(source)
        if conjugate and source.dtype.is_complex:
            source = raw_ops.Conj(source)
        return _transpose(source, int_argument(perm), name=scope)


def _reversed_axes(source: Tensor) -> Any:
    if source.shape.sizes is not None:
        return np.arange(len(source.shape.sizes), dtype=np.int32)[::-1]
    rank = raw_ops.Rank(source)
    last = raw_ops.Sub(rank, 1, name="sub")
    return raw_ops.Sub(last, raw_ops.Range(0, rank, 1), name="sub")


def _bind_invert(context: KernelContext, out: Any) -> Callable[[], Any]:
    value = context.value(0)
    if value.size and not (value.min() >= 0 and value.max() < value.size):
        raise _not_a_permutation(value)
    result = np.full(value.shape, -1, value.dtype)
    result[value] = np.arange(value.size)
    if (result < 0).any():  # some number is missing
        raise _not_a_permutation(value)
    return partial(np.copyto, out, result)


def _not_a_permutation(value: Any) -> InvalidArgumentError:
    """Return the error that names the first element that is out of range or repeated."""
    met: set[int] = set()
    for place, axis in enumerate(ints(value)):
        if not 0 <= axis < value.size:
            return invalid_argument(f"{axis} at position {place} is not between 0 and {value.size}")
        if axis in met:
            return invalid_argument(f"{axis} is duplicated in the permutation")
        met.add(axis)
    raise AssertionError("the elements are a permutation")


def _infer_invert(context: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of(of_rank(context.shapes[0], 1, "A permutation"))]


_invert_permutation = index_op(
    "InvertPermutation",
    "x: T",
    "y: T",
    _infer_invert,
    Call(make=_bind_invert),
    "The permutation that undoes x: y[x[i]] = i.",
    memory=OpMemory(host_inputs=[0], host_outputs=[0]),
)


def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """Return the inverse permutation y of an int vector x: y[x[i]] = i.

    A run raises InvalidArgumentError if x is not a permutation of 0, 1, ..., n - 1.

    >>> session.run(tf.invert_permutation([2, 0, 1]))
    array([1, 2, 0], dtype=int32)
    """
    return _invert_permutation(int_argument(x), name=name)


# -- broadcast


def _infer_broadcast_to(context: InferContext) -> Sequence[TensorShape]:
    source = context.shapes[0]
    wanted = context.value_as_shape(1)
    if source.sizes is None or wanted.sizes is None:
        return [wanted]
    if len(source.sizes) > len(wanted.sizes):
        raise ValueError(
            f"{shape_text(source)} has more dimensions than the shape {shape_text(wanted)} to "
            "broadcast to"
        )
    if not wanted.is_fully_defined():
        return [wanted]
    if source.is_fully_defined() and broadcast_shapes(source, wanted) != wanted:
        raise ValueError(
            f"Incompatible shapes: {shape_text(source)} can't be broadcast to {shape_text(wanted)}"
        )
    return [wanted]


def _broadcast(_: Signature, source: Any, out: Any) -> Pairs:
    return [(source, out)]


_broadcast_to = op(
    "BroadcastTo",
    **by_index("input: T, shape: Tidx"),
    infer=_infer_broadcast_to,
    **copying(_broadcast),
    grad=lambda op, dy: [unbroadcast(dy, op.inputs[0], op.outputs[0]), None],
    doc="The input broadcast to `shape`.",
)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Repeat `input` along axes of size 1 and along new leading axes, so that it gets the shape
    `shape`.

    Raises ValueError if the shapes are incompatible.

    >>> session.run(tf.broadcast_to([1, 2], [2, 2]))
    array([[1, 2],
           [1, 2]], dtype=int32)
    """
    return _broadcast_to(input, int_argument(shape), name=name)
