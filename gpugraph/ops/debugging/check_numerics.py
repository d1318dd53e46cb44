"""CheckNumerics, which forwards a tensor and raises an error if the tensor contains NaN or
infinity.

The op is stateful, as in TensorFlow. Therefore a run executes it even if it is only a control
input. The compiler would remove a stateless op that is only a control input.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.base.errors import invalid_argument
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Arg, Call, ErrorFlag, KernelContext, Launch, OpMemory, Signature, Source
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import same_shape

_KINDS = {(True, True): "Inf and NaN", (True, False): "Inf", (False, True): "NaN"}
"""The words of the message, by (has infinities, has NaNs)."""


def _bind(context: KernelContext, tensor: Any, out: Any) -> Callable[[], Any]:
    message = context.attrs["message"]

    def check() -> None:
        if not bool(np.isfinite(tensor).all()):
            kinds = _KINDS[bool(np.isinf(tensor).any()), bool(np.isnan(tensor).any())]
            raise invalid_argument(f"{message} : Tensor had {kinds} values")
        if tensor is not out:
            np.copyto(out, tensor)

    return check


def _launch(signature: Signature) -> list[Launch]:
    """Return one launch. Its kernel has three error flags: for tensors with infinities, for tensors
    with NaNs, and for tensors with both.
    """
    failures = [
        ErrorFlag(f"{signature.attrs['message']} : Tensor had {kinds} values")
        for kinds in _KINDS.values()
    ]
    total, types = prod(signature.input_shapes[0]), {"T": signature.input_types[0].base_dtype}
    arguments: tuple[Any, ...] = (Arg(0), Arg(1), *failures, total)
    return [Launch("gg_check", grid_of(total), (THREADS, 1, 1), arguments, types)]


def _gradient(op: Any, dy: Any) -> Any:
    """Return `dy`, which another CheckNumerics op checks."""
    text = "Not a number (NaN) or infinity (Inf) values detected in gradient."
    return raw_ops.CheckNumerics(dy, message=f"{text} {op.attrs['message']}")


_check_numerics = op(
    "CheckNumerics",
    inputs="tensor: T",
    outputs="output: T",
    attrs={"T": FLOATING, "message": Attr("string", required=True)},
    infer=same_shape(0),
    memory=OpMemory(view={0: 0}),
    cpu=Call(make=_bind),
    gpu=Source("check_numerics.cu", _launch, Call(make=_bind)),
    grad=_gradient,
    stateful=True,
    doc=(
        "The input. Raises InvalidArgumentError, with `message`, if an element is NaN or infinite."
    ),
)


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Return `tensor`, which each run checks for NaNs and infinities.

    If an element is NaN or infinite, the run raises InvalidArgumentError with `message`. The
    gradient of `tensor` is checked too. Raises TypeError if the dtype is not a floating-point
    dtype.
    """
    return _check_numerics(tensor, message=message, name=name)
