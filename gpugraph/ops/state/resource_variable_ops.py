"""Resource variables as ops. VarHandleOp returns a handle, through which other ops read and change
the variable.

A handle is a scalar tensor of dtype resource. None of these ops has a kernel, because the compiler
replaces ("lowers") them with ops on reference variables (`LOWERED`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, runtime_name
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_def import AttrDef, OpDef
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.control.group_and_no_op import EMPTY_KERNELS
from gpugraph.ops.framework.identity_and_shape import value_shape
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import UNKNOWN, no_outputs, scalar
from gpugraph.ops.indexing import coordinate_gather_scatter as scattering
from gpugraph.ops.indexing.gather import gathered_rows
from gpugraph.ops.indexing.slice_spec import MASKS
from gpugraph.ops.state import (
    assign_to_slice as slice_assignment,
    reference_variable_ops as state,
    scatter_updates,
)
from gpugraph.ops.state.change_by_handle import BY_HANDLE, ByHandle
from gpugraph.ops.training import (
    ftrl_and_proximal_updates as adaptive_training,
    sparse_row_updates as sparse_training,
)
from gpugraph.ops.training.dense_updates import UPDATES

assert adaptive_training and scatter_updates and scattering  # imported because they declare ops
assert slice_assignment and sparse_training and state


class Lowering(NamedTuple):
    """The op type that replaces an op on a handle, and the attrs that have a different name in the
    new op.

    The attr `T` or `dtype` of the new op is the variable's dtype.

    Args:
      renamed: a dict from names of attrs of the new op to the names that they have in the replaced
        op.
    """

    op_type: str
    renamed: Mapping[str, str] = MappingProxyType({})


LOWERED: dict[str, Lowering] = {}
"""The lowering of each op type."""


def lowered_op(
    name: str, lowering: Lowering, *, grad: Any = NO_GRADIENT, **declared: Any
) -> OpFunction:
    """Declare an op on a handle, and its lowering. See `op` for the remaining arguments."""
    LOWERED[name] = lowering
    return op(name, grad=grad, stateful=True, **EMPTY_KERNELS, **declared)


def _infer_read(context: InferContext) -> Sequence[TensorShape]:
    return [context.variable_shape(0)]


def _infer_shape(context: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of((context.variable_shape(0).rank,))]


def _infer_rows(context: InferContext) -> Sequence[TensorShape]:
    whole, indices = context.variable_shape(0), context.shapes[1]
    batch = context.attrs["batch_dims"]
    if whole.rank == 0:
        raise ValueError("Shape must be at least rank 1 but is rank 0: the variable")
    if whole.sizes is None or indices.sizes is None:
        return [UNKNOWN]
    return [whole[:batch].concatenate(indices[batch:]).concatenate(whole[batch + 1 :])]


def _gather_gradient(op: Operation, dy: Any) -> list[Any]:
    if op.attrs["batch_dims"]:
        raise LookupError(f"'{op.name}' has no gradient: its batch_dims are not 0")
    return [gathered_rows(op._inputs[0], op._inputs[1], dy), None]


lowered_op(
    "VarHandleOp",
    Lowering("VariableV2"),
    outputs="resource: resource",
    attrs={
        **{key: state.VARIABLE_ATTRS[key] for key in ("container", "shared_name")},
        **state.VARIABLE_ATTRS,
    },
    infer=scalar,
    doc="The handle of a variable that lives as long as its session.",
)
lowered_op(
    "ReadVariableOp",
    Lowering("Identity"),
    inputs="resource: resource",
    outputs="value: dtype",
    attrs={"dtype": ALL},
    infer=_infer_read,
    grad=lambda op, dy: dy,
    doc="The value of the variable when this op runs.",
)
lowered_op(
    "VarIsInitializedOp",
    Lowering("IsVariableInitialized"),
    inputs="resource: resource",
    outputs="is_initialized: bool",
    infer=scalar,
    doc="Whether a value has been assigned to the variable yet.",
)
lowered_op(
    "VariableShape",
    Lowering("Shape"),
    inputs="input: resource",
    outputs="output: out_type",
    attrs={"out_type": Attr("type", dtypes.int32, allowed=(dtypes.int32, dtypes.int64))},
    infer=_infer_shape,
    doc="The sizes of the variable, a vector.",
)
lowered_op(
    "ResourceGather",
    Lowering("GatherV2", {"Tparams": "dtype"}),
    inputs="resource: resource, indices: Tindices",
    outputs="output: dtype",
    attrs={
        "batch_dims": Attr("int", 0),
        "validate_indices": Attr("bool", True),
        "dtype": ALL,
        "Tindices": INDEX,
    },
    infer=_infer_rows,
    grad=_gather_gradient,
    doc="The rows of the variable at `indices`.",
)


def _gather_nd_gradient(op: Operation, dy: Any) -> list[Any]:
    handle, indices = op._inputs
    return [raw_ops.ScatterNd(indices, dy, value_shape(handle)), None]


def _infer_slices(context: InferContext) -> Sequence[TensorShape]:
    infer = DECLARATIONS["GatherNd"].op_def.infer
    assert infer is not None
    return infer(_ReferenceContext(context, (0,)))


lowered_op(
    "ResourceGatherNd",
    Lowering("GatherNd", {"Tparams": "dtype"}),
    inputs="resource: resource, indices: Tindices",
    outputs="output: dtype",
    attrs={"dtype": ALL, "Tindices": INDEX},
    infer=_infer_slices,
    grad=_gather_nd_gradient,
    doc="The slices of the variable at `indices`, which hold coordinates.",
)


# -- ops that change a variable, declared after the ops for references


class _ReferenceContext(InferContext):
    """A context for the shape inference of an op on handles, which calls the function of the
    corresponding op on references. In this context, a handle has the shape of its variable.
    """

    __slots__ = ()

    def __init__(self, context: InferContext, handles: Sequence[int]) -> None:
        shapes = [
            context.variable_shape(index) if index in handles else shape
            for index, shape in enumerate(context.shapes)
        ]
        super().__init__(shapes, context.attrs, context.dtypes, 1, context.value, context.partial)


def _infer_like(like: OpDef, dtype_attr: str) -> Callable[[InferContext], Sequence[TensorShape]]:
    """Return a shape inference function for an op without outputs. It raises the same errors as
    `like`, the corresponding op on references.
    """
    handles = [index for index, arg in enumerate(like.inputs) if arg.is_ref]

    def infer(context: InferContext) -> Sequence[TensorShape]:
        assert like.infer is not None
        expected, dtype = context.variable_dtype(0), context.attrs[dtype_attr]
        if expected not in (None, dtype):
            raise ValueError(
                "Trying to assign variable with wrong dtype. Expected "
                f"{runtime_name(expected)} got {runtime_name(dtype)}"
            )
        like.infer(_ReferenceContext(context, handles))
        return no_outputs(context)

    return infer


def _declare(
    name: str,
    like_type: str,
    dtype_attr: str,
    attrs: Sequence[str],
    own_attrs: Mapping[str, Attr] = MappingProxyType({}),
) -> None:
    """Declare the op `name`, which changes a resource variable in the same way as `like_type`
    changes a reference variable.

    Args:
      attrs: the attrs of `like_type` that the op `name` also has.
      own_attrs: additional attrs of the op `name`.
    """
    like = DECLARATIONS[like_type].op_def
    inputs = []
    for arg in like.inputs:
        kind = arg.type.name if arg.type is not None else arg.type_attr
        label = "resource" if arg.name == "ref" and not name.startswith(_OF_REF) else arg.name
        inputs.append(
            f"{label}: {'resource' if arg.is_ref else dtype_attr if kind == 'T' else kind}"
        )
    lowered_op(
        name,
        Lowering(like_type),
        inputs=inputs,
        attrs={
            dtype_attr: like.attrs["T"].allowed,
            **{key: _attr(like.attrs[key]) for key in attrs},
            **own_attrs,
        },
        infer=_infer_like(like, dtype_attr),
        doc=f"As {like_type}, by a handle, and without an output: {like.summary}",
    )
    BY_HANDLE[like_type] = ByHandle(name, dtype_attr)


_OF_REF = ("ResourceScatterNd", "ResourceStridedSlice")
"""The prefixes of op types whose handle is named `ref`, not `resource`."""

_LOCKING = {"use_locking": Attr("bool", True)}


def _attr(attr: AttrDef) -> Any:
    if attr.kind == "type":
        return attr.allowed or attr.default
    return Attr(attr.kind, attr.default, not attr.has_default)


for _kind in ("Assign", "AssignAdd", "AssignSub"):
    _declare(f"{_kind}VariableOp", _kind, "dtype", ())
_declare("ResourceStridedSliceAssign", "StridedSliceAssign", "T", ("Index", *MASKS))
for _kind in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    _declare(f"ResourceScatter{_kind}", f"Scatter{_kind}", "dtype", ("Tindices",))
for _kind in ("Update", "Add", "Sub"):
    _declare(f"ResourceScatterNd{_kind}", f"ScatterNd{_kind}", "T", ("Tindices",), _LOCKING)
for _kind in UPDATES:
    for _apply in (f"Apply{_kind}", f"SparseApply{_kind}"):
        if _apply in DECLARATIONS:
            _attrs = [key for key in DECLARATIONS[_apply].op_def.attrs if key != "T"]
            _declare(f"Resource{_apply}", _apply, "T", _attrs)
