"""Stacks as ops: what a loop's forward steps push, its backward steps pop.

The handle, in host memory, holds the `ElementStack`. Nothing but control edges and the order of a
loop's steps says what comes after what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import ALL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import SCALAR, UNKNOWN, no_outputs, of_rank
from gpugraph.ops.tensor_arrays.element_stack import ElementStack

Run = Callable[[], Any]


def _infer_stack(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "max_size")
    return [SCALAR]


def _bind_stack(context: KernelContext, max_size: Any, handle: Any) -> Run:
    name = context.attrs["stack_name"] or context.name
    dtype = context.attrs["elem_type"]

    def make() -> None:
        stack = ElementStack(name, dtype, max_size.item(), context.allocate)
        context.keep(stack)
        handle[()] = stack

    return make


op(
    "StackV2",
    inputs="max_size: int32",
    outputs="handle: resource",
    attrs={"elem_type": ALL, "stack_name": Attr("string", "")},
    infer=_infer_stack,
    host=(0,),
    host_outputs=(0,),
    cpu=Call(make=_bind_stack, late=True),
    gpu=Call(make=_bind_stack, late=True),
    grad=NO_GRADIENT,
    stateful=True,
    doc="A new stack of at most `max_size` elements (below 0: any number), which lives as long as "
    "the run.",
)


def _infer_push(context: InferContext) -> Sequence[TensorShape]:
    return [context.shapes[1]]


def _bind_push(context: KernelContext, handle: Any, elem: Any, output: Any) -> Run:
    kind = tuple(context.input_shapes[1]), context.input_types[1].base_dtype
    allocate = context.allocate
    if output is elem:
        return lambda: handle[()].push(elem, kind, allocate)

    def push() -> None:
        handle[()].push(elem, kind, allocate)
        output[...] = elem

    return push


op(
    "StackPushV2",
    inputs="handle: resource, elem: T",
    outputs="output: T",
    attrs={"T": ALL, "swap_memory": Attr("bool", False)},
    infer=_infer_push,
    view={0: 1},
    host=(0,),
    cpu=Call(make=_bind_push, late=True),
    gpu=Call(make=_bind_push, late=True),
    grad=NO_GRADIENT,
    stateful=True,
    doc="Puts a copy of `elem` on the stack and outputs `elem`. InvalidArgumentError when the "
    "stack is full.",
)


def _infer_pop(context: InferContext) -> Sequence[TensorShape]:
    handle = context.value(0)
    if handle is None:
        return [UNKNOWN]
    return [TensorShape.of(handle[()].top_shape())]


def _bind_pop(context: KernelContext, handle: Any, elem: Any) -> Run:
    kind = tuple(context.output_shapes[0]), context.output_types[0].base_dtype

    def pop() -> None:
        handle[()].pop(elem, kind)

    return pop


op(
    "StackPopV2",
    inputs="handle: resource",
    outputs="elem: elem_type",
    attrs={"elem_type": ALL},
    infer=_infer_pop,
    host=(0,),
    cpu=Call(make=_bind_pop, late=True),
    gpu=Call(make=_bind_pop, late=True),
    grad=NO_GRADIENT,
    stateful=True,
    doc="Takes the element that was pushed last. InvalidArgumentError when there is none.",
)


def _bind_close(context: KernelContext, handle: Any) -> Run:
    del context

    def close() -> None:
        handle[()].close()

    return close


op(
    "StackCloseV2",
    inputs="handle: resource",
    infer=no_outputs,
    host=(0,),
    cpu=Call(make=_bind_close, late=True),
    gpu=Call(make=_bind_close, late=True),
    grad=NO_GRADIENT,
    stateful=True,
    doc="Gives back the memory of a stack before the run is over; it can't be used any more.",
)
