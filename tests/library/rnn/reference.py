"""Recurrent networks in NumPy, from the formulas: the reference for the graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["BASIC", "GRU", "LSTM", "sigmoid", "unrolled"]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


class BASIC:
    """tanh([x, h] K + b)."""

    def __init__(self, kernel: Any, bias: Any) -> None:
        self.kernel, self.bias = kernel, bias

    def __call__(self, x: Any, h: Any) -> Any:
        h = np.tanh(np.concatenate([x, h], 1) @ self.kernel + self.bias)
        return h, h


class GRU:
    """The gates in the order reset, update."""

    def __init__(self, gates: Any, gates_bias: Any, candidate: Any, candidate_bias: Any) -> None:
        self.gates = BASIC(gates, gates_bias)
        self.candidate = BASIC(candidate, candidate_bias)

    def __call__(self, x: Any, h: Any) -> Any:
        both = sigmoid(np.concatenate([x, h], 1) @ self.gates.kernel + self.gates.bias)
        reset, update = np.split(both, 2, 1)
        candidate, _ = self.candidate(x, reset * h)
        h = update * h + (1 - update) * candidate
        return h, h


class LSTM:
    """The gates in the order i, j, f, o; with peepholes (f, i, o), projection and clipping."""

    def __init__(
        self,
        kernel: Any,
        bias: Any,
        peepholes: Any = (0, 0, 0),
        projection: Any = None,
        forget_bias: float = 1,
        clip: float = np.inf,
        projected_clip: float = np.inf,
    ) -> None:
        self.kernel, self.bias, self.peepholes = kernel, bias, peepholes
        self.projection, self.forget_bias = projection, forget_bias
        self.clip, self.projected_clip = clip, projected_clip

    def __call__(self, x: Any, state: Any) -> Any:
        c, h = state
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ self.kernel + self.bias, 4, 1)
        see_f, see_i, see_o = self.peepholes
        kept = sigmoid(f + self.forget_bias + see_f * c) * c
        c = np.clip(kept + sigmoid(i + see_i * c) * np.tanh(j), -self.clip, self.clip)
        h = sigmoid(o + see_o * c) * np.tanh(c)
        if self.projection is not None:
            h = np.clip(h @ self.projection, -self.projected_clip, self.projected_clip)
        return h, (c, h)


def unrolled(cell: Any, x: Any, state: Any, lengths: Any = None) -> Any:
    """Outputs [batch, time, ...] and the last state, for x of [batch, time, depth]."""
    outputs = []
    for time in range(x.shape[1]):
        output, new = cell(x[:, time], state)
        if lengths is not None:
            over = (time >= np.asarray(lengths))[:, None]
            output = np.where(over, 0, output)
            if isinstance(state, tuple):
                new = tuple(np.where(over, a, b) for a, b in zip(state, new))
            else:
                new = np.where(over, state, new)
        state = new
        outputs.append(output)
    return np.stack(outputs, 1), state
