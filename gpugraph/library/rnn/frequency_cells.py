"""LSTMs over time and frequency: `TimeFreqLSTMCell`, `GridLSTMCell`, `BidirectionalGridLSTMCell`.

An input is a spectrum, which is cut into overlapping bands. In each time step, the cell reads the
bands one after the other. A band's state depends on the previous band and on the same band in the
previous time step. Sources: Kalchbrenner et al., 2016 (arXiv:1507.01526); Sainath and Li, 2016.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any, NamedTuple

from gpugraph.building.variable_scope import get_variable, variable_scope
from gpugraph.library.rnn.coupled_gates import sharded
from gpugraph.library.rnn.rnn_cell_base import RNNCell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.constants_and_placeholders import zeros
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.arrays.tile_and_pad import pad
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Zeros
from gpugraph.ops.reductions.clip_by_norm import clip_by_value
from gpugraph.platform import logging


def _depth(inputs: Any) -> int:
    depth = inputs.shape.with_rank(2).dims[1].value
    if depth is None:
        raise ValueError("Cannot infer input_size from static shape inference.")
    return int(depth)


def _bands(inputs: Any, start: int, count: int, size: int, skip: int) -> list[Any]:
    return [inputs[:, start + n * skip : start + n * skip + size] for n in range(count)]


def _clipped(memory: Any, limit: float | None) -> Any:
    return memory if limit is None else clip_by_value(memory, -limit, limit)


class TimeFreqLSTMCell(RNNCell):
    """An LSTM that reads overlapping bands of its input one after the other, with the same weights.

    The state of the cell is one matrix: the memory and the output of each band. The variables are
    `W_0` and `B`, and, with `use_peepholes`, `W_F_diag`, `W_I_diag` and `W_O_diag`. The attributes
    `state_size` and `output_size` are the sizes for a single band, as in TensorFlow.

    Args:
      cell_clip: the memory is clipped to [-cell_clip, cell_clip]. It is not clipped if cell_clip is
        None.
      initializer: unused, as in TensorFlow.
      num_unit_shards: the number of variables into which the matrix of weights is split.
      feature_size: the size of a band.
      frequency_skip: the distance between the beginnings of bands.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int = 1,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        del initializer
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._shards, self._forget_bias = num_unit_shards, forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip

    @property
    def output_size(self) -> int:
        """The size of the output of a band."""
        return self._num_units

    @property
    def state_size(self) -> int:
        """The size of the state of a band."""
        return 2 * self._num_units

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the outputs of all bands, and their next states.

        Raises ValueError for inputs of unknown depth.
        """
        size, units, dtype = self._feature_size, self._num_units, inputs.dtype
        if size is None:
            raise ValueError("feature_size must be given")
        count = (_depth(inputs) - size) // self._frequency_skip + 1
        kernel = sharded("W", [size + 2 * units, 4 * units], dtype, self._shards)
        bias = get_variable("B", [4 * units], dtype, Zeros())
        names = ("W_F_diag", "W_I_diag", "W_O_diag") if self._use_peepholes else ()
        diagonals = [get_variable(name, [units], dtype) for name in names]
        lower = zeros([shape(inputs)[0], units], dtype)
        outputs, states = [], []
        for n, band in enumerate(_bands(inputs, 0, count, size, self._frequency_skip)):
            c, m = (state[:, k * units : (k + 1) * units] for k in (2 * n, 2 * n + 1))
            joined = bias_add(matmul(concat([band, m, lower], 1), kernel), bias)
            c, lower = self._step(split(joined, 4, 1), c, diagonals)
            outputs.append(lower)
            states += [c, lower]
        return concat(outputs, 1), concat(states, 1)

    def _step(self, gates: Sequence[Any], c: Any, diagonals: Sequence[Any]) -> tuple[Any, Any]:
        i, j, f, o = gates
        f = f + self._forget_bias
        if diagonals:
            f, i = f + diagonals[0] * c, i + diagonals[1] * c
        c = _clipped(sigmoid(f) * c + sigmoid(i) * tanh(j), self._cell_clip)
        if diagonals:
            o = o + diagonals[2] * c
        return c, sigmoid(o) * tanh(c)


class _Gates(NamedTuple):
    """The gates of one of the two LSTMs of a grid. `diagonals` is a dict from the letter of a gate
    to its diagonals.

    The diagonals of a gate are two vectors: the weights of the memory over frequency and of the
    memory over time.
    """

    i: Any
    j: Any
    f: Any
    o: Any
    diagonals: dict[str, tuple[Any, Any]]

    def with_memories(self, letter: str, memories: Sequence[Any]) -> Any:
        """Return the sum of a gate and the weighted memories over frequency and over time."""
        gate = getattr(self, letter)
        if letter in self.diagonals:
            for weights, memory in zip(self.diagonals[letter], memories):
                gate = gate + weights * memory
        return gate


class GridLSTMCell(RNNCell):
    """A grid of two LSTMs, one over frequency and one over time, that share their inputs.

    In each block of bands, the LSTMs read the bands one after the other. The state is a named tuple
    with the memory and the output of each band. For example, the memory of band 0 of block 0 is
    `state_f00_b00_c`. The output is the concatenation of the outputs of both LSTMs for all bands.
    The variables of block 0 are `W_f_0_0` and `B_f_0` (frequency), `W_t_0_0` and `B_t_0` (time),
    and diagonals.

    Args:
      share_time_frequency_weights: whether both LSTMs have the same weights.
      cell_clip: the memories are clipped to [-cell_clip, cell_clip]. They are not clipped if
        cell_clip is None.
      initializer: unused, as in TensorFlow.
      num_unit_shards: the number of variables into which a matrix of weights is split.
      feature_size: the size of a band.
      frequency_skip: the distance between the beginnings of bands.
      num_frequency_blocks: for each block, the number of its bands. It is required.
      start_freqindex_list, end_freqindex_list: for each block, the positions in the input where it
        starts and ends. By default there is one block, the whole input.
      couple_input_forget_gates: whether the forget gate is 1 minus the input gate.
      state_is_tuple: whether the state is a tuple. Otherwise it is one matrix.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        del initializer
        if not state_is_tuple:
            logging.warning(
                "%s: Using a concatenated state is slower and will soon be deprecated.  Use "
                "state_is_tuple=True.",
                self,
            )
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._shares_weights = share_time_frequency_weights
        self._couples_gates = couple_input_forget_gates
        self._shards, self._forget_bias = num_unit_shards, forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip
        self._blocks = [int(count) for count in num_frequency_blocks]
        self._starts, self._ends = start_freqindex_list, end_freqindex_list
        self._state_tuple_type: Any = None
        self._state_size: Any = 2 * num_units * sum(self._blocks)
        if state_is_tuple:
            self._set_state_type("GridLSTMStateTuple", ["state"])
        self._output_size = 2 * num_units * sum(self._blocks)

    def _set_state_type(self, name: str, prefixes: Sequence[str]) -> None:
        fields = [
            f"{prefix}_f{band:02d}_b{block:02d}_{letter}"
            for prefix in prefixes
            for block, count in enumerate(self._blocks)
            for band in range(count)
            for letter in "cm"
        ]
        self._state_tuple_type = namedtuple(name, fields)  # type: ignore[misc]
        self._state_size = self._state_tuple_type(*([self._num_units] * len(fields)))

    @property
    def output_size(self) -> int:
        """The size of the output."""
        return self._output_size

    @property
    def state_size(self) -> Any:
        """The sizes of the state."""
        return self._state_size

    @property
    def state_tuple_type(self) -> Any:
        """The class of the state, a named tuple, or None if the state is a matrix."""
        return self._state_tuple_type

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state.

        Raises ValueError if the depth of the inputs is unknown or does not match the blocks.
        """
        outputs, states = self._run(self._features(inputs), state, "state")
        whole = concat(states, 1) if self._state_tuple_type is None else (
            self._state_tuple_type(*states)
        )  # fmt: skip
        return concat(outputs, 1), whole

    def _run(self, features: Sequence[Any], state: Any, prefix: str) -> tuple[list[Any], list[Any]]:
        outputs: list[Any] = []
        states: list[Any] = []
        for block, bands in enumerate(features):
            block_outputs, block_states = self._run_block(bands, block, state, prefix)
            outputs += block_outputs
            states += block_states
        return outputs, states

    def _previous(self, state: Any, prefix: str, band: int, block: int) -> tuple[Any, Any]:
        if self._state_tuple_type is not None:
            name = f"{prefix}_f{band:02d}_b{block:02d}"
            return getattr(state, f"{name}_c"), getattr(state, f"{name}_m")
        units, start = self._num_units, 2 * band * self._num_units
        return state[:, start : start + units], state[:, start + units : start + 2 * units]

    def _weights(self, letter: str, block: int, size: int, dtype: Any) -> tuple[Any, Any]:
        width = (3 if self._couples_gates else 4) * self._num_units
        rows = size + 2 * self._num_units
        kernel = sharded(f"W_{letter}_{block}", [rows, width], dtype, self._shards)
        return kernel, get_variable(f"B_{letter}_{block}", [width], dtype, Zeros())

    def _diagonals(self, axis: str, block: int, dtype: Any) -> dict[str, tuple[Any, Any]]:
        letters = "IO" if self._couples_gates else "FIO"
        if not self._use_peepholes:
            return {}

        def weights(letter: str, memory: str) -> Any:
            name = f"W_{letter}_diag_{axis}{memory}_{block}"
            return get_variable(name, [self._num_units], dtype)

        return {x.lower(): (weights(x, "f"), weights(x, "t")) for x in letters}

    def _run_block(
        self, bands: Sequence[Any], block: int, state: Any, prefix: str
    ) -> tuple[list[Any], list[Any]]:
        dtype, size = bands[0].dtype, bands[0].shape.as_list()[1]
        weights = [self._weights("f", block, size, dtype)]
        if not self._shares_weights:
            weights.append(self._weights("t", block, size, dtype))
        diagonals = [self._diagonals("freq", block, dtype)]
        if not self._shares_weights:
            diagonals.append(self._diagonals("time", block, dtype))
        batch = bands[0].shape.as_list()[0] or shape(bands[0])[0]
        lower_c = lower_m = zeros([batch, self._num_units], dtype)
        outputs, states = [], []
        for number, band in enumerate(bands):
            c, m = self._previous(state, prefix, number, block)
            read = concat([band, m, lower_m], 1)
            pairs = zip(weights, diagonals)
            gates = [self._gates(read, *pair, diagonal) for pair, diagonal in pairs]
            of_frequency, of_time = gates[0], gates[-1]
            lower_c, lower_m, c, m = self._step(of_frequency, of_time, lower_c, c)
            states += [c, m]
            outputs += [m, lower_m]
        return outputs, states

    def _gates(self, read: Any, kernel: Any, bias: Any, diagonals: Any) -> _Gates:
        joined = bias_add(matmul(read, kernel), bias)
        if self._couples_gates:
            i, j, o = split(joined, 3, 1)
            return _Gates(i, j, None, o, diagonals)
        i, j, f, o = split(joined, 4, 1)
        return _Gates(i, j, f, o, diagonals)

    def _step(self, of_frequency: _Gates, of_time: _Gates, lower: Any, before: Any) -> list[Any]:
        """Return four tensors: the memory and the output over frequency, and the memory and the
        output over time.

        Args:
          lower, before: the memories of the previous band and of the previous time step.
        """
        memories = []
        for gates, memory in ((of_frequency, lower), (of_time, before)):
            entry = sigmoid(gates.with_memories("i", (lower, before)))
            if self._couples_gates:
                forget = 1.0 - entry
            else:
                forget = sigmoid(gates.with_memories("f", (lower, before)) + self._forget_bias)
            memories.append(_clipped(forget * memory + entry * tanh(gates.j), self._cell_clip))
        result = []
        for gates, memory in zip((of_frequency, of_time), memories):
            result += [memory, sigmoid(gates.with_memories("o", memories)) * tanh(memory)]
        return result

    def _features(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """Return the bands of each block.

        Args:
          offset: the number of positions by which all blocks are moved.
        """
        depth, size, skip = _depth(inputs), self._feature_size, self._frequency_skip
        if size is None or skip is None:
            raise ValueError("feature_size and frequency_skip must be given")
        if offset:
            inputs = pad(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]])
        starts, ends = self._starts or [0], self._ends or [depth]
        if len(starts) != len(ends):
            raise ValueError(
                f"Length of start and end freqindex_list does not match {len(starts)} {len(ends)}"
            )
        if not self._starts and len(self._blocks) != 1:
            raise ValueError(
                f"Length of num_frequency_blocks is not 1, but instead is {len(self._blocks)}"
            )
        if len(self._blocks) != len(starts):
            raise ValueError(
                "Length of num_frequency_blocks is not equal to start_freqindex_list "
                f"{len(self._blocks)} {len(starts)}"
            )
        result = []
        for start, end, count in zip(starts, ends, self._blocks):
            fitting = (end - start - size) // skip + 1
            if fitting != count:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {count} but gets {fitting}, please "
                    "check the input size and filter config are correct."
                )
            result.append(_bands(inputs, start + max(offset, 0), count, size, skip))
        return result


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A `GridLSTMCell` that runs over the bands in both directions, with separate weights in the
    scopes `fwd` and `bwd`. The state is always a tuple.

    Args:
      backward_slice_offset: the number of positions by which the bands of the second direction are
        moved.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(
            num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer,
            num_unit_shards, forget_bias, feature_size, frequency_skip, num_frequency_blocks,
            start_freqindex_list, end_freqindex_list, couple_input_forget_gates, True, reuse,
        )  # fmt: skip
        self._offset = int(backward_slice_offset)
        self._set_state_type("BidirectionalGridLSTMStateTuple", ["fwd_state", "bwd_state"])
        self._output_size *= 2

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state."""
        forward = self._features(inputs)
        backward = self._features(inputs, self._offset) if self._offset else forward
        with variable_scope("fwd"):
            outputs, states = self._run(forward, state, "fwd_state")
        with variable_scope("bwd"):
            backward = [bands[::-1] for bands in backward]
            further, further_states = self._run(backward, state, "bwd_state")
        return concat(outputs + further, 1), self._state_tuple_type(*states, *further_states)
