"""Changes of variables of both kinds: reference variables and resource variables.

An op that changes a reference variable has a reference as input and output. The corresponding op
for resource variables has a different name. Its input is a handle, and it has no output.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType, resource
from gpugraph.graph.client.resource_handles import value_dtype
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import OpMemory
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class ByHandle(NamedTuple):
    """The op type for handles that corresponds to an op type for references, and the name of its
    attr that holds the variable's dtype.
    """

    op_type: str
    dtype_attr: str


BY_HANDLE: dict[str, ByHandle] = {}
"""By op type for reference variables, the corresponding op for resource variables."""


def changes_reference(**memory: Any) -> dict[str, Any]:
    """Return keyword arguments of `op` for an op that changes a reference variable, which is its
    first input `ref`.

    Args:
      memory: further fields of `OpMemory`.
    """
    return {
        "outputs": "output_ref: Ref(T)",
        "memory": OpMemory(view={0: 0}, writes=[0], **memory),
        "grad": NO_GRADIENT,
        "stateful": True,
    }


def change(op_type: str, variable: Tensor, *inputs: Any, **attrs: Any) -> Any:
    """Add the op `op_type` for a reference, or the corresponding op for a handle.

    Args:
      variable: a reference or a handle.
      attrs: the attrs of the op for references. Attrs that the op for handles does not have are
        dropped.
    """
    if variable._dtype is not resource:
        return DECLARATIONS[op_type].function(variable, *inputs, **attrs)
    twin, dtype_attr = BY_HANDLE[op_type]
    dtype = value_dtype(variable)
    inputs = (*inputs[:-1], convert_to_tensor(inputs[-1], _dtype_of_last(twin, dtype)))
    decl = DECLARATIONS[twin]
    known = {key: value for key, value in attrs.items() if key in (*decl.op_def.attrs, "name")}
    known[dtype_attr] = dtype
    return decl.function(variable, *inputs, **known)


def _dtype_of_last(op_type: str, dtype: DType) -> DType | None:
    """Return the dtype to which the last input is converted first, as in TensorFlow.

    If the last input does not have the variable's dtype, return None.
    """
    return dtype if DECLARATIONS[op_type].op_def.inputs[-1].type_attr in ("T", "dtype") else None


def change_variable(op_type: str, ref: Any, *inputs: Any, **attrs: Any) -> Any:
    """Change a variable with the op `op_type`. Return the reference or, for a resource variable,
    the variable with a dependency on the change.

    If the variable belongs to a strategy, all its copies are changed. In a replica context, only
    one copy is changed.
    """
    if getattr(ref, "_is_distributed", False):
        return ref._in_copies(lambda copy: change_variable(op_type, copy, *inputs, **attrs))
    if not hasattr(ref, "_after_change"):
        return DECLARATIONS[op_type].function(ref, *inputs, **attrs)
    return ref._after_change(change(op_type, ref.handle, *inputs, **attrs))
