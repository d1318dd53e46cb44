"""Wrappers of cells in `tf.contrib.rnn`: AttentionCellWrapper attends to previous outputs, and
HighwayWrapper carries inputs past the cell.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.nest import assert_same_structure, flatten, is_nested, map_structure
from gpugraph.building.variable_scope import get_variable, variable_scope
from gpugraph.library.rnn.projection_wrappers import SameStateWrapper, linear
from gpugraph.library.rnn.rnn_cell_base import RNNCell, check_cell
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.elementwise.unary_functions import sigmoid, tanh
from gpugraph.ops.nn.activations.softmax import softmax
from gpugraph.ops.nn.convolution.conv2d_functions import conv2d
from gpugraph.ops.nn.normalization.bias_and_moments import xw_plus_b
from gpugraph.ops.random.variable_initializers import Constant
from gpugraph.ops.reductions.reduction_functions import reduce_sum


class AttentionCellWrapper(RNNCell):
    """A cell that attends to its last `attn_length` outputs. Source: arXiv:1601.06733.

    The constructor raises TypeError if `cell` is not a cell. It raises ValueError for a length
    below 1, and if the cell's state is a tuple but `state_is_tuple` is False.

    Args:
      attn_size: the size of the outputs, by default the output size of the cell.
      attn_vec_size: the size to which previous outputs and the query are projected before they are
        compared, by default attn_size.
      input_size: the size to which inputs and attention are projected, by default the size of the
        inputs.
      state_is_tuple: whether the state is a tuple (the cell's state, the attention, the last
        outputs). Otherwise these three are concatenated into one matrix.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        check_cell("cell", cell)
        if is_nested(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. State size "
                f"is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell, self._length, self._input_size = cell, attn_length, input_size
        self._size = cell.output_size if attn_size is None else attn_size
        self._compared_size = self._size if attn_vec_size is None else attn_vec_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        """The size of the state: a tuple of the sizes of the cell's state, the attention and the
        last outputs.

        If `state_is_tuple` is False, it is the sum of these sizes.
        """
        sizes = (self._cell.state_size, self._size, self._size * self._length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        """The size of an output, which is `attn_size`."""
        return self._size

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the next state."""
        if not self._state_is_tuple:
            sizes = [self._cell.state_size, self._size, self._size * self._length]
            state = split(state, sizes, axis=1)
        cell_state, attention, outputs = state
        outputs = reshape(outputs, [-1, self._length, self._size])
        joined = linear([inputs, attention], self._input_size or inputs.shape.as_list()[1])
        cell_output, cell_state = self._cell(joined, cell_state)
        attention = self._attention(concat(flatten(cell_state), 1), outputs)
        with variable_scope("attn_output_projection"):
            output = linear([cell_output, attention], self._size)
        outputs = concat([outputs[:, 1:], expand_dims(output, 1)], 1)
        outputs = reshape(outputs, [-1, self._length * self._size])
        next_state = (cell_state, attention, outputs)
        return output, next_state if self._state_is_tuple else concat(next_state, 1)

    def _attention(self, query: Any, outputs: Any) -> Any:
        """Return the weighted mean of the previous outputs.

        The weight of an output depends on how well it matches the query, which is the state.
        """
        with variable_scope("attention"):
            kernel = get_variable("attn_w", [1, 1, self._size, self._compared_size])
            v = get_variable("attn_v", [self._compared_size])
            hidden = reshape(outputs, [-1, self._length, 1, self._size])
            compared = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            asked = reshape(linear(query, self._compared_size), [-1, 1, 1, self._compared_size])
            weights = softmax(reduce_sum(v * tanh(compared + asked), [2, 3]))
            return reduce_sum(expand_dims(weights, 2) * outputs, 1)


class HighwayWrapper(SameStateWrapper):
    """A cell with a bypass for its inputs: inputs * carry + outputs * transform. Source:
    arXiv:1505.00387.

    The gates carry and transform are functions of the inputs with values in (0, 1). A call raises
    ValueError if outputs and inputs differ in shape.

    Args:
      couple_carry_transform_gates: whether transform is 1 - carry. Otherwise it has its own
        weights.
      carry_bias_init: the initial bias of carry. The initial bias of transform is the negative of
        this number.
    """

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__(cell)
        self._couples = couple_carry_transform_gates
        self._carry_bias = carry_bias_init

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        outputs, next_state = self._cell(inputs, state, scope=scope)
        assert_same_structure(inputs, outputs)
        return map_structure(self._highway, inputs, outputs), next_state

    def _highway(self, inputs: Any, outputs: Any) -> Any:
        inputs.shape.assert_is_compatible_with(outputs.shape)
        carry = self._gate("carry", inputs, self._carry_bias)
        if self._couples:
            transform = 1 - carry
        else:
            transform = self._gate("transform", inputs, -self._carry_bias)
        return inputs * carry + outputs * transform

    def _gate(self, name: str, inputs: Any, first_bias: float) -> Any:
        size = inputs.shape.with_rank(2).dims[1].value
        weights = self._get(get_variable, f"{name}_w", [size, size])
        biases = self._get(get_variable, f"{name}_b", [size], initializer=Constant(first_bias))
        return sigmoid(xw_plus_b(inputs, weights, biases))
