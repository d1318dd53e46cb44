"""Changes of variables of either kind: by a reference or by a handle.

Ops that change reference variables have a reference as input and output; ops that change resource
variables have other names, a handle as input, and no output.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType, resource
from gpugraph.graph.client.resource_handles import value_dtype
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class ByHandle(NamedTuple):
    """The handle-based op that corresponds to a reference-based one, and its attr for the dtype."""

    op_type: str
    dtype_attr: str


BY_HANDLE: dict[str, ByHandle] = {}
"""Handle-based ops by the type of the op for references."""

CHANGES_REFERENCE: dict[str, Any] = {
    "outputs": "output_ref: Ref(T)",
    "view": {0: 0},
    "writes": [0],
    "grad": NO_GRADIENT,
    "stateful": True,
}
"""The common part of the declarations of ops that change the variable `ref`, their first input."""


def change(op_type: str, variable: Tensor, *inputs: Any, **attrs: Any) -> Any:
    """Create the op `op_type` for a reference, or the corresponding op for a handle.

    attrs: of the op for references; attrs that the op for handles lacks are left out.
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
    """Return the dtype for the op's last input, which TensorFlow converts before the others."""
    return dtype if DECLARATIONS[op_type].op_def.inputs[-1].type_attr in ("T", "dtype") else None


def change_variable(op_type: str, ref: Any, *inputs: Any, **attrs: Any) -> Any:
    """Change a variable by the op; return the reference, or the changed resource variable."""
    if not hasattr(ref, "_after_change"):
        return DECLARATIONS[op_type].function(ref, *inputs, **attrs)
    return ref._after_change(change(op_type, ref.handle, *inputs, **attrs))
