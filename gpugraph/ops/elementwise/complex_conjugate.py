"""Complex conjugation, which the gradients of ops on complex numbers use."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import COMPLEX
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call
from gpugraph.ops.elementwise.element_launches import complex_source
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.shape_functions import IN_PLACE
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_conj = op(
    "Conj",
    inputs="input: T",
    outputs="output: T",
    attrs={"T": COMPLEX},
    **IN_PLACE,
    cpu=Call(np.conjugate),
    gpu=complex_source("gg_conj", Call(np.conjugate)),
    grad=lambda op, dy: raw_ops.Conj(dy),
    doc="The complex conjugate.",
)


def conj(x: Any, name: str | None = None) -> Tensor:
    """Return the complex conjugate of a numeric tensor. Return a real tensor unchanged.

    Raises TypeError if the tensor is not numeric.
    """
    tensor = x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")
    if not tensor._dtype.is_complex:
        if not (tensor._dtype.is_floating or tensor._dtype.is_integer):
            raise TypeError(
                f"Expected numeric or variant tensor, got dtype {tensor.dtype!r}: '{tensor.name}'"
            )
        return tensor
    return _conj(tensor, name=name)
