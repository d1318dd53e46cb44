"""Functions that NumPy, SciPy and scikit-learn have removed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpugraph.tensorflow_import.modules_by_name import module_named

NINF, PZERO, NZERO = -np.inf, 0.0, -0.0
SCALAR_TYPES = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64],
    "complex": [np.complex64, np.complex128],
    "others": [bool, object, bytes, str, np.void],
}
COMPAT = SimpleNamespace(long=int, unicode=str, basestring=str, asbytes=str.encode)

_PACKAGE = __name__.partition(".")[0]


class _Casts(dict[Any, Callable[[Any], Any]]):
    """A dict from dtypes to functions that convert a value to the dtype."""

    def __missing__(self, dtype: Any) -> Callable[[Any], Any]:
        return lambda value: np.asarray(value).astype(dtype)


CAST = _Casts()
NBYTES = {kind: np.dtype(kind).itemsize for kind in set(np.sctypeDict.values())}


def asscalar(a: Any) -> Any:
    """Return the only element of an array as a Python number."""
    return np.asarray(a).item()


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Return the integral of `y`, computed with the trapezoidal rule."""
    return np.trapezoid(y, x, dx, axis)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return a bool array that contains, for each element of the flattened `ar1`, whether it is in
    `ar2`.
    """
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def asfarray(a: Any, dtype: Any = np.float64) -> Any:
    """Return an array of floating-point numbers."""
    kind = dtype if np.issubdtype(dtype, np.inexact) else np.float64
    return np.asarray(a, dtype=kind)


def msort(a: Any) -> Any:
    """Return an array sorted along its first axis."""
    return np.sort(a, axis=0)


def find_common_type(array_types: Any, scalar_types: Any) -> Any:
    """Return the dtype to which all of the types can be promoted."""
    return np.result_type(*array_types, *scalar_types)


def is_subclass(arg1: Any, arg2: Any) -> bool:
    """Return whether `arg1` is a subclass of `arg2`. If they are not classes, return False."""
    return isinstance(arg1, type) and issubclass(arg1, arg2)


def is_scalar_type(rep: Any) -> bool:
    """Return whether a value denotes an element type of arrays."""
    return scalar_type(rep) is not None


def scalar_type(rep: Any, default: Any = None) -> Any:
    """Return the scalar type of a dtype, array or name."""
    try:
        return np.dtype(getattr(rep, "dtype", rep)).type
    except TypeError:
        return default


def maximum_type(t: Any) -> Any:
    """Return the largest type of the same kind as `t`."""
    sizes = {"i": np.int64, "u": np.uint64, "f": np.longdouble, "c": np.clongdouble}
    return sizes.get(np.dtype(t).kind, np.dtype(t).type)


def type_code(sctype: Any) -> str:
    """Return NumPy's one-character code of a dtype, such as "d" for float64."""
    return np.dtype(sctype).char


def deprecate(*arguments: Any, **options: Any) -> Any:
    """Return a function unchanged. If the argument is not a function, return a decorator that
    returns its function unchanged.
    """
    return arguments[0] if arguments and callable(arguments[0]) else lambda function: function


def copy_and_transpose(a: Any) -> Any:
    """Return a transposed copy."""
    return np.array(np.transpose(a))


def disp(mesg: Any, device: Any = None, linefeed: bool = True) -> None:
    """Print a message."""
    print(mesg, file=device or sys.stdout, end="\n" if linefeed else "")


def random_integers(low: int, high: int | None = None, size: Any = None) -> Any:
    """Return random integers from `low` to `high`, inclusive."""
    return np.random.randint(*((1, low + 1) if high is None else (low, high + 1)), size)


def itemfreq(a: Any) -> Any:
    """Return an array with a row (value, count) for each distinct value."""
    return np.array(np.unique(a, return_counts=True)).T


def linear_assignment(X: Any) -> Any:
    """Return an array with a row (i, j) for each pair of the assignment of minimum cost."""
    return np.transpose(module_named("scipy.optimize").linear_sum_assignment(X))


def inner1d(a: Any, b: Any) -> Any:
    """Return the inner products along the last axis."""
    return np.einsum("...i,...i->...", a, b)


def frange(xini: float, xfin: float | None = None, delta: float = 1.0) -> Any:
    """Return the numbers from `xini` to `xfin`, in steps of `delta`. Both limits are included."""
    first, last = (0.0, xini) if xfin is None else (xini, xfin)
    return first + delta * np.arange(round((last - first) / delta) + 1)


def normpdf(x: Any, *args: float) -> Any:
    """Return the density of the normal distribution with the given mean and standard deviation."""
    mu, sigma = args
    return np.exp(-0.5 * ((np.asarray(x) - mu) / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma)


# -- calls with arguments that NumPy no longer takes


def _ragged(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Return a one-dimensional array whose elements are the items of the list. Return None if the
    caller passes a dtype, or if the argument is not a list or tuple.
    """
    if len(args) > 1 or kwargs.get("dtype") is not None or not isinstance(args[0], (list, tuple)):
        return None
    result = np.empty(len(args[0]), object)
    result[:] = list(args[0])
    return result


def array_of_the_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of `np.array` that accepts `copy=False` when a copy is necessary, and items
    of different lengths.
    """

    def array(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("copy") is False:
            kwargs["copy"] = None
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if "inhomogeneous" not in str(error) or caller.startswith(_PACKAGE):
                raise  # this package reports such lists in TensorFlow's words
            result = _ragged(function, args, kwargs)
            if result is None:
                raise
            return result

    array.__wrapped__ = function  # type: ignore[attr-defined]
    array.__name__, array.__doc__ = function.__name__, function.__doc__
    return array


def array_bytes(self: Any, order: Any = "C") -> bytes:
    """Return the bytes of an array. This is `ndarray.tostring`."""
    return bytes(self.tobytes(order))


def itemset(self: Any, *args: Any) -> None:
    """Set one element of an array. This is `ndarray.itemset`.

    Args:
      args: the indices, if any, and the value.
    """
    index = args[0] if len(args) == 2 else args[:-1]
    if isinstance(index, tuple):
        self[index] = args[-1]
    else:
        self.flat[index] = args[-1]


def array_ptp(self: Any, axis: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """Return the difference of the largest and the smallest value of an array along an axis. This
    is `ndarray.ptp`.
    """
    return np.ptp(self, axis, out, **kwargs)


def in_byte_order(self: Any, new_order: str = "S") -> Any:
    """Return a view of an array with a different byte order. This is `ndarray.newbyteorder`."""
    return self.view(self.dtype.newbyteorder(new_order))


def fromstring_of_the_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of `np.fromstring` that reads binary data if `sep` is empty."""

    def fromstring(
        string: Any, dtype: Any = float, count: int = -1, sep: str = "", **kwargs: Any
    ) -> Any:
        if sep:
            return function(string, dtype, count, sep=sep, **kwargs)
        data = string.encode("latin-1") if isinstance(string, str) else string
        return np.frombuffer(data, dtype, count).copy()

    fromstring.__wrapped__ = function  # type: ignore[attr-defined]
    return fromstring


def reshape_of_the_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of `np.reshape` that accepts `newshape`."""

    def reshape(a: Any, *args: Any, **kwargs: Any) -> Any:
        if "newshape" in kwargs:
            args = (kwargs.pop("newshape"), *args)
        return function(a, *args, **kwargs)

    reshape.__wrapped__ = function  # type: ignore[attr-defined]
    reshape.__name__, reshape.__doc__ = function.__name__, function.__doc__
    return reshape


_KINDS = {float: np.floating, int: np.signedinteger, complex: np.complexfloating, str: np.str_}


def issubdtype_of_the_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of `np.issubdtype` for which `float`, `int` and `complex` mean all dtypes of
    their kind, of any size.
    """

    def issubdtype(arg1: Any, arg2: Any) -> bool:
        kind = _KINDS.get(arg2, arg2) if isinstance(arg2, type) else arg2
        return bool(function(arg1, kind))

    issubdtype.__wrapped__ = function  # type: ignore[attr-defined]
    issubdtype.__name__, issubdtype.__doc__ = function.__name__, function.__doc__
    return issubdtype
