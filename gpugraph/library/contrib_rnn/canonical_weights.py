"""Conversions of the weights of cuDNN's recurrent networks: a vector, canonical matrices, and
weights of RNN cells.

The vector contains, for each layer and direction, the matrices of the inputs for all gates, then
the matrices of the state. The biases follow the matrices, in the same order. A matrix has the shape
[units, size]. A cell has one kernel [inputs + units, gates * units], and one bias, the sum of the
network's two biases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.arrays.split_and_unstack import split

LSTM, GRU, RELU, TANH = "lstm", "gru", "rnn_relu", "rnn_tanh"

_GATES = {LSTM: 4, GRU: 3, RELU: 1, TANH: 1}
_CELL_ORDER = {LSTM: (0, 2, 1, 3), RELU: (0,), TANH: (0,)}
"""The gates in the order of cells, as positions in cuDNN's order: input, forget, memory, output."""


class NetworkSizes(NamedTuple):
    """The sizes of a network: the numbers of layers, units, inputs, and directions (1 or 2)."""

    mode: str
    num_layers: int
    num_units: int
    input_size: int
    num_dirs: int

    @property
    def gates(self) -> int:
        """The number of gates of a unit."""
        return _GATES[self.mode]

    def weight_shapes(self) -> list[list[int]]:
        """Return the shapes of all matrices, in the order of the vector."""
        shapes = []
        for layer in range(self.num_layers):
            size = self.input_size if layer == 0 else self.num_units * self.num_dirs
            of_one = [[self.num_units, size]] * self.gates
            of_one += [[self.num_units, self.num_units]] * self.gates
            shapes += of_one * self.num_dirs
        return shapes

    def bias_shapes(self) -> list[list[int]]:
        """Return the shapes of all biases, in the order of the vector."""
        return [[self.num_units]] * (2 * self.gates * self.num_dirs * self.num_layers)

    def params_size(self) -> int:
        """Return the number of elements of the vector."""
        return sum(math.prod(shape) for shape in (*self.weight_shapes(), *self.bias_shapes()))


def to_vector(weights: Sequence[Any], biases: Sequence[Any]) -> Any:
    """Return the vector that contains the matrices and the biases."""
    return concat([reshape(part, [-1]) for part in (*weights, *biases)], 0)


def from_vector(sizes: NetworkSizes, vector: Any) -> tuple[list[Any], list[Any]]:
    """Return the matrices and the biases that a vector contains."""
    shapes = [*sizes.weight_shapes(), *sizes.bias_shapes()]
    parts = split(vector, [math.prod(shape) for shape in shapes])
    parts = [reshape(part, shape) for part, shape in zip(parts, shapes)]
    count = len(sizes.weight_shapes())
    return parts[:count], parts[count:]


def to_cells(
    sizes: NetworkSizes, weights: Sequence[Any], biases: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Return the kernels and the biases of RNN cells, for each layer and direction.

    For a GRU there are three kernels and three biases: for the gates, for the candidate's inputs
    and for the candidate's state. Otherwise there is one kernel and one bias.
    """
    kernels, sums = [], []
    for matrices, offsets in _groups(sizes, weights, biases):
        gates = sizes.gates
        rows = [concat([w, r], 1) for w, r in zip(matrices[:gates], matrices[gates:])]
        both = [w + r for w, r in zip(offsets[:gates], offsets[gates:])]
        if sizes.mode == GRU:
            kernels += [
                transpose(concat(rows[:2], 0)), transpose(matrices[2]), transpose(matrices[5])
            ]  # fmt: skip
            sums += [concat(both[:2], 0), offsets[2], offsets[5]]
        else:
            order = _CELL_ORDER[sizes.mode]
            kernels.append(transpose(concat([rows[gate] for gate in order], 0)))
            sums.append(concat([both[gate] for gate in order], 0))
    return kernels, sums


def from_cells(
    sizes: NetworkSizes, kernels: Sequence[Any], sums: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Return the network's matrices and biases for the kernels and biases of RNN cells.

    If a cell has only the sum of two biases, each of the network's biases becomes half of the sum.
    """
    weights: list[Any] = []
    biases: list[Any] = []
    parts = 3 if sizes.mode == GRU else 1
    for start in range(0, len(kernels), parts):
        parts_of_cell, cell_sums = kernels[start : start + parts], sums[start : start + parts]
        layer = start // parts // sizes.num_dirs
        size = sizes.input_size if layer == 0 else sizes.num_units * sizes.num_dirs
        if sizes.mode == GRU:
            inputs, states, halves = _split_gates(parts_of_cell[0], cell_sums[0], size, 2)
            weights += [*inputs, transpose(parts_of_cell[1]), *states, transpose(parts_of_cell[2])]
            biases += [*halves, cell_sums[1], *halves, cell_sums[2]]
            continue
        inputs, states, halves = _split_gates(parts_of_cell[0], cell_sums[0], size, sizes.gates)
        order = _CELL_ORDER[sizes.mode]
        places = [order.index(gate) for gate in range(sizes.gates)]
        weights += [inputs[i] for i in places] + [states[i] for i in places]
        biases += [halves[i] for i in places] * 2
    return weights, biases


def _split_gates(
    kernel: Any, bias: Any, size: int, gates: int
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return, for each gate, the matrix of the inputs, the matrix of the state, and half of the
    bias.
    """
    columns = split(transpose(kernel), gates, axis=0)
    pairs = [split(column, [size, column.shape.as_list()[1] - size], axis=1) for column in columns]
    halves = [part * 0.5 for part in split(bias, gates, axis=0)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs], halves


def _groups(
    sizes: NetworkSizes, weights: Sequence[Any], biases: Sequence[Any]
) -> list[tuple[Sequence[Any], Sequence[Any]]]:
    step = 2 * sizes.gates
    starts = range(0, len(weights), step)
    return [(weights[i : i + step], biases[i : i + step]) for i in starts]
