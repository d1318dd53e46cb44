"""Recurrent networks that process a whole sequence in one call, and cells with the names of
TensorFlow's block cells.

They compute the same values as `BasicLSTMCell`, `LSTMCell` and `GRUCell`. TensorFlow has special
ops for them. In this package, the compiler fuses the ops of a step, as it does for any other cell.
"""

from __future__ import annotations

from typing import Any

from gpugraph.library.keras.engine.input_spec import InputSpec
from gpugraph.library.rnn.basic_and_gru_cells import GRUCell, depth_of
from gpugraph.library.rnn.dynamic_rnn import dynamic_rnn
from gpugraph.library.rnn.lstm_cells import LSTMCell, LSTMStateTuple, TwoStateCell
from gpugraph.library.rnn.static_rnn import static_rnn
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.reverse import reverse
from gpugraph.ops.arrays.reverse_sequence import reverse_sequence
from gpugraph.ops.arrays.split_and_unstack import unstack
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.random.variable_initializers import Constant, Zeros


class LSTMBlockCell(LSTMCell):
    """An LSTM without projection, with the name and arguments of TensorFlow's block cell.

    The variables are the same as in `LSTMCell`.

    Args:
      cell_clip: the memory is clipped to [-cell_clip, cell_clip]. It is not clipped if cell_clip is
        None or not positive.
      use_peephole: whether the gates depend on the memory.
      forget_bias: a constant that is added to the forget gate.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: bool | None = None,
        name: str | None = "lstm_cell",
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes=use_peephole,
            cell_clip=None if cell_clip is None or cell_clip <= 0 else cell_clip,
            forget_bias=forget_bias,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )


class GRUBlockCellV2(GRUCell):
    """A GRUCell with the name of TensorFlow's block cell. Its variables are the same as in GRUCell.

    The constructor raises ValueError unless exactly one of `num_units` and `cell_size` is passed.

    Args:
      cell_size: the older name of `num_units`.
    """

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | None = None,
        name: str | None = "gru_cell",
    ) -> None:
        if num_units is not None and cell_size is not None:
            raise ValueError("Cannot specify both 'cell_size' and 'num_units': num_units alone")
        units = num_units if num_units is not None else cell_size
        if units is None:
            raise ValueError("num_units must be specified")
        super().__init__(units, reuse=reuse, name=name)


class GRUBlockCell(GRUBlockCellV2):
    """A GRUBlockCellV2 whose variables are called `w_ru`, `b_ru`, `w_c`, `b_c`."""

    def build(self, input_shape: Any) -> None:
        """Add kernels and biases for inputs of this shape."""
        rows, units = depth_of(input_shape) + self._num_units, self._num_units
        self._gate_kernel = self.add_variable("w_ru", [rows, 2 * units])
        self._gate_bias = self.add_variable("b_ru", [2 * units], initializer=Constant(1.0))
        self._candidate_kernel = self.add_variable("w_c", [rows, units])
        self._candidate_bias = self.add_variable("b_c", [units], initializer=Zeros())
        self.built = True


class FusedRNNCell:
    """Base class of networks for whole sequences. `cell(inputs, ...)` returns (outputs, last
    state).
    """

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return the outputs [time, batch, ...] and the last state.

        Args:
          inputs: [time, batch, ...], or a list of steps. For a list, the outputs are a list too.
          initial_state, dtype, sequence_length, scope: see `tf.nn.dynamic_rnn`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class FusedRNNCellAdaptor(FusedRNNCell):
    """A network that calls a cell for each step of a sequence.

    Args:
      use_dynamic_rnn: whether the network uses `tf.nn.dynamic_rnn`. Otherwise it uses
        `tf.nn.static_rnn`.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._use_dynamic_rnn = cell, use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        is_list = isinstance(inputs, list)
        if self._use_dynamic_rnn:
            outputs, state = dynamic_rnn(
                self._cell,
                stack(inputs) if is_list else inputs,
                sequence_length,
                initial_state,
                dtype,
                time_major=True,
                scope=scope,
            )
            return (unstack(outputs) if is_list else outputs), state
        steps = inputs if is_list else unstack(inputs)
        listed, state = static_rnn(self._cell, steps, initial_state, dtype, sequence_length, scope)
        return (listed if is_list else stack(listed)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A network that applies `cell` to the reversed sequence. Its outputs are in the order of the
    inputs.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        is_list = isinstance(inputs, list)

        def reverse_time(steps: Any) -> Any:
            if sequence_length is None:
                return steps[::-1] if is_list else reverse(steps, [0])
            joined = stack(steps) if is_list else steps
            reversed_steps = reverse_sequence(joined, sequence_length, 0, 1)
            return unstack(reversed_steps) if is_list else reversed_steps

        outputs, state = self._cell(
            reverse_time(inputs), initial_state, dtype, sequence_length, scope
        )
        return reverse_time(outputs), state


class LSTMBlockFusedCell(LSTMBlockCell):
    """An LSTM for a whole sequence, as a layer: `cell(inputs, initial_state, dtype, lengths)`.

    Inputs are [time, batch, depth] or a list of steps. A call returns the outputs, as a tensor or
    as a list like the inputs, and the last state. The constructor's arguments and the variables are
    the same as in `LSTMBlockCell`.
    """

    input_spec = InputSpec(ndim=3)

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: Any = None,
        name: str | None = "lstm_fused_cell",
    ) -> None:
        super().__init__(num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name)

    @property
    def num_units(self) -> int:
        """The number of units."""
        return self._num_units

    def __call__(  # type: ignore[override]  # a sequence, not a step
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return the outputs and the last state.

        Args:
          dtype: the dtype of the initial state. It is required if there is no `initial_state`.
          sequence_length: see `tf.nn.dynamic_rnn`.
        """
        is_list = isinstance(inputs, list)
        joined = stack(inputs) if is_list else convert_to_tensor(inputs)
        if initial_state is None and dtype is None:
            raise ValueError("Either initial_state or dtype needs to be specified")
        self._lengths, self._first_dtype = sequence_length, dtype
        outputs, state = super().__call__(joined, initial_state, scope=scope)
        return (unstack(outputs) if is_list else outputs), state

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the outputs of all steps, and the last state."""
        if state is not None:
            state = LSTMStateTuple(*state)
        step = _Step(self._num_units, super().call)
        return dynamic_rnn(step, inputs, self._lengths, state, self._first_dtype, time_major=True)


class _Step(TwoStateCell):
    """The cell in the loop of `LSTMBlockFusedCell`. It calls the function `step` and adds no
    variables.
    """

    def __init__(self, num_units: int, step: Any) -> None:
        super().__init__(num_units, None)
        self._step = step

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state: the results of `step(inputs, state)`."""
        return self._step(inputs, state)
