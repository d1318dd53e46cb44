"""An LSTM of several groups, each of which reads a part of the inputs and of the outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.variable_scope import get_variable, get_variable_scope, variable_scope
from gpugraph.library.rnn.lstm_cells import LSTMStateTuple
from gpugraph.library.rnn.projection_wrappers import linear
from gpugraph.library.rnn.rnn_cell_base import RNNCell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Zeros


class GLSTMCell(RNNCell):
    """A group LSTM: each group of inputs and outputs has a separate matrix of weights. Source:
    Kuchaiev and Ginsburg, 2017 (arXiv:1703.10722).

    The variables are `group0/kernel`, ..., `bias_i`, `bias_j`, `bias_f` and `bias_o`, and, with
    `num_proj`, `projection/kernel`. The constructor raises ValueError unless `num_units` and
    `num_proj` are multiples of the number of groups.

    Args:
      num_proj: the size to which outputs are projected. If it is None, they are not projected.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Callable[[Any], Any] = tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_units % number_of_groups:
            raise ValueError("num_units must be divisible by number_of_groups")
        if num_proj and num_proj % number_of_groups:
            raise ValueError("num_proj must be divisible by number_of_groups")
        self._num_units, self._num_proj, self._initializer = num_units, num_proj, initializer
        self._groups, self._forget_bias, self._activation = (
            number_of_groups, forget_bias, activation,
        )  # fmt: skip

    @property
    def output_size(self) -> int:
        """The size of the output: `num_proj`, or `num_units` if it is None."""
        return self._num_proj or self._num_units

    @property
    def state_size(self) -> LSTMStateTuple:
        """The sizes of the memory and of the output."""
        return LSTMStateTuple(self._num_units, self.output_size)

    def call(self, inputs: Any, state: Any) -> Any:
        """Return (output, next state).

        Raises ValueError unless the depth of the inputs is known, and a multiple of the number of
        groups.
        """
        c, m = state
        depth = inputs.shape.dims[1].value
        if depth is None:
            raise ValueError("input size must be statically known")
        if depth % self._groups:
            raise ValueError(
                f"input size ({depth}) must be divisible by number_of_groups ({self._groups})"
            )
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            i, j, f, o = self._gates(inputs, m)
        c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        m = sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                m = linear(m, self._num_proj, bias=False)
        return m, LSTMStateTuple(c, m)

    def _gates(self, inputs: Any, m: Any) -> list[Any]:
        width = self._num_units // self._groups
        parts = []
        pairs = zip(split(inputs, self._groups, 1), split(m, self._groups, 1))
        for number, (read, before) in enumerate(pairs):
            with variable_scope(f"group{number}"):
                joined = linear(concat([read, before], 1), 4 * width, bias=False)
            parts.append(split(joined, 4, 1))
        gates = []
        for letter, group_parts in zip("ijfo", zip(*parts)):
            name = f"bias_{letter}"
            bias = get_variable(name, [self._num_units], inputs.dtype, Zeros())
            gates.append(bias_add(concat(list(group_parts), 1), bias))
        return gates
