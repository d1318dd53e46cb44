"""Reference variables as ops: VariableV2 and the ops that change it, as in TensorFlow 1.

A reference output has the variable's memory. A kernel that writes to a reference input checks all
conditions first, so a variable is never partly written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC
from gpugraph.base.misfit import Misfit, misfit_of
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Elementwise, KernelContext, OpMemory
from gpugraph.ops.control.group_and_no_op import EMPTY_KERNELS
from gpugraph.ops.framework.kernel_helpers import do_nothing, numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import from_attr, scalar
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.state.change_by_handle import change_variable, changes_reference

_UNFIT_VALUES = (
    "Assign requires shapes of both tensors to match. lhs shape= {} rhs shape= {}",
    "Trying to assign to variable with tensor with wrong shape. Expected {} got {}: a resource "
    "variable created with shape=tf.TensorShape(None) accepts any shape, with validate_shape=False "
    "any sizes",
)
"""The messages of a run for a value of another shape, first for reference variables, then for
resource variables.
"""

_UNFIT_CHANGES = (
    "Parameters and update must be the same size, but have the shapes {} and {}",
    "Cannot update variable with shape {} using a Tensor with shape {}, shapes must be equal.",
)


def _infer_assign(context: InferContext) -> Sequence[TensorShape]:
    if context.attrs.get("validate_shape", True):
        return _merged(context, _UNFIT_VALUES)
    return [context.shapes[1]]


def _infer_update(context: InferContext) -> Sequence[TensorShape]:
    return _merged(context, _UNFIT_CHANGES)


def _merged(context: InferContext, words: tuple[str, str]) -> Sequence[TensorShape]:
    """Return the common shape of the variable and the value. Raises a Misfit if their shapes
    differ.

    Args:
      words: the messages for a run, see `_UNFIT_VALUES`.
    """
    ref, value = context.shapes
    try:
        return [ref.merge_with(value)]
    except ValueError as error:
        of_kind = words["_of_handle" in context.attrs]
        in_run = of_kind.format(shape_text(ref), shape_text(value))
        raise Misfit(misfit_of(error).in_graph, in_run) from error


def _assign(_: KernelContext, ref: Any, value: Any, __: Any) -> Callable[[], Any]:
    if ref is value:  # the value was already computed in the variable's memory
        return do_nothing
    return partial(np.copyto, ref, value)


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


def _declare_test(name: str, bind: Callable[..., Callable[[], Any]], **declared: Any) -> OpFunction:
    """Declare an op whose result depends on whether a variable is initialized.

    See `op` for the arguments.
    """
    kernels = numpy_kernels(Call(make=bind))
    return op(
        name,
        memory=OpMemory(allows_uninitialized=True),
        stateful=True,
        grad=NO_GRADIENT,
        **kernels,
        **declared,
    )


VARIABLE_ATTRS = {
    "dtype": ALL,
    "shape": Attr("shape", required=True),
    "container": Attr("string", ""),
    "shared_name": Attr("string", ""),
}

op(
    "VariableV2",
    outputs="ref: Ref(dtype)",
    attrs={"shape": VARIABLE_ATTRS["shape"], **VARIABLE_ATTRS},
    infer=from_attr("shape"),
    grad=NO_GRADIENT,
    stateful=True,
    doc="A variable, which lives as long as its session. The output is a reference to it.",
    **EMPTY_KERNELS,
)

op(
    "Assign",
    inputs="ref: Ref(T), value: T",
    attrs={"T": ALL, "validate_shape": Attr("bool", True), "use_locking": Attr("bool", True)},
    infer=_infer_assign,
    cpu=Call(make=_assign),
    gpu=Elementwise("y", Call(make=_assign)),
    doc="Writes `value` into the variable `ref`. The output is the reference.",
    **changes_reference(allows_uninitialized=True),
)

for _type, _sign, _function in (("AssignAdd", "+", _add), ("AssignSub", "-", _subtract)):
    op(
        _type,
        inputs="ref: Ref(T), value: T",
        attrs={"T": NUMERIC, "use_locking": Attr("bool", False)},
        infer=_infer_update,
        cpu=Call(_function),
        gpu=Elementwise(f"x {_sign} y", Call(_function)),
        doc=f"ref {_sign}= value; outputs the reference.",
        **changes_reference(),
    )

_declare_test(
    "IsVariableInitialized",
    _is_initialized,
    inputs="ref: Ref(dtype)",
    outputs="is_initialized: bool",
    attrs={"dtype": ALL},
    infer=scalar,
    doc="Whether a value has been assigned to the variable `ref` yet.",
)


def _initialized_value(
    context: KernelContext, ref: Any, initial: Any, out: Any
) -> Callable[[], Any]:
    variable = context.variable(0)

    def copy() -> None:
        np.copyto(out, ref if variable.initialized else initial)

    return copy


initialized_value = _declare_test(
    "InitializedValue",
    _initialized_value,
    inputs="ref: Ref(T), initial: T",
    outputs="output: T",
    attrs={"T": ALL},
    infer=_infer_update,
    doc="The value of the variable `ref`, or `initial` before a value was assigned to it.",
)


def with_initialized_reads(
    tensor: Tensor, find: Callable[[Operation], Tensor | None], suffix: str
) -> Tensor:
    """Return a copy of `tensor` that reads other tensors instead of variables.

    Operations between the replaced reads and `tensor` are copied. `_` and `suffix` are appended to
    the names of the copies. If there is a loop among these operations, `tensor` itself is returned,
    because a copy of a loop would not work.

    Args:
      find: a function that receives a VariableV2 operation. It returns the tensor that replaces its
        reads, or None to keep them.
    """
    new: dict[Tensor, Tensor] = {}
    producers = _producers(tensor)
    if producers is None:
        return tensor
    for operation in producers:
        inputs = operation.inputs
        if operation.type == "Identity" and inputs[0].op.type == "VariableV2":
            value = find(inputs[0].op)
            if value is not None:
                new[operation.outputs[0]] = value
        elif any(source in new for source in inputs):
            with operation.graph.name_scope(None):
                copy = operation.graph.create_op(
                    operation.type,
                    [new.get(source, source) for source in inputs],
                    name=f"{operation.name}_{suffix}",
                    attrs=operation.attrs,
                )
            new.update(zip(operation.outputs, copy.outputs))
    return new.get(tensor, tensor)


def _producers(tensor: Tensor) -> list[Operation] | None:
    """Return all operations on which `tensor` depends. Each operation comes after the operations
    that produce its inputs.

    If the operations form a cycle, return None.
    """
    order: dict[Operation, None] = {}
    path: set[Operation] = set()
    stack = [(tensor.op, False)]
    while stack:
        operation, is_done = stack.pop()
        if is_done:
            order[operation] = None
            path.remove(operation)
        elif operation not in order:
            path.add(operation)
            if any(source.op in path for source in operation.inputs):
                return None
            stack.append((operation, True))
            stack += [(source.op, False) for source in operation.inputs if source.op not in order]
    return list(order)


def _is_of_replicas(ref: Any) -> bool:
    """Return whether `ref` is a variable with a copy for each replica. The methods of such a
    variable change all copies.
    """
    return getattr(ref, "_is_distributed", False)


def _change_copies(method: str, ref: Any, value: Any, name: str | None) -> Any:
    """Change all copies of a variable by calling a method of the variable. Return the changed
    variable.

    The last component of `name` is the name of each change.
    """
    own = None if name is None else name.rstrip("/").rpartition("/")[2]
    changed = getattr(ref, method)(value, name=own)
    if not isinstance(changed, Operation):
        return changed
    with changed.graph.control_dependencies([changed]):
        return convert_to_tensor(ref)


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Write `value` into the variable `ref`. Return the reference or, for a resource variable, the
    variable with a dependency on the write.

    `ref` may also be a slice of a variable, `variable[1:3]`. Raises ValueError if `value` does not
    have the variable's shape, unless `validate_shape` is False.

    >>> v = tf.Variable(1.0)
    >>> session.run(tf.assign(v, 5.0))
    np.float32(5.0)
    """
    if _is_of_replicas(ref):
        return _change_copies("assign", ref, value, name)
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
    """Add `value` to the variable `ref`.

    Return the reference or, for a resource variable, the variable with a dependency on the change.

    >>> v = tf.Variable(1.0)
    >>> session.run(v.initializer)
    >>> session.run(tf.assign_add(v, 2.0))
    np.float32(3.0)
    """
    if _is_of_replicas(ref):
        return _change_copies("assign_add", ref, value, name)
    return change_variable("AssignAdd", ref, value, use_locking=bool(use_locking), name=name)


def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """Subtract `value` from the variable `ref`.

    Return the reference or, for a resource variable, the variable with a dependency on the change.
    """
    if _is_of_replicas(ref):
        return _change_copies("assign_sub", ref, value, name)
    return change_variable("AssignSub", ref, value, use_locking=bool(use_locking), name=name)
