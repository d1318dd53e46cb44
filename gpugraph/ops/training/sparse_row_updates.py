"""The ops with which optimizers update some rows of a variable and its slots. All other rows keep
their values.

The rows are copied to temporaries, updated by the formulas of `dense_updates`, and copied back. If
an index is out of range, InvalidArgumentError is raised before anything is written. A row whose
index is repeated is updated once for each occurrence, in the order of the occurrences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import value_error
from gpugraph.base.shapes import TensorShape, difference_text, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import (
    Arg,
    Call,
    Decomposition,
    KernelContext,
    Launch,
    OpMemory,
    RowSource,
    Signature,
    Source,
)
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.c_statements import statements
from gpugraph.ops.framework.cuda_grids import Arguments
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.row_update_launches import columns_and_rows, sort_changes
from gpugraph.ops.framework.shape_functions import SCALAR, of_rank
from gpugraph.ops.indexing.row_sources import places
from gpugraph.ops.training.dense_updates import UPDATES
from gpugraph.ops.training.ftrl_and_proximal_updates import apply_ftrl
from gpugraph.ops.training.numpy_programs import NumpyUpdate

_MAX_VARIABLES = 4
"""The maximum number of variable and slots together in the native code, host_row_updates.h."""

assert apply_ftrl  # imported because its module fills UPDATES


def _infer(refs: int, grad: int, indices: int) -> Callable[[InferContext], Sequence[TensorShape]]:
    """Return the shape inference function of an update of rows.

    Args:
      refs: the number of leading inputs that are the variable and its slots, which have the same
        shape.
      grad, indices: the indices of the inputs that hold the gradient's rows and the rows' indices.
    """

    def infer(context: InferContext) -> Sequence[TensorShape]:
        whole = context.shapes[0]
        for shape in context.shapes[1:refs]:
            whole = whole.merge_with(shape)
        if whole.rank == 0:
            raise ValueError("Shape must be at least rank 1 but is rank 0: var")
        rows = TensorShape.of(of_rank(context.shapes[indices], 1, "indices"))
        if whole.sizes is not None:
            wanted = rows.concatenate(whole[1:])
            if not context.shapes[grad].is_compatible_with(wanted):
                raise value_error(
                    "grad must be of shape indices.shape + var.shape[1:], "
                    f"{shape_text(wanted)}, but is of "
                    f"shape {shape_text(context.shapes[grad])}",
                    _words_of_rows(whole, rows, context.shapes[grad]),
                )
        for index in range(refs, len(context.shapes)):
            if index not in (grad, indices) and not context.shapes[index].is_compatible_with(
                SCALAR
            ):
                raise value_error(
                    f"Input {index} must be a scalar but is of shape "
                    f"{shape_text(context.shapes[index])}",
                    f"Shape must be rank 0 but is rank {context.shapes[index].rank}",
                )
        return [whole]

    return infer


def _words_of_rows(whole: TensorShape, rows: TensorShape, grad: TensorShape) -> str:
    """Return TensorFlow's message at graph construction for a gradient with a wrong shape."""
    if not grad.sizes:
        return "Shape must be at least rank 1 but is rank 0"
    count, expected = grad.sizes[0], rows[0]
    if None not in (count, expected) and count != expected:
        return f"Dimensions must be equal, but are {expected} and {count}"
    unknown = TensorShape.of((None,))
    return difference_text(whole, unknown.concatenate(grad[1:]))


class _Rows:
    """The kernel of one update of rows, bound to its arrays."""

    def __init__(
        self,
        update: NumpyUpdate,
        slots: tuple[int, int, int],
        context: KernelContext,
        inputs: Sequence[Any],
    ) -> None:
        refs, grad, indices = slots
        count, width = inputs[0].shape[0], prod(inputs[0].shape[1:])
        self.targets = [array.reshape(count, width) for array in inputs[:refs]]
        self.indices = inputs[indices]
        self.grad = inputs[grad].reshape(self.indices.size, width)
        self.scalars = [inputs[index] for index in _scalar_inputs(slots, len(inputs))]
        self.update = update
        dtype = context.input_types[0].base_dtype
        self.copies, self.temporaries = (
            [context.scratch(self.grad.shape, dtype) for _ in range(number)]
            for number in (refs, update.num_temporaries)
        )

    def __call__(self) -> None:
        indices, count = self.indices, self.targets[0].shape[0]
        outside = np.flatnonzero((indices < 0) | (indices >= count))
        for offset in outside[:1].tolist():
            raise invalid_argument(
                f"Index {indices[offset]} at offset {offset} in indices is out of range"
            )
        scalars = [scalar[()] for scalar in self.scalars]
        if np.unique(indices).size == indices.size:
            for target, copy in zip(self.targets, self.copies):
                np.take(target, indices, 0, copy, "clip")
            self.update(scalars, [[*self.copies, self.grad, *self.temporaries]])
            for target, copy in zip(self.targets, self.copies):
                target[indices] = copy
            return
        for positions in _unique_groups(indices):
            rows, grad = indices[positions], self.grad[positions]
            copies = [target[rows] for target in self.targets]
            temporaries = [np.empty_like(grad) for _ in self.temporaries]
            self.update(scalars, [[*copies, grad, *temporaries]])
            for target, copy in zip(self.targets, copies):
                target[rows] = copy


def _scalar_inputs(slots: tuple[int, int, int], count: int) -> list[int]:
    refs, *arrays = slots
    return [index for index in range(refs, count) if index not in arrays]


def _unique_groups(indices: Any) -> Iterator[Any]:
    """Yield arrays of positions in `indices`. The first array has the position of the first
    occurrence of each index, the second array of the second occurrence, and so on.
    """
    order = np.argsort(indices, kind="stable")
    numbers = np.arange(order.size)
    is_first = np.r_[True, np.diff(indices[order]) != 0]
    repetition = np.empty_like(numbers)
    repetition[order] = numbers - np.maximum.accumulate(np.where(is_first, numbers, 0))
    for number in range(int(repetition.max()) + 1):
        yield np.flatnonzero(repetition == number)


def _launch(name: str, slots: tuple[int, int, int], signature: Signature) -> list[Launch]:
    """Return the launches that apply the C statements of the update `Apply<name>` to each row.

    Args:
      slots: the arguments `refs`, `grad` and `indices` of `_infer`.
    """
    refs, grad, indices = slots
    dtype = signature.input_types[0].base_dtype
    count, shape = signature.input_shapes[indices][0], signature.input_shapes[0]
    width = prod(shape[1:])
    order, changes = sort_changes(
        Arg(indices), signature.input_types[indices], count, width, shape[:1]
    )
    scalars = _scalar_inputs(slots, len(signature.input_shapes))
    names = {index: f"v{index}" for index in range(refs)}
    names[grad] = "g"
    for number, index in enumerate(scalars):
        is_element = signature.input_types[index].base_dtype is dtype
        load = f"ELEMENT_LOAD(*(const ELEMENT *)s{number})"
        names[index] = load if is_element else f"(*(const int64_t *)s{number})"
    update = _update_statements(name, signature, names, refs)
    grid, block = columns_and_rows(count, width)
    variables = [Arg(min(index, refs - 1)) for index in range(4)]
    padded = [Arg(index) for index in scalars] + [Arg(0)] * (5 - len(scalars))
    arguments: Arguments = (
        *variables, Arg(grad), *padded, *changes.sorted, count, width, changes.rows,
    )  # fmt: skip
    defines: dict[str, str | int] = {"VARIABLES": refs, "UPDATE": update}
    return [*order, Launch("gg_update", grid, block, arguments, {"ELEMENT": dtype}, defines)]


def _native(name: str, slots: tuple[int, int, int]) -> RowSource:
    """Return the native kernel that updates rows.

    Args:
      slots: the arguments `refs`, `grad` and `indices` of `_infer`.
    """
    refs, grad, indices = slots

    def parameters(signature: Signature) -> list[int]:
        shape, count = signature.input_shapes[0], signature.input_shapes[indices][0]
        if refs > _MAX_VARIABLES:
            raise NotImplementedError(f"{refs} arrays exceed the maximum of {_MAX_VARIABLES}")
        described = places(count, signature.input_types[indices], shape[:1])
        return [*described, prod(shape[1:]), grad, indices, len(signature.input_shapes)]

    def macros(signature: Signature) -> dict[str, str]:
        dtype, types = signature.input_types[0].base_dtype, signature.input_types
        scalars = _scalar_inputs(slots, len(types))
        names = {index: f"s{index}" for index in scalars}
        names |= {index: f"v{index}" for index in range(refs)} | {grad: "g"}
        kinds = {i: "gg_real" if types[i].base_dtype is dtype else "int64_t" for i in scalars}
        numbers = " ".join(f"X({names[i]}, {kind}, {i})" for i, kind in kinds.items())
        return {
            "GG_VARIABLES": str(refs),
            "GG_SCALARS(X)": numbers,
            "GG_UPDATE": _update_statements(name, signature, names, refs),
        }

    return RowSource("host_row_updates.h", "gg_update_rows", parameters, macros=macros)


def _update_statements(name: str, signature: Signature, names: Mapping[int, str], refs: int) -> str:
    """Return C statements that update one element.

    Args:
      names: a dict from the indices of inputs to C expressions for them.
    """
    native = DECLARATIONS[f"Apply{name}"].native
    assert isinstance(native, Decomposition)
    inputs = [(names[index], signature.input_types[index].base_dtype) for index in sorted(names)]
    return statements(native, signature, inputs, [names[index] for index in range(refs)])


def sparse_update(name: str, inputs: str) -> OpFunction:
    """Declare the op type `SparseApply<name>`, with the formula and the bool attrs of
    `Apply<name>`.
    """
    dense = DECLARATIONS[f"Apply{name}"].op_def
    names = [part.partition(":")[0].strip() for part in inputs.split(",")]
    slots = inputs.count("Ref("), names.index("grad"), names.index("indices")

    def bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        return _Rows(UPDATES[name].numpy_update(context), slots, context, arrays[:-1])

    flags = {
        key: Attr("bool", attr.default) for key, attr in dense.attrs.items() if attr.kind == "bool"
    }
    return op(
        f"SparseApply{name}",
        inputs=inputs,
        outputs="out: Ref(T)",
        attrs={"T": FLOATING, "Tindices": INDEX, **flags},
        infer=_infer(*slots),
        memory=OpMemory(view={0: 0}, writes=range(slots[0])),
        cpu=Call(make=bind),
        gpu=Source("sparse_optimizer_update.cu", partial(_launch, name, slots), Call(make=bind)),
        native=_native(name, slots),
        grad=NO_GRADIENT,
        stateful=True,
        doc=f"The update of Apply{name} for the rows at `indices`, with the rows of grad.",
    )


_ACCUM = "var: Ref(T), accum: Ref(T), "

for _name, _inputs in {
    "Momentum": _ACCUM + "lr: T, grad: T, indices: Tindices, momentum: T",
    "Adagrad": _ACCUM + "lr: T, grad: T, indices: Tindices",
    "Adadelta": _ACCUM
    + "accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T, indices: Tindices",
    "AdagradDA": "var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), "
    "grad: T, indices: Tindices, lr: T, l1: T, l2: T, global_step: int64",
    "RMSProp": "var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T, indices: Tindices",
    "CenteredRMSProp": "var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, "
    "momentum: T, epsilon: T, grad: T, indices: Tindices",
    "Ftrl": _ACCUM + "linear: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T",
    "FtrlV2": _ACCUM + "linear: Ref(T), grad: T, indices: Tindices, lr: T, l1: T, l2: T, "
    "l2_shrinkage: T, lr_power: T",
    "ProximalGradientDescent": "var: Ref(T), alpha: T, l1: T, l2: T, grad: T, indices: Tindices",
    "ProximalAdagrad": _ACCUM + "lr: T, l1: T, l2: T, grad: T, indices: Tindices",
}.items():
    sparse_update(_name, _inputs)
