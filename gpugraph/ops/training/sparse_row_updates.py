"""The optimizers' updates of some rows of a variable and its slots, the others left alone.

The rows are taken out, updated as whole variables are (`training`, `adaptive_training`), and put
back. An index outside is an InvalidArgumentError before anything is written. Rows that come
several times are updated several times, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import FLOATING
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, Decomposition, KernelContext, Launch, Signature, Source
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.c_statements import statements
from gpugraph.ops.framework.cuda_grids import Arguments
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.row_update_launches import columns_and_rows, sort_changes
from gpugraph.ops.framework.shape_functions import SCALAR, of_rank
from gpugraph.ops.indexing.gather import check_inside
from gpugraph.ops.training.dense_updates import UPDATES, Update
from gpugraph.ops.training.ftrl_and_proximal_updates import apply_ftrl

assert apply_ftrl  # its module declares what UPDATES has


def _infer(refs: int, grad: int, indices: int) -> Callable[[InferContext], Sequence[TensorShape]]:
    """The first `refs` inputs have one shape; the gradient has a row for each index."""

    def infer(context: InferContext) -> Sequence[TensorShape]:
        whole = context.shapes[0]
        for shape in context.shapes[1:refs]:
            whole = whole.merge_with(shape)
        if whole.rank == 0:
            raise ValueError("var must be of rank at least 1 but is a scalar")
        rows = TensorShape.of(of_rank(context.shapes[indices], 1, "indices"))
        if whole.sizes is not None:
            wanted = rows.concatenate(whole[1:])
            if not context.shapes[grad].is_compatible_with(wanted):
                raise ValueError(
                    f"grad must be of shape indices.shape + var.shape[1:], {wanted}, but is of "
                    f"shape {context.shapes[grad]}"
                )
        for index in range(refs, len(context.shapes)):
            if index not in (grad, indices) and not context.shapes[index].is_compatible_with(
                SCALAR
            ):
                raise ValueError(
                    f"Input {index} must be a scalar but is of shape {context.shapes[index]}"
                )
        return [whole]

    return infer


class _Rows:
    """One update, bound to its arrays."""

    def __init__(
        self,
        update: tuple[Update, int],
        places: tuple[int, int, int],
        context: KernelContext,
        inputs: Sequence[Any],
    ) -> None:
        refs, grad, at = places
        count, width = inputs[0].shape[0], prod(inputs[0].shape[1:])
        self.targets = [each.reshape(count, width) for each in inputs[:refs]]
        self.indices = inputs[at]
        self.grad = inputs[grad].reshape(self.indices.size, width)
        self.scalars = [
            inputs[index] for index in range(refs, len(inputs)) if index not in (grad, at)
        ]
        function, self.temporaries = update
        self.update = partial(function, dict(context.attrs))
        dtype = context.input_types[0].base_dtype
        self.copies = [context.scratch(self.grad.shape, dtype) for _ in self.targets]
        self.room = [context.scratch(self.grad.shape, dtype) for _ in range(self.temporaries)]

    def __call__(self) -> None:
        indices, count = self.indices, self.targets[0].shape[0]
        check_inside(indices, count)
        scalars = [scalar[()] for scalar in self.scalars]
        if np.unique(indices).size == indices.size:
            for target, copy in zip(self.targets, self.copies):
                np.take(target, indices, 0, copy, "clip")
            self.update(scalars, self.room, *self.copies, self.grad)
            for target, copy in zip(self.targets, self.copies):
                target[indices] = copy
            return
        for places in _turns(indices):
            rows, grad = indices[places], self.grad[places]
            copies = [target[rows] for target in self.targets]
            room = [np.empty_like(grad) for _ in range(self.temporaries)]
            self.update(scalars, room, *copies, grad)
            for target, copy in zip(self.targets, copies):
                target[rows] = copy


def _turns(indices: Any) -> Iterator[Any]:
    """Where each row comes for the first time, then for the second, and so on."""
    order = np.argsort(indices, kind="stable")
    numbers = np.arange(order.size)
    first = np.r_[True, np.diff(indices[order]) != 0]
    turn = np.empty_like(numbers)
    turn[order] = numbers - np.maximum.accumulate(np.where(first, numbers, 0))
    for number in range(int(turn.max()) + 1):
        yield np.flatnonzero(turn == number)


def _launch(name: str, places: tuple[int, int, int], signature: Signature) -> list[Launch]:
    """The update of `Apply<name>`, as C statements, of each row."""
    refs, grad, at = places
    dtype = signature.input_types[0].base_dtype
    count, shape = signature.input_shapes[at][0], signature.input_shapes[0]
    width = prod(shape[1:])
    order, changes = sort_changes(Arg(at), signature.input_types[at], count, width, shape[:1])
    scalars = [i for i in range(refs, len(signature.input_shapes)) if i not in (grad, at)]
    names = {index: f"v{index}" for index in range(refs)}
    names[grad] = "g"
    for number, index in enumerate(scalars):
        type = signature.input_types[index].base_dtype
        load = f"ELEMENT_LOAD(*(const ELEMENT *)s{number})"
        names[index] = load if type is dtype else f"(*(const int64_t *)s{number})"
    native = DECLARATIONS[f"Apply{name}"].native
    assert isinstance(native, Decomposition)
    given = [(names[i], signature.input_types[i].base_dtype) for i in sorted(names)]
    text = statements(native, signature, given, [names[i] for i in range(refs)])
    grid, block = columns_and_rows(count, width)
    variables = [Arg(min(index, refs - 1)) for index in range(4)]
    more = [Arg(index) for index in scalars] + [Arg(0)] * (5 - len(scalars))
    arguments: Arguments = (
        *variables,
        Arg(grad),
        *more,
        *changes.sorted,
        count,
        width,
        changes.rows,
    )
    defines: dict[str, str | int] = {"VARIABLES": refs, "UPDATE": text}
    return [*order, Launch("gg_update", grid, block, arguments, {"ELEMENT": dtype}, defines)]


def sparse_update(name: str, inputs: str, refs: int, doc: str, **attrs: Any) -> OpFunction:
    """Declares the op type `SparseApply<name>`, of which the first `refs` inputs are changed."""
    names = [each.partition(":")[0].strip() for each in inputs.split(",")]
    places = refs, names.index("grad"), names.index("indices")

    def bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        return _Rows(UPDATES[name], places, context, arrays[:-1])

    return op(
        f"SparseApply{name}",
        inputs=inputs,
        outputs="out: Ref(T)",
        attrs={"T": FLOATING, "Tindices": INDEX, "use_locking": Attr("bool", False), **attrs},
        infer=_infer(*places),
        view={0: 0},
        writes=range(refs),
        cpu=Call(make=bind),
        gpu=Source("sparse_optimizer_update.cu", partial(_launch, name, places), Call(make=bind)),
        grad=NO_GRADIENT,
        stateful=True,
        doc=f"{doc}, of the rows at `indices`, by the rows of grad.",
    )


_ONE, _TWO = "var: Ref(T), accum: Ref(T), ", "var: Ref(T), accum: Ref(T), linear: Ref(T), "

sparse_update(
    "Momentum",
    _ONE + "lr: T, grad: T, indices: Tindices, momentum: T",
    2,
    "ApplyMomentum",
    use_nesterov=Attr("bool", False),
)
sparse_update(
    "Adagrad",
    _ONE + "lr: T, grad: T, indices: Tindices",
    2,
    "ApplyAdagrad",
    update_slots=Attr("bool", True),
)
sparse_update(
    "Adadelta",
    _ONE + "accum_update: Ref(T), lr: T, rho: T, epsilon: T, grad: T, indices: Tindices",
    3,
    "ApplyAdadelta",
)
sparse_update(
    "AdagradDA",
    "var: Ref(T), gradient_accumulator: Ref(T), gradient_squared_accumulator: Ref(T), grad: T, "
    "indices: Tindices, lr: T, l1: T, l2: T, global_step: int64",
    3,
    "ApplyAdagradDA",
)
sparse_update(
    "RMSProp",
    "var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T, "
    "indices: Tindices",
    3,
    "ApplyRMSProp",
)
sparse_update(
    "CenteredRMSProp",
    "var: Ref(T), mg: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, "
    "grad: T, indices: Tindices",
    4,
    "ApplyCenteredRMSProp",
)
sparse_update(
    "Ftrl", _TWO + "grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T", 3, "ApplyFtrl"
)
sparse_update(
    "FtrlV2",
    _TWO + "grad: T, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T",
    3,
    "ApplyFtrlV2",
)
sparse_update(
    "ProximalGradientDescent",
    "var: Ref(T), alpha: T, l1: T, l2: T, grad: T, indices: Tindices",
    1,
    "ApplyProximalGradientDescent",
)
sparse_update(
    "ProximalAdagrad",
    _ONE + "lr: T, l1: T, l2: T, grad: T, indices: Tindices",
    2,
    "ApplyProximalAdagrad",
)
