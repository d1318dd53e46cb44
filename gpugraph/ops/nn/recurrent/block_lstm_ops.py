"""LSTMBlockCell and BlockLSTM, which compute a step and a sequence of an LSTM, and their gradients.

i, ci, f and o are the input gate, the candidate, the forget gate and the output gate. cs is the
cell's state, co is tanh(cs), and h = o co is the output. Peepholes add w * cs to the inputs of the
gates' activations. In BlockLSTMV2, the columns of the weights are in the order i, f, ci, o, and
there is no forget_bias.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float16, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, RowSource, Signature
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank

_TYPES = {"T": (float16, float32)}
_WEIGHTS = "cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
_GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T"
_PARTS = f"{_GATES}, h: T"
_ORDERS = {"V1": (0, 1, 2, 3), "V2": (0, 2, 1, 3)}
"""The positions of i, ci, f and o among the four column blocks of the weights, by version."""


def _sigmoid(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _step(x: Any, weights: Sequence[Any], attrs: Any, order: Sequence[int]) -> list[Any]:
    """Return i, cs, f, o, ci, co and h of one step.

    Args:
      weights: cs_prev, h_prev, w, wci, wcf, wco and b.
      order: the order of the columns of the weights, see `_ORDERS`.
    """
    before, output, w, wci, wcf, wco, b = weights
    columns = np.split(np.concatenate([x, output], 1) @ w + b, 4, 1)
    i, ci, f, o = (columns[place] for place in order)
    peeps = attrs["use_peephole"]
    f = f + x.dtype.type(attrs.get("forget_bias", 0.0))
    i, f = (
        (_sigmoid(i + wci * before), _sigmoid(f + wcf * before)) if peeps else map(_sigmoid, (i, f))
    )
    ci = np.tanh(ci)
    state = ci * i + before * f
    clip = attrs["cell_clip"]
    if clip > 0:
        state = np.clip(state, x.dtype.type(-clip), x.dtype.type(clip))
    o = _sigmoid(o + state * wco if peeps else o)
    co = np.tanh(state)
    return [i, state, f, o, ci, co, o * co]


def _step_back(
    before: Any, peepholes: Sequence[Any], parts: Sequence[Any], slopes: Sequence[Any], peeps: bool
) -> tuple[Any, list[Any]]:
    """Return the gradient of the previous cell state, and a list of the gradients of i, ci, f and o
    with respect to their values before the activation.

    Args:
      before: the previous cell state.
      parts: i, cs, f, o, ci and co.
      slopes: the gradients of cs and h.
      peeps: whether there are peepholes.
    """
    i, _, f, o, ci, co = parts[:6]
    wci, wcf, wco = peepholes
    d_state, d_output = slopes
    d_o = o * (1 - o) * d_output * co
    d_state = (1 - co * co) * d_output * o + d_state
    if peeps:
        d_state = d_state + d_o * wco
    d_ci = (1 - ci * ci) * d_state * i
    d_f = f * (1 - f) * d_state * before
    d_i = i * (1 - i) * d_state * ci
    d_before = d_state * f
    if peeps:
        d_before = d_before + d_i * wci + d_f * wcf
    return d_before, [d_i, d_ci, d_f, d_o]


def _peephole_slopes(d_gates: Sequence[Any], before: Any, state: Any) -> list[Any]:
    d_i, _, d_f, d_o = d_gates
    return [np.sum(d_i * before, 0), np.sum(d_f * before, 0), np.sum(d_o * state, 0)]


# -- shapes


def _sizes(context: InferContext, first: int) -> tuple[list[int | None], int | None]:
    """Check the inputs, starting at index `first`. Return the sizes of x, and the size of the
    state.

    The last size of x is the number of input features.
    """
    x, state, output, w, *vectors = context.shapes[first : first + 8]
    whole = list(of_rank(x, 2 + first, "x"))
    states = state.merge_with(output).merge_with(TensorShape.of((whole[-2], None)))
    whole[-2], size = states.sizes or (None, None)
    four = None if size is None else 4 * size
    inner = None if size is None or whole[-1] is None else size + whole[-1]
    w.merge_with(TensorShape.of((inner, four)))
    for vector in vectors[:3]:
        vector.merge_with(TensorShape.of((size,)))
    vectors[3].merge_with(TensorShape.of((four,)))
    return whole, size


def _infer_parts(first: int) -> Callable[[InferContext], Sequence[TensorShape]]:
    def infer(context: InferContext) -> Sequence[TensorShape]:
        if first:
            of_rank(context.shapes[0], 0, "seq_len_max")
        sizes, state = _sizes(context, first)
        return [TensorShape.of((*sizes[:-1], state))] * 7

    return infer


def _infer_cell_grad(context: InferContext) -> Sequence[TensorShape]:
    sizes, state = _sizes(context, 0)
    four = None if state is None else 4 * state
    vector = TensorShape.of((state,))
    return [TensorShape.of((sizes[0], state)), TensorShape.of((sizes[0], four)), *[vector] * 3]


def _infer_sequence_grad(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "seq_len_max")
    sizes, state = _sizes(context, 1)
    four = None if state is None else 4 * state
    inner = None if state is None or sizes[2] is None else state + sizes[2]
    states, vector = TensorShape.of((sizes[1], state)), TensorShape.of((state,))
    weights = TensorShape.of((inner, four))
    return [TensorShape.of(tuple(sizes)), states, states, weights, *[vector] * 3,
            TensorShape.of((four,))]  # fmt: skip


# -- native code

_MOST_PRODUCTS = 1 << 23
"""The maximum number of multiplications in a step of the native kernels. The BLAS is faster for
larger products.
"""


def _native(function: str, first: int, order: Sequence[int] = _ORDERS["V1"]) -> RowSource:
    """Return a native kernel of host_block_lstm.h.

    Args:
      first: the index of the input x.
    """

    def parameters(signature: Signature) -> list[int]:
        *steps, batch, inputs = signature.input_shapes[first]
        size, attrs = signature.input_shapes[first + 1][1], signature.attrs
        if 4 * batch * size * (inputs + size) > _MOST_PRODUCTS:
            raise NotImplementedError("the products are large")
        numbers = np.array([attrs.get("forget_bias", 0.0), attrs.get("cell_clip", 0.0)])
        sizes = [steps[0] if steps else 1, batch, inputs, size]
        words = numbers.view(np.int64).tolist()
        return [*sizes, *order, int(attrs["use_peephole"]), *words, first]

    return RowSource("host_block_lstm.h", function, parameters, first, is_exact=False)


# -- one step


def _bind_cell(context: KernelContext, x: Any, *arrays: Any) -> Callable[[], Any]:
    weights, outputs = arrays[:7], arrays[7:]

    def run() -> None:
        parts = _step(x, weights, context.attrs, _ORDERS["V1"])
        for out, part in zip(outputs, parts, strict=True):
            np.copyto(out, part)

    return run


def _bind_cell_grad(context: KernelContext, _: Any, *arrays: Any) -> Callable[[], Any]:
    before, peepholes, parts = arrays[0], arrays[3:6], arrays[7:13]
    slopes, (d_before, d_gates, *d_peepholes) = arrays[13:15], arrays[15:]
    peeps = context.attrs["use_peephole"]

    def run() -> None:
        value, gates = _step_back(before, peepholes, parts, slopes, peeps)
        np.copyto(d_before, value)
        np.copyto(d_gates, np.concatenate(gates, 1))
        values = _peephole_slopes(gates, before, parts[1]) if peeps else [0] * 3
        for out, slope in zip(d_peepholes, values, strict=True):
            np.copyto(out, slope)

    return run


def _cell_back(op: Any, *slopes: Any) -> list[Any]:
    """Return the gradients of the inputs.

    As in TensorFlow, only the gradients of the outputs cs and h are used.
    """
    x, _, output, w = op.inputs[:4]
    d_before, d_gates, *d_peepholes = raw_ops.LSTMBlockCellGrad(
        *op.inputs, *op.outputs[:6], slopes[1], slopes[6], use_peephole=op.attrs["use_peephole"]
    )
    joined = raw_ops.MatMul(d_gates, w, transpose_b=True)
    width = raw_ops.Shape(x)[1:2]
    zero, all_rows = np.array([0, 0], np.int32), np.array([-1], np.int32)
    d_x = raw_ops.Slice(joined, zero, raw_ops.ConcatV2([all_rows, width], 0))
    start = raw_ops.ConcatV2([zero[:1], width], 0)
    d_output = raw_ops.Slice(joined, start, np.array([-1, -1], np.int32))
    d_w = raw_ops.MatMul(raw_ops.ConcatV2([x, output], 1), d_gates, transpose_a=True)
    return [d_x, d_before, d_output, d_w, *d_peepholes, raw_ops.BiasAddGrad(d_gates)]


op(
    "LSTMBlockCell",
    inputs=f"x: T, {_WEIGHTS}",
    outputs=_PARTS,
    attrs={
        "forget_bias": Attr("float", 1.0),
        "cell_clip": Attr("float", 3.0),
        "use_peephole": Attr("bool", False),
        **_TYPES,
    },
    infer=_infer_parts(0),
    **numpy_kernels(Call(make=_bind_cell)),
    native=_native("gg_block_lstm", 0),
    grad=_cell_back,
    doc="One step of an LSTM: its gates, candidate, states and output.",
)
op(
    "LSTMBlockCellGrad",
    inputs=f"x: T, {_WEIGHTS}, {_GATES}, cs_grad: T, h_grad: T",
    outputs="cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T",
    attrs={"use_peephole": Attr("bool", required=True), **_TYPES},
    infer=_infer_cell_grad,
    **numpy_kernels(Call(make=_bind_cell_grad)),
    grad=NO_GRADIENT,
    doc=(
        "The gradients of LSTMBlockCell with respect to the state, the gates (i, ci, f, o, before "
        "activation) and the peepholes."
    ),
)


# -- a sequence


def _bind_sequence(order: Sequence[int]) -> Callable[..., Callable[[], Any]]:
    def bind(context: KernelContext, length: Any, xs: Any, *arrays: Any) -> Callable[[], Any]:
        weights, outputs = arrays[:7], arrays[7:]

        def run() -> None:
            state, output = weights[:2]
            for out in outputs:
                out.fill(0)
            for time in range(min(int(length), len(xs))):
                parts = _step(xs[time], (state, output, *weights[2:]), context.attrs, order)
                for out, part in zip(outputs, parts, strict=True):
                    out[time] = part
                state, output = parts[1], parts[6]

        return run

    return bind


def _bind_sequence_grad(
    context: KernelContext, length: Any, xs: Any, *arrays: Any
) -> Callable[[], Any]:
    first_state, first_output, w, *peepholes = arrays[:6]
    parts, (d_states, d_outputs), results = arrays[7:14], arrays[14:16], arrays[16:]
    d_xs, d_state, d_output, d_w, *d_peepholes, d_b = results
    peeps, width = context.attrs["use_peephole"], xs.shape[2]

    def run() -> None:
        for result in results:
            result.fill(0)
        for time in reversed(range(min(int(length), len(xs)))):
            before = parts[1][time - 1] if time else first_state
            output = parts[6][time - 1] if time else first_output
            slopes = d_states[time] + d_state, d_outputs[time] + d_output
            step = [part[time] for part in parts]
            d_state[...], gates = _step_back(before, peepholes, step, slopes, peeps)
            columns = np.concatenate(gates, 1)
            joined = columns @ w.T
            d_xs[time], d_output[...] = joined[:, :width], joined[:, width:]
            d_w[...] += np.concatenate([xs[time], output], 1).T @ columns
            d_b[...] += columns.sum(0)
            if peeps:
                values = _peephole_slopes(gates, before, parts[1][time])
                for slope, value in zip(d_peepholes, values, strict=True):
                    slope += value

    return run


def _reordered(columns: Any, order: Sequence[int]) -> Any:
    """Return the four blocks of columns of weights or biases in the order `order`."""
    if order == _ORDERS["V1"]:
        return columns
    axis = len(columns.shape) - 1
    parts = raw_ops.Split(np.int32(axis), columns, num_split=4)
    return raw_ops.ConcatV2([parts[place] for place in order], axis)


def _sequence_back(order: Sequence[int]) -> Callable[..., list[Any]]:
    """Return the gradient function of a BlockLSTM whose columns have this order.

    As in TensorFlow, only the gradients of the outputs cs and h are used.
    """

    def gradient(op: Any, *slopes: Any) -> list[Any]:
        *first, w, wci, wcf, wco, b = op.inputs
        weights = _reordered(w, order), wci, wcf, wco, _reordered(b, order)
        peeps = op.attrs["use_peephole"]
        results = raw_ops.BlockLSTMGrad(
            *first, *weights, *op.outputs, slopes[1], slopes[6], use_peephole=peeps
        )
        *d_first, d_w, d_wci, d_wcf, d_wco, d_b = results
        d_weights = _reordered(d_w, order), d_wci, d_wcf, d_wco, _reordered(d_b, order)
        return [None, *d_first, *d_weights]

    return gradient


for _name, _order, _attrs in (
    ("BlockLSTM", _ORDERS["V1"], {"forget_bias": Attr("float", 1.0)}),
    ("BlockLSTMV2", _ORDERS["V2"], {}),
):
    op(
        _name,
        inputs=f"seq_len_max: int64, x: T, {_WEIGHTS}",
        outputs=_PARTS,
        attrs={
            **_attrs,
            "cell_clip": Attr("float", 3.0 if _attrs else 0.0),
            "use_peephole": Attr("bool", False),
            **_TYPES,
        },
        infer=_infer_parts(1),
        **numpy_kernels(Call(make=_bind_sequence(_order))),
        native=_native("gg_block_lstm", 1, _order),
        grad=_sequence_back(_order),
        doc=(
            "An LSTM over a sequence [time, batch, inputs]: gates, candidates, states and "
            "outputs of each step. After seq_len_max steps, they are zeros."
        ),
    )
op(
    "BlockLSTMGrad",
    inputs=f"seq_len_max: int64, x: T, {_WEIGHTS}, {_PARTS}, cs_grad: T, h_grad: T",
    outputs="x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, "
    "wcf_grad: T, wco_grad: T, b_grad: T",
    attrs={"use_peephole": Attr("bool", required=True), **_TYPES},
    infer=_infer_sequence_grad,
    **numpy_kernels(Call(make=_bind_sequence_grad)),
    native=_native("gg_block_lstm_back", 1),
    grad=NO_GRADIENT,
    doc="The gradients of BlockLSTM with respect to its inputs.",
)
