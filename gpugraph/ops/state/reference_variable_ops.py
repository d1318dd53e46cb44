"""Variables as ops: VariableV2 holds, Assign and its like change, by reference as in TF 1.

A reference output is the variable's memory itself. A kernel that writes a ref input checks all
it needs before it writes: a variable is never left half-written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Elementwise, KernelContext
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import SCALAR, from_attr
from gpugraph.ops.state.change_by_handle import change_variable


def _nothing(*_: Any) -> None:
    """A variable is memory: there is nothing to run."""


def _infer_assign(context: InferContext) -> Sequence[TensorShape]:
    ref, value = context.shapes
    if context.attrs.get("validate_shape", True):
        return [ref.merge_with(value)]
    return [value]


def _infer_update(context: InferContext) -> Sequence[TensorShape]:
    ref, value = context.shapes
    return [ref.merge_with(value)]


def _assign(ref: Any, value: Any, _: Any) -> None:
    np.copyto(ref, value)


def _add(ref: Any, value: Any, _: Any) -> None:
    np.add(ref, value, out=ref)


def _subtract(ref: Any, value: Any, _: Any) -> None:
    np.subtract(ref, value, out=ref)


def _is_initialized(context: KernelContext, ref: Any, out: Any) -> Callable[[], Any]:
    del ref
    variable = context.variable(0)

    def check() -> None:
        out[...] = variable.initialized

    return check


op(
    "VariableV2",
    outputs="ref: Ref(dtype)",
    attrs={
        "dtype": ALL,
        "shape": Attr("shape", required=True),
        "container": Attr("string", ""),
        "shared_name": Attr("string", ""),
    },
    infer=from_attr("shape"),
    cpu=Call(_nothing),
    gpu=Call(_nothing),
    grad=NO_GRADIENT,
    stateful=True,
    doc="Holds a tensor that lives as long as its session; its output is a reference to it.",
)

op(
    "Assign",
    inputs="ref: Ref(T), value: T",
    outputs="output_ref: Ref(T)",
    attrs={"T": ALL, "validate_shape": Attr("bool", True), "use_locking": Attr("bool", True)},
    infer=_infer_assign,
    view={0: 0},
    writes=[0],
    uninitialized=True,
    cpu=Call(_assign),
    gpu=Elementwise("y", Call(_assign)),
    grad=NO_GRADIENT,
    stateful=True,
    doc="Writes `value` into the variable `ref` and outputs the reference.",
)

_UPDATE_ATTRS = {"T": NUMERIC, "use_locking": Attr("bool", False)}

op(
    "AssignAdd",
    inputs="ref: Ref(T), value: T",
    outputs="output_ref: Ref(T)",
    attrs=_UPDATE_ATTRS,
    infer=_infer_update,
    view={0: 0},
    writes=[0],
    cpu=Call(_add),
    gpu=Elementwise("x + y", Call(_add)),
    grad=NO_GRADIENT,
    stateful=True,
    doc="ref += value; outputs the reference.",
)

op(
    "AssignSub",
    inputs="ref: Ref(T), value: T",
    outputs="output_ref: Ref(T)",
    attrs=_UPDATE_ATTRS,
    infer=_infer_update,
    view={0: 0},
    writes=[0],
    cpu=Call(_subtract),
    gpu=Elementwise("x - y", Call(_subtract)),
    grad=NO_GRADIENT,
    stateful=True,
    doc="ref -= value; outputs the reference.",
)


def _infer_scalar(_: InferContext) -> Sequence[TensorShape]:
    return [SCALAR]


op(
    "IsVariableInitialized",
    inputs="ref: Ref(dtype)",
    outputs="is_initialized: bool",
    attrs={"dtype": ALL},
    infer=_infer_scalar,
    uninitialized=True,
    cpu=Call(make=_is_initialized),
    gpu=Call(make=_is_initialized),
    grad=NO_GRADIENT,
    stateful=True,
    doc="Whether anything has been assigned to the variable `ref` yet.",
)


def _initialized_value(
    context: KernelContext, ref: Any, initial: Any, out: Any
) -> Callable[[], Any]:
    variable = context.variable(0)

    def copy() -> None:
        np.copyto(out, ref if variable.initialized else initial)

    return copy


initialized_value = op(
    "InitializedValue",
    inputs="ref: Ref(T), initial: T",
    outputs="output: T",
    attrs={"T": ALL},
    infer=_infer_update,
    uninitialized=True,
    cpu=Call(make=_initialized_value),
    gpu=Call(make=_initialized_value),
    grad=NO_GRADIENT,
    stateful=True,
    doc="The value of the variable `ref`, or `initial` before anything was assigned to it.",
)


def with_initialized_reads(
    tensor: Tensor, find: Callable[[Operation], Tensor | None], suffix: str
) -> Tensor:
    """`tensor`, computed from what `find` gives for each variable that it reads.

    Ops between the variables and `tensor` are made again, their names ending in `_` and `suffix`.
    Where no variable is read, and where `find` gives None, nothing is new.
    """
    new: dict[Tensor, Tensor] = {}
    for maker in _makers(tensor):
        if maker.type == "Identity" and maker.inputs[0].op.type == "VariableV2":
            found = find(maker.inputs[0].op)
            if found is not None:
                new[maker.outputs[0]] = found
        elif any(each in new for each in maker.inputs):
            with maker.graph.name_scope(None):
                copy = maker.graph.create_op(
                    maker.type,
                    [new.get(each, each) for each in maker.inputs],
                    name=f"{maker.name}_{suffix}",
                    attrs=maker.attrs,
                )
            new.update(zip(maker.outputs, copy.outputs))
    return new.get(tensor, tensor)


def _makers(tensor: Tensor) -> list[Operation]:
    """All ops that `tensor` is computed by, producers first."""
    order: dict[Operation, None] = {}
    stack = [(tensor.op, False)]
    while stack:
        maker, done = stack.pop()
        if done:
            order[maker] = None
        elif maker not in order:
            stack.append((maker, True))
            stack += [(each.op, False) for each in maker.inputs if each.op not in order]
    return list(order)


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Writes `value` into the variable `ref`; gives the reference, or the resource variable as it
    is then.

    `ref` may be a slice of a variable, `variable[1:3]`, too. With `validate_shape` (the default)
    the shape must be the variable's: ValueError.
    """
    if isinstance(ref, Tensor) and hasattr(ref, "assign"):
        return ref.assign(value, name=name)
    return change_variable(
        "Assign",
        ref,
        value,
        validate_shape=validate_shape is not False,
        use_locking=use_locking is not False,
        name=name,
    )


def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """ref += value; gives what `assign` gives."""
    return change_variable("AssignAdd", ref, value, use_locking=bool(use_locking), name=name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """ref -= value; gives what `assign` gives."""
    return change_variable("AssignSub", ref, value, use_locking=bool(use_locking), name=name)
