"""bfloat16 in NumPy, which lacks it: the type comes from `ml_dtypes`, an optional dependency.

Without it the dtype still exists and has a name; code that needs arrays of it raises `absent()`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.optional_packages import not_installed

_ML_DTYPES: Any
try:
    import ml_dtypes

    _ML_DTYPES = ml_dtypes
except ImportError:
    _ML_DTYPES = None


BFLOAT16: type[Any] | None = None if _ML_DTYPES is None else _ML_DTYPES.bfloat16
"""NumPy's scalar type of bfloat16; None if `ml_dtypes` is not installed."""


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Return whether a NumPy dtype is bfloat16's. (To NumPy, float64 equals None.)"""
    return BFLOAT16 is not None and dtype == BFLOAT16


def absent() -> ModuleNotFoundError:
    """Return the error to raise if arrays of bfloat16 are requested but unavailable."""
    return not_installed("bfloat16", "ml_dtypes", "Arrays of bfloat16", "ml_dtypes")


def finfo(numpy_type: Any) -> Any:
    """Do as `np.finfo`, with support for bfloat16."""
    if is_bfloat16(np.dtype(numpy_type)):
        return _ML_DTYPES.finfo(numpy_type)
    return np.finfo(numpy_type)
