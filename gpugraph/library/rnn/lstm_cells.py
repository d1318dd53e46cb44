"""Long short-term memory cells (LSTM).

One kernel computes the gates, in the order i, j, f, o: input gate, new input, forget gate, output
gate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.building.variable_scope import fixed_size_partitioner
from gpugraph.library.rnn.basic_and_gru_cells import depth_of
from gpugraph.library.rnn.rnn_cell_base import LayerCell, RNNCell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.arithmetic_functions import add, multiply
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.ops.indexing.strided_slice import slice as slice_of
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Zeros
from gpugraph.ops.reductions.clip_by_norm import clip_by_value


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM cell: `c` is its memory, and `h` its last output."""

    c: Any
    h: Any

    @property
    def dtype(self) -> DType:
        """The common dtype of c and h. An access raises TypeError if the dtypes differ."""
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


class TwoStateCell(RNNCell):
    """Base class of cells whose state is an LSTMStateTuple of two tensors of size `num_units`."""

    def __init__(self, num_units: int, reuse: bool | None) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of memory and output, which are `num_units`."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """The size of the output, which is `num_units`."""
        return self._num_units


class _MemoryCell(LayerCell):
    """Base class of cells whose state is the memory `c` and the output `h`, as a tuple or
    concatenated.
    """

    _num_units: int
    _state_is_tuple: bool

    @property
    def state_size(self) -> Any:
        """The sizes of `c` and `h` as an LSTMStateTuple. If states are concatenated, it is the sum
        of the sizes.
        """
        memory, output = self._num_units, self.output_size
        return LSTMStateTuple(memory, output) if self._state_is_tuple else memory + output

    def _results(self, c: Any, h: Any) -> tuple[Any, Any]:
        """Return (output, next state) for the new memory `c` and the new output `h`."""
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else concat([c, h], 1)


class BasicLSTMCell(_MemoryCell):
    """An LSTM without peepholes, clipping and projection. Source: arXiv:1409.2329.

    For inputs of size depth, the variables are `kernel` [depth + num_units, 4 * num_units] and
    `bias` [4 * num_units].

    Args:
      forget_bias: a constant that is added to the argument of the forget gate, so that the gate is
        initially open.
      state_is_tuple: whether states are LSTMStateTuples. Otherwise c and h are concatenated as
        [batch, 2 * num_units].
      activation: by default tanh.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation or tanh

    @property
    def output_size(self) -> int:
        """The size of the output, which is `num_units`."""
        return self._num_units

    def build(self, input_shape: Any) -> None:
        """Add the kernel and the bias of all gates, for inputs of this shape."""
        rows = depth_of(input_shape) + self._num_units
        self._kernel = self.add_variable("kernel", [rows, 4 * self._num_units])
        self._bias = self.add_variable("bias", [4 * self._num_units], initializer=Zeros())
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state."""
        one = constant(1, dtypes.int32)
        c, h = state if self._state_is_tuple else split(state, 2, axis=one)
        gates = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, axis=one)
        forget = sigmoid(add(f, constant(self._forget_bias, f.dtype)))
        new_c = add(multiply(c, forget), multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        return self._results(new_c, new_h)


class LSTMCell(_MemoryCell):
    """An LSTM with optional peepholes, clipping and projection.

    Sources: Hochreiter and Schmidhuber, 1997, and for peepholes and projection, Sak et al., 2014
    (arXiv:1402.1128).

    Args:
      use_peepholes: whether the gates also depend on the memory. Each unit's gates use the unit's
        own memory, with the weights `w_f_diag`, `w_i_diag`, `w_o_diag`.
      cell_clip: the memory is clipped to [-cell_clip, cell_clip].
      num_proj: the size to which `projection/kernel` projects outputs.
      proj_clip: projected outputs are clipped to [-proj_clip, proj_clip].
      num_unit_shards, num_proj_shards: the number of partitions of the kernels (deprecated: set the
        variable scope's partitioner instead).
      forget_bias, state_is_tuple, activation: see BasicLSTMCell.

    >>> cell = tf.nn.rnn_cell.LSTMCell(4)
    >>> output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    >>> output.shape.as_list()
    [2, 4]
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._num_unit_shards = num_unit_shards
        self._num_proj_shards = num_proj_shards
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation or tanh

    @property
    def output_size(self) -> int:
        """The size of the output: `num_proj`, or `num_units` if there is no projection."""
        return self._num_units if self._num_proj is None else self._num_proj

    def build(self, input_shape: Any) -> None:
        """Add the kernel and bias of all gates, the peepholes and the projection, for inputs of
        this shape.
        """
        units, initializer = self._num_units, self._initializer
        self._kernel = self.add_variable(
            "kernel",
            [depth_of(input_shape) + self.output_size, 4 * units],
            initializer=initializer,
            partitioner=_partitioner(self._num_unit_shards),
        )
        self._bias = self.add_variable("bias", [4 * units], initializer=Zeros())
        if self._use_peepholes:
            self._w_f_diag = self.add_variable("w_f_diag", [units], initializer=initializer)
            self._w_i_diag = self.add_variable("w_i_diag", [units], initializer=initializer)
            self._w_o_diag = self.add_variable("w_o_diag", [units], initializer=initializer)
        if self._num_proj is not None:
            self._proj_kernel = self.add_variable(
                "projection/kernel",
                [units, self._num_proj],
                initializer=initializer,
                partitioner=_partitioner(self._num_proj_shards),
            )
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state."""
        memory, last = self._parts(state)
        gates = bias_add(matmul(concat([inputs, last], 1), self._kernel), self._bias)
        i, j, f, o = split(gates, 4, axis=1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f = f + self._w_f_diag * memory
            remembered = sigmoid(f) * memory
            i = i + self._w_i_diag * memory
        else:
            remembered = sigmoid(f) * memory
        c = remembered + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + self._w_o_diag * c
        h = self._project(sigmoid(o) * self._activation(c))
        return self._results(c, h)

    def _parts(self, state: Any) -> Any:
        """Return the two tensors of a state: the memory c and the last output h."""
        if self._state_is_tuple:
            return state
        units = self._num_units
        return (
            slice_of(state, [0, 0], [-1, units]),
            slice_of(state, [0, units], [-1, self.output_size]),
        )

    def _project(self, output: Any) -> Any:
        if self._num_proj is None:
            return output
        output = matmul(output, self._proj_kernel)
        if self._proj_clip is not None:
            output = clip_by_value(output, -self._proj_clip, self._proj_clip)
        return output


def _partitioner(shards: int | None) -> Any:
    return None if shards is None else fixed_size_partitioner(shards)
