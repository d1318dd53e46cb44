"""NumPy's type for bfloat16, which comes from `ml_dtypes`, an optional dependency.

NumPy itself does not define the type. Without `ml_dtypes` the DType `bfloat16` still exists and has
a name. Code that needs arrays of bfloat16 raises the error of `absent()`.
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
    """Return whether a NumPy dtype is bfloat16. Return False for any dtype if `ml_dtypes` is
    missing.
    """
    return BFLOAT16 is not None and dtype == BFLOAT16


def kind_of(dtype: np.dtype[Any]) -> str:
    """Return NumPy's letter for the kind of a dtype, and "f" for bfloat16, whose kind NumPy does
    not know.
    """
    return "f" if is_bfloat16(dtype) else dtype.kind


def absent() -> ModuleNotFoundError:
    """Return the error for code that needs bfloat16 arrays while `ml_dtypes` is not installed."""
    return not_installed("bfloat16", "ml_dtypes", "Arrays of bfloat16", "ml_dtypes")


def finfo(numpy_type: Any) -> Any:
    """Return `np.finfo` of a type, or its equivalent in `ml_dtypes` for bfloat16."""
    if is_bfloat16(np.dtype(numpy_type)):
        return _ML_DTYPES.finfo(numpy_type)
    return np.finfo(numpy_type)
