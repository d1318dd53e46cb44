"""The public functions of arithmetic, under TensorFlow's names.

Values that are no tensors take the dtype of the tensor beside them. TypeError for dtypes that
differ or that the op does not take, ValueError for shapes that can't be broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.identity_and_shape import op_scope
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_n_to_tensor, convert_to_tensor


def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x + y, elementwise, broadcast; strings are joined."""
    return raw_ops.Add(x, y, name=name)


def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y, elementwise, broadcast."""
    return raw_ops.Sub(x, y, name=name)


def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x y, elementwise, broadcast."""
    return raw_ops.Mul(x, y, name=name)


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y of floating point tensors, elementwise, and 0 wherever y is 0."""
    return raw_ops.DivNoNan(x, y, name=name)


def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded down, elementwise; InvalidArgumentError for an integer by 0."""
    return raw_ops.FloorDiv(x, y, name=name)


def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x - y floor(x / y), elementwise: the remainder with the sign of y."""
    return raw_ops.FloorMod(x, y, name=name)


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded towards zero, elementwise."""
    return raw_ops.TruncateDiv(x, y, name=name)


def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of `truncatediv`, with the sign of x."""
    return raw_ops.TruncateMod(x, y, name=name)


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x to the power y, elementwise; InvalidArgumentError for an integer to a negative one."""
    return raw_ops.Pow(x, y, name=name)


def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The larger of x and y, elementwise; NaN where either is."""
    return raw_ops.Maximum(x, y, name=name)


def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The smaller of x and y, elementwise; NaN where either is."""
    return raw_ops.Minimum(x, y, name=name)


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """(x - y)(x - y), elementwise."""
    return raw_ops.SquaredDifference(x, y, name=name)


mod = floormod


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y rounded down, elementwise, in the operands' dtype: Python's `//`."""
    return raw_ops.FloorDiv(x, y, name=name or "floordiv")


_EXACT: dict[DType, DType] = {
    **dict.fromkeys((dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16), dtypes.float32),
    **dict.fromkeys((dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64), dtypes.float64),
}
"""The dtype in which integers are divided."""


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, elementwise: Python's `/`.

    Integers are cast first: of 8 and 16 bits to float32, of 32 and 64 bits to float64.
    """
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x._dtype not in _EXACT:
        _check_same(x, y)
        return raw_ops.RealDiv(x, y, name=name or "truediv")
    with op_scope(name, "truediv", x, y) as scope:
        left, right = _pair(x, y)
        exact = _EXACT.get(left.dtype.base_dtype)
        if exact is not None:
            left, right = cast(left, exact), cast(right, exact)
        return raw_ops.RealDiv(left, right, name=scope)


def _pair(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors of one dtype: that of the one which has one, x before y."""
    known = getattr(x, "dtype", None)
    if not isinstance(known, DType):
        known = getattr(y, "dtype", None)
    wanted = known.base_dtype if isinstance(known, DType) else None
    left = convert_to_tensor(x, wanted if not isinstance(x, Tensor) else None, "x")
    plain = not isinstance(getattr(y, "dtype", None), DType)
    right = convert_to_tensor(y, left.dtype.base_dtype if plain else None, "y")
    _check_same(left, right)
    return left, right


def _check_same(x: Tensor, y: Tensor) -> None:
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(
            f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r} ({x.name}, {y.name})"
        )


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, elementwise; see `truediv`."""
    return truediv(x, y, name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, elementwise, in the operands' dtype: integers rounded down, as in Python 2."""
    with op_scope(name, "div", x, y) as scope:
        left, right = _pair(x, y)
        function = raw_ops.FloorDiv if left.dtype.is_integer else raw_ops.RealDiv
        return function(left, right, name=scope)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype.

    One tensor comes back as it is. ValueError for none, and for shapes that differ.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("add_n takes a list of at least one tensor of the same dtype and shape")
    tensors = convert_n_to_tensor(inputs)
    if len(tensors) == 1:
        return raw_ops.Identity(tensors[0], name=name) if name else tensors[0]
    return raw_ops.AddN(tensors, name=name)
