"""The library that computes the matrix products of a step, for `Session.explain`."""

from __future__ import annotations

from typing import Any

from gpugraph.compile.steps.native_node_code import Candidate
from gpugraph.devices.native import NotNativeError, is_tiled
from gpugraph.kernel import MatmulWithEpilogue, MatrixProducts


def library_of(step: Candidate, known: dict[Any, str]) -> str:
    """Return the name of the library that computes a step's matrix products; "" for other steps.

    known: results for equal steps; a new one is added.
    """
    native = step.native
    if not isinstance(native, (MatrixProducts, MatmulWithEpilogue)) or not step.inputs:
        return ""
    layouts = [(array.shape, array.strides, array.dtype.char) for array in step.arrays]
    key = id(native), id(step.context.attrs), *layouts
    if key not in known:
        known[key] = _library_of(native, step)
    return known[key]


def _library_of(native: MatrixProducts | MatmulWithEpilogue, step: Candidate) -> str:
    try:
        form = native if isinstance(native, MatrixProducts) else native.products
        triples = form.matrices(step.context, *step.arrays)
        is_own = not isinstance(native, MatrixProducts) or is_tiled(triples)
    except (NotNativeError, NotImplementedError):
        return ""
    return "tiles" if is_own else "NumPy's BLAS"
