"""GRUBlockCell, which computes one step of a gated recurrent unit, and its gradient.

r, u = sigmoid([x, h_prev] w_ru + b_ru), c = tanh([x, r h_prev] w_c + b_c), h = u h_prev + (1 - u) c
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank

_TYPES = {"T": (float32,)}
_INPUTS = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"


def _check(context: InferContext) -> tuple[int | None, int | None, int | None]:
    """Return the batch size, the size of the input and the size of the state.

    Raises ValueError if the shapes of weights or biases do not match these sizes.
    """
    x, state = (of_rank(context.shapes[index], 2, name) for index, name in enumerate(("x", "h")))
    batch = TensorShape.of((x[0],)).merge_with(TensorShape.of((state[0],))).sizes
    assert batch is not None
    inner = None if x[1] is None or state[1] is None else x[1] + state[1]
    double = None if state[1] is None else 2 * state[1]
    wanted = ((inner, double), (inner, state[1]), (double,), (state[1],))
    for shape, sizes in zip(context.shapes[2:6], wanted, strict=True):
        shape.merge_with(TensorShape.of(sizes))
    return batch[0], x[1], state[1]


def _infer_cell(context: InferContext) -> Sequence[TensorShape]:
    batch, _, size = _check(context)
    return [TensorShape.of((batch, size))] * 4


def _infer_grad(context: InferContext) -> Sequence[TensorShape]:
    batch, width, size = _check(context)
    state = TensorShape.of((batch, size))
    for shape in context.shapes[6:]:
        state = state.merge_with(shape)
    double = None if size is None else 2 * size
    return [TensorShape.of((batch, width)), state, state, TensorShape.of((batch, double))]


def _sigmoid(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _cell(*arrays: Any) -> None:
    x, before, w_ru, w_c, b_ru, b_c, *outputs = arrays
    gates = _sigmoid(np.concatenate([x, before], 1) @ w_ru + b_ru)
    reset, update = np.split(gates, 2, 1)
    candidate = np.tanh(np.concatenate([x, before * reset], 1) @ w_c + b_c)
    state = update * before + (1 - update) * candidate
    for out, value in zip(outputs, (reset, update, candidate, state), strict=True):
        np.copyto(out, value)


def _cell_grad(*arrays: Any) -> None:
    x, before, w_ru, w_c, _, _, reset, update, candidate, slope, *outputs = arrays
    width = x.shape[1]
    d_c_bar = slope * (1 - update) * (1 - candidate * candidate)
    d_u_bar = slope * (before - candidate) * update * (1 - update)
    by_candidate = d_c_bar @ w_c.T
    d_reset = by_candidate[:, width:]
    d_r_bar = d_reset * before * reset * (1 - reset)
    d_gates = np.concatenate([d_r_bar, d_u_bar], 1)
    by_gates = d_gates @ w_ru.T
    d_x = by_gates[:, :width] + by_candidate[:, :width]
    d_before = d_reset * reset + slope * update + by_gates[:, width:]
    for out, value in zip(outputs, (d_x, d_before, d_c_bar, d_gates), strict=True):
        np.copyto(out, value)


def _back(op: Any, *slopes: Any) -> list[Any]:
    """Return the gradients of the inputs.

    As in TensorFlow, only the gradient of the new state h is used. The gradients of r, u and c are
    ignored.
    """
    x, before, w_ru, w_c, b_ru, b_c = op.inputs
    reset, update, candidate, _ = op.outputs
    d_x, d_before, d_c_bar, d_gates = raw_ops.GRUBlockCellGrad(
        x, before, w_ru, w_c, b_ru, b_c, reset, update, candidate, slopes[3]
    )
    joined = raw_ops.ConcatV2([x, before], 1)
    joined_reset = raw_ops.ConcatV2([x, raw_ops.Mul(before, reset)], 1)
    return [
        d_x,
        d_before,
        raw_ops.MatMul(joined, d_gates, transpose_a=True),
        raw_ops.MatMul(joined_reset, d_c_bar, transpose_a=True),
        raw_ops.BiasAddGrad(d_gates),
        raw_ops.BiasAddGrad(d_c_bar),
    ]


for _name, _given, _outputs, _declared, _doc in (
    (
        "GRUBlockCell", _INPUTS, "r: T, u: T, c: T, h: T",
        {"infer": _infer_cell, "grad": _back, **numpy_kernels(Call(_cell))},
        "One step of a gated recurrent unit: reset and update gates, the candidate, the state.",
    ),
    (
        "GRUBlockCellGrad", f"{_INPUTS}, r: T, u: T, c: T, d_h: T",
        "d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
        {"infer": _infer_grad, "grad": NO_GRADIENT, **numpy_kernels(Call(_cell_grad))},
        "The gradients of GRUBlockCell's inputs and of its gates before activation.",
    ),
):  # fmt: skip
    op(_name, inputs=_given, outputs=_outputs, attrs=_TYPES, doc=_doc, **_declared)
