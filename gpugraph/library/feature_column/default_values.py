"""Checks of the arguments of numeric columns: shapes, default values, normalizers."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.nest import flatten, is_nested


def checked_shape(shape: Any, key: str) -> tuple[int, ...]:
    """Return a shape as a tuple of sizes. Raises TypeError or ValueError unless all sizes are
    positive ints.
    """
    sizes = tuple(shape) if is_nested(shape) else (shape,)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"shape dimensions must be integer. shape: {sizes}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {sizes}, key: {key}")
    return sizes


def require_name(key: Any) -> None:
    """Raise ValueError unless `key`, the name of a feature, is a string."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def check_numbers(dtype: DType, normalizer_fn: Any, key: str) -> None:
    """Raise ValueError unless the dtype is numeric, and TypeError if the normalizer is not
    callable.
    """
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")


def checked_default(shape: tuple[int, ...], default_value: Any, dtype: DType, key: str) -> Any:
    """Return a default value as nested tuples with the shape `shape`. A scalar is repeated.

    Raises ValueError if the default value does not have this shape, and TypeError for numbers that
    the dtype can't represent.
    """
    if default_value is None:
        return None
    if isinstance(default_value, int) or (isinstance(default_value, float) and dtype.is_floating):
        return _repeated(default_value, shape)
    value = default_value.tolist() if hasattr(default_value, "tolist") else default_value
    if is_nested(value):
        if not _has_shape(value, shape):
            raise ValueError(
                "The shape of default_value must be equal to given shape. "
                f"default_value: {value}, shape: {shape}, key: {key}"
            )
        leaves = flatten(value)
        has_floats = any(isinstance(leaf, float) for leaf in leaves)
        if all(isinstance(leaf, int) for leaf in leaves) or (has_floats and dtype.is_floating):
            return _tuples(value)
    raise TypeError(
        "default_value must be compatible with dtype. "
        f"default_value: {value}, dtype: {dtype}, key: {key}"
    )


def _repeated(value: Any, shape: tuple[int, ...]) -> Any:
    return tuple(_repeated(value, shape[1:]) for _ in range(shape[0])) if shape else value


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if is_nested(value) else value


def _has_shape(value: Any, shape: tuple[int, ...]) -> bool:
    if is_nested(value) != bool(shape):
        return False
    if not shape:
        return True
    return len(value) == shape[0] and all(_has_shape(part, shape[1:]) for part in value)
