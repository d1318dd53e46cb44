"""Assignment to a slice of a variable: `variable[1:3].assign(value)`.

The slice is an ordinary tensor with a method `assign`, which changes the corresponding part of the
variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_library import OPERATORS
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import do_nothing, ints, numpy_kernels
from gpugraph.ops.framework.op_declaration import Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.indexing.slice_spec import MASKS, numpy_index
from gpugraph.ops.state.change_by_handle import change_variable, changes_reference


def _infer(context: InferContext) -> Sequence[TensorShape]:
    for shape in context.shapes[1:4]:
        of_rank(shape, 1, "begin, end and strides")
    return [context.shapes[0]]


def _bind(context: KernelContext, ref: Any, *others: Any) -> Callable[[], Any]:
    """Check that the value can be broadcast to the slice. Return the callable that assigns the
    value.

    If the slice has no elements, values of any shape are accepted.
    """
    value = others[-2]
    begin, end, strides = (ints(context.value(index)) for index in (1, 2, 3))
    target = ref[numpy_index(context.attrs, ref.shape, begin, end, strides)]
    if not target.size:
        return do_nothing
    extra = max(0, value.ndim - target.ndim)
    if set(value.shape[:extra]) - {1} or not _fits(value.shape[extra:], target.shape):
        raise invalid_argument(
            f"Cannot broadcast input shape {shape_text(value.shape)} into final shape "
            f"{shape_text(target.shape)}"
        )
    return partial(np.copyto, target, value.reshape(value.shape[extra:]))


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether an array of `shape` can be broadcast to `wanted`. The rank of `wanted` must
    not be smaller.
    """
    last = wanted[len(wanted) - len(shape) :]
    return all(size in (1, other) for size, other in zip(shape, last, strict=True))


op(
    "StridedSliceAssign",
    inputs="ref: Ref(T), begin: Index, end: Index, strides: Index, value: T",
    attrs={"T": ALL, "Index": INDEX, **{key: Attr("int", 0) for key in MASKS}},
    infer=_infer,
    **numpy_kernels(Call(make=_bind)),
    doc=(
        "Sets ref[begin:end:strides] = value, with the masks of StridedSlice. The value is "
        "broadcast to the slice. The output is the reference."
    ),
    **changes_reference(host_inputs=[1, 2, 3]),
)


def sliced_variable(variable: Any, key: Any) -> Any:
    """Return `variable[key]`, a tensor. Unless `key` is a mask, the tensor has a method `assign`.

    `assign(value, name=None)` assigns `value` to this part of the variable, and has the same result
    as `tf.assign`. The method broadcasts `value`, which may have additional leading axes of size 1.
    It raises TypeError if the dtype is not the variable's dtype. A run raises InvalidArgumentError
    if the value can't be broadcast.
    """
    part: Tensor = OPERATORS["__getitem__"](variable.value(), key)
    if part.op.type != "StridedSlice":
        return part
    _, begin, end, strides = part.op.inputs
    masks = {key: part.op.attrs[key] for key in MASKS}

    def assign(value: Any, name: str | None = None) -> Any:
        label = f"{part.op.name}/_assign" if name is None else name
        return change_variable(
            "StridedSliceAssign", variable, begin, end, strides, value, name=label, **masks
        )

    part.assign = assign  # type: ignore[attr-defined]
    return part
