"""Samples of cells of recurrent networks, of pooling by windows of random sizes, of padded images.

Their references follow the elements one by one, where the kernels take arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import dtypes

from .sampling import add, case, i32, i64

__all__ = ["GATED"]

GATED = {"GRUBlockCell", "LSTMBlockCell", "BlockLSTM", "BlockLSTMV2"}
"""Cells and sequences, of which only some outputs have gradients."""


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _weights(v: Any, batch: int, width: int, size: int) -> list[Any]:
    """cs_prev, h_prev, w, wci, wcf, wco and b."""
    shapes = [(batch, size)] * 2 + [(width + size, 4 * size)] + [(size,)] * 3 + [(4 * size,)]
    return [v(*shape) / 4 for shape in shapes]


def _lstm(x: Any, state: Any, output: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any,
          forget_bias: float = 1.0, cell_clip: float = 3.0, use_peephole: bool = False,
          order: str = "icfo") -> Any:  # fmt: skip
    size, peep = len(wci), float(use_peephole)
    rows = np.hstack([x, output]) @ w + b
    gate = {part: rows[:, n * size : (n + 1) * size] for n, part in enumerate(order)}
    i = _sigmoid(gate["i"] + peep * wci * state)
    f = _sigmoid(gate["f"] + forget_bias + peep * wcf * state)
    ci = np.tanh(gate["c"])
    cs = i * ci + f * state
    if cell_clip > 0:
        cs = np.minimum(np.maximum(cs, -cell_clip), cell_clip)
    o = _sigmoid(gate["o"] + peep * wco * cs)
    return i, cs, f, o, ci, np.tanh(cs), o * np.tanh(cs)


def _sequence(length: Any, xs: Any, state: Any, output: Any, *weights: Any, **attrs: Any) -> Any:
    steps = []
    for x in xs[: int(length)]:
        steps.append(_lstm(x, state, output, *weights, **attrs))
        state, output = steps[-1][1], steps[-1][6]
    shape = (len(xs) - len(steps), *np.shape(state))
    done = (len(steps), *np.shape(state))
    return tuple(
        np.concatenate([np.array([step[n] for step in steps]).reshape(done),
                        np.zeros(shape)]) for n in range(7)
    )  # fmt: skip


def _without_forget_bias(*inputs: Any, **attrs: Any) -> Any:
    return _sequence(*inputs, forget_bias=0.0, order="ifco", **{"cell_clip": 0.0, **attrs})


add(
    "LSTMBlockCell",
    lambda v: case(v(2, 3), *_weights(v, 2, 3, 4), use_peephole=True),
    lambda v: case(v(2, 3), *_weights(v, 2, 3, 2), cell_clip=0.0),
    lambda v: case(v(0, 3), *_weights(v, 0, 3, 2)),
    reference=_lstm,
    tolerance=8,
)
for _name, _reference in (("BlockLSTM", _sequence), ("BlockLSTMV2", _without_forget_bias)):
    add(
        _name,
        lambda v: case(np.int64(3), v(3, 2, 3), *_weights(v, 2, 3, 4), use_peephole=True),
        lambda v: case(np.int64(2), v(3, 2, 3), *_weights(v, 2, 3, 2), cell_clip=0.0),
        lambda v: case(np.int64(1), v(1, 0, 3), *_weights(v, 0, 3, 2)),
        reference=_reference,
        types=[dtypes.float32, dtypes.float16],
        tolerance=16,
    )


def _back(cell: Any, inputs: Any, slopes: dict[int, Any]) -> list[Any]:
    """Return the gradients of the inputs by differences of the sum of slopes times outputs."""

    def total(arrays: Any) -> Any:
        results = cell(*arrays)
        return sum(np.sum(results[n] * slope) for n, slope in slopes.items())

    wide = [np.asarray(array, np.float64) for array in inputs]
    result = []
    for index, array in enumerate(wide):
        slope = np.zeros_like(array)
        for place in np.ndindex(*array.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = array.copy()
                moved[place] += step
                ends.append(total([*wide[:index], moved, *wide[index + 1 :]]))
            slope[place] = (ends[0] - ends[1]) / 2e-5
        result.append(slope)
    return result


def _sequence_back(length: Any, xs: Any, *arrays: Any, use_peephole: bool) -> Any:
    inputs, slopes = [xs, *arrays[:7]], {1: arrays[14], 6: arrays[15]}
    cut = {n: np.where(np.arange(len(xs))[:, None, None] < length, s, 0)
           for n, s in slopes.items()}  # fmt: skip

    def cell(*inputs: Any) -> Any:
        return _sequence(length, *inputs, use_peephole=use_peephole, cell_clip=0.0)

    return tuple(_back(cell, inputs, cut))


def _lstm_back(x: Any, *arrays: Any, use_peephole: bool) -> Any:
    def cell(*inputs: Any) -> Any:
        return _lstm(*inputs, use_peephole=use_peephole, cell_clip=0.0)

    slopes = _back(cell, [x, *arrays[:7]], {1: arrays[13], 6: arrays[14]})
    size = arrays[0].shape[1]
    rows = np.repeat(arrays[6][None], len(x), 0)

    def by_gates(b: Any) -> Any:
        return cell(x, *arrays[:6], b)

    gates = _back(by_gates, [rows], {1: arrays[13], 6: arrays[14]})[0]
    return slopes[1], gates.reshape(len(x), 4 * size), *slopes[4:7]


def _lstm_parts(v: Any, peeps: bool, batch: int) -> Any:
    x, *weights = v(batch, 3), *_weights(v, batch, 3, 2)
    parts = [part.astype(x.dtype) for part in
             _lstm(x, *weights, use_peephole=peeps, cell_clip=0.0)]  # fmt: skip
    return case(x, *weights, *parts[:6], v(batch, 2), v(batch, 2), use_peephole=peeps)


def _sequence_parts(v: Any, peeps: bool, batch: int) -> Any:
    length, xs, weights = np.int64(2), v(3, batch, 3), _weights(v, batch, 3, 2)
    parts = _sequence(length, xs, *weights, use_peephole=peeps, cell_clip=0.0)
    typed = [part.astype(xs.dtype) for part in parts]
    slopes = v(3, batch, 2), v(3, batch, 2)
    return case(length, xs, *weights, *typed, *slopes, use_peephole=peeps)


add(
    "LSTMBlockCellGrad",
    lambda v: _lstm_parts(v, True, 2),
    lambda v: _lstm_parts(v, False, 1),
    lambda v: _lstm_parts(v, False, 0),
    reference=_lstm_back,
    tolerance=16,
)
add(
    "BlockLSTMGrad",
    lambda v: _sequence_parts(v, True, 2),
    lambda v: _sequence_parts(v, False, 1),
    lambda v: _sequence_parts(v, False, 0),
    reference=_sequence_back,
    types=[dtypes.float32, dtypes.float16],
    tolerance=32,
)


def _gru(x: Any, state: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> Any:
    size = len(b_c)
    rows = np.hstack([x, state]) @ w_ru + b_ru
    r, u = _sigmoid(rows[:, :size]), _sigmoid(rows[:, size:])
    c = np.tanh(np.hstack([x, state * r]) @ w_c + b_c)
    return r, u, c, u * state + (1 - u) * c


def _gru_inputs(v: Any, batch: int) -> list[Any]:
    shapes = (batch, 3), (batch, 2), (5, 4), (5, 2), (4,), (2,)
    return [v(*shape) / 2 for shape in shapes]


def _gru_back(*arrays: Any) -> Any:
    x, state, w_ru, w_c, b_ru, b_c = arrays[:6]
    slope = arrays[9]
    slopes = _back(_gru, arrays[:6], {3: slope})
    rows = np.repeat(b_ru[None], len(x), 0), np.repeat(b_c[None], len(x), 0)

    def by_gates(b_ru: Any, b_c: Any) -> Any:
        return _gru_of_rows(x, state, w_ru, w_c, b_ru, b_c)

    gates, candidate = _back(by_gates, rows, {3: slope})
    return slopes[0], slopes[1], candidate, gates


def _gru_of_rows(x: Any, state: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> Any:
    """As `_gru`, with biases for each row."""
    size = b_c.shape[1]
    rows = np.hstack([x, state]) @ w_ru + b_ru
    r, u = _sigmoid(rows[:, :size]), _sigmoid(rows[:, size:])
    c = np.tanh(np.hstack([x, state * r]) @ w_c + b_c)
    return r, u, c, u * state + (1 - u) * c


def _gru_parts(v: Any, batch: int) -> Any:
    inputs = _gru_inputs(v, batch)
    parts = [part.astype(inputs[0].dtype) for part in _gru(*inputs)]
    return case(*inputs, *parts[:3], v(batch, 2))


add(
    "GRUBlockCell",
    lambda v: case(*_gru_inputs(v, 2)),
    lambda v: case(*_gru_inputs(v, 1)),
    lambda v: case(*_gru_inputs(v, 0)),
    reference=_gru,
    tolerance=8,
)
add(
    "GRUBlockCellGrad",
    lambda v: _gru_parts(v, 2),
    lambda v: _gru_parts(v, 1),
    lambda v: _gru_parts(v, 0),
    reference=_gru_back,
    tolerance=16,
)


# -- pooling with explicit windows

_ROWS, _COLUMNS = i64(0, 2, 3, 5), i64(0, 1, 3)


def _given_windows(rows: Any, columns: Any, overlapping: bool) -> Any:
    """Yield ((i, j), rows, columns) of each window."""
    for i, j in np.ndindex(len(rows) - 1, len(columns) - 1):
        down = range(rows[i], min(rows[i + 1] + overlapping, rows[-1]))
        across = range(columns[j], min(columns[j + 1] + overlapping, columns[-1]))
        yield (i, j), [(row, column) for row in down for column in across]


def _max_back(x: Any, y: Any, dy: Any, rows: Any, columns: Any, overlapping: bool = False) -> Any:
    result = np.zeros_like(x)
    for (i, j), places in _given_windows(rows, columns, overlapping):
        for n, c in np.ndindex(x.shape[0], x.shape[3]):
            row, column = max(places, key=lambda place, n=n, c=c: x[n, place[0], place[1], c])
            result[n, row, column, c] += dy[n, i, j, c]
    return result


def _mean_back(shape: Any, dy: Any, rows: Any, columns: Any, overlapping: bool = False) -> Any:
    result = np.zeros(shape, dy.dtype)
    for (i, j), places in _given_windows(rows, columns, overlapping):
        share = dy[:, i, j] / len(places)
        for row, column in places:
            result[:, row, column] += share.astype(dy.dtype)
    return result


def _different(v: Any, *shape: int) -> Any:
    count = int(np.prod(shape))
    order = np.random.default_rng(count).permutation(count)
    return order.reshape(shape).astype(v.dtype.as_numpy_dtype)


for _batch in (2, 0):
    add(
        "FractionalMaxPoolGrad",
        lambda v, n=_batch: case(
            _different(v, n, 5, 3, 2), v(n, 3, 2, 2), v(n, 3, 2, 2), _ROWS, _COLUMNS
        ),
        lambda v, n=_batch: case(
            _different(v, n, 5, 3, 2), v(n, 3, 2, 2), v(n, 3, 2, 2), _ROWS, _COLUMNS,
            overlapping=True,
        ),
        reference=_max_back,
    )  # fmt: skip
    add(
        "FractionalAvgPoolGrad",
        lambda v, n=_batch: case(i64(n, 5, 3, 2), v(n, 3, 2, 2), _ROWS, _COLUMNS),
        lambda v, n=_batch: case(i64(n, 5, 3, 2), v(n, 3, 2, 2), _ROWS, _COLUMNS, overlapping=True),
        reference=_mean_back,
    )


# -- padded convolutions


def _mirrored(x: Any, paddings: Any, mode: str) -> Any:
    return np.pad(x, paddings.tolist(), mode.lower())


def _convolved(x: Any, filters: Any, strides: Any) -> Any:
    height, width = filters.shape[:2]
    down = range(0, x.shape[1] - height + 1, strides[1])
    across = range(0, x.shape[2] - width + 1, strides[2])
    result = np.zeros((len(x), len(down), len(across), filters.shape[3]), x.dtype)
    for i, row in enumerate(down):
        for j, column in enumerate(across):
            window = x[:, row : row + height, column : column + width]
            result[:, i, j] = np.einsum("nabc,abcd->nd", window, filters)
    return result


def _bilinear(x: Any, size: Any, align: bool) -> Any:
    result = np.zeros((len(x), *size, x.shape[3]), x.dtype)
    for i, j in np.ndindex(*size):
        value: Any = 0
        ends = []
        for place, new, old in zip((i, j), size, x.shape[1:3]):
            scale = (old - 1) / (new - 1) if align and new > 1 else old / new
            low = int(np.floor(place * scale))
            share = place * scale - low
            ends.append([(low, 1 - share), (min(low + 1, old - 1), share)])
        for row, by_row in ends[0]:
            for column, by_column in ends[1]:
                value = value + x[:, row, column] * by_row * by_column
        result[:, i, j] = value
    return result


def _resized_and_convolved(
    x: Any, size: Any, paddings: Any, filters: Any, mode: str, strides: Any, padding: str,
    resize_align_corners: bool = False,
) -> Any:  # fmt: skip
    if not x.size:
        return _convolved(np.zeros((0, 6, 10, 2), x.dtype), filters, strides)
    resized = _bilinear(x, size, resize_align_corners)
    return _convolved(_mirrored(resized, paddings, mode), filters, strides)


_EDGES = np.array([[0, 0], [1, 1], [2, 0], [0, 0]], np.int32)
_HOW: dict[str, Any] = {"strides": [1, 1, 2, 1], "padding": "VALID"}
add(
    "FusedPadConv2D",
    lambda v: case(v(2, 4, 5, 2), _EDGES, v(2, 3, 2, 3), mode="REFLECT", **_HOW),
    lambda v: case(v(1, 3, 3, 1), _EDGES, v(2, 2, 1, 2), mode="SYMMETRIC", **_HOW),
    lambda v: case(v(0, 4, 5, 2), _EDGES, v(2, 3, 2, 3), mode="REFLECT", **_HOW),
    reference=lambda x, paddings, filters, mode, strides, padding: _convolved(
        _mirrored(x, paddings, mode) if x.size else np.zeros((0, 6, 7, 2), x.dtype),
        filters,
        strides,
    ),
    tolerance=8,
)
add(
    "FusedResizeAndPadConv2D",
    lambda v: case(v(2, 4, 4, 2), i32(4, 8), _EDGES, v(2, 3, 2, 3), mode="REFLECT", **_HOW),
    lambda v: case(
        v(1, 3, 3, 1), i32(5, 5), _EDGES, v(2, 2, 1, 2), mode="SYMMETRIC",
        resize_align_corners=True, **_HOW,
    ),
    lambda v: case(v(0, 4, 4, 2), i32(4, 8), _EDGES, v(2, 3, 2, 3), mode="REFLECT", **_HOW),
    reference=_resized_and_convolved,
    tolerance=16,
)  # fmt: skip
