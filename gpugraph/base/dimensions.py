"""The class `Dimension`: one size of a static shape, as in TensorFlow 1.

A size is an int of at least 0, or None if it is unknown; gpugraph stores sizes in this form.
`shape[i]` returns a `Dimension`, which supports arithmetic. If an operand is unknown, arithmetic
returns a Dimension of None, and a comparison returns None.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable
from typing import Any

from gpugraph.base.sizes import Size


def as_size(value: object) -> int | None:
    """Convert an int, None, a Dimension, a whole float or a string of digits to an int or None.

    Raises:
      TypeError: `value` is not a number.
      ValueError: `value` is negative or not whole, or a string with characters that are not digits.
    """
    if value is None or (type(value) is int and value >= 0):
        return value
    if type(value) is Size:
        return value  # type: ignore[return-value]
    if isinstance(value, Dimension):
        return value.value
    try:
        size = int(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        size = _as_whole(value)
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


def _as_whole(value: object) -> int:
    if isinstance(value, (str, bytes)):
        return int(value)
    if not isinstance(value, numbers.Real):
        raise TypeError(f"A dimension must be an integer or None, not {value!r} ({type(value)})")
    if not float(value).is_integer():
        raise ValueError(f"Ambiguous dimension: {value} is not a whole number")
    return int(float(value))


def _comparison(operate: Callable[[int, int], bool]) -> Callable[[Any, object], Any]:
    """Return a comparison method of Dimension. The method returns a bool, or None if a size is
    unknown.
    """

    def method(self: Dimension, other: object) -> bool | None:
        x, y = self.value, as_size(other)
        return None if x is None or y is None else operate(x, y)

    return method


def _equality(operate: Callable[[int, int], bool]) -> Callable[[Any, object], Any]:
    """Return a comparison method of Dimension that also returns NotImplemented if the other operand
    is not a size.
    """
    compare = _comparison(operate)

    def method(self: Dimension, other: object) -> Any:
        try:
            return compare(self, other)
        except (TypeError, ValueError):
            return NotImplemented

    return method


def _arithmetic(
    operate: Callable[[int, int], int], swapped: bool = False
) -> Callable[[Any, object], Any]:
    """Return an arithmetic method of Dimension.

    The method returns a Dimension, or NotImplemented if the other operand is not a size.

    Args:
      swapped: whether `self` is the right operand, as in `__radd__`.
    """

    def method(self: Dimension, other: object) -> Any:
        x = self.value
        try:
            y = as_size(other)
        except (TypeError, ValueError):
            return NotImplemented
        if x is None or y is None:
            return Dimension(None)
        return Dimension(operate(y, x) if swapped else operate(x, y))

    return method


class Dimension:
    """One size of a shape: a known int, or unknown.

    Arithmetic with ints, None and Dimensions returns a Dimension, which is unknown if an operand is
    unknown. Comparisons return None if an operand is unknown. A known Dimension can be used as an
    int and as an index.

    Args:
      value: an int of at least 0, None, a Dimension, or a string of digits.

    Raises:
      TypeError: `value` is not a number.
      ValueError: `value` is negative or not whole.
    """

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = as_size(value)

    @property
    def value(self) -> int | None:
        """The size, or None."""
        return self._value

    def is_compatible_with(self, other: object) -> bool:
        """Return whether the two sizes are equal, or at least one of them is unknown."""
        size = as_size(other)
        return self._value is None or size is None or self._value == size

    def assert_is_compatible_with(self, other: object) -> None:
        """Raise ValueError unless `is_compatible_with(other)`."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: object) -> Dimension:
        """Return this size or, if it is unknown, `other`. Raises ValueError if the two sizes are
        known and differ.
        """
        self.assert_is_compatible_with(other)
        return Dimension(other if self._value is None else self._value)

    def __int__(self) -> int:
        if self._value is None:
            raise TypeError("An unknown Dimension has no integer value")
        return self._value

    __index__ = __int__

    def __bool__(self) -> bool:
        return bool(self._value)

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value!r})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)

    __eq__ = _equality(operator.eq)
    __ne__ = _equality(operator.ne)
    __lt__ = _comparison(operator.lt)
    __le__ = _comparison(operator.le)
    __gt__ = _comparison(operator.gt)
    __ge__ = _comparison(operator.ge)

    __add__ = _arithmetic(operator.add)
    __radd__ = _arithmetic(operator.add, swapped=True)
    __sub__ = _arithmetic(operator.sub)
    __rsub__ = _arithmetic(operator.sub, swapped=True)
    __mul__ = _arithmetic(operator.mul)
    __rmul__ = _arithmetic(operator.mul, swapped=True)
    __floordiv__ = _arithmetic(operator.floordiv)
    __rfloordiv__ = _arithmetic(operator.floordiv, swapped=True)
    __mod__ = _arithmetic(operator.mod)
    __rmod__ = _arithmetic(operator.mod, swapped=True)

    def __truediv__(self, other: object) -> Dimension:
        raise _no_division(self, other)

    def __rtruediv__(self, other: object) -> Dimension:
        raise _no_division(other, self)


def _no_division(x: object, y: object) -> TypeError:
    return TypeError(
        f"unsupported operand type(s) for /: '{type(x).__name__}' and '{type(y).__name__}', please "
        "use // instead"
    )


def as_dimension(value: object) -> Dimension:
    """Return `value` if it is a Dimension, else `Dimension(value)`."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: Any) -> Any:
    """Return the int or None in a Dimension. Return any other value unchanged."""
    return dimension.value if isinstance(dimension, Dimension) else dimension
