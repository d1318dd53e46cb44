"""The replacements of Python's builtin functions in converted functions. On tensors they create
ops.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import float32, int32, int64, string
from gpugraph.building.autograph.tensor_kinds import UNSPECIFIED
from gpugraph.building.control_flow.assertion import Assert
from gpugraph.building.control_flow.cond import cond as tf_cond
from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.py_func import py_func
from gpugraph.ops.framework.identity_and_shape import rank, shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.reductions.ranges_and_running_sums import range as tensor_range
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray

_OTHERS: dict[str, list[tuple[type, Callable[..., Any]]]] = {"enumerate": [], "zip": []}


def register_builtin(name: str, kind: type, function: Callable[..., Any]) -> None:
    """Register `function` as the replacement of the builtin `name` (`enumerate` or `zip`) for
    objects of the class `kind`.
    """
    _OTHERS[name].append((kind, function))


def _other(name: str, values: tuple[Any, ...]) -> Callable[..., Any] | None:
    for kind, function in _OTHERS[name]:
        if values and all(isinstance(value, kind) for value in values):
            return function
    return None


def abs_(x: Any) -> Any:
    """Return `abs(x)`."""
    return builtins.abs(x)


def float_(x: Any = 0) -> Any:
    """Return `float(x)`. If `x` is a tensor, return a float32 tensor; a string tensor is parsed."""
    if not is_tensor(x):
        return float(x)
    if x.dtype.base_dtype is string:
        return raw_ops.StringToNumber(x, out_type=float32)
    return cast(x, float32)


def int_(x: Any = 0, base: Any = UNSPECIFIED) -> Any:
    """Return `int(x, base)`.

    If `x` is a tensor, return an int32 tensor; a string tensor is parsed.
    """
    if not is_tensor(x):
        return int(x) if base is UNSPECIFIED else int(x, base)
    if base is not UNSPECIFIED and base != 10:
        raise NotImplementedError(f"base {base} not supported for int")
    if x.dtype.base_dtype is string:
        return raw_ops.StringToNumber(x, out_type=int32)
    return cast(x, int32)


def len_(s: Any) -> Any:
    """Return `len(s)`. For a tensor or TensorArray, return an int if the length is known, otherwise
    a tensor.
    """
    if isinstance(s, TensorArray):
        return s.size()
    if not is_tensor(s):
        return len(s)
    if isinstance(s, Tensor) and s.dtype.name == "variant":
        return raw_ops.TensorListLength(s)
    return _rows(convert_to_tensor(s))


def _rows(tensor: Tensor) -> Any:
    known = tensor.shape.rank
    if known == 0:
        raise ValueError(f"len requires a non-scalar tensor, got one of shape {tensor.shape}")
    if known is not None:
        first = tensor.shape.as_list()[0]
        return shape(tensor)[0] if first is None else first

    def failing() -> Any:
        message = raw_ops.StringJoin(
            ["len requires non-zero rank, got ", raw_ops.AsString(rank(tensor))]
        )
        with control_dependencies([Assert(False, [message])]):
            return constant(0, int32)

    return tf_cond(rank(tensor) > 0, lambda: shape(tensor)[0], failing)


def print_(*objects: Any, **kwargs: Any) -> Any:
    """Print the objects. If one of them is a tensor, return an op that prints when it runs."""
    unknown = tuple(set(kwargs) - {"sep", "end", "file", "flush"})
    if unknown:
        raise ValueError(f"invalid keyword arguments: {unknown}")
    if not any(is_tensor(item) for item in objects):
        print(*objects, **kwargs)
        return None
    tensors = [item for item in objects if is_tensor(item)]
    places = [slot for slot, item in enumerate(objects) if is_tensor(item)]

    def show(*values: Any) -> Any:
        shown = list(objects)
        for slot, value in zip(places, values):
            shown[slot] = value.decode("utf-8") if isinstance(value, bytes) else value
        print(*shown, **{"flush": True, **kwargs})
        return 1

    return py_func(show, tensors, int64, stateful=True)


def range_(first: Any, stop: Any = UNSPECIFIED, step: Any = UNSPECIFIED) -> Any:
    """Return `range(...)`. If one of the arguments is a tensor, return the result of `tf.range`."""
    numbers = [value for value in (first, stop, step) if value is not UNSPECIFIED]
    if not any(map(is_tensor, numbers)):
        return range(*numbers)
    if len(numbers) == 3:
        return tensor_range(*numbers)
    if len(numbers) == 2:
        return tensor_range(first, raw_ops.Maximum(*_alike(first, stop)))
    return tensor_range(raw_ops.Maximum(*_alike(first, 0)))


def _alike(one: Any, two: Any) -> tuple[Tensor, Tensor]:
    """Return both values as tensors. If only one is a tensor, convert the other to its dtype."""
    dtype = (one if is_tensor(one) else two).dtype.base_dtype
    return convert_to_tensor(one, dtype), convert_to_tensor(two, dtype)


def enumerate_(s: Any, start: Any = 0) -> Any:
    """Return `enumerate(s, start)`."""
    other = _other("enumerate", (s,))
    return enumerate(s, start) if other is None else other(s, start)


def zip_(*iterables: Any, **kwargs: Any) -> Any:
    """Return `zip(*iterables)`."""
    other = _other("zip", iterables)
    return zip(*iterables, **kwargs) if other is None else other(*iterables)


_OVERLOADS: dict[Any, Callable[..., Any]] = {
    abs: abs_,
    float: float_,
    int: int_,
    len: len_,
    print: print_,
    range: range_,
    enumerate: enumerate_,
    zip: zip_,
}


def overload_of(function: Any) -> Callable[..., Any]:
    """Return the replacement of a builtin function, or the function itself if it has none."""
    try:
        return _OVERLOADS.get(function, function)
    except TypeError:  # not hashable
        return function


def is_builtin(function: Any) -> bool:
    """Return whether a callable is a function written in C, or a Python type that has a replacement
    here.
    """
    if inspect.isbuiltin(function):
        return True
    try:
        return function in _OVERLOADS
    except TypeError:
        return False


def in_callers_frame(function: Any, args: tuple[Any, ...], scope: Any) -> Any:
    """Call `eval`, `super`, `globals` or `locals` as if from the body of the function that `scope`
    belongs to.
    """
    if function is super:
        if args:
            return super(*args)
        frame = _frame_of(scope, is_innermost=False)
        return super(frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]])
    frame = _frame_of(scope, is_innermost=True)
    if function is globals:
        return frame.f_globals
    if function is locals:
        return frame.f_locals
    code, *places = args
    return function(code, *places, *(frame.f_globals, frame.f_locals)[len(places) :])


def _frame_of(scope: Any, is_innermost: bool) -> Any:
    """Return the innermost or outermost frame that has this FunctionScope as a local variable."""
    frame, chosen = inspect.currentframe(), None
    while frame is not None:
        if frame.f_locals.get(scope.name) is scope:
            chosen = frame
            if is_innermost:
                break
        frame = frame.f_back
    assert chosen is not None, "a converted function's scope is one of its local variables"
    return chosen
