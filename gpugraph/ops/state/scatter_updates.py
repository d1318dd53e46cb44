"""Scatter updates, which change some rows of a variable in place.

All indices are checked before anything is written, so an error never leaves a variable partly
changed. Updates of the same row are applied in the order in which the op receives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC, REAL, DType
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import value_error
from gpugraph.base.shapes import TensorShape, difference_text, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, RowSource, Signature, Source
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.row_update_launches import (
    ADD,
    LARGER,
    MUL,
    SMALLER,
    SUB,
    Changes,
    apply_in_order,
    combine_changes,
    keep_last,
    sort_changes,
)
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing import row_sources
from gpugraph.ops.indexing.coordinate_gather_scatter import (
    Coordinates,
    by_coordinates,
    combine_rows,
)
from gpugraph.ops.indexing.gather import check_inside
from gpugraph.ops.state.change_by_handle import change_variable, changes_reference

Combine = Callable[[Any, Any, Any], None]
"""A function (target, rows, values) that combines target[rows[i]] with values[i] in place; both are
matrices.
"""


def _replace(target: Any, rows: Any, values: Any) -> None:
    target[rows] = values  # of several values for a row, the last one wins


def _by(ufunc: Any) -> Combine:
    return lambda target, rows, values: combine_rows(ufunc, target, rows, values)


def _divide(target: Any, rows: Any, values: Any) -> None:
    if target.dtype.kind not in "iu":
        combine_rows(np.divide, target, rows, values)
        return
    if not values.all():
        raise invalid_argument("Integer division by zero")
    for row, value in zip(rows.tolist(), values, strict=True):
        rest = np.fmod(target[row], value)
        target[row] = (target[row] - rest) // value


# -- on a GPU

RowLaunches = Callable[[Arg, Arg, Changes, DType], list[Launch]]
"""A function (target, updates, sorted changes, dtype) that returns the launches that change the
rows.
"""


def _quotients(target: Arg, updates: Arg, changes: Changes, dtype: DType) -> list[Launch]:
    expression, refuses = "(a) / (b)", "false"
    if dtype.is_integer:
        refuses = "(a) == 0"
        if not dtype.is_unsigned:  # the lowest number / -1 would overflow
            expression = "(b) == -1 ? 0 - (a) : (a) / (b)"
    message = "Integer division by zero"
    return apply_in_order(target, updates, changes, dtype, expression, refuses, message)


_LAUNCHES: dict[str, RowLaunches] = {
    "Update": keep_last,
    "Add": partial(combine_changes, rule=ADD),
    "Sub": partial(combine_changes, rule=SUB),
    "Mul": partial(combine_changes, rule=MUL),
    "Div": _quotients,
    "Min": partial(combine_changes, rule=SMALLER),
    "Max": partial(combine_changes, rule=LARGER),
}


def _launch_rows(what: str, signature: Signature) -> list[Launch]:
    ref, indices, updates = signature.input_shapes
    dtype = signature.input_types[0].base_dtype
    count, width = prod(indices), prod(ref[1:])
    step = int(prod(updates) == count * width)
    index_type = signature.input_types[1]
    order, changes = sort_changes(Arg(1), index_type, count, width, ref[:1], step=step)
    return order + _LAUNCHES[what](Arg(0), Arg(2), changes, dtype)


def _launch_coordinates(what: str, signature: Signature) -> list[Launch]:
    ref, indices = signature.input_shapes[:2]
    order, changes = by_coordinates(Arg(1), signature.input_types[1], indices, ref)
    return order + _LAUNCHES[what](Arg(0), Arg(2), changes, signature.input_types[0].base_dtype)


# -- rows of the first dimension


def _infer_rows(context: InferContext) -> Sequence[TensorShape]:
    ref, indices, updates = context.shapes
    if ref.sizes is not None and not ref.sizes:
        raise ValueError("Shape must be at least rank 1 but is rank 0: ref")
    if updates.rank != 0 and ref.sizes is not None:
        wanted = indices.concatenate(ref[1:])
        if not updates.is_compatible_with(wanted):
            raise value_error(
                "updates must be of shape indices.shape + ref.shape[1:], "
                f"{shape_text(wanted)}, or a scalar, "
                f"but are of shape {shape_text(updates)}",
                difference_text(updates, wanted),
            )
    return [ref]


def _bind_rows(combine: Combine) -> Callable[..., Callable[[], Any]]:
    def bind(_: KernelContext, ref: Any, indices: Any, updates: Any, __: Any) -> Callable[[], Any]:
        count, width = ref.shape[0], prod(ref.shape[1:])
        target, rows = ref.reshape(count, width), indices.reshape(-1)
        spread = np.broadcast_to(updates, indices.shape + ref.shape[1:])
        scalar = updates.ndim == 0 and spread.ndim > 0

        def run() -> None:
            check_inside(indices, count)
            values = spread.reshape(rows.size, width) if scalar else plain
            combine(target, rows, values)

        plain = None if scalar else updates.reshape(rows.size, width)
        return run

    return bind


# -- by coordinates


def _infer_coordinates(context: InferContext) -> Sequence[TensorShape]:
    ref, indices, updates = context.shapes
    if indices.sizes is not None and not indices.sizes:
        raise ValueError("Shape must be at least rank 1 but is rank 0: indices")
    depth = indices.sizes[-1] if indices.sizes is not None else None
    if ref.sizes is None or depth is None or indices.sizes is None:
        return [ref]
    if depth > len(ref.sizes):
        raise ValueError(f"indices has {depth} coordinates for a ref of rank {len(ref.sizes)}")
    wanted = indices[:-1].concatenate(ref[depth:])
    if not updates.is_compatible_with(wanted):
        raise ValueError(
            "updates must be of shape indices.shape[:-1] + ref.shape[indices.shape[-1]:], "
            f"{shape_text(wanted)}, but are of shape {shape_text(updates)}"
        )
    return [ref]


def _bind_coordinates(combine: Combine) -> Callable[..., Callable[[], Any]]:
    def bind(
        context: KernelContext, ref: Any, indices: Any, updates: Any, _: Any
    ) -> Callable[[], Any]:
        depth = indices.shape[-1]
        find_rows = Coordinates(context, indices, ref.shape)
        count, width = prod(ref.shape[:depth]), prod(ref.shape[depth:])
        target = ref.reshape(count, width)
        values = updates.reshape(find_rows.rows.size, width)
        return lambda: combine(target, find_rows(), values)

    return bind


# -- declarations


def _native(change: str, coordinates: bool) -> RowSource:
    """Return the native kernel of a scatter update."""
    if change == "Update":
        return row_sources.put(coordinates)
    return row_sources.scattered(getattr(row_sources, change.upper()), coordinates)


_BY_ROWS = (_infer_rows, _bind_rows, _launch_rows, "for each i in `indices`")
_BY_COORDINATES = (
    *(_infer_coordinates, _bind_coordinates, _launch_coordinates),
    "where indices[i] are coordinates",
)
_ADDED, _SUBTRACTED = "ref[indices[i]] += updates[i]", "ref[indices[i]] -= updates[i]"

for _name, _kind, _combine, _types, _formula in (
    ("Update", _BY_ROWS, _replace, ALL, "ref[indices[i]] = updates[i]"),
    ("Add", _BY_ROWS, _by(np.add), NUMERIC, _ADDED),
    ("Sub", _BY_ROWS, _by(np.subtract), NUMERIC, _SUBTRACTED),
    ("Mul", _BY_ROWS, _by(np.multiply), NUMERIC, "ref[indices[i]] *= updates[i]"),
    ("Div", _BY_ROWS, _divide, NUMERIC, "ref[indices[i]] /= updates[i]"),
    ("Min", _BY_ROWS, _by(np.minimum), REAL, "ref[indices[i]] = min(ref[indices[i]], updates[i])"),
    ("Max", _BY_ROWS, _by(np.maximum), REAL, "ref[indices[i]] = max(ref[indices[i]], updates[i])"),
    ("NdUpdate", _BY_COORDINATES, _replace, ALL, "ref[indices[i]] = updates[i]"),
    ("NdAdd", _BY_COORDINATES, _by(np.add), NUMERIC, _ADDED),
    ("NdSub", _BY_COORDINATES, _by(np.subtract), NUMERIC, _SUBTRACTED),
):
    _infer, _bind, _launch, _where = _kind
    _kernel, _change = Call(make=_bind(_combine)), _name.removeprefix("Nd")
    op(
        f"Scatter{_name}",
        inputs="ref: Ref(T), indices: Tindices, updates: T",
        attrs={"T": _types, "Tindices": INDEX, "use_locking": Attr("bool", _change == "Update")},
        infer=_infer,
        cpu=_kernel,
        gpu=Source("scatter_combine.cu", partial(_launch, _change), _kernel),
        native=_native(_change, _kind is _BY_COORDINATES),
        doc=f"{_formula} {_where}, in order; outputs the reference.",
        **changes_reference(),
    )


# -- public functions


def _scatter_function(name: str, doc: str, locking: bool = False) -> Callable[..., Tensor]:
    """Return the public function `name` for the op with the same name in CamelCase, such as
    `scatter_add` for ScatterAdd.
    """
    op_type = name.title().replace("_", "")

    def scatter(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locking, name: str | None = None
    ) -> Tensor:
        return change_variable(op_type, ref, indices, updates, use_locking=use_locking, name=name)

    scatter.__name__ = scatter.__qualname__ = name
    scatter.__doc__ = doc
    return scatter


scatter_update = _scatter_function(
    "scatter_update",
    """Set ref[indices[i]] = updates[i] for each i; return the same as `tf.assign`.

    ref: a variable of rank 1 or more. indices: ints of any shape. updates: of shape
      indices.shape + ref.shape[1:], or a scalar. The last of several updates of a row wins.

    Raises ValueError for other shapes, TypeError if `ref` is no variable. A run raises
    InvalidArgumentError for an index outside [0, ref.shape[0]), and writes nothing. All scatter
    functions do so.
    """,
    locking=True,
)
scatter_add = _scatter_function(
    "scatter_add", "Add updates[i] to ref[indices[i]], in order; see `scatter_update`."
)
scatter_sub = _scatter_function(
    "scatter_sub", "Subtract updates[i] from ref[indices[i]], in order; see `scatter_update`."
)
scatter_mul = _scatter_function(
    "scatter_mul", "Multiply ref[indices[i]] by updates[i], in order; see `scatter_update`."
)
scatter_div = _scatter_function(
    "scatter_div",
    """Divide ref[indices[i]] by updates[i] for each i, in order; integers are truncated.

    A run raises InvalidArgumentError for integers divided by zero. See also `scatter_update`.
    """,
)
scatter_min = _scatter_function(
    "scatter_min",
    "Set ref[indices[i]] = min(ref[indices[i]], updates[i]) for each i; see `scatter_update`.",
)
scatter_max = _scatter_function(
    "scatter_max",
    "Set ref[indices[i]] = max(ref[indices[i]], updates[i]) for each i; see `scatter_update`.",
)
scatter_nd_update = _scatter_function(
    "scatter_nd_update",
    """Set ref[indices[i]] = updates[i], where the last dimension of `indices` holds coordinates.

    updates: of shape indices.shape[:-1] + ref.shape[indices.shape[-1]:]. Raises ValueError for
    other shapes. A run raises InvalidArgumentError for coordinates out of bounds, and writes
    nothing.
    """,
    locking=True,
)
scatter_nd_add = _scatter_function(
    "scatter_nd_add", "Add updates[i] to ref[indices[i]]; see `scatter_nd_update`."
)
scatter_nd_sub = _scatter_function(
    "scatter_nd_sub", "Subtract updates[i] from ref[indices[i]]; see `scatter_nd_update`."
)


def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Set ref[b, indices[b, i]] = updates[b, i] for each batch entry b and each i.

    All axes of `indices` except the last are batch axes. `ref` begins with the same axes.

    Raises ValueError if `indices` is a scalar or has an unknown rank.

    Args:
      updates: a tensor of shape indices.shape + ref.shape[indices.rank:].
    """
    with op_scope(name, "batch_scatter_update", ref, indices, updates):
        last = convert_to_tensor(indices, name="indices")
        rank = last.shape.rank
        if not rank:
            raise ValueError(f"indices must be of a known rank of at least 1, but is {last.shape}")
        sizes = shape(last)
        zero = raw_ops.ZerosLike(last)
        columns = []
        for axis in range(rank - 1):
            numbers = raw_ops.Cast(raw_ops.Range(0, sizes[axis], 1), DstT=last.dtype.base_dtype)
            spread = [1] * axis + [-1] + [1] * (rank - 1 - axis)
            columns.append(raw_ops.AddV2(raw_ops.Reshape(numbers, spread), zero))
        coordinates = raw_ops.Pack([*columns, last], axis=rank)
        return scatter_nd_update(ref, coordinates, updates, use_locking)
