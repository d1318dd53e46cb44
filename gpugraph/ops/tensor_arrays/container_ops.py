"""Declarations of ops on containers (TensorArrays and stacks), and code that their kernels
share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from gpugraph.base.dtypes import ALL, DType
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op
from gpugraph.ops.framework.shape_functions import SCALAR, no_outputs, of_rank
from gpugraph.ops.tensor_arrays.element_store import Kind

Run = Callable[[], Any]
"""A bound kernel, which is called once in each run."""


@dataclass(frozen=True, slots=True, eq=False)
class ContainerAccess:
    """A step that accesses a stack or TensorArray. Native loops use the description of the access
    to perform it themselves.

    Args:
      make: a function that receives (value, kind, index, copy) and returns a callable that performs
        the step in Python.
      form: "push" or "pop" for stacks, "put" (write) or "take" (read) for arrays, or "find" for the
        gradient array of an array.
      value: the array from which or to which the element is copied. For "find", it is the gradient
        array's handle.
      kind: the shape and dtype of the element. For "find", it is None.
      index: the index of the element, for an array container.
      copy: a second destination of a push or put. For a stack, it is the op's output. For an array,
        it is the flow, which is set to 0.
    """

    make: Callable[[Any, Any, Any, Any], Run]
    form: Literal["push", "pop", "put", "take", "find"]
    handle: Any
    value: Any
    kind: Kind | None
    index: Any = None
    copy: Any = None
    run: Run = field(init=False)

    def __post_init__(self) -> None:
        run = self.make(self.value, self.kind, self.index, self.copy)
        object.__setattr__(self, "run", run)

    def __call__(self) -> None:
        self.run()


def container_op(op_type: str, bind: Callable[..., Run], **declaration: Any) -> None:
    """Declare an op whose input 0 is the handle of a container (a stack or TensorArray). By
    default, only this input is in host memory.
    """
    call = Call(make=bind, late=True)
    declaration = {"memory": OpMemory(host_inputs=(0,)), "grad": NO_GRADIENT, **declaration}
    op(op_type, cpu=call, gpu=call, stateful=True, **declaration)


def closing_op(op_type: str, container: str) -> None:
    """Declare the op that closes a container."""

    def bind(context: KernelContext, handle: Any) -> Run:
        del context
        return lambda: handle.item(0).close()

    doc = f"Frees the memory of {container} before the run is over; it can't be used any more."
    container_op(op_type, bind, inputs="handle: resource", infer=no_outputs, doc=doc)


def writing_op(
    op_type: str,
    inputs: str,
    write: Callable[..., Any],
    value: int,
    is_element: bool = False,
    **declaration: Any,
) -> None:
    """Declare an op that writes to a TensorArray by calling `write(array, *inputs, kind)`.

    Args:
      inputs: the declarations of the two inputs between the handle and the flow.
      value: the index of the input that is written. `kind` is the shape and dtype of this input.
        The other of the two inputs is in host memory.
      is_element: whether a single element is written. Native loops can write single elements
        themselves.
    """

    def bind(
        context: KernelContext, handle: Any, first: Any, second: Any, flow_in: Any, flow_out: Any
    ) -> Run:
        kind = element_kind(context.input_shapes[value], context.input_types[value])
        if not is_element:
            write_all = partial(_write, write, handle, second, kind, first, None)
            return pass_flow(write_all, flow_in, flow_out)
        flow = None if flow_out is flow_in else flow_out
        make = partial(partial, _write, write, handle)
        return ContainerAccess(make, "put", handle, second, kind, first, flow)

    container_op(
        op_type,
        bind,
        inputs=f"handle: resource, {inputs}, flow_in: float32",
        outputs="flow_out: float32",
        attrs={"T": ALL},
        memory=OpMemory(view={0: 3}, host_inputs=(0, 3 - value)),
        **declaration,
    )


def _write(
    write: Callable[..., Any], handle: Any, second: Any, kind: Kind, first: Any, flow: Any
) -> None:
    write(handle.item(0), first, second, kind)
    if flow is not None:
        flow[...] = 0


HANDLE_SHAPE = TensorShape.of((2,))
"""The static shape of handles is TensorFlow's, where a handle is two strings. Here handles are
scalars.
"""


def infer_scalar(index: int, what: str) -> InferFunction:
    """Return a shape inference function for a scalar output. It requires that input `index` is a
    scalar.

    Args:
      what: the name of this input for error messages.
    """

    def infer(context: InferContext) -> Sequence[TensorShape]:
        of_rank(context.shapes[index], 0, what)
        return [SCALAR]

    return infer


def element_kind(shape: Sequence[int], dtype: DType) -> Kind:
    """Return the kind of an element, a pair of its shape and dtype."""
    return tuple(shape), dtype.base_dtype


def pass_flow(run: Run, flow_in: Any, flow_out: Any) -> Run:
    """Return a callable that calls `run` and then sets the output flow to 0. If the input flow has
    the same memory, return `run` itself.
    """
    if flow_out is flow_in:
        return run

    def run_and_flow() -> None:
        run()
        flow_out[...] = 0

    return run_and_flow
