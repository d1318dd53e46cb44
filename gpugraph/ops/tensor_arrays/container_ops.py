"""How ops on containers, TensorArrays and stacks, are declared, and what their kernels share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.framework.shape_functions import no_outputs
from gpugraph.ops.tensor_arrays.element_store import Kind

Run = Callable[[], Any]
"""What a kernel does in each run."""


def container_op(op_type: str, bind: Callable[..., Run], **declaration: Any) -> None:
    """Declares an op; its input 0, by default the only one on the host, is the handle."""
    call = Call(make=bind, late=True)
    declaration = {"host": (0,), "grad": NO_GRADIENT, **declaration}
    op(op_type, cpu=call, gpu=call, stateful=True, **declaration)


def closing_op(op_type: str, container: str) -> None:
    """Declares the op that closes a container."""

    def bind(context: KernelContext, handle: Any) -> Run:
        del context
        return lambda: handle[()].close()

    doc = f"Gives back the memory of {container} before the run is over; it can't be used any more."
    container_op(op_type, bind, inputs="handle: resource", infer=no_outputs, doc=doc)


def element_kind(shape: Sequence[int], dtype: DType) -> Kind:
    """The kind of elements of this shape and dtype."""
    return tuple(shape), dtype.base_dtype


def pass_flow(run: Run, flow_in: Any, flow_out: Any) -> Run:
    """`run`, and the flow handed on: there is nothing to do where both are the same memory."""
    if flow_out is flow_in:
        return run

    def run_and_flow() -> None:
        run()
        flow_out[...] = 0

    return run_and_flow
