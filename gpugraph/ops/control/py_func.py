"""Ops that call Python functions: tf.py_func and tf.numpy_function.

As in TensorFlow's graphs, an attr of the op contains a token, such as `pyfunc_3`, which identifies
the function. The table from tokens to functions holds weak references. The operation holds a strong
reference, so the function lives as long as its graph. Each run that needs the op calls the function
on the host with copies of the inputs as NumPy arrays.
"""

from __future__ import annotations

import itertools
import traceback
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype, plain_integers
from gpugraph.base.errors import (
    InternalError,
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    invalid_argument,
)
from gpugraph.base.interruptions.signal_handlers import call_interruptibly, raised_by_handler
from gpugraph.graph.client.operation import Operation
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.numpy_conversion import constant_array
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import unknown


class _Function:
    """A wrapper of a Python callable. It is needed because some callables do not support weak
    references.
    """

    __slots__ = ("__weakref__", "call")

    def __init__(self, call: Callable[..., Any]) -> None:
        self.call = call


_FUNCTIONS: weakref.WeakValueDictionary[str, _Function] = weakref.WeakValueDictionary()
_numbers = itertools.count()

_CLASSES: tuple[tuple[tuple[type[Exception], ...], type[OpError]], ...] = (
    ((TypeError, ValueError), InvalidArgumentError),
    ((StopIteration,), OutOfRangeError),
    ((MemoryError,), ResourceExhaustedError),
    ((NotImplementedError,), UnimplementedError),
)
"""Pairs (exception types, TensorFlow error raised for them).

Other exceptions raise UnknownError.
"""


def _bind(is_stateful: bool, context: KernelContext, *inputs: Any) -> Callable[[], Any]:
    token = context.attrs["token"]
    wanted = [as_dtype(dtype) for dtype in context.attrs["Tout"]]
    function = _FUNCTIONS.get(token)
    if function is None:
        raise invalid_argument(f"callback {token} is not found: another program created it")

    def call() -> list[Any]:
        if kept:
            return kept
        arguments = [_argument(array) for array in inputs]
        try:
            returned = call_interruptibly(function.call, *arguments)
        except Exception as error:
            if raised_by_handler(error):
                raise
            raise as_op_error(error) from error
        results = _results(returned, wanted, token)
        if is_constant:
            kept.extend(results)
        return results

    is_constant = not is_stateful and not inputs
    kept: list[Any] = context.state(list) if is_constant else []
    return call


def _argument(array: Any) -> Any:
    """Convert the array of one input to an argument of the function. The array is already a copy.

    A scalar becomes a NumPy scalar, and a string scalar becomes bytes.
    """
    return plain_integers(array[()] if array.ndim == 0 else array)


def as_op_error(error: Exception) -> OpError:
    """Return the error that TensorFlow raises for an exception of the function. The message
    contains the exception's traceback.
    """
    op_error: Any = next((cls for kinds, cls in _CLASSES if isinstance(error, kinds)), UnknownError)
    trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
    frames = "".join(traceback.format_tb(trace))
    text = f"{type(error).__name__}: {error}"
    return op_error(None, None, f"{text}\nTraceback (most recent call last):\n\n{frames}\n{text}\n")


def _results(returned: Any, wanted: Sequence[DType], token: str) -> list[Any]:
    """Convert the return value of the function to one array for each dtype in `wanted`.

    Raises InvalidArgumentError if the number of values is wrong. Also raises the errors of
    `_result`.
    """
    if returned is None:
        returned = []
    values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    if len(values) != len(wanted):
        raise invalid_argument(
            f"{token} returns {len(values)} values, but expects to see {len(wanted)} values."
        )
    return [
        _result(value, dtype, f"{index}-th value returned by {token}")
        for index, (value, dtype) in enumerate(zip(values, wanted))
    ]


def _result(value: Any, wanted: DType, value_name: str) -> Any:
    """Convert one returned value to an array of dtype `wanted`.

    Raises InternalError if the value does not consist of numbers or strings, and
    InvalidArgumentError if its dtype is not `wanted`.

    Args:
      value_name: a description of the value for the message.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise InternalError.of_no_node(f"{value_name} is not an array: {error}") from error
    if array.dtype.kind in "OSU":
        kinds = (type(element) for element in array.ravel().tolist())
        kind = next((kind for kind in kinds if not issubclass(kind, (str, bytes))), None)
        if kind is not None:
            raise InternalError.of_no_node(
                f"Unsupported object type {kind.__name__}: {value_name} is not an array of numbers "
                "or strings"
            )
        array = constant_array(np.array(value, object), dtypes.string)
    try:
        dtype = as_dtype(array.dtype)
    except TypeError as error:
        raise InternalError.of_no_node(
            f"Unsupported numpy data type: {value_name} is an array of {array.dtype}"
        ) from error
    if dtype is not wanted:
        raise invalid_argument(f"{value_name} is {dtype.name}, but expects {wanted.name}")
    return array


def _eager_gradient(op: Operation, *grads: Any) -> Any:
    """Return the gradient function that `tf.py_function` stored in the operation `op`."""
    return op.__dict__["_py_gradient"](op, *grads)


_KINDS: tuple[tuple[str, bool, Any], ...] = (
    ("PyFunc", True, NO_GRADIENT),
    ("PyFuncStateless", False, NO_GRADIENT),
    ("EagerPyFunc", True, _eager_gradient),
)

for _type, _stateful, _gradient in _KINDS:
    op(
        _type,
        inputs="input: Tin",
        outputs="output: Tout",
        attrs={
            "token": Attr("string", required=True),
            "Tin": Attr("list(type)", required=True, minimum=0),
            "Tout": Attr("list(type)", required=True, minimum=0),
        },
        infer=unknown,
        cpu=Call(make=partial(_bind, _stateful), dynamic=True, waits=True),
        gpu=HostOnly("Python functions run on the host"),
        grad=_gradient,
        stateful=_stateful,
        reaches_out=True,
        doc="The results of a Python function of the inputs, as NumPy arrays.",
    )


def py_func(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """Add an op that calls `func` with the values of `inp` in each run. Return the results as
    tensors.

    `func` receives a NumPy array for each tensor in `inp`. A scalar is passed as a NumPy scalar,
    and a string scalar as bytes. It returns one array for each dtype in `Tout`, or a single array
    if `Tout` is a single dtype. The static shapes of the results are unknown. There is no gradient.

    Unless `stateful` is true, a run may call the function only once for two operations with the
    same function and equal inputs. A session then calls a function without inputs only once.
    Functions that do not depend on each other are called in threads, and may run at the same time.
    The caller's default graph and session are not set in those threads.

    Returns a list of tensors if `Tout` is a list or tuple, otherwise one tensor. If `Tout` is
    empty, returns the operation if `stateful` is true, otherwise an empty list. Raises ValueError
    if `func` is not callable.

    A run raises InvalidArgumentError if the number of results or a dtype differs from `Tout`, and
    InternalError if a result is not an array of numbers or strings. An exception of `func` becomes
    InvalidArgumentError (ValueError, TypeError), OutOfRangeError (StopIteration),
    ResourceExhaustedError (MemoryError), UnimplementedError (NotImplementedError) or UnknownError,
    with the function's traceback.

    >>> session.run(tf.py_func(lambda x: x[::-1].copy(), [np.array([1, 2, 3])], tf.int64))
    array([3, 2, 1])
    """
    if not callable(func):
        raise ValueError(
            f"Expected func to be callable. Received func={func} of type {type(func)}."
        )
    is_list = isinstance(Tout, (list, tuple))
    types = [as_dtype(dtype) for dtype in (Tout if is_list else [Tout])]
    token = f"pyfunc_{next(_numbers)}"
    function = _FUNCTIONS[token] = _Function(func)
    create = raw_ops.PyFunc if stateful else raw_ops.PyFuncStateless
    outputs = create(list(inp), token=token, Tout=types, name=name)
    _keep(outputs, function)
    if not types and not stateful:
        return []
    return outputs if is_list else outputs[0]


def _keep(outputs: Any, function: _Function) -> Operation:
    """Store a reference to `function` in the operation with these outputs. Return the operation."""
    operation: Operation = outputs if isinstance(outputs, Operation) else outputs[0].op
    operation.__dict__["_py_func"] = function
    return operation


def eager_py_func(
    func: Callable[..., Any],
    inputs: Any,
    types: Sequence[DType],
    gradient: Callable[..., Any],
    name: str | None = None,
) -> Any:
    """Add an EagerPyFunc op, which calls `func` in the same way as `py_func`. Return its output
    tensors. If it has no outputs, return the operation.

    Args:
      gradient: a function that receives the op and the gradients of its outputs, and returns the
        gradients of its inputs.
    """
    token = f"pyfunc_{next(_numbers)}"
    function = _FUNCTIONS[token] = _Function(func)
    outputs = raw_ops.EagerPyFunc(list(inputs), token=token, Tout=list(types), name=name)
    _keep(outputs, function).__dict__["_py_gradient"] = gradient
    return outputs


def numpy_function(func: Callable[..., Any], inp: Any, Tout: Any, name: str | None = None) -> Any:
    """Add an op that calls `func` in each run. This function is `py_func` with `stateful=True`."""
    return py_func(func, inp, Tout, stateful=True, name=name)
